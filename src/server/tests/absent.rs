//! A server without a single key, so that every handler can be called where there is no server: what is left of a
//! command then is how it takes its arguments.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_long, c_longlong};
use std::ptr;
use std::rc::Rc;
use std::sync::Once;

use redis_module::raw::{self, RedisModuleCtx, RedisModuleKey, RedisModuleString};

use crate::server::Command;

type Bytes = Vec<u8>;

/// A primary where no client can wait.
const ALONE: c_int = (raw::REDISMODULE_CTX_FLAGS_MASTER | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING) as c_int;

thread_local! {
    /// The last error of the command that is running.
    static ERROR: RefCell<Option<String>> = const { RefCell::new(None) };
    static ASKS_FOR_KEYS: Cell<bool> = const { Cell::new(false) };
    /// Whether it needed more of a server than there is here.
    static NEEDED_MORE: Cell<bool> = const { Cell::new(false) };
}

pub fn note_missing() {
    NEEDED_MORE.set(true);
}

/// Calls a command with arguments behind its name: the error it replies, if any. A command that comes as far as to need
/// more of a server has taken its arguments.
pub fn call(command: &Command, args: &[Bytes], asks_for_keys: bool) -> Option<String> {
    install();
    ERROR.set(None);
    NEEDED_MORE.set(false);
    ASKS_FOR_KEYS.set(asks_for_keys);
    let words = std::iter::once(command.doc.name.as_bytes()).chain(args.iter().map(Vec::as_slice));
    let mut argv: Vec<*mut RedisModuleString> = words.map(|word| into_raw(word.to_vec())).collect();
    // SAFETY: the arguments are live strings of this server's, as many as are said.
    unsafe { (command.shim)(ptr::null_mut(), argv.as_mut_ptr(), argv.len() as c_int) };
    for arg in argv {
        // SAFETY: the reference that was made above.
        unsafe { free_string(ptr::null_mut(), arg) };
    }
    ERROR.take().filter(|_| !NEEDED_MORE.get())
}

fn into_raw(bytes: Bytes) -> *mut RedisModuleString {
    Rc::into_raw(Rc::new(bytes)).cast_mut().cast()
}

/// A function of the API that always answers the same.
macro_rules! answers {
    ($name:ident, ($($arg:ty),*) $(-> $type:ty)?, $value:expr) => {{
        unsafe extern "C" fn answer($(_: $arg),*) $(-> $type)? {
            $value
        }
        raw::$name = Some(answer);
    }};
}

/// Sets the functions that a command without keys needs.
pub fn install() {
    static ONCE: Once = Once::new();
    type Ctx = *mut RedisModuleCtx;
    type Text = *mut RedisModuleString;
    // SAFETY: nobody reads the pointers before they are set, and nobody sets them twice.
    ONCE.call_once(|| unsafe {
        raw::RedisModule_CreateString = Some(create_string);
        raw::RedisModule_RetainString = Some(retain_string);
        raw::RedisModule_FreeString = Some(free_string);
        raw::RedisModule_StringPtrLen = Some(string_bytes);
        raw::RedisModule_IsKeysPositionRequest = Some(asks_for_keys);
        raw::RedisModule_ReplyWithError = Some(reply_error);
        answers!(RedisModule_OpenKey, (Ctx, Text, c_int) -> *mut RedisModuleKey, ptr::null_mut());
        answers!(RedisModule_GetSelectedDb, (Ctx) -> c_int, 0);
        answers!(RedisModule_KeyAtPos, (Ctx, c_int), ());
        answers!(RedisModule_KeyAtPosWithFlags, (Ctx, c_int, c_int), ());
        answers!(RedisModule_GetContextFlags, (Ctx) -> c_int, ALONE);
        answers!(RedisModule_Milliseconds, () -> c_longlong, 1_700_000_000_000);
        answers!(RedisModule_ReplicateVerbatim, (Ctx) -> c_int, 0);
        answers!(RedisModule_WrongArity, (Ctx) -> c_int, 0);
        answers!(RedisModule_ReplyWithLongLong, (Ctx, c_longlong) -> c_int, 0);
        answers!(RedisModule_ReplyWithStringBuffer, (Ctx, *const c_char, usize) -> c_int, 0);
        answers!(RedisModule_ReplyWithDouble, (Ctx, f64) -> c_int, 0);
        answers!(RedisModule_ReplyWithNull, (Ctx) -> c_int, 0);
        answers!(RedisModule_ReplyWithSimpleString, (Ctx, *const c_char) -> c_int, 0);
        answers!(RedisModule_ReplyWithArray, (Ctx, c_long) -> c_int, 0);
        answers!(RedisModule_ReplyWithMap, (Ctx, c_long) -> c_int, 0);
        answers!(RedisModule_ReplySetArrayLength, (Ctx, c_long), ());
    });
}

unsafe extern "C" fn create_string(
    _: *mut RedisModuleCtx,
    start: *const c_char,
    length: usize,
) -> *mut RedisModuleString {
    if length == 0 {
        return into_raw(Bytes::new());
    }
    // SAFETY: the caller has so many bytes there.
    into_raw(unsafe { std::slice::from_raw_parts(start.cast(), length) }.to_vec())
}

unsafe extern "C" fn retain_string(_: *mut RedisModuleCtx, text: *mut RedisModuleString) {
    // SAFETY: every string is one of `into_raw`.
    unsafe { Rc::increment_strong_count(text.cast::<Bytes>()) };
}

unsafe extern "C" fn free_string(_: *mut RedisModuleCtx, text: *mut RedisModuleString) {
    // SAFETY: as above, and the caller gives up a reference.
    unsafe { Rc::decrement_strong_count(text.cast::<Bytes>()) };
}

unsafe extern "C" fn string_bytes(text: *const RedisModuleString, length: *mut usize) -> *const c_char {
    // SAFETY: as above, and the caller has room for the length.
    unsafe {
        let bytes = &*text.cast::<Bytes>();
        *length = bytes.len();
        bytes.as_ptr().cast()
    }
}

unsafe extern "C" fn asks_for_keys(_: *mut RedisModuleCtx) -> c_int {
    c_int::from(ASKS_FOR_KEYS.get())
}

unsafe extern "C" fn reply_error(_: *mut RedisModuleCtx, message: *const c_char) -> c_int {
    // SAFETY: the caller's text ends with a NUL.
    ERROR.set(Some(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()));
    0
}
