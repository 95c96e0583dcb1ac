//! The targets on the committed seeds and some random inputs, so that they work when somebody needs them.

use std::fs;
use std::path::Path;

use proptest::prelude::Rng;

use super::{arguments, codec, schema, stored, REACHED};
use crate::COMMANDS;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 4] =
    [("arguments", arguments), ("codec", codec), ("schema", schema), ("stored", stored)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What cargo-fuzz once found interesting, or broken: a find has a name.
#[test]
fn the_seeds_are_clean() {
    for (name, target) in TARGETS {
        let inputs = fs::read_dir(root().join("fuzz/seeds").join(name)).expect("seeds");
        let mut count = 0;
        for input in inputs {
            target(&fs::read(input.expect("an entry").path()).expect("an input"));
            count += 1;
        }
        assert!(count > 0, "no inputs for {name}");
    }
}

#[test]
fn every_target_has_its_file() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
        assert!(root().join(format!("fuzz/targets/{name}.rs")).exists(), "{name} has no file");
    }
}

/// fuzz/ builds this crate's sources by itself, so it has to name what they need.
#[test]
fn the_fuzz_crate_has_the_same_dependencies() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a manifest");
    let (ours, fuzz) = (read("Cargo.toml"), read("fuzz/Cargo.toml"));
    let dependencies =
        ours.split("[dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).expect("a section");
    for line in dependencies.lines().filter(|line| line.contains('=')) {
        assert!(fuzz.lines().any(|other| other == line), "fuzz/Cargo.toml lacks: {line}");
    }
}

/// What random inputs have to reach, besides every command on a server without keys.
const CASES: &[&str] = &[
    "Check Sliding allowed",
    "Check Sliding denied",
    "Check Fixed denied",
    "Check Counter denied",
    "Check Gcra denied",
    "Check Calendar denied",
    "Peek Gcra denied",
    "Refund Sliding allowed",
    "Fixed with a penalty",
    "Gcra with a penalty",
    "a write to a limiter that was tampered with",
    "an error of a limiter that was tampered with",
    "a schema with 1 fields",
    "a schema with 2 fields",
    "a marker that was read",
];

/// On a server without keys these end with an error that says so.
const NEED_A_BOARD: &[&str] = &["rank.rotate", "rank.setdata", "rank.putdata", "rank.getdata", "rank.deldata"];

/// So many inputs, each for every target.
const INPUTS: u64 = 8_000;

#[test]
fn random_inputs_are_clean_and_reach_every_case() {
    let mut random = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    for _ in 0..INPUTS {
        let mut input = vec![0; random.next_u32() as usize % 600];
        random.fill_bytes(&mut input);
        for (name, target) in TARGETS {
            let clean = std::panic::catch_unwind(|| target(&input));
            assert!(clean.is_ok(), "{name}: {input:?}");
        }
    }
    let reached = REACHED.take();
    let commands = COMMANDS.iter().map(|command| command.doc.name).filter(|name| !NEED_A_BOARD.contains(name));
    let missed: Vec<&str> = CASES.iter().copied().chain(commands).filter(|case| !reached.contains(*case)).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}
