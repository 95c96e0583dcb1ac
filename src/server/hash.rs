//! A companion hash of a board.

use std::cell::RefCell;
use std::ptr;

use redis_module::raw::{self, RedisModuleString};
use smallvec::SmallVec;

use super::context::{Ctx, EventClass};
use super::keeper::{note_companions, settle};
use super::key::{Access, Key, KeyType};
use super::names::kept;
use super::text::Text;
use crate::board::{Companion, Entry, Id, Part, ID_ENTRY, MEMBER_ENTRY};
use crate::error::{Error, Result};
use crate::stats;

enum Change<'a> {
    Set(Text<'a>, Text<'a>),
    Remove(Text<'a>),
    Unlink,
}

pub struct Hash<'a> {
    ctx: Ctx,
    board: Text<'a>,
    name: Text<'a>,
    key: Option<Key>,
    exists: bool,
    changes: SmallVec<[Change<'a>; 1]>,
    /// The name of the entry that was looked up last, mostly the one to be written next.
    last_entry: RefCell<Option<Text<'a>>>,
}

impl<'a> Hash<'a> {
    pub fn open(ctx: Ctx, part: Part, board: &Text<'a>, access: Access) -> Result<Hash<'a>> {
        let name = Text::new(&part.key(board.bytes()).ok_or(Error::NoCompanionName)?);
        let access = if access == Access::Write { Access::Write } else { Access::Peek };
        // Earlier in the transaction the board may have been renamed: its companions are to be where it is.
        settle(ctx);
        let key = Key::open(ctx, &name, access);
        let exists = match key.as_ref().map_or(KeyType::Empty, Key::kind) {
            KeyType::Empty => false,
            KeyType::Hash => true,
            _ => return Err(Error::CompanionType { part: part.name() }),
        };
        Ok(Hash {
            ctx,
            board: board.clone(),
            name,
            key,
            exists,
            changes: SmallVec::new(),
            last_entry: RefCell::default(),
        })
    }

    fn exists(&self) -> bool {
        self.exists
    }

    pub fn state(&self, id: &Id) -> Companion {
        if !self.exists() {
            return Companion::Absent;
        }
        match self.get(&kept(ID_ENTRY)) {
            Some(stamp) if stamp.bytes() == id => Companion::Stamped(self.len().saturating_sub(1)),
            _ => Companion::Foreign,
        }
    }

    /// Whether a companion may take the name: what is there must be a companion itself, whosever.
    pub fn check_free(ctx: Ctx, part: Part, board: &Text) -> Result<()> {
        let there = Hash::open(ctx, part, board, Access::Peek)?;
        if there.exists() && !there.is_stamped() {
            return Err(Error::CompanionType { part: part.name() });
        }
        Ok(())
    }

    /// Whether it is a companion at all, whosever: somebody's own hash of that name has no stamp.
    pub fn is_stamped(&self) -> bool {
        self.get(&kept(ID_ENTRY)).is_some_and(|stamp| {
            stamp.bytes().len() == size_of::<Id>() && stamp.bytes().iter().all(u8::is_ascii_hexdigit)
        })
    }

    fn len(&self) -> u64 {
        self.key.as_ref().map_or(0, Key::len)
    }

    fn get(&self, field: &Text) -> Option<Text<'a>> {
        let key = self.key.as_ref().filter(|_| self.exists())?;
        let mut value: *mut RedisModuleString = ptr::null_mut();
        let end: *mut RedisModuleString = ptr::null_mut();
        // SAFETY: the key is an open hash; the list of fields ends with a null; the value that is returned is ours.
        unsafe {
            api!(RedisModule_HashGet)(key.raw(), raw::REDISMODULE_HASH_NONE as i32, field.raw(), &raw mut value, end);
            Text::take(value)
        }
    }

