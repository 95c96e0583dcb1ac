//! Every error a client can get. `Display` is the only place where messages live.

use std::fmt;

use crate::rate::RateError;

/// Client bytes as they may stand in an error: one line of printable ASCII, not too long.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown(String);

const SHOWN_BYTES: usize = 64;

impl Shown {
    pub fn new(bytes: &[u8]) -> Shown {
        let mut text: String = bytes.iter().take(SHOWN_BYTES).map(|byte| byte.escape_ascii().to_string()).collect();
        if bytes.len() > SHOWN_BYTES {
            text.push_str("...");
        }
        Shown(text)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "''" } else { &self.0 })
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug)]
pub enum Error {
    /// Too few or too many arguments: the server words this one, with the command's name.
    Arity,
    WrongType,
    TryAgain,
    UnknownOption(Shown),
    OptionTwice(&'static str),
    OptionsConflict(&'static str, &'static str),
    OptionWithoutValue(&'static str),
    /// An argument that is not what it takes: `start takes a position from 1, got 0`.
    Takes {
        what: &'static str,
        takes: &'static str,
        got: Shown,
    },
    FieldTakes {
        field: String,
        takes: String,
        got: Shown,
    },
    IncrementLeaves {
        field: String,
        takes: String,
        from: String,
        by: Shown,
    },
    ScoreCount {
        fields: usize,
        got: usize,
    },
    /// Scores alone, without a member.
    Scores {
        fields: usize,
        got: usize,
    },
    Schema(String),
    NoSchema,
    HasSchema,
    OtherSchema(String),
    OnlyPlain,
    AdoptUndecodable(Shown),
    AdoptWaits {
        most: u64,
    },
    AdoptMeetsWriters {
        attempts: u32,
    },
    InfiniteScores,
    ReservedMember,
    KeepTwice(u64),
    BadMarker(Shown),
    MarkerVersion(Shown),
    NoSuchKey,
    ArchiveExists,
    OneFieldOnly,
    TooManyRows {
        rows: u64,
        most: u64,
    },
    Undecodable(Shown),
    NoCompanionName,
    MembersOutOfStep,
    MembersTooManyToRebuild,
    CompanionType {
        part: &'static str,
    },
    NoSuchMember(Shown),
    BadAttributes(Shown),
    NotText {
        what: &'static str,
        got: Shown,
    },
    MemberCount {
        named: u64,
        got: usize,
    },
    Rate(RateError),
    /// What the server itself answered to a call of ours.
    Server(String),
    Internal,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            Arity => f.write_str("ERR wrong number of arguments"),
            WrongType => f.write_str("WRONGTYPE Operation against a key holding the wrong kind of value"),
            TryAgain => f.write_str("TRYAGAIN the board and its companion keys are being moved to another node"),
            UnknownOption(Shown(got)) => write!(f, "ERR unknown option '{got}'"),
            OptionTwice(option) => write!(f, "ERR {option} is given twice"),
            OptionsConflict(a, b) => write!(f, "ERR {a} and {b} exclude each other"),
            OptionWithoutValue(option) => write!(f, "ERR {option} has no value"),
            Takes { what, takes, got } => write!(f, "ERR {what} takes {takes}, got {got}"),
            FieldTakes { field, takes, got } => write!(f, "ERR field '{field}' takes {takes}, got {got}"),
            IncrementLeaves { field, takes, from, by } => {
                write!(f, "ERR field '{field}' takes {takes}: {from} cannot be incremented by {by}")
            }
            ScoreCount { fields: 1, got } => {
                write!(f, "ERR the board takes 1 score and a member each, got {got} arguments")
            }
            ScoreCount { fields, got } => {
                write!(f, "ERR the board takes {fields} scores and a member each, got {got} arguments")
            }
            Scores { fields: 1, got } => write!(f, "ERR the board takes 1 score, got {got}"),
            Scores { fields, got } => write!(f, "ERR the board takes {fields} scores, got {got}"),
            Schema(what) => write!(f, "ERR {what}"),
            NoSchema => f.write_str("ERR the board has no schema: RANK.CREATE gives it one"),
            HasSchema => f.write_str("ERR ASC and DESC are for boards without a schema: this one has its own order"),
            OtherSchema(schema) => write!(f, "ERR the board already has another schema: {schema}"),
            OnlyPlain => f.write_str(
                "ERR the sorted set has members: without ADOPT it takes one FLOAT field with TIES SHARED only",
            ),
            AdoptUndecodable(Shown(element)) => {
                write!(f, "ERR ADOPT takes a sorted set that the schema decodes, and it cannot decode '{element}'")
            }
            AdoptWaits { most } => write!(
                f,
                "ERR ADOPT takes more than {most} members in steps, for which no transaction or script waits: send it alone"
            ),
            AdoptMeetsWriters { attempts } => write!(
                f,
                "ERR ADOPT looked at the members {attempts} times, and somebody wrote to the board each time: stop them first"
            ),
            InfiniteScores => f.write_str("ERR the sorted set has infinite scores: a board with a schema takes finite ones"),
            ReservedMember => f.write_str("ERR a member at -inf takes a name that does not start like a board's marker"),
            KeepTwice(keep) => write!(f, "ERR KEEP is set by the board's schema, to {keep}"),
            BadMarker(text) => write!(f, "ERR the board's marker cannot be read: {text}"),
            MarkerVersion(version) => {
                write!(f, "ERR the board has format version {version}: this module reads version 1")
            }
            NoSuchKey => f.write_str("ERR no such key"),
            ArchiveExists => f.write_str("ERR archive takes a key that does not exist, and this one does"),
            OneFieldOnly => f.write_str("ERR the board has several fields: RANK.SCOREAT takes boards with one"),
            TooManyRows { rows, most } => {
                write!(f, "ERR the reply would hold {rows} rows, more than rank.max-rows ({most})")
            }
            Undecodable(Shown(element)) => write!(
                f,
                "ERR the board has an element its schema cannot decode: '{element}'; RANK.VERIFY lists them"
            ),
            NoCompanionName => f.write_str(
                "ERR the board needs a companion key: its name takes balanced braces, as in 'a' or '{a}b'",
            ),
            MembersOutOfStep => f.write_str(
                "ERR the board's members key is out of step with its sorted set: the next write or RANK.VERIFY key REPAIR mends it",
            ),
            MembersTooManyToRebuild => f.write_str(
                "ERR the board's members key is out of step with its sorted set, too large to mend at once: use RANK.VERIFY key REPAIR",
            ),
            CompanionType { part } => {
                write!(f, "ERR the board's {part} key holds another type of value: delete or rename it")
            }
            NoSuchMember(Shown(member)) => write!(f, "ERR '{member}' is not on the board: attributes are for members"),
            BadAttributes(Shown(member)) => write!(f, "ERR the attributes of '{member}' are not a JSON object"),
            NotText { what, got } => write!(f, "ERR {what} takes UTF-8 text, got {got}"),
            MemberCount { named, got } => write!(f, "ERR nummembers says {named} members, got {got}"),
            Rate(error) => write!(f, "ERR {error}"),
            Server(text) => f.write_str(text),
            Internal => f.write_str("ERR internal error of redis-rank, see the server's log"),
        }
    }
}

impl From<RateError> for Error {
    fn from(error: RateError) -> Error {
        Error::Rate(error)
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Sets an option that may be given once.
pub fn set_once<T>(place: &mut Option<T>, value: T, option: &'static str) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::OptionTwice(option)),
    }
}
