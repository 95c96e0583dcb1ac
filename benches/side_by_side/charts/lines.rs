//! Lines that grow to the right, in panels beside each other, each line named at its end.

use std::path::Path;

use plotters::style::RGBColor;

use super::axis::{short, Axis, Scale};
use super::canvas::{width_of, Anchor, Canvas, FAINT, GRID, INK};

const PANEL: (f64, f64) = (560.0, 480.0);
const TOP: f64 = 110.0;
const BOTTOM: f64 = 56.0;
const LABEL: f64 = 12.0;
const LABEL_HEIGHT: f64 = 16.0;

pub struct Lines {
    pub title: String,
    pub subtitle: String,
    pub across: &'static str,
    pub panels: Vec<Panel>,
}

pub struct Panel {
    pub title: &'static str,
    pub lines: Vec<Line>,
}

pub struct Line {
    pub name: String,
    pub color: RGBColor,
    pub is_thick: bool,
    pub points: Vec<(f64, f64)>,
}

pub fn draw(lines: &Lines, path: &Path) -> Result<(), String> {
    let width = PANEL.0 * lines.panels.len() as f64;
    let canvas = Canvas::new(path, (width as u32, PANEL.1 as u32))?;
    canvas.heading(&lines.title, &lines.subtitle)?;
    for (number, panel) in lines.panels.iter().enumerate() {
        draw_panel(&canvas, panel, lines.across, PANEL.0 * number as f64)?;
    }
    canvas.finish()
}

fn draw_panel(canvas: &Canvas, panel: &Panel, across: &str, offset: f64) -> Result<(), String> {
    let names = panel.lines.iter().map(|line| width_of(&line.name, LABEL)).fold(0.0, f64::max);
    let (left, right) = (offset + 48.0, offset + PANEL.0 - names - 34.0);
    let bottom = PANEL.1 - BOTTOM;
    let points = || panel.lines.iter().flat_map(|line| line.points.iter().copied());
    let x_axis = Axis::new(Scale::Log, points().map(|(x, _)| x), (left, right));
    let y_axis = Axis::new(Scale::Linear, points().map(|(_, y)| y).chain([0.0]), (bottom, TOP));

    canvas.text(panel.title, (left, TOP - 22.0), 14.0, INK, Anchor::Left)?;
    for tick in y_axis.ticks() {
        canvas.line(&[(left, y_axis.at(tick)), (right, y_axis.at(tick))], GRID, 1)?;
        canvas.text(&short(tick), (left - 8.0, y_axis.at(tick)), LABEL, FAINT, Anchor::Right)?;
    }
    for tick in x_axis.ticks() {
        canvas.line(&[(x_axis.at(tick), bottom), (x_axis.at(tick), bottom + 5.0)], FAINT, 1)?;
        canvas.text(&short(tick), (x_axis.at(tick), bottom + 16.0), LABEL, FAINT, Anchor::Middle)?;
    }
    canvas.text(across, ((left + right) / 2.0, bottom + 38.0), 13.0, FAINT, Anchor::Middle)?;

    let mut ends = Vec::new();
    for line in &panel.lines {
        let points: Vec<_> = line.points.iter().map(|(x, y)| (x_axis.at(*x), y_axis.at(*y))).collect();
        canvas.line(&points, line.color, if line.is_thick { 4 } else { 2 })?;
        points.iter().try_for_each(|point| canvas.dot(*point, line.color))?;
        ends.extend(points.last().map(|(_, y)| (*y, line)));
    }
    name_lines(canvas, ends, (right, bottom))
}

/// Writes the names beside the ends, moved apart where they would overlap.
fn name_lines(canvas: &Canvas, mut ends: Vec<(f64, &Line)>, (x, bottom): (f64, f64)) -> Result<(), String> {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut places: Vec<f64> = Vec::new();
    for (y, _) in &ends {
        places.push(places.last().map_or(*y, |above| y.max(above + LABEL_HEIGHT)));
    }
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LABEL_HEIGHT;
    }
    for ((y, line), place) in ends.iter().zip(places) {
        canvas.line(&[(x + 6.0, *y), (x + 18.0, place)], line.color, 1)?;
        canvas.text(&line.name, (x + 22.0, place), LABEL, line.color, Anchor::Left)?;
    }
    Ok(())
}