    pub fn entry(&self, member: &[u8]) -> Option<Text<'a>> {
        if !self.exists() {
            return None;
        }
        self.get(&self.entry_name(member))
    }

    pub fn set_entry(&mut self, id: &Id, member: &[u8], bytes: &[u8]) {
        if !self.exists() {
            self.set(kept(ID_ENTRY), Text::new(id));
            note_companions(self.ctx, &self.board);
        }
        let name = self.entry_name(member);
        self.set(name, Text::new(bytes));
    }

    fn entry_name(&self, member: &[u8]) -> Text<'a> {
        let mut last = self.last_entry.borrow_mut();
        match last.as_ref() {
            Some(name) if name.bytes().get(1..) == Some(member) => name.clone(),
            _ => {
                let mut name: SmallVec<[u8; 64]> = SmallVec::new();
                name.push(MEMBER_ENTRY);
                name.extend_from_slice(member);
                last.insert(Text::new(&name)).clone()
            }
        }
    }

    fn set(&mut self, field: Text<'a>, value: Text<'a>) {
        self.write(&field, value.raw());
        self.exists = true;
        self.changes.push(Change::Set(field, value));
    }

    /// Whether there was an entry; a hash that holds nothing but its id goes with its last one.
    pub fn remove_entry(&mut self, member: &[u8]) -> bool {
        if !self.exists() {
            return false;
        }
        let field = self.entry_name(member);
        self.remove_field(field)
    }

    /// The same by the name of the field itself.
    pub fn remove_field(&mut self, field: Text<'a>) -> bool {
        if !self.exists() || self.write(&field, HASH_DELETE) == 0 {
            return false;
        }
        if self.len() <= 1 {
            self.unlink();
        } else {
            self.changes.push(Change::Remove(field));
        }
        true
    }

    /// How many fields were set or removed.
    fn write(&mut self, field: &Text, value: *mut RedisModuleString) -> i32 {
        let Some(key) = &self.key else { return 0 };
        let flags = raw::REDISMODULE_HASH_COUNT_ALL as i32;
        let end: *mut RedisModuleString = ptr::null_mut();
        // SAFETY: the key is open for writing; the list of fields ends with a null; the server copies the strings.
        unsafe { api!(RedisModule_HashSet)(key.raw(), flags, field.raw(), value, end) }
    }

    pub fn unlink(&mut self) {
        let Some(key) = self.key.as_ref().filter(|_| self.exists()) else { return };
        // SAFETY: the key is open for writing.
        unsafe { api!(RedisModule_UnlinkKey)(key.raw()) };
        self.exists = false;
        // What was done to it before is as if it had not been.
        self.changes.clear();
        self.changes.push(Change::Unlink);
    }

    /// Fields and what they hold, the stamp left out, from the server's cursor on.
    pub fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<Entry>)> {
        let (next, texts) = self.ctx.hscan(&self.name, cursor, count)?;
        let entries = texts.chunks_exact(2).filter_map(|pair| match pair {
            [field, value] if field.bytes() != ID_ENTRY => Some((field.bytes().to_vec(), value.bytes().to_vec())),
            _ => None,
        });
        Ok((next, entries.collect()))
    }

    pub fn changed(&self) -> bool {
        !self.changes.is_empty()
    }

    pub fn name(&self) -> &Text<'a> {
        &self.name
    }

    /// Propagates and announces what was changed.
    fn commit(&mut self) {
        if self.changes.is_empty() {
            return;
        }
        if !self.ctx.changed_unheard() {
            self.propagate();
        }
        stats::WRITES.add(1);
        self.ctx.signal_modified(&self.name);
        let any = |test: fn(&Change) -> bool| self.changes.iter().any(test);
        if any(|change| matches!(change, Change::Unlink)) {
            self.ctx.notify(EventClass::Generic, c"del", &self.name);
        }
        if any(|change| matches!(change, Change::Set(..))) {
            self.ctx.notify(EventClass::Hash, c"hset", &self.name);
        }
        if any(|change| matches!(change, Change::Remove(_))) {
            self.ctx.notify(EventClass::Hash, c"hdel", &self.name);
        }
        self.changes.clear();
    }

    /// Runs of one kind as one command.
    fn propagate(&self) {
        let mut rest = self.changes.as_slice();
        while let Some(first) = rest.first() {
            let same = |change: &&Change| std::mem::discriminant(*change) == std::mem::discriminant(first);
            let (changes, others) = rest.split_at(rest.iter().take_while(same).count());
            let mut args = vec![self.name.raw()];
            for change in changes {
                match change {
                    Change::Set(field, value) => args.extend([field.raw(), value.raw()]),
                    Change::Remove(field) => args.push(field.raw()),
                    Change::Unlink => {}
                }
            }
            let command = match first {
                Change::Set(..) => c"HSET",
                Change::Remove(_) => c"HDEL",
                Change::Unlink => c"UNLINK",
            };
            self.ctx.replicate(command, &mut args);
            rest = others;
        }
    }
}

impl Drop for Hash<'_> {
    fn drop(&mut self) {
        self.commit();
    }
}

/// What the server takes in place of a value for "remove this field".
const HASH_DELETE: *mut RedisModuleString = ptr::without_provenance_mut(1);
