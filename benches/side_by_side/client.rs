//! A client that does next to nothing: it sends bytes that are ready, and counts replies.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const BUFFER: usize = 256 * 1024;

/// Jobs that are ready to be sent.
pub struct Load {
    pub jobs: u64,
    /// Batches that may be on their way at once.
    in_flight: usize,
    bytes: Vec<u8>,
    /// Where each batch ends, and how many replies it gets.
    batches: Vec<(usize, u64)>,
}

impl Load {
    pub fn new(jobs: u64, in_flight: usize) -> Load {
        Load { jobs, in_flight, bytes: Vec::new(), batches: Vec::new() }
    }

    pub fn push(&mut self, replies: u64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.batches.push((self.bytes.len(), replies));
    }
}

pub struct Client {
    stream: UnixStream,
    buffer: Vec<u8>,
    replies: ReplyCounter,
}

impl Client {
    pub fn connect(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).expect("the server listens");
        Client { stream, buffer: vec![0; BUFFER], replies: ReplyCounter::default() }
    }

    /// Sends everything and waits for all replies. A benchmark of errors is worthless: one is the end.
    pub fn run(&mut self, load: &Load) -> Duration {
        self.run_noting(load, |_| {})
    }

    /// Tells how long each batch took, too.
    pub fn run_noting(&mut self, load: &Load, mut note: impl FnMut(Duration)) -> Duration {
        let start = Instant::now();
        let mut sent = 0;
        // When each batch was sent, and how many replies there are in all when it is done.
        let mut on_their_way = VecDeque::with_capacity(load.in_flight);
        let mut goal = self.replies.count;
        for (end, replies) in &load.batches {
            if on_their_way.len() == load.in_flight {
                self.finish(&mut on_their_way, &mut note);
            }
            on_their_way.push_back((Instant::now(), goal + replies));
            self.stream.write_all(&load.bytes[sent..*end]).expect("the server reads");
            sent = *end;
            goal += replies;
        }
        while !on_their_way.is_empty() {
            self.finish(&mut on_their_way, &mut note);
        }
        start.elapsed()
    }

    fn finish(&mut self, on_their_way: &mut VecDeque<(Instant, u64)>, note: &mut impl FnMut(Duration)) {
        if let Some((start, goal)) = on_their_way.pop_front() {
            self.read_until(goal);
            note(start.elapsed());
        }
    }

    fn read_until(&mut self, goal: u64) {
        while self.replies.count < goal {
            let length = self.stream.read(&mut self.buffer).expect("the server answers");
            assert!(length > 0, "the server closed the connection");
            self.replies.feed(&self.buffer[..length]);
            if let Some(error) = &self.replies.error {
                panic!("the server replied: {error}");
            }
        }
    }
}

/// Counts RESP2 replies, however they are cut into pieces.
#[derive(Default)]
struct ReplyCounter {
    count: u64,
    /// Elements of arrays that are still to come.
    elements: u64,
    /// Bytes of a bulk string that are still to come.
    skip: usize,
    /// A line of which the end is still to come.
    line: Vec<u8>,
    error: Option<String>,
}

impl ReplyCounter {
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                bytes = &bytes[skipped..];
                self.skip -= skipped;
                if self.skip == 0 {
                    self.value_is_complete();
                }
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.line.extend_from_slice(bytes);
                return;
            };
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.line.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.line(&whole);
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        match line[0] {
            b'$' if line[1] != b'-' => self.skip = number(line) as usize + 2,
            b'*' if line[1] != b'-' => {
                // The array itself takes the place of one element, if it is inside another.
                self.elements += number(line);
                if line[1] == b'0' {
                    self.value_is_complete();
                } else if self.elements > number(line) {
                    self.elements -= 1;
                }
            }
            kind => {
                if kind == b'-' {
                    self.error = Some(String::from_utf8_lossy(line).trim_end().into());
                }
                self.value_is_complete();
            }
        }
    }

    fn value_is_complete(&mut self) {
        match self.elements {
            0 => self.count += 1,
            1 => {
                self.elements = 0;
                self.count += 1;
            }
            _ => self.elements -= 1,
        }
    }
}

fn number(line: &[u8]) -> u64 {
    line[1..].iter().take_while(|byte| byte.is_ascii_digit()).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}
