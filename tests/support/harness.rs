//! The support code itself: a test that waits for the wrong thing, or a rendering that hides a
//! difference, would make every other test worthless.

use std::net::TcpListener;
use std::path::Path;

use redis::Value;

use super::cluster::with_shard_ids_of_primaries;
use super::*;

#[test]
fn every_type_of_reply_looks_different() {
    let map = |key, value| Value::Map(vec![(key, value)]);
    for (value, text) in [
        (Value::Nil, "nil"),
        (Value::Int(-5), "-5"),
        (Value::BulkString(b"nil".to_vec()), r#""nil""#),
        (Value::BulkString(b"".to_vec()), r#""""#),
        (Value::BulkString(b"a \"\\\r\n\t\x00\xff%'".to_vec()), r#""a \"\\\r\n\t\x00\xff%'""#),
        (Value::SimpleString("nil".into()), "+nil"),
        (Value::Okay, "+OK"),
        (Value::Array(vec![]), "[]"),
        (Value::Array(vec![Value::Int(1), Value::Array(vec![Value::Nil])]), "[1, [nil]]"),
        (Value::Set(vec![Value::Int(1)]), "~[1]"),
        (map(Value::Int(1), map(Value::Int(2), Value::Nil)), "{1: {2: nil}}"),
        (Value::Double(0.1), "0.1f"),
        (Value::Double(5.0), "5f"),
        (Value::Double(-0.0), "-0f"),
        (Value::Double(1e300), "1e300f"),
        (Value::Double(f64::NEG_INFINITY), "-inff"),
        (Value::Boolean(true), "true"),
        (Value::VerbatimString { format: redis::VerbatimFormat::Text, text: "a".into() }, r#"=txt:"a""#),
    ] {
        assert_eq!(show(&value), text);
    }
}

#[test]
fn a_replica_has_the_shard_id_of_its_primary() {
    let nodes = "\
        a 127.0.0.1:1@2,,tls-port=0,shard-id=5a slave b 0 0 0 connected\n\
        b 127.0.0.1:3@4,,tls-port=0,shard-id=5b myself,master - 0 0 1 connected 0-9\n\
        c 127.0.0.1:5@6 slave b 0 0 0 connected\n\
        d 127.0.0.1:7@8,,shard-id=5d slave away 0 0 0 connected\n\
        vars currentEpoch 1 lastVoteEpoch 0\n";
    let corrected = with_shard_ids_of_primaries(nodes);
    assert_eq!(corrected, nodes.replacen("5a", "5b", 1));
    assert_eq!(with_shard_ids_of_primaries(&corrected), corrected);
}

#[test]
fn load_arguments_reach_the_configuration_quoted() {
    let (dir, socket) = (Path::new("/a b"), Path::new("/a b/s"));
    let text = Server::builder(Kind::Redis).args(&["x", "y \"z\""]).config_text(dir, socket, Some(7));
    let line = text.lines().find(|line| line.starts_with("loadmodule ")).expect("a loadmodule line");
    assert!(line.ends_with(r#"" "x" "y \"z\"""#), "{line}");
    assert!(text.contains("unixsocket \"/a b/s\"\n") && text.contains("port 7\n"), "{text}");
}

on_every_server! {
    fn a_line_is_split_as_redis_cli_does(kind: Kind) {
        let server = Server::builder(kind).without_module().start();
        let mut con = server.connect();
        expect(&mut con, r#"RPUSH l  a "" "b c" "\"\\\n\x00\xff" {"a":1} "#, "5");
        expect(&mut con, "LRANGE l 0 -1", r#"["a", "", "b c", "\"\\\n\x00\xff", "{\"a\":1}"]"#);
        assert_eq!(show_result(&cmdv(&mut con, &[b"ECHO".as_slice(), b"\x00 \xff"])), r#""\x00 \xff""#);
    }

    fn errors_read_as_the_server_sent_them(kind: Kind) {
        let server = Server::builder(kind).without_module().start();
        for mut con in [server.connect(), server.connect_resp3()] {
            assert!(cmd(&mut con, "NOSUCH").is_err());
            expect(&mut con, "ZADD z 1", "ERR wrong number of arguments for 'zadd' command");
            expect(&mut con, "SET s x", "+OK");
            let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
            expect(&mut con, "ZADD s 1 a", wrong_type);
            for text in ["OOM no  two spaces lost: here", "TRYAGAIN later", "MOVED 1 :0", "CUSTOM x", "CUSTOM"] {
                let args = ["EVAL", "return {err = ARGV[1]}", "0", text];
                assert_eq!(show_result(&cmdv(&mut con, &args)), text);
            }
            expect(&mut con, "MULTI", "+OK");
            expect(&mut con, "INCR s", "+QUEUED");
            expect(&mut con, "SET s y", "+QUEUED");
            expect(&mut con, "EXEC", "[ERR value is not an integer or out of range, +OK]");
        }
    }

    fn resp3_replies_keep_their_types(kind: Kind) {
        let server = Server::builder(kind).without_module().start();
        let (mut resp2, mut resp3) = (server.connect(), server.connect_resp3());
        expect(&mut resp3, "ZADD z 0.5 a", "1");
        expect(&mut resp3, "ZSCORE z a", "0.5f");
        expect(&mut resp2, "ZSCORE z a", r#""0.5""#);
        expect(&mut resp3, "HSET h f v", "1");
        expect(&mut resp3, "HGETALL h", r#"{"f": "v"}"#);
        expect(&mut resp2, "HGETALL h", r#"["f", "v"]"#);
        expect(&mut resp3, "GET none", "nil");
        expect(&mut resp3, "SMEMBERS none", "~[]");
    }

    fn data_survive_a_shutdown_but_not_a_kill(kind: Kind) {
        let mut server = Server::builder(kind).config("maxmemory 50mb").start();
        expect(&mut server.connect(), "SET kept 1", "+OK");
        server.restart();
        expect(&mut server.connect(), "SET lost 1", "+OK");
        server.kill9();
        server.restart();
        expect(&mut server.connect(), "KEYS *", r#"["kept"]"#);
        expect(&mut server.connect(), "CONFIG GET maxmemory", r#"["maxmemory", "52428800"]"#);

        server.restart_with(Builder::without_module);
        assert!(!server.has_module());
        expect(&mut server.connect(), "KEYS *", r#"["kept"]"#);
    }

    fn an_append_only_file_survives_a_kill(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        expect(&mut server.connect(), "SET a 1", "+OK");
        server.kill9();
        assert!(server.dir().join("appendonlydir").is_dir());
        server.restart();
        expect(&mut server.connect(), "GET a", r#""1""#);
    }

    fn a_replica_catches_up(kind: Kind) {
        let mut primary = Server::builder(kind).tcp().start();
        expect(&mut primary.connect(), "SET before 1", "+OK");
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        expect(&mut primary.connect(), "SET after 1", "+OK");
        replica.wait_for_sync(&primary);
        expect(&mut replica.connect(), "EXISTS before after", "2");

        let port = primary.port();
        primary.restart();
        assert_eq!(primary.port(), port);
        expect(&mut primary.connect(), "SET again 1", "+OK");
        replica.wait_for_sync(&primary);
        expect(&mut replica.connect(), "EXISTS before after again", "3");
        let refused = "READONLY You can't write against a read only replica.";
        expect(&mut replica.connect(), "SET x 1", refused);
    }

    fn a_server_that_refuses_to_start_says_why(kind: Kind) {
        let log = Server::builder(kind).config("no-such-option 1").try_start().err();
        assert!(log.as_ref().is_some_and(|log| log.contains("no-such-option")), "{log:?}");

        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = taken.local_addr().expect("an address").port();
        let log = Server::builder(kind).config(&format!("port {port}")).try_start().err();
        assert!(log.as_ref().is_some_and(|log| log.contains("Address already in use")), "{log:?}");
    }

    fn a_crash_fails_the_test(kind: Kind) {
        let server = Server::builder(kind).without_module().start();
        let crash = reply(&mut server.connect(), "DEBUG SEGFAULT");
        assert!(crash.starts_with("CLIENT"), "{crash}");
        let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
        let message = verdict.expect_err("the guard panics").downcast::<String>().expect("a formatted message");
        assert!(message.contains("the server ended by itself"), "{message}");
    }
}
