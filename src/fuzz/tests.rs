//! The targets on the committed seeds and some random inputs, so that they work when somebody needs them.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{arguments, codec, schema, stored};

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn random_inputs_are_clean(input in prop::collection::vec(any::<u8>(), 0..400)) {
        for (_, target) in TARGETS {
            target(&input);
        }
    }
}
