//! The examples of a document: found, typed into redis-cli, compared.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpListener;
use std::ops::Range;
use std::process::{Command, Stdio};

use redis::Connection;

use crate::support::*;

const PROMPTS: [(&str, &[&str]); 3] =
    [("redis> ", &["--no-raw"]), ("redis3> ", &["-3", "--no-raw"]), ("raw> ", &["--raw"])];

/// One command of a document and the lines of its output.
pub struct Example {
    prompt: usize,
    pub command: String,
    line: usize,
    output: Range<usize>,
    about: bool,
    /// The text of the heading above.
    pub section: String,
}

impl Example {
    /// A connection that speaks what the prompt says.
    pub fn connect(&self, server: &Server) -> Connection {
        if PROMPTS[self.prompt].0 == "redis3> " {
            server.connect_resp3()
        } else {
            server.connect()
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("# ").or_else(|| line.strip_prefix("## "))
}

pub fn examples(lines: &[&str]) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut section = "";
    let mut fence: Option<&str> = None;
    for (line, text) in lines.iter().enumerate() {
        match (fence, text.strip_prefix("```")) {
            (None, Some(info)) => fence = Some(info),
            (Some(_), Some(_)) => fence = None,
            (None, None) => section = heading(text).unwrap_or(section),
            (Some(info), None) if info == "redis" || info == "redis about" => {
                let prompt = PROMPTS.iter().position(|(prompt, _)| text.starts_with(prompt));
                if let Some(prompt) = prompt {
                    let command = text[PROMPTS[prompt].0.len()..].to_owned();
                    let (output, about) = (line + 1..line + 1, info == "redis about");
                    examples.push(Example { prompt, command, line, output, about, section: section.into() });
                } else if let Some(last) = examples.last_mut().filter(|last| last.output.end == line) {
                    last.output.end = line + 1;
                }
            }
            _ => {}
        }
    }
    examples
}

/// What redis-cli prints for a line that is typed into it.
fn typed(server: &Server, example: &Example, command: &str) -> Vec<String> {
    let mut cli = Command::new(redis_cli())
        .arg("-s")
        .arg(server.socket())
        .args(PROMPTS[example.prompt].1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-cli, beside redis-server or as REDIS_CLI says");
    let line = format!("{command}\n");
    cli.stdin.take().expect("its input").write_all(line.as_bytes()).expect("redis-cli reads a line");
    let output = cli.wait_with_output().expect("redis-cli ends");
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = printed.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
    if lines.last().is_some_and(|line| is_duration(line)) {
        lines.pop();
    }
    lines
}

/// Whether redis-cli measured this: below a reply that took half a second, on a busy machine, it prints `(0.51s)`.
fn is_duration(line: &str) -> bool {
    let seconds = line.strip_prefix('(').and_then(|rest| rest.strip_suffix("s)"));
    seconds.is_some_and(|seconds| seconds.contains('.') && seconds.parse::<f64>().is_ok())
}

/// A line of output without the note behind it, as in `4) (integer) 0   # no need to wait`.
fn without_note(line: &str) -> &str {
    line.split_once("  # ").map_or(line, |(output, _)| output.trim_end())
}

/// The text of an `about` block without what differs from run to run: large numbers.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(first.len_utf8()));
        let is_large = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        masked += if is_large { "*" } else { word };
        rest = after;
    }
    masked
}

