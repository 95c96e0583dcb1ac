//! `COMMAND DOCS`, `COMMAND INFO` and the parser agree on every command.

use redis::{Connection, Value};

use crate::script::script;
use crate::support::*;

/// Name, arity, flags, and what is done to the keys.
const COMMANDS: &[(&str, i64, &str, &[&str])] = &[
    // Then LIKE's and DATA's.
    ("rank.create", -2, "write denyoom", &["RW access update", "RO access", "RO access"]),
    ("rank.alter", -2, "write denyoom", &["RW access update", "RO access"]),
    ("rank.info", 2, "readonly fast", &["RO access"]),
    ("rank.clear", 2, "write", &["RW delete"]),
    ("rank.rotate", -3, "write", &["RW access update", "OW insert", "OW insert"]),
    ("rank.periods", -2, "readonly", &["RO access"]),
    ("rank.verify", -2, "write denyoom", &["RW access update"]),
    ("rank.add", -4, "write denyoom fast", &["RW access update"]),
    ("rank.multiset", -4, "write denyoom fast", &["RW access update"]),
    ("rank.incr", -4, "write denyoom fast", &["RW access update"]),
    ("rank.rem", -3, "write fast", &["RW delete"]),
    // RETURN tells who left, as ZPOPMIN does.
    ("rank.trim", -3, "write", &["RW access delete"]),
    ("rank.pop", -2, "write", &["RW access delete"]),
    ("rank.load", -3, "write denyoom", &["RW access update"]),
    ("rank.get", -3, "readonly fast", &["RO access", "RO access incomplete"]),
    ("rank.score", -3, "readonly fast", &["RO access"]),
    ("rank.query", -3, "readonly", &["RO access"]),
    ("rank.stats", -2, "readonly", &["RO access"]),
    ("rank.topn", -3, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.range", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.page", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.around", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.byscore", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.among", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.after", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.before", -4, "readonly", &["RO access", "RO access incomplete"]),
    ("rank.scan", -3, "readonly", &["RO access"]),
    ("rank.count", -2, "readonly fast", &["RO access"]),
    ("rank.forscore", -3, "readonly fast", &["RO access"]),
    ("rank.percentile", -3, "readonly fast", &["RO access"]),
    ("rank.scoreat", -3, "readonly fast", &["RO access"]),
    // As slow as a member has attributes; they write to the hash alone.
    ("rank.setdata", -5, "write denyoom", &["RO access"]),
    ("rank.putdata", 4, "write denyoom", &["RO access"]),
    ("rank.getdata", -3, "readonly", &["RO access"]),
    ("rank.deldata", -3, "write", &["RO access"]),
    // Then the keys that the handler tells: that of dead items, the hash of payloads, the limiter.
    ("due.add", -4, "write denyoom fast", &["RW access update", "RW update incomplete"]),
    (
        "due.claim",
        -2,
        "write denyoom blocking fast",
        &["RW access update", "RW update incomplete", "RO access incomplete", "RW access update incomplete"],
    ),
    (
        "due.pop",
        -2,
        "write blocking fast",
        &["RW access delete", "RW access delete incomplete", "RW access update incomplete"],
    ),
    ("due.ack", -4, "write fast", &["RW update", "RW delete incomplete"]),
    ("due.move", 6, "write denyoom fast", &["RW access update"]),
    ("due.info", -2, "readonly", &["RO access"]),
    // Names alone: no key is looked at.
    ("rank.shards", 3, "readonly", &[]),
    ("rank.shard", 4, "readonly fast", &[]),
];

/// What is answered by any node, from the arguments alone.
const PURE: &[&str] = &["rank.shards", "rank.shard"];

/// The same for limiters and leases.
const LIMITS: &[(&str, i64, &str, &[&str])] = &[
    ("rate.check", -3, "write denyoom fast", &["RW access update"]),
    ("rate.peek", -3, "readonly fast", &["RO access"]),
    ("rate.all", -4, "write denyoom fast", &["RW access update"]),
    ("rate.refund", -3, "write denyoom", &["RW access update"]),
    ("rate.reset", 2, "write fast", &["RW delete"]),
    ("rate.acquire", -4, "write denyoom fast", &["RW access update"]),
    ("rate.renew", -4, "write denyoom fast", &["RW access update"]),
    ("rate.release", -3, "write fast", &["RW delete"]),
    ("rate.held", -2, "readonly fast", &["RO access"]),
];

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        other => panic!("not a list: {}", show(other)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        other => panic!("not a text: {}", show(other)),
    }
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let Value::Map(pairs) = map else { panic!("not a map: {}", show(map)) };
    pairs.iter().find(|(name, _)| text(name) == key).map(|(_, value)| value)
}

