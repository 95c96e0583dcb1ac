//! Every error is in the reference, as a client gets it.

use std::fs;
use std::path::Path;

use super::{Damage, Error, LineProblem, NamedKey, Shown};
use crate::shard::{Count, Shard};

/// An example of every variant. `covers` does not compile without an example for each of them.
macro_rules! examples {
    ($type:ident: $($pattern:pat => $example:expr,)*) => {{
        fn covers(error: &$type) {
            match error { $($pattern => {})* }
        }
        let examples = vec![$($example),*];
        examples.iter().for_each(covers);
        examples
    }};
}

fn shown(text: &str) -> Shown {
    Shown::new(text.as_bytes())
}

/// One of four.
fn shard(index: i64) -> Shard {
    Count::new(4).and_then(|count| count.shard(index)).expect("a shard")
}

fn damages() -> Vec<Damage> {
    use Damage::*;
    examples! { Damage:
        MarkerBehind => MarkerBehind,
        MarkerLost => MarkerLost,
        Stray => Stray,
        Index(_) => Index(shown("ann")),
    }
}

fn line_problems() -> Vec<LineProblem> {
    use LineProblem::*;
    let takes = Error::FieldTakes { field: "gold".into(), takes: "0 to 1023".into(), got: shown("2000") };
    let other = Other(Box::new(takes));
    examples! { LineProblem:
        NotAnObject(_) => NotAnObject(shown("x")),
        Unknown(_) => Unknown(shown("name")),
        Missing(_) => Missing("member"),
        Member(_) => Member(shown("5")),
        SeveralFields(_) => SeveralFields(2),
        ScoresWithoutSchema => ScoresWithoutSchema,
        ScoreAndScores => ScoreAndScores,
        Scores(_) => Scores(shown("[1]")),
        NoField(_) => NoField(shown("bronze")),
        MissingField(_) => MissingField(shown("silver")),
        Time(_) => Time(shown("-1")),
        Data(_) => Data(shown("5")),
        Other(_) => other,
    }
}

/// With the values that the reference uses.
fn errors() -> Vec<Error> {
    use Error::*;
    let mut errors = examples! { Error:
        Arity => Arity,
        WrongType => WrongType,
        HashType(_) => HashType(shown("players")),
        TryAgain => TryAgain,
        CrossSlot(..) => CrossSlot(NamedKey::Hash, shown("players")),
        NoPermission(..) => NoPermission(NamedKey::Hash, shown("players")),
        Damaged(_) => Damaged(Damage::Stray),
        UnknownOption(_) => UnknownOption(shown("X")),
        OptionTwice(_) => OptionTwice("JSON"),
        OptionsConflict(..) => OptionsConflict("DENSE", "ORDINAL"),
        OptionWithoutValue(_) => OptionWithoutValue("KEEP"),
        OptionsTogether(..) => OptionsTogether("ATTEMPTS", "DEAD"),
        Takes { .. } => Takes { what: "KEEP", takes: "1 or more", got: shown("0") },
        FieldTakes { .. } => FieldTakes { field: "gold".into(), takes: "0 to 1023".into(), got: shown("2000") },
        IncrementLeaves { .. } => IncrementLeaves {
            field: "hearts".into(), takes: "0 to 7".into(), from: "5".into(), by: "3".into(),
        },
        ScoreCount { .. } => ScoreCount { fields: 1, got: 3 },
        DeltaCount { .. } => DeltaCount { fields: 1, got: 3 },
        Scores { .. } => Scores { fields: 2, got: 1 },
        RangeOrder { .. } => RangeOrder { lo: 5, hi: 5 },
        FieldTwice(_) => FieldTwice("gold".into()),
        TooManyFields { .. } => TooManyFields { most: 32, name: "x".into() },
        OrderWithFields => OrderWithFields,
        NoSchema => NoSchema,
        HasSchema => HasSchema,
        NoBoard => NoBoard,
        OtherFields { .. } => OtherFields { own: 3, declared: 2 },
        AllKept => AllKept,
        KeptOnNewBoard => KeptOnNewBoard,
        OtherSchema { .. } => OtherSchema { differences: "KEEP 100, asked for KEEP 5".into(), can_alter: true },
        OnlyPlain => OnlyPlain,
        AdoptWithoutSince => AdoptWithoutSince,
        SinceWithoutTimes => SinceWithoutTimes,
        AdoptUndecodable(_) => AdoptUndecodable(shown("x")),
        InfiniteScores => InfiniteScores,
        ReservedMember => ReservedMember,
        KeepTwice(_) => KeepTwice(100),
        BadMarker(_) => BadMarker(shown("1 no schema")),
        MarkerVersion(_) => MarkerVersion(shown("3")),
        NoSuchKey => NoSuchKey,
        ArchiveExists => ArchiveExists,
        ArchiveNames => ArchiveNames,
        OneFieldOnly => OneFieldOnly,
        TooManyRows { .. } => TooManyRows { rows: 1000, most: 100 },
        Undecodable(_) => Undecodable(shown("x")),
        NoData => NoData,
        DataTakesOneMember => DataTakesOneMember,
        SeveralMembersOfNewBoard => SeveralMembersOfNewBoard,
        OwnedHash => OwnedHash,
        NoOwnedHash => NoOwnedHash,
        TooManyHops => TooManyHops,
        AtWithoutTimes => AtWithoutTimes,
        Line { .. } => Line { number: 1, problem: LineProblem::Missing("member") },
        BadCursor(_) => BadCursor(shown("x")),
        NoSuchMember(_) => NoSuchMember(shown("zoe")),
        BadAttributes(_) => BadAttributes(shown("ann")),
        NotText { .. } => NotText { what: "attr", got: shown("\u{ff}") },
        MemberCount { .. } => MemberCount { named: 3, got: 2 },
        NotTheShard { .. } => NotTheShard { shard: shard(3), got: shown("game") },
        OtherShard { .. } => OtherShard { member: shown("ann"), shard: shard(2), board: Some(shown("game")) },
        ShardRotated => ShardRotated,
        TakesBetween { .. } => TakesBetween { what: "limit", least: 1, most: 1_000_000_000, got: shown("0") },
        NoRule => NoRule,
        LimitWithoutWindow(_) => LimitWithoutWindow(100),
        WindowTwice(_) => WindowTwice(60_000),
        LimitOverLog { .. } => LimitOverLog { limit: 200_000, max_log: 100_000 },
        BurstWithoutGcra => BurstWithoutGcra,
        BurstOfSeveral => BurstOfSeveral,
        OffsetWithoutCalendar => OffsetWithoutCalendar,
        CalendarWithoutUnit => CalendarWithoutUnit,
        UnitWithoutCalendar(_) => UnitWithoutCalendar("day"),
        UnitTwice(_) => UnitTwice("day"),
        PenaltyWithSliding => PenaltyWithSliding,
        TooManyRules(_) => TooManyRules(100),
        TooManyWindows(_) => TooManyWindows(1_000),
        RuleCount { .. } => RuleCount { keys: 2, rules: 1 },
        KeyCount { .. } => KeyCount { named: 3, got: 2 },
        HoldsOther(_) => HoldsOther("leases, a sorted set"),
        NotALog => NotALog,
        NotAStringLimiter => NotAStringLimiter,
        NotLeases => NotLeases,
        TokensUsedUp => TokensUsedUp,
        LeaseEndsTooLate(_) => LeaseEndsTooLate(9_007_199_254_740),
        CellInteger(_) => CellInteger(shown("x")),
        LimiterOverflow(_) => LimiterOverflow(5),
        BoardNotSchedule => BoardNotSchedule,
        DataTakesOneItem => DataTakesOneItem,
        NoTime(_) => NoTime(shown("5")),
        LeaseEnd { .. } => LeaseEnd { least: 1_577_836_800_000, most: 3_774_712_571_903, got: 31_000 },
        NoLongerPermitted => NoLongerPermitted,
        KeyMoved => KeyMoved,
        ClusterDown => ClusterDown,
        InPeriod(..) => InPeriod(shown("game:2023"), Box::new(Damaged(Damage::Stray))),
        PeriodDiffers(_) => PeriodDiffers(shown("game:2023")),
        PeriodIsOwnKey(_) => PeriodIsOwnKey(shown("game:2023")),
        NoSuchPeriod(_) => NoSuchPeriod("day"),
        PeriodTwice(_) => PeriodTwice("day"),
        PeriodPrefixes(_) => PeriodPrefixes(shown("a:1")),
        PastTogether(_) => PastTogether(1001),
        OffsetWithoutPeriod => OffsetWithoutPeriod,
        OffsetIsSet => OffsetIsSet,
        HasPeriods => HasPeriods,
        Server(_) => Server("OOM command not allowed when used memory > 'maxmemory'.".into()),
        Internal => Internal,
    };
    errors.push(InPeriod(shown("game:2023"), Box::new(WrongType)));
    errors.push(CrossSlot(NamedKey::Period, shown("game:")));
    errors.push(NoPermission(NamedKey::Period, shown("game:2023")));
    errors.extend(damages().into_iter().map(Error::Damaged));
    errors.extend(line_problems().into_iter().map(|problem| Error::Line { number: 1, problem }));
    errors
}

