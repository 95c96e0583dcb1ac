//! Every error that a client can get. It begins with a code that programs can rely on; the rest is for people: what is
//! wrong, what was expected, and what to do, in one line of ASCII.
//!
//! All messages are in the table below, which makes a function of each one. Nothing here runs in a call that succeeds, so
//! pass these functions to `ok_or_else`, not their results to `ok_or`.

use std::fmt;

use crate::calendar::MAX_MS;
use crate::shard::Shard;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A wrong call.
    Err,
    /// Too few or too many arguments. The server writes this error itself, with the command's name.
    Arity,
    WrongType,
    NoPerm,
    TryAgain,
    CrossSlot,
    ClusterDown,
    /// The key has no schema, and the command needs one.
    NoBoard,
    /// The call is for a board with another schema.
    Schema,
    OutOfRange,
    Damaged,
    /// More than the configuration allows.
    TooBig,
    /// The message has its own code: the server's words, or redis-cell's.
    Verbatim,
}

impl ErrorKind {
    fn code(self) -> &'static str {
        match self {
            ErrorKind::Err | ErrorKind::Arity => "ERR ",
            ErrorKind::WrongType => "WRONGTYPE ",
            ErrorKind::NoPerm => "NOPERM ",
            ErrorKind::TryAgain => "TRYAGAIN ",
            ErrorKind::CrossSlot => "CROSSSLOT ",
            ErrorKind::ClusterDown => "CLUSTERDOWN ",
            ErrorKind::NoBoard => "NOBOARD ",
            ErrorKind::Schema => "SCHEMA ",
            ErrorKind::OutOfRange => "OUTOFRANGE ",
            ErrorKind::Damaged => "DAMAGED ",
            ErrorKind::TooBig => "TOOBIG ",
            ErrorKind::Verbatim => "",
        }
    }
}

/// Boxed, so that a `Result` is small.
#[derive(Debug, PartialEq, Eq)]
pub struct Error(Box<(ErrorKind, String)>);

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    #[cold]
    fn new(kind: ErrorKind, message: String) -> Error {
        Error(Box::new((kind, message)))
    }

    pub fn kind(&self) -> ErrorKind {
        self.0 .0
    }

    /// Says in which line of `RANK.LOAD` the error is, counted from 1.
    pub fn in_line(self, number: u64) -> Error {
        self.prefixed(format!("line {number}: "))
    }

    /// Says in which period's board the error is, unless the message has the key.
    #[cold]
    pub fn in_period(self, key: &[u8]) -> Error {
        match self.kind() {
            ErrorKind::CrossSlot | ErrorKind::NoPerm | ErrorKind::TryAgain => self,
            ErrorKind::WrongType => Error::period_type(key),
            _ => self.prefixed(format!("in the board's period {:?}: ", Escaped(key))),
        }
    }

    /// Says that the error is in the board that `VERSUS` names.
    #[cold]
    pub fn in_versus(self, key: &[u8]) -> Error {
        self.prefixed(format!("in VERSUS {:?}: ", Escaped(key)))
    }

    /// Adds to the message, behind its code.
    fn prefixed(mut self, prefix: String) -> Error {
        let (kind, message) = &mut *self.0;
        let code = if *kind == ErrorKind::Verbatim { message.find(' ').map_or(0, |space| space + 1) } else { 0 };
        message.insert_str(code, &prefix);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().code())?;
        f.write_str(&self.0 .1)
    }
}

/// Bytes of a client as a message shows them: printable ASCII, not too long. `{:?}` puts them in quotes.
pub struct Escaped<'b>(pub &'b [u8]);

const ESCAPED_BYTES: usize = 64;

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Escaped(bytes) = self;
        if bytes.is_empty() {
            return f.write_str("''");
        }
        let shown = bytes.get(..ESCAPED_BYTES);
        write!(f, "{}{}", shown.unwrap_or(bytes).escape_ascii(), if bytes.len() > ESCAPED_BYTES { "..." } else { "" })
    }
}

impl fmt::Debug for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "{self}");
        }
        write!(f, "'{self}'")
    }
}

/// Makes a function for each message, which returns the error.
macro_rules! errors {
    ($($kind:ident { $($name:ident($($arg:ident: $type:ty),*) $message:literal $(, $value:expr)*;)* })*) => {
        impl Error {
            $($(#[cold] pub fn $name($($arg: $type),*) -> Error {
                Error::new(ErrorKind::$kind, format!($message $(, $value)*))
            })*)*
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$($(stringify!($name)),*),*];
    };
}

