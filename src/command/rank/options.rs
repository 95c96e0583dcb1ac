//! The options of every read, and the steps that they share: a read parses them all, opens its board, and replies.

use super::output::Output;
use super::periods::PeriodSelector;
use super::rows::{AttributeSource, RowFormat, Standings};
use super::versus::Versus;
use super::{open_hash, open_to_read, ServerBoard};
use crate::board::{Order, Point, RankKind, Row, Schema};
use crate::config::check_rows;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::number::parse_extended;
use crate::server::{Access, Arg, Args, Call, Hash, Text};
use crate::words::Word;

/// The syntax of what every read of rows takes.
macro_rules! row_options {
    () => {
        "kind:[COMPETITION|DENSE|ORDINAL] [WITHTIME] [WITHDATA] [PERIOD unit which:[index|id]] order:[ASC|DESC] [VERSUS other] [JSON]"
    };
    // For commands that do not read periods.
    (board) => {
        "kind:[COMPETITION|DENSE|ORDINAL] [WITHTIME] [WITHDATA] order:[ASC|DESC] [JSON]"
    };
}
pub(super) use row_options;

/// The syntax of the option that chooses a period.
macro_rules! period_option {
    () => {
        " [PERIOD unit which:[index|id]]"
    };
}
pub(super) use period_option;

/// The documentation of a read of rows. Members can be called `VERSUS`, so a key specification could not tell where the
/// other board is.
pub(super) const fn read_rows(
    name: &'static str,
    syntax: &'static str,
    summary: &'static str,
    complexity: &'static str,
) -> Doc {
    const KEYS: &[KeySpec] = &[KeySpec::at(1, KeyUse::Read), KeySpec::dynamic(KeyUse::Read)];
    Doc::read(name, syntax, summary, complexity).reports_keys().keys(KEYS)
}

/// Reports the keys of a read of rows, which has so many fixed arguments behind its key. A call that is wrong may have
/// fewer; what is wrong with it is said when it is run.
#[cold]
pub(super) fn report_keys(call: &Call, fixed: usize) -> Result<()> {
    call.report_key_use(1, KeyUse::Read);
    let mut args = call.args();
    args.take_first(1 + fixed);
    ReadOptions::parse(call, args).map(drop).or(Ok(()))
}

pub(super) const RANK_COST: &str = "O(log(N)); with DENSE O(D*log(N)) for D better scores.";
pub(super) const ROWS_COST: &str = "O(log(N)+M) with M rows returned; with DENSE O(D*log(N)) more for D better scores.";
pub(super) const LIST_COST: &str =
    "O(log(N)+M) with M rows returned, or O(M*log(N)) with VERSUS; with DENSE O(D*log(N)) more for D better scores.";

/// `LIMIT`; the default is everything.
#[derive(Clone, Copy)]
pub struct Limit {
    pub offset: u64,
    pub count: u64,
}

impl Default for Limit {
    fn default() -> Limit {
        Limit { offset: 0, count: u64::MAX }
    }
}

/// The options of a read.
#[derive(Default)]
pub struct ReadOptions<'a> {
    kind: Option<RankKind>,
    order: Option<Order>,
    period: Option<PeriodSelector>,
    pub json: bool,
    pub data: bool,
    pub time: bool,
    pub fill: bool,
    pub worst: bool,
    pub limit: Limit,
    at: Option<i64>,
    member: Option<Arg<'a>>,
    versus: Option<Text<'a>>,
}

impl<'a> ReadOptions<'a> {
    /// Reads what follows the fixed arguments.
    #[inline]
    pub fn parse(call: &Call<'a>, args: Args<'a>) -> Result<ReadOptions<'a>> {
        let mut options = ReadOptions::default();
        if !args.is_empty() {
            options.read(call, args)?;
        }
        Ok(options)
    }

    fn read(&mut self, call: &Call<'a>, args: Args<'a>) -> Result<()> {
        let mut options = call.options(args);
        while let Some(option) = options.next()? {
            match option {
                "COMPETITION" => self.kind = Some(RankKind::Competition),
                "DENSE" => self.kind = Some(RankKind::Dense),
                "ORDINAL" => self.kind = Some(RankKind::Ordinal),
                "ASC" => self.order = Some(Order::Ascending),
                "DESC" => self.order = Some(Order::Descending),
                "JSON" => self.json = true,
                "WITHDATA" => self.data = true,
                "WITHTIME" => self.time = true,
                "PERIOD" => self.period = Some(PeriodSelector::parse(&mut options.words)?),
                "FILL" => self.fill = true,
                "WORST" => self.worst = true,
                "AT" => self.at = Some(options.value()?.time("AT")?),
                "MEMBER" => self.member = Some(options.value()?),
                "VERSUS" => {
                    self.versus = Some(options.value()?.text());
                    call.report_key_use(call.args().len() - options.words.len(), KeyUse::Read);
                }
                "LIMIT" => {
                    let offset = options.value()?.count("LIMIT offset", 0)?;
                    let count = options.value()?.integer("LIMIT count")?;
                    // As in ZRANGE, a negative count is all of them.
                    self.limit = Limit { offset, count: u64::try_from(count).unwrap_or(u64::MAX) };
                }
                _ => return Err(options.unknown()),
            }
        }
        Ok(())
    }

    /// How rows of a board with this schema are written.
    #[inline]
    pub fn format<'r, 'c>(
        &self,
        schema: &'r Schema,
        hash: Option<&'r Hash<'c>>,
        versus: Option<Standings>,
    ) -> RowFormat<'r, 'c> {
        let attributes = hash.map_or(AttributeSource::None, AttributeSource::Hash);
        RowFormat::new(schema, attributes, self.time, versus)
    }
}

