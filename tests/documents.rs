//! What people read is true: the examples run, and reference, README and configuration say what the server says.
//!
//! A block marked `redis` has lines `redis> COMMAND`, each followed by what redis-cli prints; `redis3> ` speaks RESP3, and
//! `raw> ` prints as `redis-cli --raw` does. What follows `  # ` in a line of output is a note for the reader. In a block marked `redis about`, numbers of four digits and more may differ, and a
//! later command that repeats such a number is sent with the one that the server returned.
//! Data is dropped at every heading of the first two levels. A line `<!-- server: OPTION -->` starts the file's server with it.
//!
//! `UPDATE_DOCS=1 cargo test --test integration documents` writes the real output in place of the old: read the diff.

mod errors;
mod examples;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use redis::Value;

use crate::support::*;
use examples::{double_quoted, examples, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of a folder, as paths from the project's root.
fn files_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let names = entries.map(|entry| entry.expect("a file").file_name().into_string().expect("a UTF-8 name"));
    let mut paths: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
    paths.sort();
    paths
}

/// The README and the guides.
fn guides() -> Vec<String> {
    let mut paths = files_in("docs/guides");
    paths.push("README.md".into());
    paths
}

/// The pages of the reference: its index, then one page for each family of commands.
fn reference_pages() -> Vec<String> {
    let mut paths = vec!["docs/commands.md".into()];
    paths.extend(files_in("docs/commands"));
    paths
}

/// The whole reference.
fn reference() -> String {
    reference_pages().iter().map(|path| read(path)).collect()
}

fn check_examples(kind: Kind, paths: &[String]) {
    let update = std::env::var("UPDATE_DOCS").as_deref() == Ok("1");
    let mut all = String::new();
    for path in paths {
        let (differences, rewritten) = run(kind, path, &read(path));
        if update && kind == Kind::Redis && !differences.is_empty() {
            fs::write(root().join(path), rewritten).expect("the document can be written");
        }
        all += &differences;
    }
    assert!(update || all.is_empty(), "{all}");
}

/// A command as `COMMAND DOCS` has it.
struct Documented {
    name: String,
    since: String,
    summary: String,
    complexity: String,
    tokens: BTreeSet<String>,
    values: BTreeSet<String>,
    /// Whether it ends with names of the client's choosing, where a token would be one of them.
    open_end: bool,
}

fn entry<'v>(map: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Map(pairs) = map else { panic!("a map, got {map:?}") };
    pairs.iter().find(|(key, _)| show(key) == format!("\"{name}\"")).map(|(_, value)| value)
}

fn text(map: &Value, name: &str) -> Option<String> {
    match entry(map, name)? {
        Value::BulkString(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::SimpleString(text) => Some(text.clone()),
        other => panic!("{name} is {other:?}"),
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(items) | Value::Set(items)) => items,
        None => &[],
        other => panic!("an array, got {other:?}"),
    }
}

impl Documented {
    fn new(name: &str, docs: &Value) -> Documented {
        let arguments = items(entry(docs, "arguments"));
        let open_end = arguments.last().is_some_and(|last| text(last, "token").is_none() && is_multiple(last));
        let mut documented = Documented {
            name: name.to_uppercase(),
            since: text(docs, "since").expect("since"),
            summary: text(docs, "summary").expect("a summary"),
            complexity: text(docs, "complexity").expect("complexity"),
            tokens: BTreeSet::new(),
            values: BTreeSet::new(),
            open_end,
        };
        arguments.iter().for_each(|argument| documented.collect(argument));
        documented
    }

    fn collect(&mut self, argument: &Value) {
        self.tokens.extend(text(argument, "token"));
        match text(argument, "type").expect("a type").as_str() {
            "oneof" | "block" => items(entry(argument, "arguments")).iter().for_each(|inner| self.collect(inner)),
            "pure-token" => {}
            _ => self.values.extend(text(argument, "display_text").or_else(|| text(argument, "name"))),
        }
    }
}

