//! The module loads, leaves and comes back.

use crate::support::*;

on_every_server! {
    fn a_server_starts_with_the_module(server: Server) {
        expect(&mut server.connect(), "PING", "+PONG");
        assert!(server.has_module());
    }

    fn a_healthy_start_logs_no_warning(server: Server) {
        // A `#` behind the time is a warning.
        let log = server.log();
        let warnings: Vec<&str> = log.lines().filter(|line| line.contains(" # ") && line.contains("rank")).collect();
        assert!(log.contains("Module 'rank' loaded") && warnings.is_empty(), "{warnings:?}");
    }

    fn the_module_leaves_and_comes_back(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "MODULE UNLOAD rank", "+OK");
        assert!(!server.has_module());

        let module = module_path();
        let module = module.to_str().expect("a UTF-8 path");
        assert_eq!(show_result(&cmdv(&mut con, &["MODULE", "LOAD", module])), "+OK");
        assert!(server.has_module());
    }
}
