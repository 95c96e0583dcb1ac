//! `CL.THROTTLE`: redis-cell's command, where the option asks for it.

use crate::support::*;

on_every_server! {
    fn the_name_is_free_without_the_option(server: Server) {
        let mut con = server.connect();
        assert!(reply(&mut con, "CL.THROTTLE k 1 1 1").starts_with("ERR unknown command"));
        expect(&mut con, "CONFIG GET rank.cl-throttle", r#"["rank.cl-throttle", "no"]"#);
        assert!(reply(&mut con, "CONFIG SET rank.cl-throttle yes").contains("immutable"));
    }

    fn the_option_is_set_at_load_and_in_the_file(kind: Kind) {
        for server in [
            Server::builder(kind).args(&["cl-throttle", "yes"]).start(),
            Server::builder(kind).args(&["rank.cl-throttle", "yes"]).start(),
            Server::builder(kind).config("rank.cl-throttle yes").start(),
        ] {
            let mut con = server.connect();
            expect(&mut con, "CONFIG GET rank.cl-throttle", r#"["rank.cl-throttle", "yes"]"#);
            // The example of redis-cell's README.
            expect(&mut con, "CL.THROTTLE user123 15 30 60 1", "[0, 16, 15, -1, 2]");
        }
        for args in [&["cl-throttle", "maybe"][..], &["cl-throttle"]] {
            let log = Server::builder(kind).args(args).try_start().err().unwrap_or_else(|| panic!("{args:?} loaded"));
            assert!(log.contains("cl-throttle takes yes or no"), "{log}");
        }
    }

    /// The behaviour that redis-cell's own tests describe, as far as it shows within a moment.
    fn answers_as_redis_cell_does(kind: Kind) {
        let server = Server::builder(kind).args(&["cl-throttle", "yes"]).start();
        let mut con = server.connect();
        // A limit of 5 that refills one in an hour: nothing comes back during the test.
        for (quantity, expected) in [
            ("6", "[1, 5, 5, -1, 0]"),
            ("1", "[0, 5, 4, -1, 3600]"),
            ("", "[0, 5, 3, -1, 7200]"),
            ("0", "[0, 5, 3, -1, 7200]"),
            ("2", "[0, 5, 1, -1, 14400]"),
            ("2", "[1, 5, 1, 3600, 14400]"),
            ("1", "[0, 5, 0, -1, 18000]"),
            ("1", "[1, 5, 0, 3600, 18000]"),
            ("5", "[1, 5, 0, 18000, 18000]"),
            ("6", "[1, 5, 0, -1, 18000]"),
        ] {
            expect(&mut con, &format!("CL.THROTTLE k 4 1 3600 {quantity}"), expected);
        }
        // One limiter with RATE.CHECK.
        assert!(reply(&mut con, "RATE.PEEK k 1/3600/5 GCRA").starts_with("[1, 5, 0, "));
        for (args, error) in [
            ("k x 1 1", "Cell error: Couldn't parse as integer: x"),
            ("k 1 1 1 1.5", "Cell error: Couldn't parse as integer: 1.5"),
            ("k 1 0 1", "ERR count takes 1 to 1000000000, got 0"),
            ("k -1 1 1", "ERR max_burst takes 0 to 999999999, got -1"),
            ("k 1 1 0", "ERR period takes 1 to 31622400, got 0"),
            ("k 1 1 1 -1", "ERR quantity takes 0 to 1000000000, got -1"),
            ("k 1 1", "ERR wrong number of arguments for 'cl.throttle' command"),
            ("k 1 1 1 1 1", "ERR wrong number of arguments for 'cl.throttle' command"),
        ] {
            expect(&mut con, &format!("CL.THROTTLE {args}"), error);
        }
    }
}
