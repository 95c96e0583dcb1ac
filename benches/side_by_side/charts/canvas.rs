//! A sheet to draw on: plotters' SVG backend, with the few shapes that the charts are made of.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub const INK: RGBColor = RGBColor(36, 41, 47);
pub const FAINT: RGBColor = RGBColor(101, 109, 118);
pub const GRID: RGBColor = RGBColor(225, 228, 232);
pub const ALARM: RGBColor = RGBColor(207, 34, 46);

/// Of a usual sans-serif font, as a part of its size: what a character takes, about.
const CHARACTER: f64 = 0.53;

pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

#[derive(Clone, Copy)]
pub enum Anchor {
    Left,
    Middle,
    Right,
}

type Result = std::result::Result<(), String>;

impl<'a> Canvas<'a> {
    pub fn new(path: &'a Path, (width, height): (u32, u32)) -> std::result::Result<Canvas<'a>, String> {
        let area = SVGBackend::new(path, (width, height)).into_drawing_area();
        // A page may be dark: the sheet is not.
        area.fill(&WHITE).map_err(text)?;
        Ok(Canvas { area })
    }

    /// `y` is the middle of the line.
    pub fn text(&self, words: &str, (x, y): (f64, f64), size: f64, color: RGBColor, anchor: Anchor) -> Result {
        let horizontal = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        let style = ("sans-serif", size).into_font().color(&color).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(words.to_owned(), point(x, y), style)).map_err(text)
    }

    pub fn bar(&self, from: (f64, f64), to: (f64, f64), color: RGBAColor) -> Result {
        self.area.draw(&Rectangle::new([point(from.0, from.1), point(to.0, to.1)], color.filled())).map_err(text)
    }

    pub fn line(&self, points: &[(f64, f64)], color: RGBColor, width: u32) -> Result {
        let points: Vec<_> = points.iter().map(|(x, y)| point(*x, *y)).collect();
        self.area.draw(&PathElement::new(points, color.stroke_width(width))).map_err(text)
    }

    pub fn dot(&self, (x, y): (f64, f64), color: RGBColor) -> Result {
        self.area.draw(&Circle::new(point(x, y), 3, color.filled())).map_err(text)
    }

    /// The title, and a line below it.
    pub fn heading(&self, title: &str, subtitle: &str) -> Result {
        self.text(title, (20.0, 26.0), 20.0, INK, Anchor::Left)?;
        self.text(subtitle, (20.0, 50.0), 13.0, FAINT, Anchor::Left)
    }

    pub fn finish(self) -> Result {
        self.area.present().map_err(text)
    }
}

pub fn width_of(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * size * CHARACTER
}

fn point(x: f64, y: f64) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
