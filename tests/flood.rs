//! Very many commands at once, whose answers nobody looks at.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::support::*;

pub struct Flood {
    stream: UnixStream,
    batch: Vec<u8>,
    batches: u64,
}

/// So much is sent before the answers are waited for.
const BATCH_BYTES: usize = 1 << 18;

impl Flood {
    pub fn connect(server: &Server) -> Flood {
        let stream = UnixStream::connect(server.socket()).expect("a connection");
        stream.set_read_timeout(Some(deadline())).expect("a timeout");
        Flood { stream, batch: Vec::new(), batches: 0 }
    }

    /// Queues a command; false if the server is gone.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> bool {
        self.push(args);
        self.batch.len() < BATCH_BYTES || self.flush()
    }

    fn push<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        self.batch.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
        for arg in args {
            let arg = arg.as_ref();
            self.batch.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            self.batch.extend_from_slice(arg);
            self.batch.extend_from_slice(b"\r\n");
        }
    }

    /// Sends what is queued and waits until the server has answered all of it; false if it is gone.
    pub fn flush(&mut self) -> bool {
        self.batches += 1;
        let end = format!("the end of batch {}", self.batches);
        self.push(&["ECHO", &end]);
        let (mut writer, batch) = (self.stream.try_clone().expect("a second handle"), std::mem::take(&mut self.batch));
        // In a thread of its own: a server that waits for us to read does not read.
        let sender = std::thread::spawn(move || writer.write_all(&batch).is_ok());
        let (mut tail, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return false,
                Ok(count) => tail.extend_from_slice(&buffer[..count]),
            }
            if tail.ends_with(format!("{end}\r\n").as_bytes()) {
                return sender.join().expect("the sender ends");
            }
            tail.drain(..tail.len().saturating_sub(end.len() + 2));
        }
    }
}
