//! Tables in Markdown.

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

/// A ratio with as many digits as it is worth.
pub fn ratio(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

pub fn strings<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}