/// The types in a reply, but for its contents.
fn shape(reply: &redis::RedisResult<Value>) -> String {
    fn of(value: &Value) -> String {
        match value {
            Value::Array(items) | Value::Set(items) => format!("[{}]", items.iter().map(of).collect::<String>()),
            Value::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| of(key) + &of(value));
                format!("{{{}}}", pairs.collect::<String>())
            }
            Value::BulkString(_) => "s".into(),
            Value::Int(_) => "i".into(),
            Value::Double(_) => "d".into(),
            Value::Nil => "n".into(),
            other => show(other),
        }
    }
    reply.as_ref().map_or_else(|_| "error".into(), of)
}

fn is_multiple(argument: &Value) -> bool {
    items(entry(argument, "flags")).iter().any(|flag| show(flag).contains("multiple"))
}

fn documented(server: &Server) -> Vec<Documented> {
    let docs = cmd(&mut server.connect_resp3(), "COMMAND DOCS").expect("COMMAND DOCS");
    let Value::Map(commands) = docs else { panic!("a map, got {docs:?}") };
    let ours = commands.iter().filter(|(_, docs)| text(docs, "module").as_deref() == Some("rank"));
    ours.map(|(name, docs)| Documented::new(show(name).trim_matches('"'), docs)).collect()
}

fn names(commands: &[Documented]) -> BTreeSet<String> {
    commands.iter().map(|command| command.name.clone()).collect()
}

fn is_command(name: &str) -> bool {
    ["RANK.", "RATE.", "DUE."].iter().any(|family| name.starts_with(family))
}

/// The part of the reference under a command's heading.
fn section<'t>(reference: &'t str, name: &str) -> &'t str {
    let start = reference.find(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("no section '## {name}'"));
    let section = &reference[start + 1..];
    section.find("\n## ").map_or(section, |end| &section[..end + 1])
}

/// The words of a section's block marked `syntax`: those in upper case, and the others.
fn syntax(section: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let block = section.split("```syntax\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.unwrap_or_else(|| panic!("no syntax in {section}"));
    let words = block.split(|c: char| c.is_whitespace() || "[]{}|".contains(c));
    let words = words.filter(|word| !["", "..."].contains(word) && !is_command(word));
    words.map(str::to_owned).partition(|word| word.chars().all(|c| c.is_ascii_uppercase()))
}

/// The options of `redis.conf.example`: name, value and the comment above.
fn options(conf: &str) -> Vec<(String, String, String)> {
    let mut comment = String::new();
    let mut options = Vec::new();
    for line in conf.lines() {
        match (line.strip_prefix('#'), line.split_once(' ')) {
            (Some(more), _) => comment += more,
            (None, Some((name, value))) if name.starts_with("rank.") => {
                options.push((name.into(), value.into(), std::mem::take(&mut comment)));
            }
            _ => comment.clear(),
        }
    }
    options
}

/// The word behind a word of a comment: `default: 0` gives `0`.
fn after<'c>(comment: &'c str, word: &str) -> &'c str {
    let rest = comment.split(word).nth(1).unwrap_or_else(|| panic!("no '{word}' in '{comment}'"));
    rest.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ','])
}

#[test]
fn every_link_leads_somewhere() {
    let others = [
        "docs/comparison.md",
        "docs/design.md",
        "docs/guarantees.md",
        "docs/SUMMARY.md",
        "examples/README.md",
        "CHANGELOG.md",
    ];
    for path in guides().into_iter().chain(reference_pages()).chain(others.map(str::to_owned)) {
        let base = root().join(&path);
        for link in read(&path).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            let target = if file.is_empty() { base.clone() } else { base.with_file_name("").join(file) };
            assert!(target.exists(), "{path}: there is no {link}");
            let slug = |line: &str| -> String {
                let kept = line.trim_start_matches('#').trim().to_lowercase();
                kept.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>().replace(' ', "-")
            };
            let found = anchor.is_empty()
                || fs::read_to_string(&target).expect("text").lines().any(|l| l.starts_with('#') && slug(l) == anchor);
            assert!(found, "{path}: {link} has no such heading");
        }
    }
}

