//! `VERSUS`: where the members of a reply stand on another board.

use std::sync::Arc;

use super::{open_to_read, ServerBoard};
use crate::board::{Found, Order, RankKind, Row, Schema, Tuple};
use crate::error::{Error, Result};
use crate::server::{Call, Text};

/// The other board.
pub struct Versus<'c> {
    name: Text<'c>,
    board: ServerBoard<'c>,
}

/// Where the members of some rows stand on the other board, in the order of the rows.
pub struct Standings {
    pub schema: Arc<Schema>,
    standings: Vec<Option<Standing>>,
}

#[derive(Clone)]
pub struct Standing {
    pub rank: u64,
    pub values: Tuple,
}

impl<'c> Versus<'c> {
    /// Opens the other board. `order` is that of the read, for boards without a schema.
    #[cold]
    pub fn open(call: &'c Call<'c>, name: Text<'c>, order: Option<Order>, own_schema: &Schema) -> Result<Versus<'c>> {
        if own_schema.rules.shard.is_some() {
            return Err(Error::versus_on_shard());
        }
        match open_unsharded(call, name.clone(), order) {
            Ok(board) => Ok(Versus { name, board }),
            Err(error) => Err(error.in_versus(name.bytes())),
        }
    }

    /// Looks up the members of rows. `DENSE` ranks share one walk, which may make so many more hops.
    #[cold]
    pub fn standings(&mut self, rows: &[Row], kind: RankKind, hops: u64) -> Result<Standings> {
        self.board.set_max_hops(hops);
        let standings = self.find_all(rows, kind).map_err(|error| error.in_versus(self.name.bytes()))?;
        Ok(Standings { schema: Arc::clone(self.board.schema()), standings })
    }

    fn find_all(&mut self, rows: &[Row], kind: RankKind) -> Result<Vec<Option<Standing>>> {
        let mut found = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            found.extend(self.board.find(&Text::new(row.member()))?.map(|member| (index, member)));
        }
        found.sort_by(|(_, a), (_, b)| self.board.compare(a, b));
        let ranks = ranks_of(&mut self.board, kind, found.iter().map(|(_, member)| member))?;
        let mut standings = vec![None; rows.len()];
        for ((index, member), rank) in found.into_iter().zip(ranks) {
            if let Some(standing) = standings.get_mut(index) {
                *standing = Some(Standing { rank, values: member.decoded.values });
            }
        }
        Ok(standings)
    }
}

fn open_unsharded<'c>(call: &'c Call<'c>, name: Text<'c>, order: Option<Order>) -> Result<ServerBoard<'c>> {
    let mut board = open_to_read(call, name)?;
    if board.schema().rules.shard.is_some() {
        return Err(Error::versus_on_shard());
    }
    if let (Some(order), None) = (order, board.schema_text()) {
        board.read_from(order)?;
    }
    Ok(board)
}

impl Standings {
    /// Where the member of a row stands; `None` if it is not on the other board.
    pub fn of(&self, row: usize) -> Option<&Standing> {
        self.standings.get(row).and_then(Option::as_ref)
    }
}

/// The ranks of members, which are given best first. For `DENSE` no distinct score is counted twice.
pub fn ranks_of<'f, 'c: 'f>(
    board: &mut ServerBoard<'c>,
    kind: RankKind,
    members: impl Iterator<Item = &'f Found<Text<'c>>>,
) -> Result<Vec<u64>> {
    let mut ranks = Vec::new();
    let mut last: Option<(u64, &Tuple)> = None;
    for member in members {
        let values = &member.decoded.values;
        let rank = match (last, kind) {
            (Some((rank, equal)), RankKind::Competition | RankKind::Dense) if equal == values => rank,
            (Some((rank, better)), RankKind::Dense) => rank + board.better_groups(values, Some(better))?,
            _ => board.rank(member, kind)?,
        };
        last = Some((rank, values));
        ranks.push(rank);
    }
    Ok(ranks)
}
