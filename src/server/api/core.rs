//! Core commands that have no low-level function, by `RM_Call`.
//!
//! The commands in this file only read. They may run while a handle of the key is open: the server's clock does not
//! advance during a command, so no call can expire and free the value. Commands that write go through
//! [`Key::call`](super::Key::call).

use std::ffi::CStr;
use std::io;
use std::os::raw::c_longlong;

use redis_module::raw::{self, RedisModuleCallReply, RedisModuleString};

use super::context::Ctx;
use super::rights::user_may_run;
use super::text::Text;
use crate::error::{Error, Result};
use crate::number::FloatText;

/// Why the server did not run a command that the module called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key, or one of the keys, is not on this node of the cluster.
    KeyMoved,
    /// The cluster is down.
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

/// A reply that outlives the call: a server before 7.2 must free its own while the context of the call is alive.
#[derive(Debug, PartialEq, Eq)]
pub enum SavedReply {
    Integer(i64),
    Bulk(Vec<u8>),
    Array(Vec<SavedReply>),
    Error(String),
    Null,
}

impl SavedReply {
    /// Whether it is an array without elements.
    pub fn is_empty_array(&self) -> bool {
        matches!(self, SavedReply::Array(elements) if elements.is_empty())
    }

    /// # Safety
    /// The reply must be alive.
    unsafe fn copy(raw: *mut RedisModuleCallReply) -> SavedReply {
        // SAFETY: the reply is alive, its elements belong to it, and a string has as many bytes as the server says.
        unsafe {
            let bytes = || {
                let mut length = 0;
                let start = api!(RedisModule_CallReplyStringPtr)(raw, &mut length);
                if start.is_null() {
                    return &[][..];
                }
                std::slice::from_raw_parts(start.cast::<u8>(), length)
            };
            match api!(RedisModule_CallReplyType)(raw) as isize {
                raw::REDISMODULE_REPLY_INTEGER => SavedReply::Integer(api!(RedisModule_CallReplyInteger)(raw)),
                raw::REDISMODULE_REPLY_STRING => SavedReply::Bulk(bytes().to_vec()),
                raw::REDISMODULE_REPLY_ERROR => SavedReply::Error(String::from_utf8_lossy(bytes()).into_owned()),
                raw::REDISMODULE_REPLY_ARRAY => {
                    let length = api!(RedisModule_CallReplyLength)(raw);
                    let element = |i| SavedReply::copy(api!(RedisModule_CallReplyArrayElement)(raw, i));
                    SavedReply::Array((0..length).map(element).collect())
                }
                _ => SavedReply::Null,
            }
        }
    }
}

/// What a core command replied.
pub struct CallReply {
    raw: *mut RedisModuleCallReply,
}

impl CallReply {
    fn checked(raw: *mut RedisModuleCallReply) -> Result<CallReply> {
        CallReply::with_kind(raw).map(|(reply, _)| reply)
    }

    /// The reply and its type, which would cost a call to ask for again.
    fn with_kind(raw: *mut RedisModuleCallReply) -> Result<(CallReply, isize)> {
        if raw.is_null() {
            let error = io::Error::last_os_error();
            return Err(match Refusal::of(&error) {
                Refusal::KeyMoved => Error::slot_is_moving(),
                Refusal::ClusterDown => Error::cluster_down(),
                _ => Error::refused_call(&error.to_string()),
            });
        }
        let reply = CallReply { raw };
        let kind = reply.kind();
        if kind == raw::REDISMODULE_REPLY_ERROR {
            return Err(Error::server(&String::from_utf8_lossy(reply.bytes())));
        }
        Ok((reply, kind))
    }

    fn kind(&self) -> isize {
        // SAFETY: the reply is alive.
        unsafe { api!(RedisModule_CallReplyType)(self.raw) as isize }
    }

