//! What errors say: what is wrong, what was expected, and what to do. One line of ASCII each.

use std::fmt;

use super::{Damage, Error, LineProblem, NamedKey};
use crate::calendar::MAX_MS;

/// Client bytes as an error shows them: one line of printable ASCII, not too long.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown(String);

const SHOWN_BYTES: usize = 64;

impl Shown {
    /// Escapes the bytes, and cuts them if there are too many.
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

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ERR the board is damaged: ")?;
        match self {
            Damage::MarkerBehind => f.write_str(
                "elements at -inf come before its marker; run RANK.VERIFY key REPAIR, \
                 or ZREM them and use RANK.CREATE key ... ADOPT",
            ),
            Damage::MarkerLost => f.write_str(
                "it has index entries but no marker; restore its schema with RANK.CREATE key ... ADOPT, \
                 then run RANK.VERIFY key REPAIR",
            ),
            Damage::Stray => f.write_str("an element other than its marker is at -inf; run RANK.VERIFY key REPAIR"),
            Damage::Index(Shown(member)) => {
                write!(f, "its index entries and its elements differ at '{member}'; run RANK.VERIFY key REPAIR")
            }
        }
    }
}

impl fmt::Display for LineProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use LineProblem::*;
        match self {
            NotAnObject(got) => {
                write!(f, "expected a JSON object such as {{\"member\":\"ann\",\"score\":5}}, got {got}")
            }
            Unknown(Shown(name)) => write!(f, "unknown name '{name}'"),
            Missing(name) => write!(f, "\"{name}\" is missing"),
            Member(got) => write!(f, "\"member\" takes a string or {{\"base64\":\"...\"}}, got {got}"),
            SeveralFields(fields) => write!(f, "the board has {fields} fields: use \"scores\" with one score for each"),
            ScoresWithoutSchema => {
                f.write_str("\"scores\" needs a board with fields: create it with RANK.CREATE first")
            }
            ScoreAndScores => f.write_str("\"score\" and \"scores\" are mutually exclusive"),
            Scores(got) => write!(f, "\"scores\" takes a JSON object with one score for each field, got {got}"),
            NoField(Shown(name)) => write!(f, "the board has no field '{name}'"),
            MissingField(Shown(name)) => write!(f, "field '{name}' has no score"),
            Time(got) => write!(f, "\"time\" takes a Unix time in ms from 0 to {MAX_MS}, or null, got {got}"),
            Data(got) => write!(f, "\"data\" takes a JSON object, a string or null, got {got}"),
            Other(error) => {
                let text = error.to_string();
                f.write_str(text.strip_prefix("ERR ").unwrap_or(&text))
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            Arity => f.write_str("ERR wrong number of arguments"),
            WrongType => f.write_str("WRONGTYPE Operation against a key holding the wrong kind of value"),
            HashType(Shown(hash)) => {
                write!(f, "WRONGTYPE the board keeps its attributes in '{hash}', which is not a hash")
            }
            TryAgain => {
                f.write_str("TRYAGAIN the slot is moving, and a key that the board's schema names is on the other node")
            }
            CrossSlot(NamedKey::Hash, Shown(hash)) => {
                write!(f, "CROSSSLOT the board's hash '{hash}' is in another slot: give both keys the same hash tag")
            }
            CrossSlot(NamedKey::Period, Shown(key)) => {
                write!(f, "CROSSSLOT the board's period '{key}' is in another slot: give both keys the same hash tag")
            }
            NoPermission(NamedKey::Hash, Shown(hash)) => {
                write!(
                    f,
                    "NOPERM this user has no permissions to access '{hash}', where the board keeps its attributes"
                )
            }
            NoPermission(NamedKey::Period, Shown(key)) => {
                write!(f, "NOPERM this user has no permissions to access '{key}', a period of the board")
            }
            InPeriod(Shown(key), error) => match &**error {
                WrongType => write!(f, "WRONGTYPE '{key}', a period of the board, holds another type of value"),
                error => {
                    let text = error.to_string();
                    let (code, what) = text.split_once(' ').unwrap_or(("ERR", &text));
                    write!(f, "{code} in the board's period '{key}': {what}")
                }
            },
            PeriodDiffers(Shown(key)) => {
                write!(
                    f,
                    "ERR '{key}', a period of the board, has other fields or ties: rename it, or change the prefix"
                )
            }
            PeriodIsOwnKey(Shown(key)) => {
                write!(f, "ERR '{key}' is the key of a period, but also of the board or its hash: change the prefix")
            }
            NoSuchPeriod(unit) => write!(f, "ERR the board has no {unit} period: add one with RANK.ALTER key PERIOD"),
            PeriodTwice(unit) => write!(f, "ERR the {unit} period is given twice"),
            PeriodPrefixes(Shown(prefix)) => {
                write!(f, "ERR a prefix cannot be another prefix, or another prefix followed by digits, got '{prefix}'")
            }
            PastTogether(past) => write!(f, "ERR PAST takes at most 1000 over all periods of a board, got {past}"),
            OffsetWithoutPeriod => f.write_str("ERR OFFSET is only valid with PERIOD"),
            OffsetIsSet => f.write_str(
                "ERR OFFSET is set with the first period of a board: remove all periods with NOPERIOD to set another",
            ),
            HasPeriods => f.write_str("ERR a board with periods cannot be rotated"),
            Damaged(damage) => damage.fmt(f),
            UnknownOption(Shown(got)) => write!(f, "ERR unknown option '{got}'"),
            OptionTwice(option) => write!(f, "ERR {option} is given twice"),
            OptionsConflict(a, b) => write!(f, "ERR {a} and {b} are mutually exclusive"),
            OptionWithoutValue(option) => write!(f, "ERR {option} needs a value"),
            OptionsTogether(a, b) => write!(f, "ERR {a} and {b} are only valid together"),
            Takes { what, takes, got } => write!(f, "ERR {what} takes {takes}, got {got}"),
            FieldTakes { field, takes, got } => write!(f, "ERR field '{field}' takes {takes}, got {got}"),
            IncrementLeaves { field, takes, from, by } => {
                write!(f, "ERR field '{field}' takes {takes}: {from} cannot be incremented by {by}")
            }
            ScoreCount { fields: 1, got } => {
                write!(f, "ERR expected score-member pairs, got {got} arguments (options go first)")
            }
            ScoreCount { fields, got } => {
                write!(f, "ERR expected {fields} scores before each member, got {got} arguments (options go first)")
            }
            DeltaCount { fields: 1, got } => {
                write!(f, "ERR expected a delta and a member, got {got} arguments (options go first)")
            }
            DeltaCount { fields, got } => {
                write!(f, "ERR expected {fields} deltas and a member, got {got} arguments (options go first)")
            }
            Scores { fields: 1, got } => write!(f, "ERR expected 1 score, got {got}"),
            Scores { fields, got } => write!(f, "ERR expected {fields} scores, got {got}"),
            RangeOrder { lo, hi } => write!(f, "ERR RANGE takes lo below hi, got {lo} {hi}"),
            FieldTwice(name) => write!(f, "ERR field '{name}' is given twice"),
            TooManyFields { most, name } => {
                write!(f, "ERR a board has at most {most} fields: '{name}' is one too many")
            }
            OrderWithFields => {
                f.write_str("ERR ASC and DESC are only valid without FIELD: each field has its own order")
            }
            NoSchema => f.write_str("ERR the board has no schema: set one with RANK.CREATE"),
            NoBoard => f.write_str("NOBOARD the key has no board with a schema: create it with RANK.CREATE"),
            OtherFields { own, declared } => {
                let fields = |count: &usize| if *count == 1 { "field" } else { "fields" };
                write!(f, "SCHEMA the board has {own} {}, BOARD says {declared}", fields(own))
            }
            AllKept => f.write_str("ERR a member needs at least one score other than *"),
            KeptOnNewBoard => f.write_str("ERR the board does not exist: * needs a board that RANK.CREATE made"),
            HasSchema => f.write_str("ERR ASC and DESC are only valid on a board without a schema"),
            OtherSchema { differences, can_alter: true } => {
                write!(f, "ERR the board has a different schema: {differences}: use RANK.ALTER to change it")
            }
            OtherSchema { differences, can_alter: false } => {
                write!(f, "ERR the board has a different schema: {differences}: use another key, fields, ties, SHARD and SINCE cannot change")
            }
            OnlyPlain => f.write_str(
                "ERR the sorted set already has members: use one FLOAT field with TIES SHARED, \
                 or ADOPT if its scores fit the schema",
            ),
            AdoptWithoutSince => f.write_str(
                "ERR ADOPT of a board with tie times needs SINCE ms: the one that RANK.INFO showed, or 0 if it is not known",
            ),
            SinceWithoutTimes => f.write_str("ERR SINCE is only valid with TIES FIRST, LAST or JOINED"),
            AdoptUndecodable(Shown(element)) => write!(
                f,
                "ERR ADOPT: element '{element}' does not decode under this schema: \
                 ZREM it, or use the schema the board had"
            ),
            InfiniteScores => {
                f.write_str("ERR the sorted set has infinite scores: a board with a schema takes finite scores only")
            }
            ReservedMember => {
                f.write_str("ERR a member name cannot start with '\\x00rank ': it is reserved for the schema")
            }
            KeepTwice(keep) => {
                write!(f, "ERR the board already has KEEP {keep}: leave KEEP out, or change it with RANK.ALTER")
            }
            BadMarker(text) => write!(f, "ERR the board's marker is not a schema: {text}"),
            MarkerVersion(Shown(version)) if version == "1" => f.write_str(
                "ERR the board has format version 1, this module reads version 2: \
                 export it with RANK.SCAN of the older module, and load it into a new board",
            ),
            MarkerVersion(version) => {
                write!(f, "ERR the board has format version {version}, this module reads version 2: upgrade redis-rank")
            }
            NoSuchKey => f.write_str("ERR no such key"),
            ArchiveExists => f.write_str("ERR the archive key already exists"),
            ArchiveNames => {
                f.write_str("ERR archive and DATA need two new key names, other than the board's key and hash")
            }
            OneFieldOnly => f.write_str("ERR RANK.SCOREAT is only valid on a board with one field"),
            TooManyRows { rows, most } => {
                write!(
                    f,
                    "ERR the reply would have {rows} rows, more than rank.max-rows ({most}): read fewer at a time"
                )
            }
            Undecodable(Shown(element)) => write!(
                f,
                "ERR element '{element}' does not decode under the board's schema: \
                 ZREM it; RANK.VERIFY lists all such elements"
            ),
            NoData => f.write_str("ERR the board has no hash for attributes: set one with RANK.ALTER key DATA hash"),
            SeveralMembersOfNewBoard => {
                f.write_str("ERR the board does not exist: create it with RANK.CREATE before adding several members")
            }
            DataTakesOneMember => f.write_str("ERR DATA is only valid with one member"),
            OwnedHash => f.write_str("ERR the board owns its hash: name one for the archive with DATA hash"),
            NoOwnedHash => f.write_str("ERR DATA is only valid for a board with DATA hash OWNED"),
            TooManyHops => write!(
                f,
                "ERR a DENSE rank would visit more than {} distinct scores: use COMPETITION, or raise rank.max-hops",
                crate::config::max_hops()
            ),
            Line { number, problem } => write!(f, "ERR line {number}: {problem}"),
            BadCursor(got) => write!(f, "ERR cursor takes 0 or a cursor that RANK.SCAN returned, got {got}"),
            AtWithoutTimes => f.write_str("ERR AT is only valid on a board with TIES FIRST, LAST or JOINED"),
            NoSuchMember(Shown(member)) => write!(f, "ERR '{member}' is not on the board: add the member first"),
            BadAttributes(Shown(member)) => {
                write!(f, "ERR the attributes of '{member}' are not a JSON object: replace them with RANK.PUTDATA")
            }
            NotText { what, got } => write!(f, "ERR {what} takes UTF-8 text, got {got}"),
            MemberCount { named, got: 1 } => write!(f, "ERR nummembers is {named} but 1 member follows"),
            MemberCount { named, got } => write!(f, "ERR nummembers is {named} but {got} members follow"),
            NotTheShard { shard, got } => write!(
                f,
                "ERR SHARD {} {} takes a key name{}, where name has no braces, got {got}",
                shard.index(),
                shard.count(),
                shard.suffix()
            ),
            OtherShard { member: Shown(member), shard, board } => {
                write!(f, "ERR '{member}' belongs to shard {} of {}: write to ", shard.index(), shard.count())?;
                match board {
                    Some(Shown(name)) => write!(f, "'{name}{}'", shard.suffix()),
                    None => write!(f, "the board with that SHARD, whose key ends with '{}'", shard.suffix()),
                }
            }
            ShardRotated => f.write_str("ERR a shard cannot be rotated: create a board with another name"),
            TakesBetween { what, least, most, got } => write!(f, "ERR {what} takes {least} to {most}, got {got}"),
            NoRule => f.write_str("ERR rule takes a limit and a window, got none"),
            LimitWithoutWindow(limit) => {
                write!(f, "ERR limit {limit} has no window: write {limit}/1m, or {limit} 60")
            }
            WindowTwice(window_ms) => write!(f, "ERR rules take different windows, got {window_ms}ms twice"),
            LimitOverLog { limit, max_log } => write!(
                f,
                "ERR limit takes 1 to {max_log} with SLIDING (rank.rate-max-log), got {limit}; \
                 COUNTER and GCRA take more"
            ),
            BurstWithoutGcra => f.write_str("ERR BURST is only valid with GCRA"),
            BurstOfSeveral => f.write_str("ERR BURST takes a single rule: with several, write limit/window/burst"),
            OffsetWithoutCalendar => f.write_str("ERR OFFSET is only valid with CALENDAR"),
            CalendarWithoutUnit => f.write_str("ERR CALENDAR takes the windows hour, day, week, month and year"),
            UnitWithoutCalendar(unit) => write!(f, "ERR the window '{unit}' is only valid with CALENDAR"),
            UnitTwice(unit) => write!(f, "ERR rules take different windows, got {unit} twice"),
            PenaltyWithSliding => f.write_str("ERR PENALTY is not valid with SLIDING: name another algorithm"),
            TooManyRules(most) => write!(f, "ERR a call takes 1 to {most} rules, got more"),
            TooManyWindows(most) => {
                write!(f, "ERR a limiter keeps at most {most} windows at a time: use another key for other rules")
            }
            RuleCount { keys, rules } => {
                write!(
                    f,
                    "ERR RATE.ALL takes a rule for each key, but numkeys is {keys} and the number of rules is {rules}"
                )
            }
            KeyCount { named, got: 1 } => write!(f, "ERR numkeys is {named} but 1 argument follows"),
            KeyCount { named, got } => write!(f, "ERR numkeys is {named} but {got} arguments follow"),
            HoldsOther(what) => write!(f, "WRONGTYPE the key holds {what}: RATE.RESET it or use another key"),
            NotALog => f.write_str("ERR the key holds a sorted set that is not a limiter"),
            NotAStringLimiter => f.write_str("ERR the key holds a string that is not a limiter"),
            NotLeases => f.write_str("ERR the key holds a sorted set that has no leases"),
            TokensUsedUp => f.write_str("ERR the key has no tokens left: RATE.RESET it"),
            LeaseEndsTooLate(latest) => write!(f, "ERR the lease would end after {latest}, the latest time in ms"),
            CellInteger(Shown(got)) => write!(f, "Cell error: Couldn't parse as integer: {got}"),
            LimiterOverflow(cost) => write!(f, "ERR COST {cost} would overflow the limiter"),
            BoardNotSchedule => f.write_str("ERR the key holds a leaderboard, not a schedule: use another key"),
            DataTakesOneItem => f.write_str("ERR DATA is only valid with one item"),
            NoTime(Shown(got)) => write!(f, "ERR expected AT ms or IN duration, got '{got}'"),
            LeaseEnd { least, most, got } => {
                write!(f, "ERR a lease can end at {least} to {most}, this one would end at {got}")
            }
            NoLongerPermitted => {
                f.write_str("NOPERM this user lost the permission to run this command on this key while waiting")
            }
            KeyMoved => f.write_str("TRYAGAIN the key's slot moved to another node while the client was waiting"),
            ClusterDown => f.write_str("CLUSTERDOWN the cluster is down"),
            Server(text) => f.write_str(text),
            Internal => f.write_str("ERR internal error in redis-rank, see the server log"),
        }
    }
}
