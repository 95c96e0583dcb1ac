//! The tables, put between their markers in `benchmarks.md`.
//!
//! `<!-- bench:NAME -->` begins what is written anew, `<!-- /bench -->` ends it. What stands around it is a person's, and
//! a table for which there are no results stays as it is.

mod markdown;
mod tables;

use std::fs;
use std::path::Path;

use crate::results::Results;
use tables::{Part, PARTS};

const END: &str = "<!-- /bench -->";

pub fn write(dir: &Path, results: &Results) -> Result<(), String> {
    let path = dir.join("benchmarks.md");
    let error = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => skeleton(),
        Err(other) => return Err(error(other)),
    };
    for Part(name, _, make) in PARTS {
        let table = make(results);
        if !table.is_empty() {
            text = replace(&text, name, &table)?;
        }
    }
    fs::create_dir_all(dir).map_err(error)?;
    fs::write(&path, text).map_err(error)
}

fn begin(name: &str) -> String {
    format!("<!-- bench:{name} -->")
}

fn replace(text: &str, name: &str, table: &str) -> Result<String, String> {
    let begin = begin(name);
    let (before, rest) = text.split_once(&begin).ok_or_else(|| format!("benchmarks.md has no {begin}"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| format!("benchmarks.md has no {END} behind {begin}"))?;
    Ok(format!("{before}{begin}\n\n{}\n\n{END}{after}", table.trim_end()))
}

/// For a directory that has no such document yet.
fn skeleton() -> String {
    let parts = PARTS.iter().map(|Part(name, heading, _)| format!("## {heading}\n\n{}\n{END}\n\n", begin(name)));
    format!("# Measured, side by side\n\n{}", parts.collect::<String>())
}
