//! Core commands that have no low-level function, by `RM_Call`.
//!
//! The commands in this file only read, with two exceptions that say so. Reads may run while a handle of the key is open:
//! the server's clock does not advance during a command, so no call can expire and free the value. Commands that write go
//! through [`Key::call`](super::Key::call), which closes the handle first.

use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::os::raw::c_longlong;

use redis_module::raw::{self, RedisModuleCallReply, RedisModuleCtx, RedisModuleString};

use super::context::Ctx;
use super::core_commands::CoreCommand;
use super::rights::user_may_run;
use super::text::Text;
use crate::error::{Error, Result};

/// Why the server did not run a command that the module called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key, or one of the keys, is not on this node of the cluster.
    KeyMoved,
    ClusterDown,
    Other,
}

impl Refusal {
    /// By the error number that `RM_Call` leaves.
    fn of(error: &io::Error) -> Refusal {
        match error.raw_os_error() {
            Some(libc::EPERM) => Refusal::KeyMoved,
            Some(libc::ENETDOWN | libc::EROFS) => Refusal::ClusterDown,
            _ => Refusal::Other,
        }
    }
}

/// A reply of a core command, or an element of one.
#[derive(Clone, Copy)]
struct ReplyPart<'r> {
    raw: *mut RedisModuleCallReply,
    lives: PhantomData<&'r ()>,
}

impl<'r> ReplyPart<'r> {
    fn kind(self) -> isize {
        // SAFETY: the reply is alive.
        unsafe { api!(RedisModule_CallReplyType)(self.raw) as isize }
    }

    fn integer(self) -> i64 {
        // SAFETY: the reply is alive; for a reply that is no integer the server returns the lowest number.
        unsafe { api!(RedisModule_CallReplyInteger)(self.raw) }
    }

    fn bytes(self) -> &'r [u8] {
        let mut length = 0;
        // SAFETY: the reply is alive as long as the slice, and has that many bytes.
        unsafe {
            let start = api!(RedisModule_CallReplyStringPtr)(self.raw, &mut length);
            if start.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    fn text<'a>(self) -> Option<Text<'a>> {
        // SAFETY: the reply is alive; the string that is made is ours.
        unsafe { Text::take(api!(RedisModule_CreateStringFromCallReply)(self.raw)) }
    }

    /// The elements of an array; none for any other reply.
    fn elements(self) -> impl Iterator<Item = ReplyPart<'r>> {
        // SAFETY: the reply is alive; its elements belong to it.
        let length = unsafe { api!(RedisModule_CallReplyLength)(self.raw) };
        (0..length).filter_map(move |index| {
            // SAFETY: as above.
            let raw = unsafe { api!(RedisModule_CallReplyArrayElement)(self.raw, index) };
            (!raw.is_null()).then_some(ReplyPart { raw, lives: PhantomData })
        })
    }
}

/// What a core command replied.
pub struct CallReply {
    raw: *mut RedisModuleCallReply,
}

impl CallReply {
    /// An error if the server did not run the command.
    fn new(raw: *mut RedisModuleCallReply) -> Result<CallReply, io::Error> {
        if raw.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(CallReply { raw })
    }

    /// An error also if the command replied with one.
    fn checked(raw: *mut RedisModuleCallReply) -> Result<CallReply> {
        let reply = CallReply::new(raw).map_err(|error| match Refusal::of(&error) {
            Refusal::KeyMoved => Error::slot_is_moving(),
            Refusal::ClusterDown => Error::cluster_down(),
            Refusal::Other => Error::refused_call(&error.to_string()),
        })?;
        if reply.part().kind() == raw::REDISMODULE_REPLY_ERROR {
            return Err(Error::server(&String::from_utf8_lossy(reply.part().bytes())));
        }
        Ok(reply)
    }

    fn part(&self) -> ReplyPart<'_> {
        ReplyPart { raw: self.raw, lives: PhantomData }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: the reply is ours, and freed once.
        unsafe { api!(RedisModule_FreeCallReply)(self.raw) };
    }
}

/// A context of its own: the calls that it makes have no user and none of the marks of the client that runs a command.
struct Detached {
    raw: *mut RedisModuleCtx,
}

impl Detached {
    fn new(ctx: Ctx) -> Detached {
        // SAFETY: the context is alive.
        Detached { raw: unsafe { api!(RedisModule_GetDetachedThreadSafeContext)(ctx.raw()) } }
    }

    fn ctx(&self) -> Ctx<'_> {
        // SAFETY: the context is ours while the borrow lives. The main thread uses it, as part of a command.
        unsafe { Ctx::new(self.raw) }
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        // SAFETY: the context is ours, and freed once.
        unsafe { api!(RedisModule_FreeThreadSafeContext)(self.raw) };
    }
}

/// `RM_Call` of a core command, with the arguments that its format says. They must be alive during the call.
macro_rules! call {
    ($ctx:expr, $command:expr, $format:literal $(, $arg:expr)*) => {
        api!(RedisModule_Call)($ctx.raw(), $command.name().as_ptr(), $format.as_ptr() $(, $arg)*)
    };
}