/// An open board, or that of a period, and what its options say.
pub struct Read<'c> {
    call: &'c Call<'c>,
    pub board: ServerBoard<'c>,
    pub options: ReadOptions<'c>,
    pub hash: Option<Hash<'c>>,
    versus: Option<Box<Versus<'c>>>,
}

impl<'c> Read<'c> {
    /// Reads what follows the fixed arguments, and opens what it needs.
    #[inline]
    pub fn open(call: &'c Call<'c>, key: Text<'c>, args: Args<'c>) -> Result<Read<'c>> {
        let options = ReadOptions::parse(call, args)?;
        Read::of(call, open_to_read(call, key)?, options)
    }

    /// The same with scores in front of the options, which are a point together with `AT` and `MEMBER`. How many scores
    /// there are, the board says.
    pub fn open_at_point(call: &'c Call<'c>, key: Text<'c>, mut args: Args<'c>) -> Result<(Read<'c>, Point<'c>)> {
        let board = open_to_read(call, key)?;
        let scores = point_scores(&mut args, &board)?;
        let options = ReadOptions::parse(call, args)?;
        let values = board.schema().parse_tuple(scores.map(Arg::bytes))?;
        let point = Point { values, at: options.at, member: options.member.map(Arg::bytes) };
        Ok((Read::of(call, board, options)?, point))
    }

    /// Applies the options to an open board: its direction, its period, and the hash of its attributes.
    #[inline]
    pub fn of(call: &'c Call<'c>, mut board: ServerBoard<'c>, mut options: ReadOptions<'c>) -> Result<Read<'c>> {
        if options.kind == Some(RankKind::Dense) {
            // What follows counts distinct scores, up to rank.max-hops of them.
            call.start_timing();
        }
        options.order.map_or(Ok(()), |order| board.read_from(order))?;
        // A missing board reads as an empty one, with or without attributes.
        let wants_hash = options.data && board.exists();
        let hash = if wants_hash { Some(open_hash(call, &board, Access::Read)?) } else { None };
        let versus = match options.versus.take() {
            Some(other) => Some(Versus::open(call, other, options.order, board.schema())?),
            None => None,
        };
        if let Some(choice) = &options.period {
            choice.switch_to(call, &mut board)?;
        }
        Ok(Read { call, board, options, hash, versus })
    }

    /// The kind of rank to show.
    pub fn kind(&self) -> RankKind {
        self.options.kind.unwrap_or_else(|| self.board.default_kind())
    }

    /// Members of a group have equal fields, so the default is a competition rank.
    pub fn group_kind(&self) -> RankKind {
        self.options.kind.unwrap_or(RankKind::Competition)
    }

    /// The rows at some positions; an error if they are more than a reply may hold.
    pub fn rows_at(&mut self, first: u64, count: u64) -> Result<Vec<Row>> {
        check_rows(self.board.rows_from(first, count)?)?;
        let kind = self.kind();
        self.board.rows(first, count, kind)
    }

    pub fn null(&self) {
        self.call.reply().null();
    }

    /// Replies with rows.
    pub fn reply_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.reply(rows.iter(), |format, out| format.rows(rows, out))
    }

    /// Replies with what is written, in which these rows are shown.
    #[inline]
    pub fn reply<'r>(
        &mut self,
        mut rows: impl Iterator<Item = &'r Row>,
        write: impl FnOnce(&RowFormat<'_, 'c>, &mut Output),
    ) -> Result<()> {
        // Nothing may fail once the reply has begun.
        let kind = self.kind();
        let versus = match &mut self.versus {
            Some(other) => Some(other.standings(&mut rows, kind, self.board.hops_left())?),
            None => None,
        };
        let format = self.options.format(self.board.schema(), self.hash.as_ref(), versus);
        let reply = self.call.reply();
        let mut out = Output::new(&reply, self.options.json);
        write(&format, &mut out);
        out.send(&reply);
        Ok(())
    }
}

/// How many numbers there are before something else.
pub fn leading_numbers(args: &Args) -> usize {
    args.clone().take_while(|arg| parse_extended(arg.bytes()).is_some()).count()
}

/// Takes the scores of a point from the arguments: one for each field of the board, or all leading numbers if the board
/// does not exist.
fn point_scores<'a>(args: &mut Args<'a>, board: &ServerBoard) -> Result<Args<'a>> {
    let numbers = leading_numbers(args);
    let fields = if board.exists() { board.schema().fields().len() } else { numbers.max(1) };
    if args.len() < fields || numbers > fields {
        return Err(Error::scores_alone(fields, numbers.max(args.len().min(fields))));
    }
    Ok(args.take_first(fields))
}

/// Opens a board to read it, or the board of a period, for commands that take no other option.
pub fn open_board_or_period<'c>(call: &'c Call<'c>, key: Text<'c>, mut args: Args<'c>) -> Result<ServerBoard<'c>> {
    let choice = if args.next_if("PERIOD") { Some(PeriodSelector::parse(&mut args)?) } else { None };
    args.end()?;
    let mut board = open_to_read(call, key)?;
    if let Some(choice) = choice {
        choice.switch_to(call, &mut board)?;
    }
    Ok(board)
}