/// What `make docs` leaves out nobody finds.
#[test]
fn every_page_is_in_the_summary_of_the_site() {
    let summary = read("docs/SUMMARY.md");
    for path in ["docs", "docs/guides", "docs/commands"].into_iter().flat_map(files_in) {
        let page = path.trim_start_matches("docs/");
        let is_page = page.ends_with(".md") && page != "SUMMARY.md";
        assert!(!is_page || summary.contains(&format!("]({page})")), "{path} is not in docs/SUMMARY.md");
    }
}

/// What a reader looks for in every section of the reference, in this order.
const PARTS: [&str; 5] = ["\n```redis", "\n```syntax\n", "\nComplexity: ", "\nACL: ", "\n**Reply**: "];

#[test]
fn every_section_of_the_reference_has_its_parts() {
    for path in files_in("docs/commands") {
        let page = read(&path);
        for section in page.split("\n## ").skip(1) {
            let name = section.lines().next().unwrap_or_default();
            let says = section.lines().nth(2).unwrap_or_default();
            let is_prose =
                says.starts_with(|c: char| c.is_alphabetic() || "`[".contains(c)) && !says.starts_with("```");
            assert!(is_prose, "{name} should first say what it does");
            let mut from = 0;
            for part in PARTS {
                let at = section[from..].find(part);
                from += at.unwrap_or_else(|| panic!("{name} needs {:?} behind the parts before it", part.trim()));
            }
        }
    }
}

/// Each page begins with links to its sections.
#[test]
fn every_page_of_the_reference_has_a_table_of_contents() {
    for path in reference_pages() {
        let page = read(&path);
        let (top, sections) = page.split_once("\n## ").unwrap_or_else(|| panic!("{path} has no sections"));
        for heading in format!("## {sections}").lines().filter_map(|line| line.strip_prefix("## ")) {
            let listed = top.to_lowercase().contains(&format!("[{}](#", heading.to_lowercase()));
            assert!(listed, "{path}: '{heading}' is not in its table of contents");
        }
    }
}

/// A guarantee without its test would be a claim.
#[test]
fn every_guarantee_names_tests_that_exist() {
    let guarantees = read("docs/guarantees.md");
    let files = guarantees.split('`').filter(|word| word.ends_with(".rs") && !word.contains(' '));
    let path = |file: &&str| root().join(if file.contains('/') { "" } else { "tests" }).join(file);
    let missing: Vec<&str> = files.filter(|file| !path(file).is_file()).collect();
    assert!(missing.is_empty(), "docs/guarantees.md names tests that are not there: {missing:?}");
}

