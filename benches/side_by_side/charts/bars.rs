//! Horizontal bars in groups: a row for each thing, in it a bar for each series.

use std::path::Path;

use plotters::style::{Color, RGBColor};

use super::axis::{short, Axis, Scale};
use super::canvas::{width_of, Anchor, Canvas, ALARM, FAINT, GRID, INK};

const WIDTH: u32 = 1080;
const TOP: f64 = 104.0;
const BAR: f64 = 10.0;
const GAP: f64 = 2.0;
const BETWEEN_ROWS: f64 = 12.0;
const LABEL: f64 = 13.0;
const VALUES: f64 = 64.0;

pub struct Bars {
    pub title: String,
    pub subtitle: String,
    pub axis: String,
    pub scale: Scale,
    /// Where bars begin; `None`: at the left.
    pub base: Option<f64>,
    pub series: Vec<(String, RGBColor)>,
    /// What the marker of a row means.
    pub marker: Option<&'static str>,
    pub rows: Vec<Row>,
}

pub struct Row {
    pub label: String,
    /// In pale colours: what the others are compared with.
    pub is_pale: bool,
    /// One for each series.
    pub bars: Vec<Option<Bar>>,
    /// A value of its own, marked across the bars.
    pub marker: Option<f64>,
}

#[derive(Clone, Copy)]
pub struct Bar {
    pub value: f64,
    pub spread: Option<(f64, f64)>,
    pub is_alarming: bool,
}

impl Row {
    /// Room for the bars it has: the others leave none.
    fn height(&self) -> f64 {
        self.bars.iter().flatten().count().max(1) as f64 * (BAR + GAP) + BETWEEN_ROWS
    }
}

pub fn draw(bars: &Bars, path: &Path) -> Result<(), String> {
    let bottom = TOP + bars.rows.iter().map(Row::height).sum::<f64>();
    let canvas = Canvas::new(path, (WIDTH, bottom as u32 + 56))?;
    canvas.heading(&bars.title, &bars.subtitle)?;
    legend(&canvas, bars)?;

    let labels = bars.rows.iter().map(|row| width_of(&row.label, LABEL)).fold(0.0, f64::max);
    let (left, right) = (labels + 36.0, f64::from(WIDTH) - VALUES);
    let in_row = |row: &Row| -> Vec<f64> {
        let spreads = row.bars.iter().flatten().flat_map(|bar| bar.spread).flat_map(|(low, high)| [low, high]);
        row.bars.iter().flatten().map(|bar| bar.value).chain(spreads).chain(row.marker).collect()
    };
    let zero = matches!(bars.scale, Scale::Linear).then_some(0.0);
    let values = bars.rows.iter().flat_map(in_row).chain(bars.base).chain(zero);
    let axis = Axis::new(bars.scale, values, (left, right));

    for tick in axis.ticks() {
        canvas.line(&[(axis.at(tick), TOP - 6.0), (axis.at(tick), bottom)], GRID, 1)?;
        canvas.text(&short(tick), (axis.at(tick), bottom + 14.0), 12.0, FAINT, Anchor::Middle)?;
    }
    canvas.text(&bars.axis, ((left + right) / 2.0, bottom + 38.0), 13.0, FAINT, Anchor::Middle)?;
    let base = bars.base.unwrap_or(axis.start());
    canvas.line(
        &[(axis.at(base), TOP - 6.0), (axis.at(base), bottom)],
        INK,
        if bars.base.is_some() { 2 } else { 1 },
    )?;

    let mut y = TOP;
    for row in &bars.rows {
        draw_row(&canvas, bars, row, &axis, (base, y))?;
        y += row.height();
    }
    canvas.finish()
}

fn draw_row(canvas: &Canvas, bars: &Bars, row: &Row, axis: &Axis, (base, top): (f64, f64)) -> Result<(), String> {
    let end = top + row.height() - BETWEEN_ROWS;
    let label_at = (axis.at(axis.start()) - 12.0, (top + end) / 2.0);
    canvas.text(&row.label, label_at, LABEL, if row.is_pale { FAINT } else { INK }, Anchor::Right)?;
    let mut y = top;
    for (bar, (_, color)) in row.bars.iter().zip(&bars.series) {
        let Some(bar) = bar else { continue };
        let color = color.mix(if row.is_pale { 0.4 } else { 1.0 });
        canvas.bar((axis.at(base), y), (axis.at(bar.value), y + BAR), color)?;
        let middle = y + BAR / 2.0;
        if let Some((low, high)) = bar.spread {
            canvas.line(&[(axis.at(low), middle), (axis.at(high), middle)], INK, 1)?;
        }
        let value_at = (f64::from(WIDTH) - 14.0, middle);
        canvas.text(&short(bar.value), value_at, 11.0, if bar.is_alarming { ALARM } else { INK }, Anchor::Right)?;
        y += BAR + GAP;
    }
    match row.marker {
        Some(marker) => canvas.line(&[(axis.at(marker), top - 3.0), (axis.at(marker), end + 1.0)], ALARM, 3),
        None => Ok(()),
    }
}

fn legend(canvas: &Canvas, bars: &Bars) -> Result<(), String> {
    let (mut x, y) = (20.0, 76.0);
    for (name, color) in &bars.series {
        canvas.bar((x, y - 6.0), (x + 12.0, y + 6.0), color.to_rgba())?;
        canvas.text(name, (x + 18.0, y), LABEL, INK, Anchor::Left)?;
        x += 18.0 + width_of(name, LABEL) + 24.0;
    }
    match bars.marker {
        Some(meaning) => {
            canvas.line(&[(x + 6.0, y - 7.0), (x + 6.0, y + 7.0)], ALARM, 3)?;
            canvas.text(meaning, (x + 16.0, y), LABEL, INK, Anchor::Left)
        }
        None => Ok(()),
    }
}
