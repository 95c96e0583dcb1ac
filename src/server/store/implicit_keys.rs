//! Keys that a board's schema names, and the command line does not.

use crate::error::{Error, Result};
use crate::server::api::{Access, Caller, Text};
use crate::server::Call;
use crate::slot::slot_of;

/// Checks that such a key may be opened. Anybody who can `ZADD` can forge a schema, so the slot and the caller's own
/// permission are checked first.
pub(super) fn check_implicit(call: &Call, caller: &Caller, board: &Text, name: &Text, access: Access) -> Result<()> {
    if call.ctx.is_cluster() && slot_of(board.bytes()) != slot_of(name.bytes()) {
        return Err(Error::other_slot(name.bytes()));
    }
    if !caller.may(name, access) {
        return Err(Error::no_permission(name.bytes()));
    }
    Ok(())
}

/// Checks that a key which is not on this node does not exist: while a slot is moving, it may be on the other node.
pub(super) fn check_absent(call: &Call, name: &Text) -> Result<()> {
    if call.ctx.is_cluster() {
        call.ctx.check_not_moving(name)?;
    }
    Ok(())
}
