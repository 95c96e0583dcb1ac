//! Every error a client can get. What it says is in `text.rs`, the only place where messages live.

mod text;

pub use text::Shown;

use crate::shard::Shard;

/// Damage by core commands, as far as one command can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Elements at -inf before the marker.
    MarkerBehind,
    /// Index entries without a marker.
    MarkerLost,
    /// An element at -inf beside the marker.
    Stray,
    /// The index entries and the elements of this name disagree.
    Index(Shown),
}

/// What is wrong with a line of `RANK.LOAD`.
#[derive(Debug, PartialEq, Eq)]
pub enum LineProblem {
    NotAnObject(Shown),
    Unknown(Shown),
    Missing(&'static str),
    Member(Shown),
    /// `score` where the board has so many fields.
    SeveralFields(usize),
    ScoresWithoutSchema,
    ScoreAndScores,
    Scores(Shown),
    NoField(Shown),
    MissingField(Shown),
    Time(Shown),
    Data(Shown),
    /// What another command would say of the same value.
    Other(Box<Error>),
}

/// A key that a board's schema names, and the command line does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKey {
    /// The hash of attributes.
    Hash,
    /// The board of a period, or what the keys of a period begin with.
    Period,
}

/// Every error a client can get. What each one says, in `Display`, is its documentation.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// Too few or too many arguments. The server writes this error itself, with the command's name.
    Arity,
    WrongType,
    /// The hash of the board's attributes holds something else.
    HashType(Shown),
    /// The server's slot is moving, and a key that the schema names is not here.
    TryAgain,
    /// A key that the schema names is in another slot.
    CrossSlot(NamedKey, Shown),
    /// The caller may not use a key that the schema names.
    NoPermission(NamedKey, Shown),
    Damaged(Damage),
    UnknownOption(Shown),
    OptionTwice(&'static str),
    OptionsConflict(&'static str, &'static str),
    OptionWithoutValue(&'static str),
    /// Options of which one is given without the other.
    OptionsTogether(&'static str, &'static str),
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
        by: String,
    },
    ScoreCount {
        fields: usize,
        got: usize,
    },
    /// What `RANK.INCR` takes.
    DeltaCount {
        fields: usize,
        got: usize,
    },
    /// Scores alone, without a member.
    Scores {
        fields: usize,
        got: usize,
    },
    RangeOrder {
        lo: i64,
        hi: i64,
    },
    FieldTwice(String),
    TooManyFields {
        most: usize,
        name: String,
    },
    /// `ASC` or `DESC` for the whole board, and fields.
    OrderWithFields,
    NoSchema,
    HasSchema,
    /// `BOARD n` on a key without a schema.
    NoBoard,
    /// `BOARD n` on a board with another number of fields.
    OtherFields {
        own: usize,
        declared: usize,
    },
    /// `*` for every field.
    AllKept,
    /// `*` where `RANK.MULTISET` would create the board.
    KeptOnNewBoard,
    /// In what the board's schema differs from the one asked for, and whether `RANK.ALTER` could change it.
    OtherSchema {
        differences: String,
        can_alter: bool,
    },
    OnlyPlain,
    /// `ADOPT` of a board with tie times.
    AdoptWithoutSince,
    /// `SINCE` on a board that keeps no times.
    SinceWithoutTimes,
    AdoptUndecodable(Shown),
    InfiniteScores,
    ReservedMember,
    KeepTwice(u64),
    BadMarker(Shown),
    MarkerVersion(Shown),
    NoSuchKey,
    ArchiveExists,
    ArchiveNames,
    OneFieldOnly,
    TooManyRows {
        rows: u64,
        most: u64,
    },
    Undecodable(Shown),
    /// A board without `DATA`.
    NoData,
    DataTakesOneMember,
    SeveralMembersOfNewBoard,
    OwnedHash,
    NoOwnedHash,
    TooManyHops,
    /// A line of `RANK.LOAD`, counted from 1.
    Line {
        number: u64,
        problem: LineProblem,
    },
    /// A cursor that no scan of this board returned.
    BadCursor(Shown),
    /// `AT` in a read of a board that keeps no times.
    AtWithoutTimes,
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
    /// A key that is not that of the shard which the schema names.
    NotTheShard {
        shard: Shard,
        got: Shown,
    },
    /// A write of a member to a shard that it does not belong to. The name of the board, if its key tells.
    OtherShard {
        member: Shown,
        shard: Shard,
        board: Option<Shown>,
    },
    /// A shard cannot be rotated.
    ShardRotated,
    /// Not a number, or a number out of range.
    TakesBetween {
        what: &'static str,
        least: u64,
        most: u64,
        got: Shown,
    },
    /// A limiter's call that names no rule.
    NoRule,
    /// A limit that no window follows.
    LimitWithoutWindow(u64),
    /// Two rules with the same window, in milliseconds.
    WindowTwice(u64),
    /// A limit of `SLIDING` beyond what its log may hold.
    LimitOverLog {
        limit: u64,
        max_log: u64,
    },
    /// A burst with another algorithm.
    BurstWithoutGcra,
    /// `BURST` with several rules.
    BurstOfSeveral,
    OffsetWithoutCalendar,
    /// `CALENDAR` with a window that is not one of its own.
    CalendarWithoutUnit,
    /// A window of `CALENDAR` with another algorithm.
    UnitWithoutCalendar(&'static str),
    /// The same unit of `CALENDAR` in two rules.
    UnitTwice(&'static str),
    PenaltyWithSliding,
    /// More than this many.
    TooManyRules(usize),
    /// A string limiter would have to keep the numbers of more windows than this.
    TooManyWindows(usize),
    /// `RATE.ALL` with this many keys and this many rules, which differ.
    RuleCount {
        keys: u64,
        rules: usize,
    },
    KeyCount {
        named: u64,
        got: usize,
    },
    /// What a key holds that another command of the family takes.
    HoldsOther(&'static str),
    /// A sorted set with an element that a limiter's log would not have: a leaderboard, say.
    NotALog,
    /// A string that no limiter wrote, or that this version cannot read.
    NotAStringLimiter,
    /// A sorted set that has no leases.
    NotLeases,
    /// Tokens beyond what a sorted set's scores hold exactly.
    TokensUsedUp,
    /// The latest end of a lease, in Unix ms.
    LeaseEndsTooLate(u64),
    /// redis-cell's own words.
    CellInteger(Shown),
    /// This cost would make a limiter's total of units too large for its integer.
    LimiterOverflow(u64),
    /// Something is wrong with the board of a period.
    InPeriod(Shown, Box<Error>),
    /// The board of a period has other fields or ties than the board it belongs to.
    PeriodDiffers(Shown),
    /// A prefix that leads to a key of the board itself.
    PeriodIsOwnKey(Shown),
    NoSuchPeriod(&'static str),
    PeriodTwice(&'static str),
    PeriodPrefixes(Shown),
    PastTogether(i64),
    OffsetWithoutPeriod,
    OffsetIsSet,
    HasPeriods,
    /// `DUE.*` on a board with a schema.
    BoardNotSchedule,
    /// `DUE.ADD` or `DUE.MOVE` without a time.
    NoTime(Shown),
    /// `DUE.ADD` of several items with one payload.
    DataTakesOneItem,
    /// A lease would end at a time that a score cannot hold.
    LeaseEnd {
        /// The earliest end.
        least: i64,
        /// The latest end.
        most: i64,
        /// When it would end.
        got: i64,
    },
    /// While a client waited, its user lost the permission for it.
    NoLongerPermitted,
    /// While a client waited, the key's slot went to another node.
    KeyMoved,
    /// The server's own error, for a client that waited or a call of ours.
    ClusterDown,
    /// What the server itself answered to a call of ours.
    Server(String),
    Internal,
}

impl Error {
    /// What is wrong, on whichever board it is.
    pub fn cause(&self) -> &Error {
        match self {
            Error::InPeriod(_, error) => error.cause(),
            error => error,
        }
    }

    /// For an invalid number of shards.
    pub fn shard_count(got: &[u8]) -> Error {
        Error::Takes { what: "n", takes: "a power of two from 2 to 1024", got: Shown::new(got) }
    }
}

/// What most functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Sets one of several options that are mutually exclusive, with its name.
pub fn set_one_of<T>(place: &mut Option<(T, &'static str)>, value: T, name: &'static str) -> Result<()> {
    match place.replace((value, name)) {
        None => Ok(()),
        Some((_, other)) if other == name => Err(Error::OptionTwice(name)),
        Some((_, other)) => Err(Error::OptionsConflict(other, name)),
    }
}

/// Sets an option that may be given once.
pub fn set_once<T>(place: &mut Option<T>, value: T, option: &'static str) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::OptionTwice(option)),
    }
}

#[cfg(test)]
mod tests;
