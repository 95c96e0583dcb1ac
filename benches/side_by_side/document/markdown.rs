//! Tables and numbers in Markdown.

pub struct Table {
    columns: usize,
    text: String,
}

impl Table {
    pub fn new(heads: &[String]) -> Table {
        let mut table = Table { columns: heads.len(), text: String::new() };
        table.row(heads);
        table.text += &format!("|{}\n", "---|".repeat(heads.len()));
        table
    }

    pub fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.columns, "a cell for each column");
        self.text += &format!("| {} |\n", cells.join(" | "));
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// 10k, 100k, 1M
pub fn size(members: u64) -> String {
    match members {
        1_000_000.. => format!("{}M", members / 1_000_000),
        1_000.. => format!("{}k", members / 1_000),
        _ => members.to_string(),
    }
}

/// All sizes that occur: one, unless results of several runs were put together.
pub fn sizes(members: impl Iterator<Item = u64>) -> String {
    let mut sizes: Vec<u64> = members.collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(size).collect::<Vec<_>>().join(" or ")
}

/// A ratio with as many digits as it is worth.
pub fn ratio(value: f64) -> String {
    match value {
        1000.0.. => grouped(value),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// 12,345
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The least and the greatest of some ratios: `0.91 to 1.02`.
pub fn span(values: impl Iterator<Item = f64>) -> String {
    span_as(ratio, values)
}

pub fn span_as(format: fn(f64) -> String, values: impl Iterator<Item = f64>) -> String {
    let values: Vec<f64> = values.collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (values.is_empty(), format(least), format(greatest)) {
        (true, ..) => "–".into(),
        (_, least, greatest) if least == greatest => least,
        (_, least, greatest) => format!("{least} to {greatest}"),
    }
}

pub fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