on_every_server! {
    fn the_examples_of_the_readme_and_the_guides_run(kind: Kind) {
        check_examples(kind, &guides());
    }

    /// A newcomer types both into one server, one after the other.
    fn the_tour_works_after_the_readme(kind: Kind) {
        let text = format!("{}\n{}", read("README.md"), read("docs/guides/tour.md"));
        let text = text.replace("\n# ", "\n### ").replace("\n## ", "\n### ");
        let (differences, _) = run(kind, "README.md and docs/guides/tour.md", &text);
        assert!(differences.is_empty(), "{differences}");
    }

    fn the_examples_of_the_reference_run(kind: Kind) {
        check_examples(kind, &reference_pages());
    }

    /// A reply that differs between the protocols is described; all others are the same, as docs/commands.md says.
    fn the_reference_says_where_the_protocols_differ(kind: Kind) {
        let servers = [Server::builder(kind).start(), Server::builder(kind).start()];
        let reference = reference();
        let (mut last_section, mut differ) = (String::new(), BTreeSet::new());
        for example in examples(&reference.lines().collect::<Vec<_>>()) {
            let (mut second, mut third) = (servers[0].connect(), servers[1].connect_resp3());
            if last_section != example.section {
                expect(&mut second, "FLUSHALL", "+OK");
                expect(&mut third, "FLUSHALL", "+OK");
                last_section.clone_from(&example.section);
            }
            let name = example.command.split(' ').next().unwrap_or_default();
            // Their tokens are those that the document shows: whether a server knows them is chance.
            if ["DUE.ACK", "DUE.MOVE"].contains(&name) {
                continue;
            }
            let typed = double_quoted(&example.command);
            let replies = [cmd(&mut second, &typed), cmd(&mut third, &typed)];
            if is_command(name) && shape(&replies[0]) != shape(&replies[1]) {
                differ.insert(name.to_owned());
            }
        }
        assert!(differ.contains("RANK.GET") && differ.contains("RANK.INFO"), "{differ:?}");
        for name in &differ {
            let section = section(&reference, name);
            let reply = section.split("**Reply**").nth(1).and_then(|rest| rest.split("\n```").next());
            let reply = reply.unwrap_or_else(|| panic!("{name} does not say what it replies"));
            let says = ["RESP2", "as for [", "#rows-and-read-options)"].iter().any(|words| reply.contains(words));
            assert!(says, "{name} should say how its reply differs in RESP2 and RESP3");
        }
    }

    fn the_reference_knows_every_command(server: Server) {
        let commands = documented(&server);
        let reference = reference();
        let index = read("docs/commands.md");
        let headings = reference.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| is_command(name));
        assert_eq!(headings.map(str::to_owned).collect::<BTreeSet<_>>(), names(&commands));
        for command in &commands {
            let section = section(&reference, &command.name);
            let (tokens, values) = syntax(section);
            assert_eq!(tokens, command.tokens, "{}", command.name);
            // Redis 7.0 keeps the names of arguments, but not what to show in their place, and no ACL categories.
            if server.kind() == Kind::Valkey {
                assert_eq!(values, command.values, "{}", command.name);
                let info = cmd(&mut server.connect(), &format!("COMMAND INFO {}", command.name)).expect("COMMAND INFO");
                let categories: BTreeSet<String> = items(items(Some(&info)).first())[6..7]
                    .iter()
                    .flat_map(|categories| items(Some(categories)))
                    .map(|category| show(category).trim_matches(['+', '"']).to_owned())
                    .collect();
                let line = section.lines().find(|line| line.starts_with("ACL: ")).unwrap_or_default();
                let listed: BTreeSet<String> = line.split('`').filter(|word| word.starts_with('@')).map(str::to_owned).collect();
                assert_eq!(listed, categories, "ACL categories of {}", command.name);
            }
            let complexity = format!("\nComplexity: {}\n", command.complexity);
            assert!(section.contains(&complexity), "{} should say: {complexity}", command.name);
            // The reference says it once; what a later release adds says so in its section.
            assert!(index.contains(&format!("since {}, the first release", command.since)), "{}", command.name);
        }
        let index = index.split("\n## Commands\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a list");
        let rows = index.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once("`]("));
        let listed: BTreeSet<(&str, &str)> =
            rows.clone().filter_map(|(name, rest)| Some((name, rest.split(" | ").nth(1)?.trim_end_matches(" |")))).collect();
        assert_eq!(rows.count(), listed.len(), "a command is listed twice");
        let summaries = commands.iter().map(|command| (command.name.as_str(), command.summary.as_str()));
        assert_eq!(listed, summaries.collect());
    }

    /// Every option of a command is in an example that works, or works behind one; no command takes an option of another.
    fn the_parser_takes_what_is_documented_and_no_more(server: Server) {
        let commands = documented(&server);
        let all: BTreeSet<&String> = commands.iter().flat_map(|command| &command.tokens).collect();
        let reference = reference();
        let mut shown: BTreeSet<(String, String)> = BTreeSet::new();
        let mut last_section = String::new();
        for example in examples(&reference.lines().collect::<Vec<_>>()) {
            let mut con = example.connect(&server);
            if last_section != example.section {
                expect(&mut con, "FLUSHALL", "+OK");
                last_section.clone_from(&example.section);
            }
            let name = example.command.split(' ').next().unwrap_or_default();
            let typed = double_quoted(&example.command);
            let works = cmd(&mut con, &typed).is_ok();
            let Some(command) = commands.iter().find(|command| works && command.name == name) else { continue };
            let words = example.command.split(' ').skip(1);
            shown.extend(words.map(|word| (command.name.clone(), word.to_owned())));
            let is_read = reply(&mut con, &format!("COMMAND INFO {name}")).contains("+readonly");
            for token in &all {
                let is_documented = command.tokens.contains(*token);
                if command.open_end || (is_documented && !is_read) {
                    continue;
                }
                for values in ["", " 1", " 1 1", " year"] {
                    let line = format!("{typed} {token}{values}");
                    // A board without periods or attributes knows the words about them.
                    if reply(&mut con, &line).starts_with("SCHEMA ") || cmd(&mut con, &line).is_ok() {
                        assert!(is_documented, "undocumented, and taken: {line}");
                        shown.insert((command.name.clone(), (*token).clone()));
                    }
                }
            }
        }
        for command in &commands {
                        // A command that replies as another does takes its options too.
            let section = section(&reference, &command.name);
            let like = section.split("**Reply**: as for [").nth(1).and_then(|rest| rest.split(']').next());
            let is_shown = |name: &str, token: &str| shown.contains(&(name.to_owned(), token.to_owned()));
            let missing: Vec<_> = command
                .tokens
                .iter()
                .filter(|token| !is_shown(&command.name, token) && !like.is_some_and(|like| is_shown(like, token)))
                .collect();
            assert!(missing.is_empty(), "no example that works shows {missing:?} of {}", command.name);
        }
    }

    /// Every error in the reference is one that the server gives.
    fn the_errors_of_the_reference_are_real(server: Server) {
        let mut con = server.connect();
        let fields: String = (1..=32).map(|i| format!(" FIELD f{i}")).collect();
        let calls = errors::CALLS.iter().flat_map(|calls| calls.lines()).map(str::to_owned);
        let calls = calls.chain([format!("RANK.CREATE new{fields} FIELD x")]).filter(|line| !line.is_empty());
        let mut given: BTreeSet<String> = calls.map(|line| reply(&mut con, &line)).collect();
        given.insert(errors::of_a_wait(&server));
        let reference = reference();
        // CROSSSLOT and TRYAGAIN are for the tests with a cluster.
        let codes = ["ERR ", "WRONGTYPE ", "NOPERM ", "NOBOARD ", "SCHEMA ", "OUTOFRANGE ", "DAMAGED ", "TOOBIG "];
        let is_error = |word: &&str| codes.iter().any(|code| word.starts_with(code));
        for error in reference.split('`').filter(is_error) {
            let is_given = match error.strip_suffix('…') {
                Some(start) => given.iter().any(|reply| reply.starts_with(start)),
                None => given.contains(error),
            };
            assert!(is_given, "no call gives: {error}\n{given:#?}");
        }
    }

    fn the_configuration_example_starts_a_server(kind: Kind) {
        let conf = read("redis.conf.example");
        let lines = conf.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        // Nobody could log in; see below.
        let own = lines.filter(|line| !line.starts_with("loadmodule ") && !line.starts_with("user default "));
        let server = own.fold(Server::builder(kind), Builder::config).start();
        assert!(conf.lines().any(|line| line.starts_with("loadmodule ") && line.ends_with("/libredis_rank.so")));
        let mut con = server.connect();

        let Ok(Value::Map(known)) = cmd(&mut server.connect_resp3(), "CONFIG GET rank.*") else { panic!("no options") };
        let known: BTreeSet<(String, String)> = known.iter().map(|(name, value)| (show(name), show(value))).collect();
        let options = options(&conf);
        let in_file = options.iter().map(|(name, value, _)| (format!("\"{name}\""), format!("\"{value}\"")));
        assert_eq!(in_file.collect::<BTreeSet<_>>(), known);

        let plain = Server::builder(kind).start();
        for (name, _, comment) in &options {
            let default = format!("[\"{name}\", \"{}\"]", after(comment, "default: "));
            expect(&mut plain.connect(), &format!("CONFIG GET {name}"), &default);
            if after(comment, "type: ") == "boolean" {
                // Only at load time, as its comment says.
                assert!(comment.contains("CONFIG SET does not change it"), "{name}");
                let set = reply(&mut con, &format!("CONFIG SET {name} yes"));
                assert!(set.contains("immutable"), "{name}: {set}");
                continue;
            }
            assert_eq!(after(comment, "type: "), "integer");
            let least: i128 = after(comment, "range: ").parse().expect("the least");
            let most: i128 = after(comment, &format!("range: {least} to ")).parse().expect("the most");
            for (value, taken) in [(least, true), (most, true), (least - 1, false), (most + 1, false)] {
                let set = reply(&mut con, &format!("CONFIG SET {name} {value}"));
                assert_eq!(set == "+OK", taken, "{name} {value}: {set}");
            }
        }

        // Until somebody gives them passwords, no user can log in.
        let users: Vec<(&str, &str)> =
            conf.lines().filter_map(|line| line.strip_prefix("user ")?.split_once(' ')).collect();
        for (user, rules) in &users {
            assert!(!rules.contains("nopass"), "{user} needs no password");
            if *user == "default" {
                continue;
            }
            for password in ["", "change-me", user] {
                let got = show_result(&cmdv(&mut server.connect(), &["AUTH", user, password]));
                assert!(got.starts_with("WRONGPASS"), "{user} logs in with '{password}': {got}");
            }
            expect(&mut con, &format!("ACL SETUSER {user} >secret"), "+OK");
        }
        let operator = users.iter().find(|(user, _)| *user == "operator").expect("an operator").1;
        let granted = operator.split(' ').filter_map(|rule| rule.strip_prefix('+')).map(str::to_uppercase);
        assert_eq!(granted.filter(|name| is_command(name)).collect::<BTreeSet<_>>(), names(&documented(&server)));

        for (user, line, allowed) in [
            ("worker", "DUE.CLAIM due:x", true),
            ("worker", "DUE.POP due:x BLOCK 1ms", true),
            ("worker", "DUE.ACK due:x 1 a", true),
            ("worker", "DUE.MOVE due:x IN 1s 1 a", true),
            ("worker", "DUE.ADD due:x IN 1s a", false),
            ("worker", "DUE.CLAIM board:x", false),
            ("worker", "RANK.COUNT board:x", false),
            ("worker", "DEL due:x", false),
            ("writer", "DUE.ADD due:x IN 1h a", true),
            ("writer", "DUE.ADD due:x DATA due:x:data text IN 1h b", true),
            ("writer", "DUE.ADD due:x DATA other:data text IN 1h b", false),
            ("writer", "DUE.CLAIM due:x ATTEMPTS 5 DEAD due:x:dead DATA due:x:data", true),
            ("writer", "DUE.POP due:x", true),
            ("writer", "DUE.ACK due:x 1 a", true),
            ("writer", "DUE.MOVE due:x IN 1s 1 a", true),
            ("writer", "DUE.CLAIM board:x", true),
            ("writer", "DUE.CLAIM other:x", false),
            ("writer", "ZREM due:x a", true),
            ("writer", "HDEL due:x:data b", true),
            ("writer", "ZREM board:x a", false),
            ("writer", "ZADD due:x 1 a", false),
            ("writer", "CLUSTER SLOTS", true),
            ("writer", "CLIENT SETNAME app", true),
            ("writer", "CLIENT PAUSE 1", false),
            ("worker", "CLIENT KILL TYPE pubsub", false),
            ("reader", "CLIENT LIST", false),
            ("reader", "RANK.SCAN board:x 0", false),
            ("writer", "CLUSTER RESET", false),
            ("writer", "RATE.ACQUIRE limit:pool 5 1s", true),
            ("replica", "REPLCONF listening-port 1", true),
            ("replica", "RANK.COUNT board:x", false),
            ("replica", "SET board:x 1", false),
            ("reader", "RANK.TOPN board:x 3", true),
            ("reader", "RATE.PEEK limit:x 5/1s", true),
            ("reader", "RANK.ADD board:x 1 a", false),
            ("reader", "RATE.CHECK limit:x 5/1s", false),
            ("reader", "RANK.TOPN other:x 3", false),
            ("reader", "CONFIG GET rank.*", false),
            ("writer", "RANK.ADD board:x BOARD 2 1 2 a", true),
            ("writer", "RANK.CREATE board:x FIELD a INT FIELD b INT DATA other:data", false),
            ("writer", "RANK.CREATE other:x FIELD a INT FIELD b INT", false),
            ("reader", "RANK.CREATE board:x FIELD a INT FIELD b INT DATA board:data", false),
            ("writer", "RANK.CREATE board:x FIELD a INT FIELD b INT DATA board:data", true),
            ("operator", "RANK.CREATE board:x FIELD a INT FIELD b INT DATA other:data", false),
            ("operator", "RANK.CREATE board:x FIELD a INT FIELD b INT DATA board:data", true),
            ("writer", "RANK.ADD board:x BOARD 2 * 2 a", true),
            ("writer", "RANK.ALTER board:x KEEP 5", false),
            ("reader", "RANK.TOPN board:x 3 WITHDATA", true),
            ("writer", "RANK.ADD board:x 1 2 a", true),
            ("reader", "RANK.SETDATA board:x a name Ann", false),
            ("writer", "RANK.SETDATA board:x a name Ann", true),
            ("writer", "RANK.PUTDATA board:x a {}", true),
            ("writer", "RATE.CHECK limit:x 5/1s", true),
            ("writer", "RANK.CLEAR board:x", false),
            ("writer", "DEL board:x", false),
            ("writer", "RANK.ADD other:x 1 2 a", false),
            ("reader", "RANK.GET board:x a WITHDATA", true),
            ("operator", "RATE.RESET limit:x", true),
            ("operator", "RANK.ALTER board:x DATA other:data", false),
            ("operator", "RANK.ALTER board:x NODATA", true),
            ("operator", "RANK.VERIFY board:x REPAIR", true),
            ("operator", "RANK.CLEAR board:x", true),
            ("operator", "CONFIG GET rank.*", true),
            ("operator", "FLUSHALL", false),
        ] {
            expect(&mut con, &format!("AUTH {user} secret"), "+OK");
            let got = reply(&mut con, line);
            assert_eq!(!got.starts_with("NOPERM"), allowed, "{user}: {line}: {got}");
            let is_about_server = got.starts_with("NOBOARD") || got.contains("cluster support disabled");
            assert!(!allowed || !is_error(&got) || is_about_server, "{user}: {line}: {got}");
        }

        expect(&mut con, "AUTH writer secret", "+OK");
        expect(&mut con, "MULTI", "+OK");
        expect(&mut con, "DUE.ADD due:x IN 1h c", "+QUEUED");
        expect(&mut con, "EXEC", "[1]");

        // With the line that the test left out, a client has to log in.
        let default = users.iter().find(|(user, _)| *user == "default").expect("a default user").1;
        expect(&mut con, "AUTH admin secret", "+OK");
        expect(&mut con, &format!("ACL SETUSER default {default}"), "+OK");
        let got = reply(&mut server.connect(), "PING");
        assert!(got.starts_with("NOAUTH"), "{got}");
        let got = reply(&mut server.connect(), "AUTH default secret");
        assert!(got.starts_with("WRONGPASS"), "{got}");
    }
}
