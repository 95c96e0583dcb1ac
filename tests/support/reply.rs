//! Commands as one types them, replies as text that one can compare.

use redis::{Connection, ConnectionLike, RedisError, ServerError, Value, VerbatimFormat};

/// Sends one line as redis-cli would: words between spaces; a word that starts with `"` runs to the
/// next `"` and knows the escapes that [`show`] prints.
///
/// An error reply is an `Err`; errors inside an array (of `EXEC`) stay where they are.
#[track_caller]
pub fn cmd(con: &mut Connection, line: &str) -> Result<Value, RedisError> {
    cmdv(con, &words(line))
}

/// Sends one command with arguments of any bytes.
pub fn cmdv<A: AsRef<[u8]>>(con: &mut Connection, args: &[A]) -> Result<Value, RedisError> {
    let mut command = redis::Cmd::new();
    for arg in args {
        command.arg(arg.as_ref());
    }
    // Not Cmd::query, which lifts an error out of an array and drops the rest of the reply.
    match con.req_command(&command)? {
        Value::ServerError(error) => Err(error.into()),
        value => Ok(value),
    }
}

/// Sends one line and renders the reply, or the error.
#[track_caller]
pub fn reply(con: &mut Connection, line: &str) -> String {
    show_result(&cmd(con, line))
}

/// Sends one line and compares the rendered reply.
#[track_caller]
pub fn expect(con: &mut Connection, line: &str, expected: &str) {
    let got = reply(con, line);
    assert!(got == expected, "\n command: {line}\n     got: {got}\nexpected: {expected}\n");
}

/// [`show`] for what [`cmd`] returns. What went wrong on the client's side (a closed connection, a
/// reply that is no RESP) starts with `CLIENT`, which no server's error does.
pub fn show_result(result: &Result<Value, RedisError>) -> String {
    match result {
        Ok(value) => show(value),
        Err(error) => match error.code() {
            Some(code) => error_text(code, error.detail()),
            None => format!("CLIENT {error}"),
        },
    }
}

/// Whether a rendered reply is an error: it begins with a code.
pub fn is_error(answer: &str) -> bool {
    let code = answer.split(' ').next().unwrap_or_default();
    code.len() >= 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Renders a reply so that every type looks different:
///
/// `5` integer · `"a\x00"` bulk string · `+OK` simple string · `nil` · `[1, 2]` array · `{1: 2}` map
/// · `~[1]` set · `0.1f` double · `true` · `=txt:"a"` verbatim · `ERR text` error.
pub fn show(value: &Value) -> String {
    match value {
        Value::Nil => "nil".into(),
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => quoted(bytes),
        Value::SimpleString(text) => format!("+{text}"),
        Value::Okay => "+OK".into(),
        Value::Array(items) => format!("[{}]", list(items)),
        Value::Set(items) => format!("~[{}]", list(items)),
        Value::Map(pairs) => format!("{{{}}}", pair_list(pairs)),
        Value::Double(number) => double(*number),
        Value::Boolean(truth) => truth.to_string(),
        Value::VerbatimString { format, text } => {
            let format = match format {
                VerbatimFormat::Text => "txt",
                VerbatimFormat::Markdown => "mkd",
                VerbatimFormat::Unknown(other) => other,
                _ => "?",
            };
            format!("={format}:{}", quoted(text.as_bytes()))
        }
        Value::BigNumber(digits) => format!("({}", String::from_utf8_lossy(digits)),
        Value::Push { kind, data } => format!(">{kind}[{}]", list(data)),
        Value::Attribute { data, attributes } => {
            format!("|{{{}}}{}", pair_list(attributes), show(data))
        }
        Value::ServerError(error) => server_error(error),
        other => format!("?{other:?}"),
    }
}

/// `"…"` with escapes for all that is not printable ASCII: the syntax that [`cmd`], configuration
/// files and redis-cli read back.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

fn list(items: &[Value]) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn pair_list(pairs: &[(Value, Value)]) -> String {
    let shown = |(key, value): &(Value, Value)| format!("{}: {}", show(key), show(value));
    pairs.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn double(number: f64) -> String {
    // {:?} and not {}, which writes 1e300 in full; but 5 rather than 5.0.
    let text = format!("{number:?}");
    format!("{}f", text.strip_suffix(".0").unwrap_or(&text))
}

fn server_error(error: &ServerError) -> String {
    error_text(error.code(), error.details())
}

/// The error as the server sent it: the client splits it at its first space.
fn error_text(code: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{code} {detail}"),
        None => code.into(),
    }
}

#[track_caller]
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(inside) => {
                unquote(inside).unwrap_or_else(|| panic!("a quoted word does not end, or not before a space: {line}"))
            }
            None => {
                let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
                (word.as_bytes().to_vec(), after)
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Reads up to the closing quote; what it returns besides is what follows it.
fn unquote(inside: &str) -> Option<(Vec<u8>, &str)> {
    let mut word = Vec::new();
    let mut rest = inside;
    loop {
        let mut characters = rest.chars();
        let character = characters.next()?;
        rest = characters.as_str();
        match character {
            '"' if rest.is_empty() || rest.starts_with(' ') => return Some((word, rest)),
            '"' => return None,
            '\\' => {
                let escape = characters.next()?;
                rest = characters.as_str();
                match escape {
                    'n' => word.push(b'\n'),
                    'r' => word.push(b'\r'),
                    't' => word.push(b'\t'),
                    'x' => {
                        word.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
                        rest = &rest[2..];
                    }
                    other => word.extend(other.to_string().bytes()),
                }
            }
            other => word.extend(other.to_string().bytes()),
        }
    }
}
