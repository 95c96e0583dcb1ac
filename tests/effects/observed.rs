//! What reaches the AOF, and the events.

use std::fs;

use redis::{Connection, PubSub};

use crate::support::*;

/// A server whose effects can be read: all that reached the AOF, and all events.
pub struct Observed {
    pub server: Server,
    pub con: Connection,
    pub commands_seen: usize,
}

impl Observed {
    pub fn new(kind: Kind) -> Self {
        // everysec puts off the write itself while the file is being synced.
        let aof = Server::builder(kind).appendonly().config("appendfsync no");
        let server = aof.config("notify-keyspace-events KEA").start();
        let con = server.connect();
        Observed { server, con, commands_seen: 0 }
    }

    /// The commands that reached the AOF since the last call.
    pub fn journal(&mut self) -> Vec<String> {
        let transaction = |command: &String| ["MULTI", "EXEC"].contains(&command.as_str());
        self.whole_journal().into_iter().filter(|command| !transaction(command)).collect()
    }

    /// With the transactions they came in.
    pub fn whole_journal(&mut self) -> Vec<String> {
        self.new_commands().iter().map(line).collect()
    }

    pub fn new_commands(&mut self) -> Vec<Command> {
        let dir = self.server.dir().join("appendonlydir");
        let files = fs::read_dir(dir).expect("the AOF's directory").map(|entry| entry.expect("an entry").path());
        let file = files.into_iter().find(|path| path.to_string_lossy().ends_with(".incr.aof")).expect("an AOF");
        let bytes = fs::read(file).expect("the AOF can be read");
        let commands = resp_commands(&bytes);
        let new = commands[self.commands_seen..].to_vec();
        self.commands_seen = commands.len();
        new.into_iter().filter(|command| line(command) != "SELECT 0").collect()
    }

    /// The events while `command` runs: `zadd b`.
    #[track_caller]
    pub fn events(&mut self, command: &str) -> (String, Vec<String>) {
        let mut listener = self.server.connect();
        let mut events: PubSub<'_> = listener.as_pubsub();
        events.psubscribe("__keyevent@0__:*").expect("PSUBSCRIBE");
        events.subscribe("the end").expect("SUBSCRIBE");
        let answer = reply(&mut self.con, command);
        cmdv(&mut self.con, &["PUBLISH", "the end", ""]).expect("PUBLISH");
        let mut seen = Vec::new();
        loop {
            let message = events.get_message().expect("a message");
            let Some(event) = message.get_channel_name().strip_prefix("__keyevent@0__:") else { break };
            seen.push(format!("{event} {}", message.get_payload::<String>().expect("a key")));
        }
        (answer, seen)
    }

    /// Whether `command` ends a transaction that watches `keys`.
    #[track_caller]
    pub fn ends_watch(&mut self, command: &str, keys: &str) -> bool {
        let mut watcher = self.server.connect();
        expect(&mut watcher, &format!("WATCH {keys}"), "+OK");
        reply(&mut self.con, command);
        expect(&mut watcher, "MULTI", "+OK");
        expect(&mut watcher, "PING", "+QUEUED");
        reply(&mut watcher, "EXEC") == "nil"
    }
}

/// A command of an AOF, word by word.
pub type Command = Vec<Vec<u8>>;

pub fn resp_commands(bytes: &[u8]) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut at = 0;
    let read_number = |at: &mut usize, sign: u8| -> Option<usize> {
        let end = *at + bytes[*at..].iter().position(|byte| *byte == b'\n')?;
        let text = std::str::from_utf8(&bytes[*at..end]).ok()?.trim_end();
        *at = end + 1;
        text.strip_prefix(char::from(sign))?.parse().ok()
    };
    while let Some(count) = read_number(&mut at, b'*') {
        let mut command = Vec::new();
        for _ in 0..count {
            let length = read_number(&mut at, b'$').expect("a length");
            command.push(bytes[at..at + length].to_vec());
            at += length + 2;
        }
        commands.push(command);
    }
    commands
}

/// A command as one would type it; a marker is `~` and its schema.
pub fn line(command: &Command) -> String {
    let words: Vec<String> = command.iter().map(|word| word.escape_ascii().to_string()).collect();
    words.join(" ").replace("\\x00rank 2 ", "~").replace("\\\"", "\"")
}

/// The name of a command, its key, and the rest in any order: pairs for ZADD, single words for others.
pub fn unordered(command: &Command) -> (String, Vec<Command>) {
    let size = if command[0] == b"ZADD" || command[0] == b"HSET" { 2 } else { 1 };
    let mut rest: Vec<Command> = command[2..].chunks(size).map(<[Vec<u8>]>::to_vec).collect();
    rest.sort();
    (format!("{} {}", command[0].escape_ascii(), command[1].escape_ascii()), rest)
}
