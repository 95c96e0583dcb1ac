//! Horizontal bars, or dots where the axis has no zero: a panel for each server beside the others, labels to the left.

use super::axis::Axis;
use super::svg::{Anchor, Svg, MARGIN, WIDTH};

const LABELS: f64 = 252.0;
const GAP: f64 = 26.0;
/// Kept free to the right of each panel, for the figure beside the longest bar.
const FIGURE: f64 = 50.0;
const ROW: f64 = 24.0;
const BAR: f64 = 15.0;

pub struct Bars {
    pub title: String,
    pub subtitle: String,
    /// What the axis shows, with its unit.
    pub axis: String,
    pub is_log: bool,
    /// A line at this value, and what it stands for.
    pub reference: Option<(f64, &'static str)>,
    pub panels: Vec<String>,
    pub groups: Vec<Group>,
    pub figure: fn(f64) -> String,
}

#[derive(Default)]
pub struct Group {
    /// None where the rows speak for themselves.
    pub heading: String,
    pub rows: Vec<Row>,
}

pub struct Row {
    pub label: String,
    pub is_ours: bool,
    /// One for each panel.
    pub values: Vec<Option<f64>>,
}

impl Bars {
    /// `None` if nothing was measured of it.
    pub fn draw(&self) -> Option<String> {
        let values = || self.groups.iter().flat_map(|group| &group.rows).flat_map(|row| row.values.iter().flatten());
        let highest = values().copied().reduce(f64::max)?;
        let lowest = values().copied().reduce(f64::min)?;
        let axis = match self.is_log {
            true => Axis::log(lowest, highest),
            false => Axis::linear(highest.max(self.reference.map_or(0.0, |(value, _)| value)), 5),
        };
        let panels = self.panels.len() as f64;
        let width = (WIDTH - 2.0 * MARGIN - LABELS - GAP * (panels - 1.0)) / panels;
        let left = |panel: usize| MARGIN + LABELS + panel as f64 * (width + GAP);
        let x = |panel: usize, value: f64| left(panel) + axis.place(value) * (width - FIGURE);
        let mut svg = Svg::new(&self.title, &self.subtitle);

        let top = Svg::TOP + if self.reference.is_some() { 44.0 } else { 28.0 };
        let headings = self.groups.iter().filter(|group| !group.heading.is_empty()).count() as f64;
        let rows = self.groups.iter().map(|group| group.rows.len()).sum::<usize>() as f64;
        let bottom = top + (headings + rows) * ROW + 6.0;
        for (panel, name) in self.panels.iter().enumerate() {
            svg.text(left(panel), Svg::TOP + 14.0, "head", Anchor::Start, name);
            for tick in axis.ticks() {
                let at = x(panel, tick);
                svg.line((at, top), (at, bottom), if tick == 0.0 { "edge" } else { "grid" });
                svg.text(at, bottom + 18.0, "small", Anchor::Middle, &plain(tick));
            }
        }
        svg.text(left(0), bottom + 40.0, "small", Anchor::Start, &self.axis);

        // They come last, so that no line crosses them.
        let mut figures = Vec::new();
        let mut y = top + 4.0;
        for group in &self.groups {
            if !group.heading.is_empty() {
                svg.text(MARGIN, y + 17.0, "head", Anchor::Start, &group.heading);
                y += ROW;
            }
            for row in &group.rows {
                let indent = if group.heading.is_empty() { 0.0 } else { 14.0 };
                svg.text(MARGIN + indent, y + 16.0, "", Anchor::Start, &row.label);
                let class = if row.is_ours { "ours" } else { "theirs" };
                for (panel, value) in row.values.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let end = x(panel, *value);
                    let beside = if self.is_log {
                        svg.dot(end, y + 11.0, class);
                        9.0
                    } else {
                        svg.rect(left(panel), y + 4.0, end - left(panel), BAR, class);
                        5.0
                    };
                    figures.push((end + beside, y + 16.0, (self.figure)(*value)));
                }
                y += ROW;
            }
        }
        if let Some((value, name)) = self.reference {
            for panel in 0..self.panels.len() {
                let at = x(panel, value);
                svg.line((at, top - 4.0), (at, bottom), "edge dashed");
                svg.text(at, top - 10.0, "small", Anchor::Middle, name);
            }
        }
        for (x, y, figure) in figures {
            svg.text(x, y, "value", Anchor::Start, &figure);
        }
        Some(svg.finish(bottom + 56.0))
    }
}

/// 0.5, 10, 1k
pub fn plain(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", value / 1e6),
        1e4.. => format!("{}k", value / 1e3),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}
