//! Other modules call the module's commands: as a command, from a script and from a timer, as a user and as nobody. None
//! of that ends the server, and a user may do what the user may do.

use std::path::Path;

use redis::Connection;

use crate::support::*;

/// `N` stands for another number each time. The first ones need a key that only the schema names.
const NEED_OTHER_KEYS: &[&str] = &[
    "RANK.ADD b DATA {} N ann",
    "RANK.ADD b N ann",
    "RANK.ADD b WITHRANK PERIOD day N ann",
    "RANK.INCR b 1 ann",
    "RANK.PUTDATA b ann {}",
    "RANK.GETDATA b ann",
    "RANK.TOPN b 5 WITHDATA",
    "RANK.TOPN b 5 PERIOD day",
];
const NEED_NO_OTHER_KEYS: &[&str] = &[
    "RANK.TOPN b 5",
    "RATE.CHECK limit 10000/1d",
    "DUE.ADD jobs AT 1 N",
    "DUE.POP jobs BLOCK 1s",
    "DUE.CLAIM jobs BLOCK 1s",
];

struct Caller {
    con: Connection,
    number: u64,
}

impl Caller {
    /// Calls by the other module's command: the call itself, and a script with the call.
    fn directly(&mut self, format: &str, call: &str) -> [String; 2] {
        [false, true].map(|in_script| {
            let call = self.filled(call, in_script);
            reply(&mut self.con, &format!("CALLER.RUN {format} {call}"))
        })
    }

    /// The same by the other module's timer.
    #[track_caller]
    fn in_timer(&mut self, user: &str, call: &str) -> [String; 2] {
        [false, true].map(|in_script| {
            let call = self.filled(call, in_script);
            expect(&mut self.con, &format!("CALLER.TIMER {user} {call}"), "+OK");
            let mut answer = String::new();
            wait_until(|| {
                answer = reply(&mut self.con, "CALLER.LAST");
                answer != "nil"
            });
            answer
        })
    }

    fn filled(&mut self, call: &str, in_script: bool) -> String {
        self.number += 1;
        let call = call.replace(" N", &format!(" {}", self.number));
        if in_script {
            format!("EVAL \"return redis.pcall(unpack(ARGV))\" 0 {call}")
        } else {
            call
        }
    }
}

/// The answers are not errors; or, if `refused`, all of them are refusals.
#[track_caller]
fn check(answers: [String; 2], refused: bool, call: &str) {
    for answer in answers {
        if refused {
            assert!(answer.contains("NOPERM"), "{call}: {answer}");
        } else {
            let errors = ["ERR", "SCHEMA ", "NOPERM", "WRONGTYPE", "CLIENT", "CROSSSLOT", "ermission"];
            assert!(!errors.iter().any(|error| answer.contains(error)), "{call}: {answer}");
        }
    }
}

on_every_server! {
    fn other_modules_call_as_a_user_or_as_nobody(kind: Kind) {
        let caller = compiled(Path::new("tests/fixtures/caller.c"));
        let server = Server::builder(kind).config(&format!("loadmodule {}", caller.path().display())).start();
        let mut admin = server.connect();
        expect(&mut admin, "RANK.CREATE b PERIOD DAY p: DATA h", "+OK");
        expect(&mut admin, "RANK.ADD b DATA {} 1 ann", "1");
        expect(&mut admin, "ACL SETUSER able on nopass +@all ~b ~p:* ~h ~limit ~jobs", "+OK");
        expect(&mut admin, "ACL SETUSER unable on nopass +@all ~b ~limit ~jobs", "+OK");
        for user in ["default", "able", "unable"] {
            let mut caller = Caller { con: server.connect(), number: 0 };
            if user != "default" {
                expect(&mut caller.con, &format!("AUTH {user} x"), "+OK");
            }
            for call in NEED_OTHER_KEYS.iter().chain(NEED_NO_OTHER_KEYS) {
                // A call without a user may do everything, whoever called the other module.
                for format in ["-", "!"] {
                    check(caller.directly(format, call), false, call);
                }
                check(caller.in_timer("-", call), false, call);
                let refused = user == "unable" && NEED_OTHER_KEYS.contains(call);
                check(caller.directly("!C", call), refused, call);
                check(caller.in_timer(user, call), refused, call);
            }
        }
        expect(&mut admin, "RANK.COUNT b", "1");
    }
}
