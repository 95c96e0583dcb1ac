//! Who hears of every write besides the client that makes it.

use serde::{Deserialize, Serialize};

use crate::support::{Builder, Kind, Server};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Listener {
    Nobody,
    /// An append-only file, synced every second.
    Aof,
    /// A second server on the same machine.
    Replica,
}

pub const LISTENERS: [Listener; 3] = [Listener::Nobody, Listener::Aof, Listener::Replica];

impl Listener {
    /// The server, and its replica.
    pub fn start(self, kind: Kind) -> (Server, Option<Server>) {
        let server = Server::builder(kind);
        match self {
            Listener::Nobody => (server.start(), None),
            // A rewrite is a fork now and then, which would hit one side of a round alone.
            Listener::Aof => (
                server.appendonly().config("appendfsync everysec").config("auto-aof-rewrite-percentage 0").start(),
                None,
            ),
            Listener::Replica => {
                // A replica that falls behind while boards are filled must not be thrown out.
                let unbounded = |builder: Builder| builder.config("client-output-buffer-limit replica 0 0 0");
                let server = unbounded(server.tcp()).start();
                // Without the module: what it gets are plain commands.
                let replica = unbounded(Server::builder(kind).without_module()).replica_of(&server).start();
                replica.wait_for_sync(&server);
                (server, Some(replica))
            }
        }
    }

    /// As a column of a table, or a bar, is headed.
    pub fn label(self) -> &'static str {
        match self {
            Listener::Nobody => "no AOF, no replica",
            Listener::Aof => "with an AOF",
            Listener::Replica => "with a replica",
        }
    }
}
