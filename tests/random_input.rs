//! Random calls of every command with every option: the server lives, and a call that ends in an error, or only reads, has
//! written nothing.

use std::collections::BTreeMap;

use redis::Value;

use crate::calls::{begin_chapter, generator, learn, without_waiting, Unmet};
use crate::script::Dice;
use crate::support::*;

const CALLS: u64 = 50_000;
/// So many calls on keys that were made anew.
const CHAPTER: u64 = 500;
const CODES: [&str; 7] = ["ERR", "WRONGTYPE", "NOBOARD", "SCHEMA", "OUTOFRANGE", "DAMAGED", "TOOBIG"];

on_every_server! {
    fn no_argument_list_harms(server: Server) {
        let mut con = server.connect();
        // An expired key then goes when a call looks for it.
        expect(&mut con, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK");
        let mut generator = generator(&mut con);
        let mut unmet = Unmet::new(&generator);
        let mut reads: BTreeMap<String, bool> = BTreeMap::new();
        let (mut errors, mut by_code) = (0, BTreeMap::<String, u64>::new());
        for number in 0..CALLS {
            let mut dice = Dice::new(number);
            if number % CHAPTER == 0 {
                // Half of them in the other encoding.
                let entries = if dice.once_in(2) { 3 } else { 128 };
                expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries}"), "+OK");
                begin_chapter(&mut generator, &mut con);
            }
            generator.now = 1_700_000_000_000 + (number % CHAPTER) as i64 * 400;
            let call = generator.call(&mut dice);
            let reads_only = *reads.entry(call.command().into()).or_insert_with(|| {
                let info = reply(&mut con, &format!("COMMAND INFO {}", call.command()));
                assert!(info.contains("+readonly") || info.contains("+write"), "{info}");
                info.contains("+readonly")
            });
            let before = state(&mut con);
            let got = cmdv(&mut con, &without_waiting(&call));
            let shown = show_result(&got);
            assert!(!shown.starts_with("CLIENT") && !shown.contains("internal error"), "{}: {shown}", call.text());
            if got.is_err() || reads_only {
                let after = state(&mut con);
                assert!(before == after || before.1 != after.1, "{} replied {shown} and wrote", call.text());
            }
            match got {
                Err(error) => {
                    errors += 1;
                    let code = error.code().unwrap_or_default();
                    assert!(CODES.contains(&code), "{}: {shown}", call.text());
                    assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}: {shown}", call.text());
                    *by_code.entry(code.to_owned()).or_default() += 1;
                }
                Ok(reply) => {
                    unmet.met(&generator, &call, &reply);
                    learn(&mut generator, &call, &reply);
                }
            }
        }
        println!("{errors} errors: {by_code:?}");
        unmet.check();
    }
}

/// A digest of all keys, and how many keys have expired.
fn state(con: &mut redis::Connection) -> (Value, String) {
    let (digest, stats): (Value, String) =
        redis::pipe().cmd("DEBUG").arg("DIGEST").cmd("INFO").arg("stats").query(con).expect("a digest");
    let expired = stats.lines().find(|line| line.starts_with("expired_keys:")).expect("a count");
    (digest, expired.to_owned())
}