impl<'c> Ctx<'c> {
    /// A write command that propagates and announces itself.
    pub(super) fn call(self, command: CoreCommand, args: &[&Text]) -> Result<CallReply> {
        let mut args: Vec<*mut RedisModuleString> = args.iter().map(|arg| arg.raw()).collect();
        // SAFETY: the strings are alive during the call.
        CallReply::checked(unsafe { call!(self, command, c"!v", args.as_mut_ptr(), args.len()) })
    }

    /// Whether the server knows a command by this name. It finds out by calling it without arguments: of the core commands
    /// in the list, that runs `PING` alone.
    pub fn has_command(self, command: CoreCommand) -> bool {
        // SAFETY: the format takes no arguments.
        let reply = CallReply::new(unsafe { call!(self, command, c"") });
        reply.err().and_then(|error| error.raw_os_error()) != Some(libc::ENOENT)
    }

    pub fn zrank(self, key: &Text, element: &Text) -> Result<Option<u64>> {
        // SAFETY: the strings are alive during the call.
        let reply = CallReply::checked(unsafe { call!(self, CoreCommand::ZRANK, c"ss", key.raw(), element.raw()) })?;
        // Null, for an element that is not there, has the lowest number.
        Ok(u64::try_from(reply.part().integer()).ok())
    }

    /// An error if a key that is not here may be on another node of the cluster, because its slot is moving.
    pub fn check_not_moving(self, key: &Text) -> Result<()> {
        let refusal = self.refusal_to_read(key).or_else(|| {
            // A client that comes with `ASKING` may read what has not come yet. So a primary is asked once more, without it.
            // A replica would refuse that: it serves only clients that sent `READONLY`.
            self.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER).then(|| Detached::new(self).ctx().refusal_to_read(key))?
        });
        match refusal {
            None => Ok(()),
            Some(Refusal::KeyMoved) => Err(Error::slot_is_moving()),
            Some(_) => Err(Error::cluster_down()),
        }
    }

    /// Whether the context has a user.
    pub(super) fn has_user(self) -> bool {
        // The flag `C` runs the command as the user of the context: the documented error for a context without one is ENOTSUP.
        // SAFETY: the format takes no arguments.
        let reply = CallReply::new(unsafe { call!(self, CoreCommand::PING, c"C") });
        reply.err().and_then(|error| error.raw_os_error()) != Some(libc::ENOTSUP)
    }

    /// Whether this node of a cluster would refuse to read a key. Asks with the one command that names a key and leaves no
    /// trace: it counts no hit or miss, and does not touch the key.
    pub fn refusal_to_read(self, key: &Text) -> Option<Refusal> {
        let (usage, samples) = (c"USAGE".as_ptr(), c"SAMPLES".as_ptr());
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        let reply = CallReply::new(unsafe {
            call!(self, CoreCommand::MEMORY, c"cscl", usage, key.raw(), samples, 1 as c_longlong)
        });
        reply.err().map(|error| Refusal::of(&error))
    }

    /// Asks the server to run one of the module's write commands for a user (`None`: one who may do everything), given by
    /// its name and its words. Returns false if the user may not run it. The flag `S` makes the server refuse it as it
    /// refuses clients: without enough replicas, after an error of the disk, on a replica. A refusal is an error as a
    /// reply (`E`): Valkey 9.1 crashes if `S` has to refuse a call without that flag. Memory and pauses are no reasons
    /// for it. Whether the command was run, and what came of it, the command itself has to say.
    pub fn run_for(self, user: Option<&Text>, command: &CStr, words: &[Text]) -> bool {
        let mut words: Vec<*mut RedisModuleString> = words.iter().map(Text::raw).collect();
        if !user_may_run(user, &mut words) {
            return false;
        }
        let args = words.get_mut(1..).unwrap_or_default();
        // SAFETY: the strings are alive during the call; a reply is ours, and freed once.
        unsafe {
            let (format, count) = (c"!SEv".as_ptr(), args.len());
            drop(CallReply::new(api!(RedisModule_Call)(
                self.raw(),
                command.as_ptr(),
                format,
                args.as_mut_ptr(),
                count,
            )));
        }
        true
    }

    /// `ZSCAN`: the next cursor, and elements.
    pub fn zscan(self, key: &Text, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'c>>)> {
        let cursor = Text::new(cursor.to_string().as_bytes());
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        let reply = CallReply::checked(unsafe {
            call!(self, CoreCommand::ZSCAN, c"sscl", key.raw(), cursor.raw(), c"COUNT".as_ptr(), count)
        })?;
        let mut parts = reply.part().elements();
        let next = parts.next().and_then(|next| std::str::from_utf8(next.bytes()).ok()?.parse().ok());
        // Each element is followed by its score.
        let elements = parts.next().into_iter().flat_map(|list| list.elements().step_by(2));
        Ok((next.unwrap_or(0), elements.filter_map(ReplyPart::text).collect()))
    }

    pub fn zrange(self, key: &Text, first: u64, last: u64) -> Result<Vec<Text<'c>>> {
        let (first, last) = (first as c_longlong, last as c_longlong);
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        let reply = CallReply::checked(unsafe { call!(self, CoreCommand::ZRANGE, c"sll", key.raw(), first, last) })?;
        let elements = reply.part().elements();
        Ok(elements.filter_map(ReplyPart::text).collect())
    }
}