/// The large numbers of a text.
fn large_numbers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A command with the numbers that the server returned in place of those that the document shows.
fn with_returned(command: &str, returned: &HashMap<String, String>) -> String {
    let words = command.split(' ').map(|word| returned.get(word).map_or(word, String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

fn start(kind: Kind, lines: &[&str]) -> Server {
    let options = lines.iter().filter_map(|line| line.strip_prefix("<!-- server: ")?.strip_suffix(" -->"));
    let mut builder = options.clone().fold(Server::builder(kind), Builder::config);
    let is_cluster = options.clone().any(|option| option == "cluster-enabled yes");
    if is_cluster {
        // The default, 10,000 above the other port, may be beyond the last one there is.
        let bus = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a free port");
        builder = builder.tcp().config(&format!("cluster-port {}", bus.port()));
    }
    let server = builder.start();
    if is_cluster {
        expect(&mut server.connect(), "CLUSTER ADDSLOTSRANGE 0 16383", "+OK");
        wait_until(|| reply(&mut server.connect(), "CLUSTER INFO").contains("cluster_state:ok"));
    }
    server
}

/// Runs the examples of one document: what differs, and the document with the real output.
pub fn run(kind: Kind, path: &str, text: &str) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let server = start(kind, &lines);
    let (mut differences, mut rewritten, mut copied) = (String::new(), Vec::new(), 0);
    let (mut section, mut returned) = (String::new(), HashMap::new());
    for example in examples(&lines) {
        if section != example.section {
            expect(&mut server.connect(), "FLUSHALL", "+OK");
            returned.clear();
            section.clone_from(&example.section);
        }
        let command = with_returned(&example.command, &returned);
        let shown = &lines[example.output.clone()];
        let expected = shown.iter().map(|line| without_note(line)).collect::<Vec<_>>().join("\n");
        let got = typed(&server, &example, &command).join("\n");
        rewritten.extend(lines[copied..example.output.start].iter().map(|line| line.to_string()));
        copied = example.output.end;
        if got == expected || (example.about && masked(&got) == masked(&expected)) {
            let pairs = large_numbers(&expected).zip(large_numbers(&got));
            returned.extend(pairs.map(|(shown, real)| (shown.to_owned(), real.to_owned())));
            rewritten.extend(shown.iter().map(|line| line.to_string()));
            continue;
        }
        let (line, command) = (example.line + 1, &example.command);
        differences += &format!("\n{path}:{line}: {command}\n--- got\n{got}\n--- expected\n{expected}\n");
        rewritten.extend(got.lines().map(str::to_owned));
    }
    rewritten.extend(lines[copied..].iter().map(|line| line.to_string()));
    (differences, rewritten.join("\n") + "\n")
}

/// The line with double quotes for single ones, which redis-cli reads and [`cmd`] does not.
pub fn double_quoted(line: &str) -> String {
    let mut quoted = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(inside) => {
                let (word, after) = inside.split_once('\'').unwrap_or_else(|| panic!("a quote does not end: {line}"));
                (format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")), after)
            }
            None if rest.starts_with('"') => (rest.to_owned(), ""),
            None => {
                let end = rest.find(' ').map_or(rest.len(), |space| space + 1);
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        quoted += &word;
        let spaces = after.len() - after.trim_start().len();
        quoted += &after[..spaces];
        rest = &after[spaces..];
    }
    quoted
}

#[test]
fn masks_hide_large_numbers_and_nothing_else() {
    assert_eq!(masked("(integer) 59987\n0123456789abcdef é 123"), "(integer) *\n0123456789abcdef é 123");
}

#[test]
fn a_command_may_repeat_a_number_that_was_returned() {
    let returned = HashMap::from([("12345".to_owned(), "67890".to_owned())]);
    assert_eq!(with_returned("DUE.ACK jobs 12345 a", &returned), "DUE.ACK jobs 67890 a");
    assert_eq!(large_numbers("1) (integer) 59987\n 123 x1234").collect::<Vec<_>>(), ["59987"]);
}

#[test]
fn a_duration_is_no_part_of_a_reply() {
    assert!(is_duration("(0.50s)") && is_duration("(12.03s)"));
    assert!(!["(nil)", "(empty array)", "(integer) 5", "(double) 0.5", "(5s)"].iter().any(|line| is_duration(line)));
}

#[test]
fn a_note_is_no_part_of_a_reply() {
    assert_eq!(without_note("4) (integer) 0   # no need to wait"), "4) (integer) 0");
    for line in ["1# \"items\" => (integer) 4", "5) 1# \"name\" => \"Ann # 1\"", "1) \"a\""] {
        assert_eq!(without_note(line), line);
    }
}

#[test]
fn single_quotes_become_double_quotes() {
    assert_eq!(double_quoted(r#"ADD k '{"a":"b c"}' 5 ann"#), r#"ADD k "{\"a\":\"b c\"}" 5 ann"#);
    assert_eq!(double_quoted(r#"EVAL "return 'a b'" 0"#), r#"EVAL "return 'a b'" 0"#);
}