fn texts(value: &Value) -> Vec<String> {
    items(value).iter().map(text).collect()
}

fn has_flag(arg: &Value, flag: &str) -> bool {
    get(arg, "flags").is_some_and(|flags| texts(flags).iter().any(|text| text == flag))
}

/// All commands of the module with their documentation.
fn documented(con: &mut Connection) -> Vec<(String, Value)> {
    let names = cmd(con, "COMMAND LIST FILTERBY MODULE rank").expect("COMMAND LIST");
    let mut all = Vec::new();
    for name in texts(&names) {
        let docs = cmd(con, &format!("COMMAND DOCS {name}")).expect("COMMAND DOCS");
        let docs = get(&docs, &name).unwrap_or_else(|| panic!("{name} has no documentation")).clone();
        all.push((name, docs));
    }
    all
}

/// The names of arguments, and of the arguments in them.
fn names_of(args: &[Value], names: &mut Vec<String>) {
    for arg in args {
        names.push(get(arg, "name").map(text).unwrap_or_default());
        get(arg, "arguments").into_iter().for_each(|inner| names_of(items(inner), names));
    }
}

/// The ways to write a sequence of arguments: the shortest, and for each optional part and each
/// alternative one that has it.
fn ways(args: &[Value]) -> Vec<Vec<String>> {
    let shortest = |arg: &Value| if has_flag(arg, "optional") { Vec::new() } else { ways_of(arg).swap_remove(0) };
    let mut all = vec![args.iter().flat_map(shortest).collect::<Vec<String>>()];
    for (at, arg) in args.iter().enumerate() {
        let before = args[..at].iter().flat_map(shortest);
        let after: Vec<String> = args[at + 1..].iter().flat_map(shortest).collect();
        for way in ways_of(arg) {
            all.push(before.clone().chain(way).chain(after.clone()).collect());
        }
    }
    all
}

