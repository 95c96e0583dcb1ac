//! The scripts that the guides name run on data in the layouts that they are for: see recipes.py.

use crate::support::programs::*;
use crate::support::*;

on_every_server! {
    fn moved_and_decoded_boards_are_the_same_row_by_row(kind: Kind) {
        let Some(mut command) = python("tests/recipes.py") else { return };
        let server = Server::builder(kind).tcp().start();
        command.arg(url(&server)).args(["examples/python/migrate.py", "examples/python/read_board.py"]);
        let printed = output(&mut command);
        assert!(printed.ends_with("\nall rows are the same\n"), "{printed}");
    }
}
