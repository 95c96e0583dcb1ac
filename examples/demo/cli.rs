//! Commands and replies on the terminal, as redis-cli shows them.

use std::env;
use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use redis::{Connection, Value};

use super::support::{cmd, show, show_result};
use super::Outcome;

const SECONDS_AT_A_TERMINAL: f64 = 1.0;
const SECONDS_AT_MOST: f64 = 60.0;

/// The server's clock must move between two commands, or else who was first would be nobody.
const TICK: Duration = Duration::from_millis(2);

pub struct Cli {
    connection: Connection,
    pause: Duration,
    colour: bool,
}

impl Cli {
    pub fn new(connection: Connection) -> Result<Self, Box<dyn Error>> {
        let is_terminal = io::stdout().is_terminal();
        let seconds = match env::var("DEMO_PAUSE") {
            Ok(text) => text
                .parse()
                .ok()
                .filter(|seconds| (0.0..=SECONDS_AT_MOST).contains(seconds))
                .ok_or(format!("DEMO_PAUSE takes 0 to {SECONDS_AT_MOST} seconds, got {text}"))?,
            Err(_) if is_terminal => SECONDS_AT_A_TERMINAL,
            Err(_) => 0.0,
        };
        let colour = is_terminal && env::var_os("NO_COLOR").is_none();
        Ok(Cli { connection, pause: Duration::from_secs_f64(seconds), colour })
    }

    pub fn title(&mut self, text: &str) -> Outcome {
        let bold = self.styled("1;36", &format!("== {text} =="));
        self.say(&format!("\n{bold}\n"))
    }

    /// A remark about what follows.
    pub fn say(&mut self, text: &str) -> Outcome {
        writeln!(io::stdout(), "{text}")?;
        Ok(())
    }

    /// Sends a line and shows it with its reply.
    pub fn run(&mut self, line: &str) -> Outcome {
        self.run_with(line, render)
    }

    /// The same for text that reads better without the escapes, as `redis-cli --raw` shows it.
    pub fn run_raw(&mut self, line: &str) -> Outcome {
        self.run_with(line, |value| match value {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => render(other),
        })
    }

    fn run_with(&mut self, line: &str, render: impl FnOnce(&Value) -> String) -> Outcome {
        writeln!(io::stdout(), "redis> {}", self.styled("1", line))?;
        let reply = cmd(&mut self.connection, line);
        let text = match &reply {
            Ok(value) => render(value),
            Err(_) => format!("(error) {}", show_result(&reply)),
        };
        writeln!(io::stdout(), "{text}\n")?;
        thread::sleep(self.pause.max(TICK));
        Ok(())
    }

    /// For what is not shown command by command.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.into()
        }
    }
}

/// A RESP2 reply in redis-cli's format.
fn render(value: &Value) -> String {
    match value {
        Value::Nil => "(nil)".into(),
        Value::Int(number) => format!("(integer) {number}"),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".into(),
        Value::Array(items) if items.is_empty() => "(empty array)".into(),
        Value::Array(items) => {
            let width = items.len().to_string().len();
            let numbered = |(index, item)| {
                let indented = render(item).replace('\n', &format!("\n{:1$}", "", width + 2));
                format!("{:>width$}) {indented}", index + 1)
            };
            items.iter().enumerate().map(numbered).collect::<Vec<_>>().join("\n")
        }
        other => show(other),
    }
}
