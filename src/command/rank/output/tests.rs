//! Names in JSON.

use super::*;

/// Each byte in each position of short names.
#[test]
fn names_are_escaped_where_json_wants_it() {
    for length in 1..=17 {
        for place in 0..length {
            for byte in 0..=u8::MAX {
                let mut name = vec![b'a'; length];
                name[place] = byte;
                let mut json = Json::default();
                json.name(&name);
                let expected = match std::str::from_utf8(&name) {
                    Ok(text) => serde_json::to_string(text).unwrap(),
                    Err(_) => format!("{{\"base64\":\"{}\"}}", BASE64_STANDARD.encode(&name)),
                };
                assert_eq!(String::from_utf8(json.text).unwrap(), expected);
            }
        }
    }
}
