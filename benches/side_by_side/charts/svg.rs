//! A picture as SVG text: 800 units wide, as a page shows it, in the reader's light or dark colours.

use std::fmt::Write;

pub const WIDTH: f64 = 800.0;
/// The distance of everything from the edges.
pub const MARGIN: f64 = 24.0;

/// Blue is redis-rank and grey is what it is beside, in every chart; nothing smaller than 13 pixels.
const STYLE: &str = "
text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif; fill: #1f2328 }
.title { font-size: 18px; font-weight: 600 }
.head { font-weight: 600 }
.small { font-size: 13px; fill: #59636e }
.page { fill: #ffffff }
.grid { stroke: #d8dee4 }
.edge { stroke: #59636e; stroke-width: 1.5 }
.ours { fill: #0072b2; stroke: #0072b2 }
.theirs { fill: #8c959f; stroke: #8c959f }
rect { stroke: none !important }
.value { font-size: 13px; paint-order: stroke; stroke: #ffffff !important; stroke-width: 4px }
text.ours { fill: #005a8c }
text.theirs { fill: #59636e }
polyline { fill: none !important; stroke-width: 2.5 }
.dashed { stroke-dasharray: 7 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #a5adb6 }
  .page { fill: #0d1117 }
  .grid { stroke: #30363d }
  .edge { stroke: #a5adb6 }
  .ours { fill: #58a6ff; stroke: #58a6ff }
  .theirs { fill: #7d8590; stroke: #7d8590 }
  .value { stroke: #0d1117 !important }
  text.ours { fill: #79b8ff }
  text.theirs { fill: #a5adb6 }
}
";

#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn so far.
pub struct Svg {
    title: String,
    body: String,
}

impl Svg {
    /// With its title, and below it a line that says what is to be seen.
    pub fn new(title: &str, subtitle: &str) -> Svg {
        let mut svg = Svg { title: title.into(), body: String::new() };
        svg.text(MARGIN, 36.0, "title", Anchor::Start, title);
        svg.text(MARGIN, 58.0, "small", Anchor::Start, subtitle);
        svg
    }

    /// Where what belongs to the chart begins.
    pub const TOP: f64 = 76.0;

    pub fn text(&mut self, x: f64, y: f64, class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\"/>"
        ));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.add(format_args!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"));
    }

    pub fn dot(&mut self, x: f64, y: f64, class: &str) {
        self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" class=\"{class}\"/>"));
    }

    pub fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.add(format_args!("<polyline points=\"{}\" class=\"{class}\"/>", points.join(" ")));
    }

    /// The file's text.
    pub fn finish(self, height: f64) -> String {
        let Svg { title, body } = self;
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect x=\"0\" y=\"0\" width=\"{WIDTH}\" height=\"{height:.0}\" rx=\"6\" class=\"page\"/>\n{body}</svg>\n"
        )
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        writeln!(self.body, "{element}").expect("text takes everything");
    }
}
