//! `VERSUS`: where the members of a reply stand on another board.

use super::member::rank_peers;
use super::rows::Standings;
use super::{open_to_read, ServerBoard};
use crate::board::{Order, RankKind, Row, Schema};
use crate::error::{Error, Result};
use crate::server::{Call, Text};

/// The other board.
pub struct Versus<'c> {
    name: Text<'c>,
    board: ServerBoard<'c>,
}

impl<'c> Versus<'c> {
    /// Opens the other board. `order` is that of the read, for boards without a schema.
    #[cold]
    pub fn open(
        call: &'c Call<'c>,
        name: Text<'c>,
        order: Option<Order>,
        own_schema: &Schema,
    ) -> Result<Box<Versus<'c>>> {
        if own_schema.rules.shard.is_some() {
            return Err(Error::versus_on_shard());
        }
        match open_unsharded(call, name.clone(), order) {
            Ok(board) => Ok(Box::new(Versus { name, board })),
            Err(error) => Err(error.in_versus(name.bytes())),
        }
    }

    /// Looks up the members of rows. `DENSE` ranks share one walk, which may make so many more hops.
    #[cold]
    pub fn standings(&mut self, rows: &mut dyn Iterator<Item = &Row>, kind: RankKind, hops: u64) -> Result<Standings> {
        self.board.set_max_hops(hops);
        let standings = self.find_all(rows, kind).map_err(|error| error.in_versus(self.name.bytes()))?;
        Ok(Standings::new(self.board.schema().clone(), standings))
    }

    /// The row of each member on the other board, where it is there.
    fn find_all(&mut self, rows: &mut dyn Iterator<Item = &Row>, kind: RankKind) -> Result<Vec<Option<Row>>> {
        let (mut standings, mut found) = (Vec::new(), Vec::new());
        for (index, row) in rows.enumerate() {
            standings.push(None);
            found.extend(self.board.find(&Text::new(row.member()))?.map(|member| (index, member)));
        }
        found.sort_by(|(_, a), (_, b)| self.board.compare(&a.stored, &b.stored));
        let (indexes, found): (Vec<usize>, Vec<_>) = found.into_iter().unzip();
        for (index, (_, standing)) in indexes.into_iter().zip(rank_peers(&mut self.board, kind, found)?) {
            if let Some(place) = standings.get_mut(index) {
                *place = Some(standing);
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
