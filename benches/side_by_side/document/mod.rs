//! The figures, put between their markers in `benchmarks.md`, `aims.md` and `guides/cluster.md`.
//!
//! `<!-- bench:NAME -->` begins what is written anew, `<!-- /bench -->` ends it. What stands around it is a person's, and
//! a part for which there are no results stays as it is.

mod aims;
mod answer;
mod capacity;
mod markdown;
mod tables;

use std::fs;
use std::path::Path;

use crate::results::Results;
pub use markdown::{grouped, ratio, size, sizes, span};

const END: &str = "<!-- /bench -->";

/// The name of its marker, and what makes it: nothing where there are no results.
struct Part(&'static str, fn(&Results) -> String);

/// A document, and the text that it starts from in a directory that has none yet: the project's own.
struct Document {
    file: &'static str,
    text: &'static str,
    parts: &'static [Part],
    /// What is done to the text around the parts.
    finish: fn(String, &Results) -> String,
}

const DOCUMENTS: &[Document] = &[
    Document {
        file: "benchmarks.md",
        text: include_str!("../../../docs/benchmarks.md"),
        parts: tables::PARTS,
        finish: |text, _| text,
    },
    Document {
        file: "aims.md",
        text: include_str!("../../../docs/aims.md"),
        parts: aims::PARTS,
        finish: aims::ask_why,
    },
    Document {
        file: "guides/cluster.md",
        text: include_str!("../../../docs/guides/cluster.md"),
        parts: capacity::PARTS,
        finish: |text, _| text,
    },
];

pub fn write(dir: &Path, results: &Results) -> Result<(), String> {
    for document in DOCUMENTS {
        let path = dir.join(document.file);
        let text = fs::read_to_string(&path).unwrap_or_else(|_| document.text.into());
        let text = document.fill(&text, results)?;
        let written = fs::create_dir_all(path.parent().unwrap_or(dir)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The project's own documents with these results, in one text.
pub fn rehearse(results: &Results) -> Result<String, String> {
    DOCUMENTS.iter().map(|document| document.fill(document.text, results)).collect()
}

impl Document {
    fn fill(&self, text: &str, results: &Results) -> Result<String, String> {
        let mut text = text.to_owned();
        for Part(name, make) in self.parts {
            let part = make(results);
            // Before it is known whether there is anything to write: a marker that is missing is found at once.
            let (before, after) = self.around(&text, name)?;
            if !part.is_empty() {
                text = format!("{before}\n\n{}\n\n{after}", part.trim_end());
            }
        }
        Ok((self.finish)(text, results))
    }

    /// The text up to the end of a part's first marker, and from its last marker on.
    fn around<'t>(&self, text: &'t str, name: &str) -> Result<(&'t str, &'t str), String> {
        let begin = format!("<!-- bench:{name} -->");
        let start = text.find(&begin).ok_or_else(|| format!("{} has no {begin}", self.file))? + begin.len();
        let length = text[start..].find(END).ok_or_else(|| format!("{} has no {END} after {begin}", self.file))?;
        Ok((&text[..start], &text[start + length..]))
    }
}
