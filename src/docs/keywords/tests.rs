//! The keywords of syntax lines.

use super::*;

/// Each keyword with those that exclude it; itself unless it may be repeated.
fn shown(line: &'static str) -> String {
    let keywords = Keywords::of(line);
    let show = |keyword: &Keyword| {
        let conflicts = keywords.iter().filter(|other| keyword.conflicts & other.bit != 0).map(|other| other.word);
        format!("{}:{}", keyword.word, conflicts.collect::<Vec<_>>().join(","))
    };
    keywords.iter().map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn keywords_and_what_excludes_them() {
    let cases = [
        ("key member ...", ""),
        ("key [KEEP keep:n] [JSON]", "KEEP:KEEP JSON:JSON"),
        ("key condition:[NX|XX] [CH]", "NX:NX,XX XX:NX,XX CH:CH"),
        ("key bound:[KEEP keep:n|NOKEEP]", "KEEP:KEEP,NOKEEP NOKEEP:KEEP,NOKEEP"),
        ("key [LIMIT offset count] entry:{score ... member} ...", "LIMIT:LIMIT"),
        ("key [DATA hash [OWNED]|NODATA]", "DATA:DATA,NODATA OWNED:OWNED NODATA:DATA,NODATA"),
        ("key [PERIOD prefix [PAST past:n]] ... [OFFSET o]", "PERIOD: PAST:PAST OFFSET:OFFSET"),
        ("key p:[PERIOD prefix|NOPERIOD unit] ... [JSON]", "PERIOD: NOPERIOD: JSON:JSON"),
        ("key f:[o:{ASC|DESC}|{FIELD name d:[a:ASC|b:DESC]} ...]", "ASC:ASC,DESC DESC:ASC,DESC FIELD:"),
        ("key g:[ATTEMPTS n {DEAD key}] time:{AT ms|AGAIN}", "ATTEMPTS:ATTEMPTS DEAD:DEAD AT:AT,AGAIN AGAIN:AT,AGAIN"),
        ("key AT ms BY n", "AT:AT BY:BY"),
    ];
    for (line, expected) in cases {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn words_are_found_in_any_case() {
    let keywords = Keywords::of("key [KEEP n] [JSON]");
    let found = |word: &str| keywords.find(word.as_bytes()).map(|keyword| keyword.word);
    assert_eq!(
        ["KEEP", "keep", "Json", "KEE", "KEEPS", "key", ""].map(found),
        [Some("KEEP"), Some("KEEP"), Some("JSON"), None, None, None, None]
    );
}
