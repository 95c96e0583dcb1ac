//! Transactions, scripts, functions, WATCH, blocked clients and a full memory: as the core's commands
//! behave. (Effects and events of single commands: effects.)

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot};

on_every_server! {
    fn a_transaction_is_one_step(kind: Kind) {
        let server = Server::builder(kind).appendonly().start();
        let mut con = server.connect();
        script(&mut con, r#"
            MULTI => +OK
            RANK.MULTISET b 1 2 x => +QUEUED
            RANK.ALTER b DATA h OWNED => +QUEUED
            RANK.SETDATA b x k v => +QUEUED
            RANK.ADD b nonsense 2 y => +QUEUED
            RANK.INCR b 1 1 x => +QUEUED
            RANK.GET b x WITHDATA => +QUEUED
            EXEC => [1, +OK, 1, OUTOFRANGE field 's1' takes a signed 64-bit integer, got nonsense, [2, 3], [1, "x", 2, 3, ["k", "v"]]]
            MULTI => +OK
            RANK.ADD => ERR wrong number of arguments for 'rank.add' command
            RANK.ADD b 5 5 z => +QUEUED
            EXEC => EXECABORT Transaction discarded because of previous errors.
            RANK.COUNT b => 1
            MULTI => +OK
            RANK.ADD b 5 5 z => +QUEUED
            DISCARD => +OK
            RANK.COUNT b => 1
        "#);
        check_boards(&mut con, false);
    }

    fn scripts_and_functions_call_everything(server: Server) {
        let mut con = server.connect();
        let eval = |con: &mut redis::Connection, body: &str| show_result(&cmdv(con, &["EVAL", body, "1", "b"]));
        assert_eq!(eval(&mut con, "redis.call('RANK.MULTISET', KEYS[1], 1, 2, 'x'); return redis.call('RANK.GET', KEYS[1], 'x')"), r#"[1, "x", 1, 2]"#);
        assert_eq!(eval(&mut con, "redis.call('RANK.ALTER', KEYS[1], 'DATA', 'h', 'OWNED'); redis.call('RANK.PUTDATA', KEYS[1], 'x', '{\"k\":1}'); return redis.call('RANK.GETDATA', KEYS[1], 'x')"), r#"["k", "1"]"#);
        assert_eq!(eval(&mut con, "redis.call('RANK.REM', KEYS[1], 'x'); redis.call('RANK.ADD', KEYS[1], 3, 4, 'x'); return redis.call('RANK.GETDATA', KEYS[1], 'x')"), "[]");
        assert_eq!(eval(&mut con, "redis.setresp(3); return redis.call('RANK.SCORE', KEYS[1], 'x')"), "[3, 4]");
        assert_eq!(eval(&mut con, "return redis.pcall('RANK.ADD', KEYS[1], 'nonsense', 1, 'x')['err'] ~= nil and 1 or 0"), "1");
        let library = "#!lua name=lib\n redis.register_function('put', function(keys, args) return redis.call('RANK.ADD', keys[1], args[1], args[2], args[3]) end)\n\
            redis.register_function{function_name='top', callback=function(keys) return redis.call('RANK.TOPN', keys[1], 1) end, flags={'no-writes'}}\n\
            redis.register_function{function_name='cheat', callback=function(keys) return redis.call('RANK.CLEAR', keys[1]) end, flags={'no-writes'}}";
        assert_eq!(show_result(&cmdv(&mut con, &["FUNCTION", "LOAD", library])), r#""lib""#);
        script(&mut con, "FCALL put 1 b 9 9 y => 1\n FCALL_RO top 1 b => [[1, \"y\", 9, 9]]\n FCALL top 1 b => [[1, \"y\", 9, 9]]");
        // A function that promised not to write does not.
        let answer = reply(&mut con, "FCALL_RO cheat 1 b");
        assert!(answer.contains("Write commands are not allowed"), "{answer}");
        let read_only = |con: &mut redis::Connection, body: &str| show_result(&cmdv(con, &["EVAL_RO", body, "1", "b"]));
        assert_eq!(read_only(&mut con, "return redis.call('RANK.COUNT', KEYS[1])"), "2");
        for write in ["RANK.REM', KEYS[1], 'x'", "RANK.VERIFY', KEYS[1]", "RANK.DELDATA', KEYS[1], 'x'"] {
            let answer = read_only(&mut con, &format!("return redis.call('{write})"));
            assert!(answer.contains("Write commands are not allowed"), "{write}: {answer}");
        }
        check_boards(&mut con, false);
    }

    fn a_watch_ends_by_a_change_of_the_board_and_nothing_else(server: Server) {
        let (mut con, mut other) = (server.connect(), server.connect());
        script(&mut con, "RANK.MULTISET b 1 2 x => 1\n RANK.ALTER b DATA h => +OK\n RANK.CREATE other LIKE b => +OK");
        for (command, is_change) in [
            // Attributes are in a hash, under its own name.
            ("RANK.SETDATA b x k v", false), ("RANK.DELDATA b x k", false), ("RANK.ADD b DATA {} 1 2 x", false),
            ("RANK.ADD b 1 2 x", false), ("RANK.ADD b 1 3 x", true), ("RANK.REM b nobody", false), ("RANK.VERIFY b REPAIR", false),
            ("RANK.SETDATA other x k v", false), ("RANK.GET b x", false), ("RANK.ALTER b KEEP 5", true), ("RANK.ALTER b KEEP 5", false),
            ("RANK.ROTATE b b2", true),
        ] {
            script(&mut con, "WATCH b => +OK");
            let answer = reply(&mut other, command);
            assert!(!is_error(&answer), "{command}: {answer}");
            script(&mut con, "MULTI => +OK\n PING => +QUEUED");
            let expected = if is_change { "nil" } else { "[+PONG]" };
            let got = reply(&mut con, "EXEC");
            assert_eq!(got, expected, "{command}");
        }
    }

    fn who_waits_is_woken_by_every_write_that_makes_a_sorted_set(server: Server) {
        for write in ["RANK.ADD b 5 x", "RANK.INCR b 5 x", "RANK.MULTISET b 5 x", "EVAL \"return redis.call('RANK.ADD', KEYS[1], 5, 'x')\" 1 b"] {
            let mut waiting = server.connect();
            let waiter = std::thread::spawn(move || reply(&mut waiting, "BZPOPMAX b 20"));
            wait_until(|| server.info("blocked_clients") == "1");
            let answer = reply(&mut server.connect(), write);
            assert!(!is_error(&answer), "{write}: {answer}");
            assert_eq!(waiter.join().expect("an answer"), r#"["b", "x", "5"]"#, "{write}");
        }
        // A board that comes by ROTATE, as by RENAME.
        let mut waiting = server.connect();
        let waiter = std::thread::spawn(move || reply(&mut waiting, "BZMPOP 20 1 archive MAX"));
        wait_until(|| server.info("blocked_clients") == "1");
        script(&mut server.connect(), "RANK.ADD b 5 x => 1\n RANK.ROTATE b archive => 1");
        assert_eq!(waiter.join().expect("an answer"), r#"["archive", [["x", "5"]]]"#);
    }

    fn a_full_memory_refuses_before_anything_changes(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE spilled FIELD a INT FIELD b INT DATA h OWNED => +OK
            RANK.ADD spilled DATA {"k":"v"} 1 2 x => 1
            RANK.CREATE keep KEEP 2 => +OK
            RANK.ADD keep 1 a 2 b => 2
            RANK.MULTISET torn 1 9000000000000000000 x => 1
            ZREMRANGEBYRANK torn 1 1 => 1
            CONFIG SET maxmemory 1 => +OK
        "#);
        let before = snapshot(&mut con);
        let writes = [
            "RANK.ADD keep 3 c", "RANK.ADD spilled 3 4 y", "RANK.MULTISET new 1 2 x", "RANK.INCR spilled 1 1 x", "RANK.SETDATA spilled x k w", "RANK.PUTDATA spilled x {}",
            "RANK.ADD spilled DATA {} 1 2 x", "RANK.CREATE new",
            "RANK.ALTER keep KEEP 1", "RANK.VERIFY torn REPAIR", "RANK.ADD torn 1 1 y",
        ];
        for write in writes {
            let answer = reply(&mut con, write);
            assert!(answer.starts_with("OOM "), "{write}: {answer}");
            script(&mut con, "MULTI => +OK");
            assert!(reply(&mut con, write).starts_with("OOM "), "{write}");
            assert!(reply(&mut con, "EXEC").starts_with("EXECABORT"), "{write}");
            let words: Vec<String> = write.split(' ').map(|word| format!("'{word}'")).collect();
            let answer = show_result(&cmdv(&mut con, &["EVAL", &format!("#!lua\nreturn redis.call({})", words.join(", ")), "0"]));
            assert!(answer.contains("OOM") || answer.contains("maxmemory"), "{write}: {answer}");
        }
        assert_same(&before, &snapshot(&mut con), "the server");
        // What frees memory works, and leaves whole boards.
        script(&mut con, r#"
            RANK.DELDATA spilled x => 1
            RANK.REM spilled x => 1
            RANK.TRIM keep 1 => 1
            RANK.CLEAR keep => 1
            CONFIG SET maxmemory 0 => +OK
        "#);
        expect(&mut con, "EXISTS h", "0");
        let mended = reply(&mut con, "RANK.VERIFY torn REPAIR");
        assert!(mended.contains(r#""missing", 1"#), "{mended}");
        check_boards(&mut con, false);
    }
}
