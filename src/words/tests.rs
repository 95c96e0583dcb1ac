//! Loops over options.

use super::*;

static KEYWORDS: Keywords = Keywords::of("key kind:[DENSE|ORDINAL] [KEEP keep:n [S]] [PERIOD unit] ... [JSON]");

/// What a loop over these options gives, and the words that are left.
fn read(words: &str, in_front: bool) -> Result<String> {
    let words: Vec<&[u8]> = words.split_whitespace().map(str::as_bytes).collect();
    let words = Words::new(&words);
    let mut options = if in_front { Options::in_front(words, &KEYWORDS) } else { Options::new(words, &KEYWORDS) };
    let mut read = Vec::new();
    while let Some(option) = options.next()? {
        match option {
            "KEEP" | "PERIOD" => read.push(format!("{option}={}", String::from_utf8_lossy(options.value()?))),
            "S" => return Err(options.unknown()),
            _ => read.push(option.to_owned()),
        }
    }
    read.extend(options.words.map(|word| format!("({})", String::from_utf8_lossy(word))));
    Ok(read.join(" "))
}

#[test]
fn options_in_any_order_with_their_values() {
    let cases = [
        ("", "", ""),
        ("json KEEP json Dense", "JSON KEEP=json DENSE", "JSON KEEP=json DENSE"),
        ("PERIOD a PERIOD b", "PERIOD=a PERIOD=b", "PERIOD=a PERIOD=b"),
        ("JSON JSON", "ERR JSON is specified more than once", "ERR JSON is specified more than once"),
        ("DENSE JSON DENSE", "ERR DENSE is specified more than once", "ERR DENSE is specified more than once"),
        (
            "ordinal json dense",
            "ERR ORDINAL and DENSE are mutually exclusive",
            "ERR ORDINAL and DENSE are mutually exclusive",
        ),
        ("JSON KEEP", "ERR KEEP needs a value", "ERR KEEP needs a value"),
        ("s", "ERR unknown option 's'", "ERR unknown option 's'"),
        ("JSON 5 KEEP 2", "ERR unknown option '5'", "JSON (5) (KEEP) (2)"),
        ("jso", "ERR unknown option 'jso'", "(jso)"),
    ];
    for (words, alone, in_front) in cases {
        let result = |in_front| read(words, in_front).unwrap_or_else(|error| error.to_string());
        assert_eq!((result(false).as_str(), result(true).as_str()), (alone, in_front), "{words}");
    }
}