    fn bytes(&self) -> &[u8] {
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

    /// A non-negative integer; 0 for any other reply.
    pub fn count(&self) -> u64 {
        // SAFETY: the reply is alive; for a reply that is no integer the server returns the lowest number.
        unsafe { api!(RedisModule_CallReplyInteger)(self.raw) }.max(0).unsigned_abs()
    }

    /// How many elements the array has.
    pub fn len(&self) -> usize {
        // SAFETY: the reply is alive.
        unsafe { api!(RedisModule_CallReplyLength)(self.raw) }
    }

    /// The elements of an array of elements and scores inside the array.
    fn elements_at<'a>(&self, index: usize) -> Vec<Text<'a>> {
        // SAFETY: the reply is alive; elements belong to it; the strings that are made are ours.
        unsafe {
            let list = api!(RedisModule_CallReplyArrayElement)(self.raw, index);
            if list.is_null() {
                return Vec::new();
            }
            let texts = (0..api!(RedisModule_CallReplyLength)(list)).step_by(2).filter_map(|i| {
                let element = api!(RedisModule_CallReplyArrayElement)(list, i);
                Text::take(api!(RedisModule_CreateStringFromCallReply)(element))
            });
            texts.collect()
        }
    }

    /// A string of the array.
    pub fn text_at<'a>(&self, index: usize) -> Option<Text<'a>> {
        // SAFETY: the reply is alive; elements belong to it; the string that is made is ours.
        unsafe {
            let element = api!(RedisModule_CallReplyArrayElement)(self.raw, index);
            if element.is_null() {
                return None;
            }
            Text::take(api!(RedisModule_CreateStringFromCallReply)(element))
        }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: the reply is ours, and freed once.
        unsafe { api!(RedisModule_FreeCallReply)(self.raw) };
    }
}

impl<'c> Ctx<'c> {
    /// A write command that propagates and announces itself.
    pub(super) fn call(self, command: &CStr, args: &[&Text]) -> Result<CallReply> {
        let mut args: Vec<*mut RedisModuleString> = args.iter().map(|arg| arg.raw()).collect();
        // SAFETY: the strings are alive during the call.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(self.raw(), command.as_ptr(), c"!v".as_ptr(), args.as_mut_ptr(), args.len())
        })
    }

    /// Whether the server knows a command by this name, which takes arguments. It finds out by calling it without any: that
    /// runs nothing.
    pub fn has_command(self, command: &CStr) -> bool {
        // SAFETY: the name is alive during the call; a reply is freed once.
        let reply = unsafe { api!(RedisModule_Call)(self.raw(), command.as_ptr(), c"".as_ptr()) };
        if reply.is_null() {
            return io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT);
        }
        drop(CallReply { raw: reply });
        true
    }

    /// How many elements are below this one.
    pub fn zrank(self, key: &Text, element: &Text) -> Result<Option<u64>> {
        // SAFETY: the strings are alive during the call.
        let (reply, kind) = CallReply::with_kind(unsafe {
            api!(RedisModule_Call)(self.raw(), c"ZRANK".as_ptr(), c"ss".as_ptr(), key.raw(), element.raw())
        })?;
        Ok((kind == raw::REDISMODULE_REPLY_INTEGER).then(|| reply.count()))
    }

    /// How many elements have a score below (`inclusive`: or at) this one.
    pub fn zcount_below(self, key: &Text, score: f64, inclusive: bool) -> Result<u64> {
        let mut number = FloatText::new();
        let bound = [if inclusive { "" } else { "(" }, number.print(score)].concat();
        // SAFETY: strings and buffer are alive during the call.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"ZCOUNT".as_ptr(),
                c"scb".as_ptr(),
                key.raw(),
                c"-inf".as_ptr(),
                bound.as_ptr(),
                bound.len(),
            )
        })?;
        Ok(reply.count())
    }

    /// An error while the keys' slot is moving and one of them is not here.
    pub fn check_not_moving(self, a: &Text, b: &Text) -> Result<()> {
        // SAFETY: the strings are alive during the call.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(self.raw(), c"EXISTS".as_ptr(), c"ss".as_ptr(), a.raw(), b.raw())
        })
        .map(drop)
    }

    /// Whether this node of a cluster would refuse to read a key. Asks with the one command that names a key and leaves no
    /// trace: it counts no hit or miss, and does not touch the key.
    pub fn refusal_to_read(self, key: &Text) -> Option<Refusal> {
        // SAFETY: the strings are alive during the call; `l` takes a long long. The reply is freed once.
        unsafe {
            let reply = api!(RedisModule_Call)(
                self.raw(),
                c"MEMORY".as_ptr(),
                c"cscl".as_ptr(),
                c"USAGE".as_ptr(),
                key.raw(),
                c"SAMPLES".as_ptr(),
                1 as c_longlong,
            );
            if reply.is_null() {
                return Some(Refusal::of(&io::Error::last_os_error()));
            }
            drop(CallReply { raw: reply });
        }
        None
    }

    /// Runs a write command as a user (`None`: one who may do everything); `None` if the user may not. The flag `S` makes
    /// the server refuse it as it refuses clients: without enough replicas, after an error of the disk, on a replica. A
    /// refusal is an error as a reply (`E`): Valkey 9.1 crashes if `S` has to refuse a call without that flag. Memory and
    /// pauses are no reasons for it.
    pub fn run_for(self, user: Option<&Text>, command: &CStr, args: &[&Text]) -> Option<SavedReply> {
        let name = Text::new(command.to_bytes());
        let mut words: Vec<*mut RedisModuleString> =
            std::iter::once(&name).chain(args.iter().copied()).map(Text::raw).collect();
        if !user_may_run(user, &mut words) {
            return None;
        }
        // SAFETY: the strings are alive during the call; the reply is copied while it is alive, and freed once.
        unsafe {
            let (args, count) = (words.as_mut_ptr().add(1), args.len());
            let reply = api!(RedisModule_Call)(self.raw(), command.as_ptr(), c"!SEv".as_ptr(), args, count);
            if reply.is_null() {
                return Some(SavedReply::Null);
            }
            let reply = CallReply { raw: reply };
            Some(SavedReply::copy(reply.raw))
        }
    }

    /// `ZSCAN`: the next cursor, and elements.
    pub fn zscan(self, key: &Text, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'c>>)> {
        let cursor = cursor.to_string();
        // SAFETY: strings and buffers are alive during the call; `l` takes a long long.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"ZSCAN".as_ptr(),
                c"sbcl".as_ptr(),
                key.raw(),
                cursor.as_ptr(),
                cursor.len(),
                c"COUNT".as_ptr(),
                i64::try_from(count).unwrap_or(i64::MAX),
            )
        })?;
        let next = reply.text_at(0).and_then(|text| std::str::from_utf8(text.bytes()).ok()?.parse().ok());
        Ok((next.unwrap_or(0), reply.elements_at(1)))
    }

    /// The elements between two indexes, both included.
    pub fn zrange(self, key: &Text, first: u64, last: u64) -> Result<CallReply> {
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"ZRANGE".as_ptr(),
                c"sll".as_ptr(),
                key.raw(),
                first as c_longlong,
                last as c_longlong,
            )
        })
    }
}
