//! Lines over numbers of members: a column of panels for each server.

use super::axis::Axis;
use super::bars::plain;
use super::svg::{Anchor, Svg, MARGIN, WIDTH};

const HEIGHT: f64 = 170.0;
/// To the left of each panel, for the figures of its axis.
const FIGURES: f64 = 34.0;
/// To the right of each panel, for the names of its lines.
const NAMES: f64 = 132.0;
/// The least distance of two names.
const LINE: f64 = 16.0;

pub struct Lines {
    pub title: String,
    pub subtitle: String,
    pub across: &'static str,
    pub columns: Vec<String>,
    /// What each is about, and its panels: one for each column.
    pub rows: Vec<(&'static str, Vec<Vec<Line>>)>,
}

pub struct Line {
    pub name: &'static str,
    pub is_ours: bool,
    pub is_dashed: bool,
    pub points: Vec<(f64, f64)>,
}

impl Lines {
    /// `None` if there are no two sizes to draw a line between.
    pub fn draw(&self) -> Option<String> {
        let lines = || self.rows.iter().flat_map(|(_, panels)| panels.iter().flatten());
        if !lines().any(|line| line.points.len() > 1) {
            return None;
        }
        let points = || lines().flat_map(|line| &line.points);
        let (least, most) = (points().map(|it| it.0).reduce(f64::min)?, points().map(|it| it.0).reduce(f64::max)?);
        let across = Axis::log(least, most);
        let width = (WIDTH - 2.0 * MARGIN) / self.columns.len() as f64;
        let mut svg = Svg::new(&self.title, &self.subtitle);
        let mut top = Svg::TOP + 46.0;
        for (column, name) in self.columns.iter().enumerate() {
            svg.text(MARGIN + column as f64 * width, Svg::TOP + 14.0, "head", Anchor::Start, name);
        }
        for (what, panels) in &self.rows {
            let highest = panels.iter().flatten().flat_map(|line| &line.points).map(|it| it.1).reduce(f64::max)?;
            let up = Axis::linear(highest, 4);
            for (column, panel) in panels.iter().enumerate() {
                let left = MARGIN + column as f64 * width + FIGURES;
                let inner = width - FIGURES - NAMES;
                let x = |value: f64| left + across.place(value) * inner;
                let y = |value: f64| top + HEIGHT - up.place(value) * HEIGHT;
                svg.text(left - FIGURES, top - 14.0, "small", Anchor::Start, what);
                for tick in up.ticks() {
                    svg.line((left, y(tick)), (left + inner, y(tick)), if tick == 0.0 { "edge" } else { "grid" });
                    svg.text(left - 6.0, y(tick) + 4.5, "small", Anchor::End, &plain(tick));
                }
                for tick in across.ticks() {
                    svg.text(x(tick), top + HEIGHT + 18.0, "small", Anchor::Middle, &super::size(tick as u64));
                }
                let mut names: Vec<(f64, &Line)> = Vec::new();
                for line in panel.iter().filter(|line| line.points.len() > 1) {
                    let class = if line.is_ours { "ours" } else { "theirs" };
                    let dashed = if line.is_dashed { " dashed" } else { "" };
                    let points: Vec<_> =
                        line.points.iter().map(|(members, micros)| (x(*members), y(*micros))).collect();
                    svg.path(&points, &format!("{class}{dashed}"));
                    names.extend(points.last().map(|last| (last.1, line)));
                }
                // From the top down, each far enough below the one before; then back up from the bottom.
                names.sort_by(|one, other| one.0.total_cmp(&other.0));
                for at in 1..names.len() {
                    names[at].0 = names[at].0.max(names[at - 1].0 + LINE);
                }
                let mut lowest = top + HEIGHT;
                for (y, _) in names.iter_mut().rev() {
                    *y = y.min(lowest);
                    lowest = *y - LINE;
                }
                for (y, line) in names {
                    let class = if line.is_ours { "ours" } else { "theirs" };
                    let last = line.points.last().map_or(0.0, |last| last.1);
                    let name = format!("{} {}", line.name, super::micros(last));
                    svg.text(left + inner + 6.0, y + 4.5, &format!("value {class}"), Anchor::Start, &name);
                }
            }
            top += HEIGHT + 58.0;
        }
        svg.text(MARGIN + FIGURES, top - 16.0, "small", Anchor::Start, self.across);
        Some(svg.finish(top))
    }
}
