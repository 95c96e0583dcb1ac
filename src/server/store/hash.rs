//! The hash of a board's attributes, member → JSON object, and that of a schedule's payloads, item → text. Changes are
//! recorded as those of a sorted set are.

use std::os::raw::c_int;
use std::ptr;

use redis_module::raw::{self, RedisModuleString};

use super::effects::Effect;
use super::implicit_keys::{check_absent, check_implicit};
use crate::error::{Error, Result};
use crate::server::api::{Access, CoreCommand, Key, KeyType, Text};
use crate::server::Call;

pub struct Hash<'c> {
    call: &'c Call<'c>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key<'c>>,
    present: bool,
}

impl<'c> Hash<'c> {
    /// A hash that a board's schema names and the command does not.
    pub fn open(call: &'c Call<'c>, board: &Text<'c>, name: &[u8], access: Access) -> Result<Hash<'c>> {
        let name = Text::new(name);
        check_implicit(call, &call.ctx.caller(), board, &name, access)?;
        let hash = Hash::of_command(call, name.clone(), access).map_err(|_| Error::hash_type(name.bytes()))?;
        if !hash.present {
            check_absent(call, &hash.name)?;
        }
        Ok(hash)
    }

    /// A hash that the command names, so that the server has checked its slot and the caller's permission.
    pub fn of_command(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<Hash<'c>> {
        let key = Key::open(call.ctx, &name, access);
        let present = match key.as_ref().map_or(KeyType::Empty, Key::kind) {
            KeyType::Empty => false,
            KeyType::Hash => true,
            _ => return Err(Error::wrong_type()),
        };
        Ok(Hash { call, name, key, present })
    }

    /// An error unless the caller may write to a hash that a board is to own.
    pub fn check_may_own(call: &'c Call<'c>, name: &[u8]) -> Result<()> {
        if call.ctx.caller().may(&Text::new(name), Access::Write) {
            return Ok(());
        }
        Err(Error::no_permission(name))
    }

    pub fn get(&self, member: &[u8]) -> Option<Text<'c>> {
        let key = self.key.as_ref().filter(|_| self.present)?;
        let field = Text::new(member);
        let mut value: *mut RedisModuleString = ptr::null_mut();
        let end: *mut RedisModuleString = ptr::null_mut();
        let flags = raw::REDISMODULE_HASH_NONE as c_int;
        // SAFETY: the key is an open hash; the list of fields ends with a null; the value that is returned is ours.
        unsafe {
            api!(RedisModule_HashGet)(key.raw(), flags, field.raw(), &raw mut value, end);
            Text::take(value)
        }
    }

    /// Replaces what it holds for a member, unless it is the same.
    pub fn set(&mut self, member: &[u8], value: &[u8]) {
        if self.get(member).is_some_and(|old| old.bytes() == value) {
            return;
        }
        let (field, value) = (Text::new(member), Text::new(value));
        self.write(&field, value.raw());
        self.present = true;
        self.call.note(&self.name, Effect::Hset(field, value));
    }

    pub fn remove(&mut self, member: &[u8]) {
        let field = Text::new(member);
        if !self.present || self.write(&field, HASH_DELETE) == 0 {
            return;
        }
        self.call.note(&self.name, Effect::Hdel(field));
        // The server deletes a key with its last field.
        self.present = self.key.as_ref().is_some_and(|key| key.kind() == KeyType::Hash);
        if !self.present {
            self.call.note(&self.name, Effect::Vanish);
        }
    }

    /// How many fields were set or removed.
    fn write(&mut self, field: &Text, value: *mut RedisModuleString) -> c_int {
        let Some(key) = &self.key else { return 0 };
        let flags = raw::REDISMODULE_HASH_COUNT_ALL as c_int;
        let end: *mut RedisModuleString = ptr::null_mut();
        // SAFETY: the key is open for writing, and empty or a hash; the list of fields ends with a null; strings are
        // copied.
        unsafe { api!(RedisModule_HashSet)(key.raw(), flags, field.raw(), value, end) }
    }

    pub fn unlink(&mut self) {
        if let Some(key) = self.key.as_mut().filter(|_| self.present) {
            key.unlink();
            self.present = false;
            self.call.note(&self.name, Effect::Unlink);
        }
    }

    /// Gives the hash, if there is one, another key. The call propagates itself, so earlier changes are propagated first.
    pub fn rename(self, to: &Text) -> Result<()> {
        match self.key.filter(|_| self.present) {
            Some(key) => {
                self.call.propagate_and_notify();
                key.call(CoreCommand::RENAME, &[to]).1.map(drop)
            }
            None => Ok(()),
        }
    }
}

/// The value that tells the server to remove a field.
const HASH_DELETE: *mut RedisModuleString = ptr::without_provenance_mut(1);