/// The code spans of the reference.
fn reference() -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = fs::read_dir(docs.join("commands")).expect("a folder").map(|page| page.expect("a page").path());
    let pages = pages.chain([docs.join("commands.md")]);
    pages.map(|page| fs::read_to_string(page).expect("a text")).collect()
}

/// What the reference does not have: the server's own words, and what no client can bring about.
fn is_left_out(error: &Error) -> bool {
    matches!(error, Error::Server(_) | Error::LimiterOverflow(_) | Error::Internal)
}

#[test]
fn every_error_is_in_the_reference() {
    let reference = reference();
    let is_documented = |text: &str| {
        reference.split('`').any(|span| match span.strip_suffix('…') {
            Some(start) => start.starts_with(char::is_uppercase) && start.contains(' ') && text.starts_with(start),
            // The server adds the command's name to this one.
            None if text.ends_with("wrong number of arguments") => span.starts_with(text),
            // What follows a colon may be left out.
            None => span == text || text.strip_prefix(span).is_some_and(|detail| detail.starts_with(": ")),
        })
    };
    let texts = errors().into_iter().filter(|error| !is_left_out(error)).map(|error| error.to_string());
    let missing: Vec<String> = texts.filter(|text| !is_documented(text)).collect();
    assert!(missing.is_empty(), "not in docs/commands: {missing:#?}");
}

#[test]
fn every_error_is_one_line_that_starts_with_its_code() {
    // redis-cell's own words are as its clients know them.
    for error in errors().into_iter().filter(|error| !matches!(error, Error::CellInteger(_))) {
        let text = error.to_string();
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
        let (code, message) = text.split_once(' ').expect("a code and a message");
        assert!(code.bytes().all(|byte| byte.is_ascii_uppercase()), "{text}");
        assert!(!message.ends_with('.') || matches!(error, Error::Server(_)), "{text}");
        let first = message.split(' ').next().unwrap_or_default();
        // An option keeps its case, and so does the core's own text.
        let is_word = first.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'.' | b':'));
        let is_core = matches!(error, Error::WrongType);
        assert!(is_core || is_word || !first.starts_with(char::is_uppercase), "{text}");
    }
}