errors! {
    Arity {
        arity() "wrong number of arguments";
    }

    Err {
        // Words.
        unknown_option(word: &[u8]) "unknown option {:?}", Escaped(word);
        given_twice(option: &str) "{option} is specified more than once";
        mutually_exclusive(a: &str, b: &str) "{a} and {b} are mutually exclusive";
        only_together(a: &str, b: &str) "{a} and {b} are only valid together";
        without_value(option: &str) "{option} needs a value";
        takes(what: &str, takes: &str, got: &[u8]) "{what} takes {takes}, got {}", Escaped(got);
        takes_between(what: &str, least: u64, most: u64, got: &[u8])
            "{what} takes {least} to {most}, got {}", Escaped(got);
        name_too_long(what: &str, most: usize, got: usize)
            "{what} takes a name of at most {most} bytes, got {got} bytes";
        not_text(what: &str, got: &[u8]) "{what} takes UTF-8 text, got {}", Escaped(got);
        shard_count(got: &[u8]) "n takes a power of two from 2 to 1024, got {}", Escaped(got);
        score_count(fields: usize, got: usize) "expected {}, got {got} arguments (options go first)",
            if fields == 1 { "score-member pairs".into() } else { format!("{fields} scores before each member") };
        delta_count(fields: usize, got: usize) "expected {} and a member, got {got} arguments (options go first)",
            if fields == 1 { "a delta".into() } else { format!("{fields} deltas") };
        scores_alone(fields: usize, got: usize) "expected {fields} {}, got {got}",
            if fields == 1 { "score" } else { "scores" };
        member_count(named: u64, got: usize) "nummembers is {named} but {got} {}",
            if got == 1 { "member follows" } else { "members follow" };
        key_count(named: u64, got: usize) "numkeys is {named} but {got} {}",
            if got == 1 { "argument follows" } else { "arguments follow" };

        // A schema.
        range_order(lo: i64, hi: i64) "RANGE takes lo below hi, got {lo} {hi}";
        field_twice(name: &str) "field '{name}' is specified more than once";
        too_many_fields(most: usize, name: &str) "a board has at most {most} fields: '{name}' is one too many";
        order_with_fields() "ASC and DESC are only valid without FIELD: each field has its own order";
        since_without_times() "SINCE is only valid with TIES FIRST, LAST or JOINED";
        adopt_without_since()
            "ADOPT of a board with tie times needs SINCE ms: the one that RANK.INFO showed, or 0 if it is not known";
        not_the_shard(shard: Shard, got: &[u8]) "SHARD {} {} takes a key name{}, where name has no braces, got {}",
            shard.index(), shard.count(), shard.suffix(), Escaped(got);
        period_twice(unit: &str) "the {unit} period is specified more than once";
        period_prefixes(prefix: &[u8])
            "a prefix cannot be another prefix, or another prefix followed by digits, got {:?}", Escaped(prefix);
        past_together(past: i64) "PAST takes at most 1000 over all periods of a board, got {past}";
        offset_without_period() "OFFSET is only valid with PERIOD";

        // Members and keys.
        all_kept() "a member needs at least one score other than *";
        reserved_member() "a member name cannot start with '\\x00rank ': it is reserved for the schema";
        data_takes_one_member() "DATA is only valid with one member";
        no_such_member(member: &[u8]) "{:?} is not on the board: add the member first", Escaped(member);
        bad_attributes(member: &[u8])
            "the attributes of {:?} are not a JSON object: replace them with RANK.PUTDATA", Escaped(member);
        bad_cursor(got: &[u8]) "cursor takes 0 or a cursor that RANK.SCAN returned, got {}", Escaped(got);
        no_such_key() "no such key";
        archive_exists() "the archive key already exists";
        archive_names() "archive and DATA take two new key names, other than the board's key and hash";

        // A line of RANK.LOAD.
        not_an_object(got: &[u8])
            "expected a JSON object such as {{\"member\":\"ann\",\"score\":5}}, got {}", Escaped(got);
        unknown_name(name: &[u8]) "unknown name {:?}", Escaped(name);
        missing(name: &str) "\"{name}\" is missing";
        bad_member(got: &[u8]) "\"member\" takes a string or {{\"base64\":\"...\"}}, got {}", Escaped(got);
        score_and_scores() "\"score\" and \"scores\" are mutually exclusive";
        bad_scores(got: &[u8]) "\"scores\" takes a JSON object with one score for each field, got {}", Escaped(got);
        bad_time(got: &[u8]) "\"time\" takes a Unix time in ms from 0 to {MAX_MS}, or null, got {}", Escaped(got);
        bad_data(got: &[u8]) "\"data\" takes a JSON object, a string or null, got {}", Escaped(got);

        // Limits.
        no_rule() "rule takes a limit and a window, got none";
        limit_without_window(limit: u64) "limit {limit} has no window: write {limit}/1m, or {limit} 60";
        window_twice(window: &str) "each rule needs its own window; {window} is repeated";
        burst_without_gcra() "BURST is only valid with GCRA";
        burst_of_several() "BURST takes a single rule: with several, write limit/window/burst";
        offset_without_calendar() "OFFSET is only valid with CALENDAR";
        calendar_without_unit() "CALENDAR takes the windows hour, day, week, month and year";
        unit_without_calendar(unit: &str) "the window '{unit}' is only valid with CALENDAR";
        not_with_sliding(what: &str) "{what} is not valid with SLIDING: name FIXED, COUNTER, GCRA or CALENDAR";
        wait_without_gcra() "WAIT is only valid with GCRA: add GCRA, or leave WAIT out and use retry_after_ms";
        wait_for_all() "WAIT is not valid in RATE.ALL: one slow key would hold up the others; use RATE.CHECK for each";
        upto_without_cost() "UPTO follows a cost: write COST n UPTO";
        incomplete_settlement() "RATE.SETTLE takes COST reserved ACTUAL used AT ms, where AT is the at_ms of STAMP";
        too_many_rules(most: usize) "a call takes 1 to {most} rules, got more";
        too_many_windows(most: usize)
            "a limiter keeps at most {most} windows at a time: use another key for other rules";
        rule_count(keys: u64, rules: usize)
            "RATE.ALL takes a rule for each key, but numkeys is {keys} and the number of rules is {rules}";
        limiter_overflow(cost: u64) "COST {cost} would overflow the limiter";
        tokens_used_up() "token counter exhausted: run RATE.RESET";
        lease_ends_too_late(latest_ms: u64) "the lease would end after {latest_ms}, the latest time in ms";

        // Schedules.
        no_time(got: &[u8]) "expected AT ms or IN duration, got {:?}", Escaped(got);
        data_takes_one_item() "DATA is only valid with one item";
        lease_end(least: i64, most: i64, got: i64)
            "a lease ends between {least} and {most}, this one would end at {got}";

        refused_call(error: &str) "the server refused a call of redis-rank: {error}";
        internal() "internal error in redis-rank, see the server log";
    }

    WrongType {
        wrong_type() "Operation against a key holding the wrong kind of value";
        hash_type(hash: &[u8]) "the board keeps its attributes in {:?}, which is not a hash", Escaped(hash);
        period_type(key: &[u8]) "{:?}, a period of the board, holds another type of value", Escaped(key);
        holds_other(what: &str) "the key holds {what}: RATE.RESET it or use another key";
        not_a_log() "the key holds a sorted set that is not a limiter";
        not_a_string_limiter() "the key holds a string that is not a limiter";
        not_leases() "the key holds a sorted set that has no leases";
        board_not_schedule() "the key holds a leaderboard, not a schedule: use another key";
    }

    NoPerm {
        no_permission(key: &[u8])
            "this user has no permissions to access {:?}, which the board's schema names", Escaped(key);
        no_longer_permitted() "this user lost the permission to run this command on this key while waiting";
    }

    TryAgain {
        slot_is_moving() "the slot is moving, and a key that the board's schema names is on the other node";
        key_moved() "the key's slot moved to another node while the client was waiting";
    }

    CrossSlot {
        other_slot(key: &[u8]) "{:?}, which the board's schema names, is in another slot: \
            give both keys the same hash tag", Escaped(key);
    }

    ClusterDown {
        cluster_down() "the cluster is down";
    }

    NoBoard {
        no_board() "the key has no board with a schema: create it with RANK.CREATE";
        kept_on_new_board() "the board does not exist: * needs a board that RANK.CREATE made";
        several_members_of_new_board()
            "the board does not exist: create it with RANK.CREATE before adding several members";
        scores_without_schema() "\"scores\" needs a board with fields: create it with RANK.CREATE first";
    }

    Schema {
        marker_version(version: &[u8]) "the board has format version {}, this module reads version 2: {}",
            Escaped(version), if version == b"1" {
                "export it with RANK.SCAN of the older module, and load it into a new board"
            } else {
                "upgrade redis-rank"
            };
        other_schema(differences: &str, can_alter: bool) "the board has a different schema: {differences}: {}",
            if can_alter {
                "use RANK.ALTER to change it"
            } else {
                "use another key (fields, ties, SHARD and SINCE cannot change)"
            };
        other_fields(own: usize, declared: usize) "BOARD is {declared}, but the board has {own} {}",
            if own == 1 { "field" } else { "fields" };
        other_shard(member: &[u8], shard: Shard, board: Option<&[u8]>) "{:?} belongs to shard {} of {}: write to {}",
            Escaped(member), shard.index(), shard.count(), match board {
                Some(name) => format!("'{}{}'", Escaped(name), shard.suffix()),
                None => format!("the board with that SHARD, whose key ends with '{}'", shard.suffix()),
            };
        has_members() "the sorted set already has members: use one FLOAT field with TIES SHARED, \
            or ADOPT if its scores fit the schema";
        infinite_scores() "the sorted set has infinite scores: a board with a schema takes finite scores only";
        adopt_undecodable(element: &[u8]) "ADOPT: element {:?} does not decode under this schema: \
            ZREM it, or use the schema the board had", Escaped(element);
        has_schema() "ASC and DESC are only valid on a board without a schema";
        has_own_keep(keep: u64) "the board already has KEEP {keep}: leave KEEP out, or change it with RANK.ALTER";
        one_field_only() "RANK.SCOREAT is only valid on a board with one field";
        at_without_times() "AT is only valid on a board with TIES FIRST, LAST or JOINED";
        several_fields(fields: usize) "the board has {fields} fields: use \"scores\" with one score for each";
        no_field(name: &[u8]) "the board has no field {:?}", Escaped(name);
        field_without_score(name: &str) "field '{name}' has no score";
        no_data() "the board has no hash for attributes: set one with RANK.ALTER key DATA hash";
        owned_hash() "the board owns its hash: name one for the archive with DATA hash";
        no_owned_hash() "DATA is only valid for a board with DATA hash OWNED";
        no_such_period(unit: &str) "the board has no {unit} period: add one with RANK.ALTER key PERIOD";
        periods_of_another(owner: Option<&[u8]>, units: &str) "the board's periods belong to {}, which feeds them: \
            take each over with RANK.ALTER key PERIOD, or drop it with NOPERIOD, all in one call ({units})",
            owner.map_or("another key".to_owned(), |owner| format!("'{}'", Escaped(owner)));
        period_differs(key: &[u8]) "{:?}, a period of the board, has other fields or ties: \
            rename it, or change the prefix", Escaped(key);
        period_is_own_key(key: &[u8]) "{:?} is the key of a period, but also of the board or its hash: \
            change the prefix", Escaped(key);
        offset_is_set() "OFFSET is set with the first period of a board: \
            remove all periods with NOPERIOD to set another";
        versus_on_shard() "VERSUS is not valid with shards: a rank on one of them is not a rank on the whole board";
        has_periods() "a board with periods cannot be rotated";
        is_shard() "a shard cannot be rotated: create a board with another name";
    }

    OutOfRange {
        field_takes(field: &str, takes: &str, got: &[u8]) "field '{field}' takes {takes}, got {}", Escaped(got);
        increment_leaves(field: &str, takes: &str, from: &str, by: &str)
            "field '{field}' takes {takes}: {from} cannot be incremented by {by}";
    }

    Damaged {
        marker_behind() "the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, \
            or ZREM them and use RANK.CREATE key ... ADOPT";
        marker_lost() "the board is damaged: it has index entries but no marker; \
            restore its schema with RANK.CREATE key ... ADOPT, then run RANK.VERIFY key REPAIR";
        stray_element() "the board is damaged: an element other than its marker is at -inf; \
            run RANK.VERIFY key REPAIR";
        index_differs(member: &[u8]) "the board is damaged: index and element do not match at {:?}; \
            run RANK.VERIFY key REPAIR", Escaped(member);
        undecodable(element: &[u8]) "element {:?} does not decode under the board's schema: \
            ZREM it; RANK.VERIFY finds the others", Escaped(element);
        bad_marker(text: &[u8]) "the board's marker is not a schema: {}", Escaped(text);
    }

    TooBig {
        too_many_rows(rows: u64, most: u64)
            "the reply would have {rows} rows, more than rank.max-rows ({most}): read fewer at a time";
        too_many_hops(most: u64)
            "a DENSE rank would visit more than {most} distinct scores: use COMPETITION, or raise rank.max-hops";
        limit_over_log(limit: u64, max_log: u64) "limit takes 1 to {max_log} with SLIDING (rank.rate-max-log), \
            got {limit}; COUNTER and GCRA take more";
    }

    Verbatim {
        server(text: &str) "{text}";
        cell_integer(got: &[u8]) "Cell error: Couldn't parse as integer: {}", Escaped(got);
    }
}

#[cfg(test)]
mod tests;
