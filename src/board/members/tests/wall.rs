//! Nothing but this module knows how members are stored. Privacy keeps others from what is stored; this keeps them from
//! speaking of it.

use std::path::Path;

/// Words of storage. Only whole words count.
const WORDS: [&str; 10] = [
    "element",
    "tail",
    "wrapped",
    "is_coded",
    "SortKey",
    "ENTRY_TAG",
    "WRAPPED_TAG",
    "TOP_OF_INDEX",
    "MARKER_START",
    "store",
];

/// The entrance of boards passes on by what a schedule is told from a board. The documentation of `RANK.VERIFY` tells users
/// what it looks at.
const ALLOWED: [(&str, &str); 2] = [("board/mod.rs", "MARKER_START"), ("command/rank/verify.rs", "elements")];

#[test]
fn only_members_speaks_of_storage() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for folder in ["board", "command/rank"] {
        for file in std::fs::read_dir(source.join(folder)).expect("a folder").flatten() {
            let name = format!("{folder}/{}", file.file_name().to_string_lossy());
            if !name.ends_with(".rs") {
                continue;
            }
            seen += 1;
            let text = std::fs::read_to_string(file.path()).expect("a source");
            for (line, number) in text.lines().zip(1..) {
                let code = line.split("//").next().unwrap_or_default();
                let is_word = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
                for word in code.split(|byte| !is_word(byte)).filter(|word| WORDS.contains(word)) {
                    assert!(ALLOWED.contains(&(&name, word)), "{name}:{number} speaks of storage: {word}");
                }
            }
        }
    }
    assert!(seen > 25, "{seen} files were looked at");
}