/// The ways to write one argument; twice, where it may be repeated and is no group of its own.
fn ways_of(arg: &Value) -> Vec<Vec<String>> {
    let name = get(arg, "name").map(text).unwrap_or_default();
    let token = get(arg, "token").map(text);
    let value = |text: &str| vec![vec![text.to_string()]];
    let inside = || items(get(arg, "arguments").expect("the parts of an argument"));
    let values = match (get(arg, "type").map(text).unwrap_or_default().as_str(), name.as_str()) {
        ("pure-token", _) => return value(&token.expect("a token")),
        ("key", name) => value(name),
        ("integer", "hi") => value("9"),
        ("integer", "shards") => value("2"),
        ("integer", "index") => value("-1"),
        ("integer", _) => value("1"),
        ("double", _) => value("5"),
        ("unix-time", _) => value("1700000000000"),
        ("string", "min" | "max" | "percentile" | "score" | "delta") => value("5"),
        ("string", "line") => value(r#"{"member":"a","score":1}"#),
        ("string", "json") => value("{}"),
        ("string", "unit" | "period" | "noperiod") => value("year"),
        ("string", "id") => value("2023"),
        ("string", "duration") => value("1d"),
        ("string", "compact") => value("5/1m"),
        ("string", "algorithm") => value("GCRA"),
        ("string", "utcoffset") => value("+01:00"),
        ("string", "cursor") => value("0"),
        ("string", "lease" | "timeout") => value("1ms"),
        ("string", _) => value("a"),
        ("oneof", _) => inside().iter().flat_map(ways_of).collect(),
        ("block", _) => ways(inside()),
        (kind, name) => panic!("{name} has the type {kind}"),
    };
    values.into_iter().map(|value| token.clone().into_iter().chain(value).collect()).collect()
}

on_every_server! {
    fn every_command_is_documented(server: Server) {
        let mut con = server.connect_resp3();
        let all = documented(&mut con);
        for (name, docs) in &all {
            let field = |field: &str| get(docs, field).map(text).unwrap_or_else(|| panic!("{name} has no {field}"));
            let summary = field("summary");
            assert!(summary.ends_with('.') && summary.starts_with(char::is_uppercase), "{name}: {summary}");
            assert!(field("complexity").contains("O("), "{name}: {}", field("complexity"));
            assert_eq!((field("group"), field("module")), ("module".into(), "rank".into()), "{name}");
            assert!(field("since").split('.').all(|part| part.parse::<u32>().is_ok()), "{name}: {}", field("since"));
            let args = items(get(docs, "arguments").unwrap_or_else(|| panic!("{name} has no arguments")));
            if PURE.contains(&name.as_str()) {
                continue;
            }
            // RATE.ALL says how many keys there are first.
            let key = &args[usize::from(name == "rate.all")];
            assert_eq!(get(key, "type").map(text).as_deref(), Some("key"), "the first argument of {name}");
            assert_eq!(get(key, "key_spec_index").map(show).as_deref(), Some("0"), "{name}");
        }
        for (name, ..) in COMMANDS.iter().chain(LIMITS) {
            assert!(all.iter().any(|(documented, _)| documented == name), "there is no {name}");
        }
    }

    /// Clients that build methods from `COMMAND DOCS` take the names of arguments from it.
    fn names_of_arguments_are_unique_in_a_command(server: Server) {
        for (command, docs) in documented(&mut server.connect_resp3()) {
            let mut names = Vec::new();
            names_of(items(get(&docs, "arguments").expect("arguments")), &mut names);
            for name in &names {
                assert!(!name.is_empty(), "{command}: an argument without a name among {names:?}");
                assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{command}: {name} in {names:?}");
            }
        }
    }

    fn flags_arity_and_keys_are_true(server: Server) {
        let mut con = server.connect();
        for &(name, arity, flags, keys) in COMMANDS.iter().chain(LIMITS) {
            let info = cmd(&mut con, &format!("COMMAND INFO {name}")).expect("COMMAND INFO");
            let info = items(&items(&info)[0]);
            assert_eq!(show(&info[1]), arity.to_string(), "arity of {name}");
            let mut shown = texts(&info[2]);
            shown.retain(|flag| flag != "module" && flag != "movablekeys");
            assert_eq!(shown.join(" "), flags, "flags of {name}");
            let specs: Vec<String> = items(&info[8]).iter().map(|spec| texts(&items(spec)[1]).join(" ")).collect();
            assert_eq!(specs, keys, "keys of {name}");
            if server.kind() == Kind::Valkey {
                let access = if flags.starts_with("write") { "@write" } else { "@read" };
                let speed = if flags.contains("fast") { "@fast" } else { "@slow" };
                let mut categories = texts(&info[6]);
                categories.sort();
                let mut expected = vec![access, speed, "@sortedset"];
                expected.extend(flags.contains("blocking").then_some("@blocking"));
                expected.extend(name.starts_with("rate.").then_some("@string"));
                expected.sort_unstable();
                assert_eq!(categories, expected, "categories of {name}");
            }
        }
    }

    fn keys_are_found(server: Server) {
        script(&mut server.connect(), r#"
            COMMAND GETKEYS RANK.CREATE a => ["a"]
            COMMAND GETKEYS RANK.CREATE a LIKE b => ["a", "b"]
            COMMAND GETKEYS RANK.CREATE a like b => ["a", "b"]
            COMMAND GETKEYS RANK.ROTATE a b => ["a", "b"]
            COMMAND GETKEYS RANK.ADD a 1 b 2 c => ["a"]
            COMMAND GETKEYS RANK.AMONG a 2 b c => ["a"]
            COMMAND GETKEYS RANK.TOPN a 2 => ["a"]
            COMMAND GETKEYS RANK.TOPN a 2 PERIOD day -1 => ["a"]
            COMMAND GETKEYS RANK.TOPN a 2 PERIOD day -1 VERSUS b => ["a", "b"]
            COMMAND GETKEYS RANK.PERIODS a day => ["a"]
            COMMAND GETKEYS RANK.CREATE a PERIOD DAY b PAST 7 OFFSET +01:00 => ["a"]
            COMMAND GETKEYS RANK.INFO a => ["a"]
            COMMAND GETKEYS RANK.CREATE a FIELD x INT DATA b OWNED => ["a", "b"]
            COMMAND GETKEYS RANK.ALTER a data b => ["a", "b"]
            COMMAND GETKEYS RANK.ALTER a KEEP 5 => ["a"]
            COMMAND GETKEYS RANK.ROTATE a b DATA c => ["a", "b", "c"]
            COMMAND GETKEYS RANK.SETDATA a b c d => ["a"]
            COMMAND GETKEYS RANK.PUTDATA a b {} => ["a"]
            COMMAND GETKEYS RANK.GETDATA a b => ["a"]
            COMMAND GETKEYS RATE.CHECK a 1/1m 2/1h => ["a"]
            COMMAND GETKEYS RATE.ALL 3 a b a 1/1m 2/1h 3/1d => ["a", "b", "a"]
            COMMAND GETKEYS RATE.RELEASE a 5 6 => ["a"]
        "#);
    }

    fn what_is_documented_is_accepted(server: Server) {
        let mut con = server.connect_resp3();
        let mut tried = 0;
        for (name, docs) in documented(&mut con) {
            if !COMMANDS.iter().any(|(known, ..)| *known == name) {
                continue;
            }
            for way in ways(items(get(&docs, "arguments").expect("arguments"))) {
                script(&mut con, "FLUSHALL => +OK\n RANK.CREATE other => +OK\n RANK.ADD other 1 a => 1");
                // nummembers counts the members after it.
                let line = format!("{name} {}", way.join(" ")).replace("among key 1 a a", "among key 2 a a");
                // A shard has a key of its own.
                let line = if way.iter().any(|word| word == "SHARD") { line.replacen(" key", " key:2:{0}", 1) } else { line };
                let of_plain_boards = way.iter().any(|word| word == "ASC" || word == "DESC");
                // The archive's hash is for a board that owns one, and only there is it needed.
                let owned = if way.iter().any(|word| word == "DATA") { "OWNED" } else { "" };
                let has = |token: &str| way.iter().any(|word| word == token);
                // An offset is only for a board with periods.
                if has("OFFSET") && !has("PERIOD") {
                    assert_eq!(reply(&mut con, &line), if name == "rank.create" { "ERR OFFSET is only valid with PERIOD" } else { "NOBOARD the key has no board with a schema: create it with RANK.CREATE" });
                    continue;
                }
                // SINCE is only for a board with tie times, and the ways have one option each.
                if has("SINCE") && !has("FIRST") {
                    assert_eq!(reply(&mut con, &line), "ERR SINCE is only valid with TIES FIRST, LAST or JOINED");
                    let line = line.replacen(" SINCE", " TIES FIRST SINCE", 1);
                    assert_eq!(reply(&mut con, &line), "+OK", "{line}");
                    continue;
                }
                match name.as_str() {
                    "rank.create" => (),
                    // A board with a schema is no schedule.
                    _ if name.starts_with("due.") => expect(&mut con, "ZADD key 1 a", "1"),
                    "rank.alter" => script(&mut con, "RANK.CREATE key DATA attributes => +OK\n RANK.ADD key 1 a => 1"),
                    _ if has("PERIOD") || name == "rank.periods" => script(&mut con, "RANK.CREATE key PERIOD HOUR h: PERIOD DAY d: PERIOD WEEK w: PERIOD MONTH m: PERIOD YEAR y: PERIOD EVERY 1d FROM 0 e: => +OK\n RANK.ADD key 1 a => 1"),
                    _ if of_plain_boards && !way.iter().any(|word| word == "WITHDATA") => expect(&mut con, "RANK.ADD key 1 a", "1"),
                    // A place has a time only where the board keeps times.
                    "rank.after" | "rank.before" | "rank.forscore" if way.iter().any(|word| word == "AT") => {
                        script(&mut con, "RANK.CREATE key TIES FIRST => +OK\n RANK.ADD key 1 a => 1");
                    }
                    _ => script(&mut con, &format!("RANK.CREATE key DATA attributes {owned} => +OK\n RANK.ADD key 1 a => 1")),
                }
                let got = reply(&mut con, &line);
                // ALTER has nothing to do without an option.
                let nothing_to_alter = line == "rank.alter key";
                assert!(!is_error(&got) || nothing_to_alter, "{line}: {got}");
                tried += 1;
            }
        }
        assert!(tried > 150, "only {tried} ways");
    }

    fn permissions_follow_commands_and_keys(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.ADD b 5 a => 1
            RANK.CREATE other => +OK
            ACL SETUSER reader on nopass +@all %R~b => +OK
            ACL SETUSER writer on nopass +@all %W~b => +OK
            ACL SETUSER owner on nopass +@all ~b => +OK
            AUTH reader x => +OK
            RANK.TOPN b 1 => [[1, "a", "5"]]
        "#);
        let refused = |con: &mut Connection, line: &str| {
            let got = reply(con, line);
            assert!(got.starts_with("NOPERM"), "{line}: {got}");
        };
        for line in ["ADD b 1 a", "TOPN other 1", "TRIM b 1", "CLEAR b", "CREATE b", "ROTATE b x"] {
            refused(&mut con, &format!("RANK.{line}"));
        }
        expect(&mut con, "AUTH writer x", "+OK");
        for line in ["RANK.TOPN b 1", "RANK.INFO b", "RANK.TRIM b 1 RETURN", "RANK.ADD b WITHRANK 1 a"] {
            refused(&mut con, line);
        }
        expect(&mut con, "RANK.REM b nobody", "0");
        expect(&mut con, "AUTH owner x", "+OK");
        for line in ["RANK.CREATE b LIKE other", "RANK.ROTATE b other2", "RANK.ADD other 1 a", "RANK.GET other a"] {
            refused(&mut con, line);
        }
        expect(&mut con, "RANK.ADD b 6 a", "0");

        // Categories are where the server has them for modules.
        if server.kind() == Kind::Valkey {
            script(&mut con, r#"
                AUTH default x => +OK
                ACL SETUSER reads on nopass ~* -@all +@read => +OK
                ACL SETUSER sets on nopass ~* -@all +@sortedset => +OK
                AUTH sets x => +OK
                RANK.INCR b 1 a => "7"
                AUTH reads x => +OK
                RANK.TOPN b 1 => [[1, "a", "7"]]
            "#);
            refused(&mut con, "RANK.ADD b 1 a");
        }
    }

    fn a_full_server_still_frees_memory(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.ADD b 1 a 2 b 3 c 4 d => 4\n RANK.CREATE c => +OK\n CONFIG SET maxmemory 1 => +OK");
        let oom = "OOM command not allowed when used memory > 'maxmemory'.";
        for line in ["ADD b 9 x", "INCR b 1 a", "CREATE new", "MULTISET b 1 a", "ALTER c KEEP 5"] {
            expect(&mut con, &format!("RANK.{line}"), oom);
        }
        script(&mut con, r#"
            RANK.COUNT b => 4
            RANK.REM b a => 1
            RANK.TRIM b 2 => 1
            RANK.CLEAR b => 2
            RANK.CLEAR c => 0
        "#);
    }
}
