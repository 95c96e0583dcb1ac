//! The server's strings: arguments, which are borrowed, and strings to which the module holds a reference.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;

use redis_module::raw::RedisModuleString;

use crate::error::Result;
use crate::words::{self, Word, Words};

/// A string that belongs to the running command's arguments.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Arg<'a> {
    raw: *mut RedisModuleString,
    lives: PhantomData<&'a ()>,
}

impl<'a> Arg<'a> {
    pub fn bytes(self) -> &'a [u8] {
        // SAFETY: the string lives for 'a, and nothing writes to it.
        unsafe { bytes_of(self.raw) }
    }

    /// The same as a string for the API.
    pub fn text(self) -> Text<'a> {
        Text { raw: self.raw, owned: false, lives: PhantomData }
    }
}

impl Word for Arg<'_> {
    fn bytes(&self) -> &[u8] {
        Arg::bytes(*self)
    }
}

/// The arguments of a command that are still to be read.
pub type Args<'a> = Words<'a, Arg<'a>>;

/// The arguments of a command that are its options.
pub type Options<'a> = words::Options<'a, Arg<'a>>;

/// # Safety
/// The strings must live for `'a`.
pub unsafe fn args_of<'a>(raw: &'a [*mut RedisModuleString]) -> Args<'a> {
    // SAFETY: an `Arg` is such a pointer, and the strings live as long as it may be used.
    Words::new(unsafe { std::slice::from_raw_parts(raw.as_ptr().cast(), raw.len()) })
}

impl<'a> Words<'a, Arg<'a>> {
    /// A key, a member or an item among the fixed arguments.
    pub fn text(&mut self) -> Result<Text<'a>> {
        self.required().map(Arg::text)
    }
}

/// A string of the server: an argument, which lives for `'a`, or a string to which the module holds a reference.
pub struct Text<'a> {
    raw: *mut RedisModuleString,
    owned: bool,
    lives: PhantomData<&'a ()>,
}

impl<'a> Text<'a> {
    pub fn new(bytes: &[u8]) -> Text<'a> {
        // SAFETY: a context is only needed for automatic memory, which we do not use.
        Text::own(unsafe { api!(RedisModule_CreateString)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) })
    }

    fn own(raw: *mut RedisModuleString) -> Text<'a> {
        Text { raw, owned: true, lives: PhantomData }
    }

    /// # Safety
    /// The caller's reference passes to the `Text`.
    pub unsafe fn take(raw: *mut RedisModuleString) -> Option<Text<'a>> {
        // Lazily: a `Text` made and dropped for a null pointer would free it.
        (!raw.is_null()).then(|| Text::own(raw))
    }

    /// The same string, kept for as long as it is needed: an argument is retained, not copied.
    pub fn into_static(self) -> Text<'static> {
        if !self.owned {
            // SAFETY: the string is alive.
            unsafe { api!(RedisModule_RetainString)(ptr::null_mut(), self.raw) };
        }
        // The reference passes on.
        let text = ManuallyDrop::new(self);
        Text::own(text.raw)
    }

    /// Whether it is the same string, or one with the same bytes.
    pub fn is_same(&self, other: &Text) -> bool {
        self.raw == other.raw || self.bytes() == other.bytes()
    }

    pub(in crate::server) fn raw(&self) -> *mut RedisModuleString {
        self.raw
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the string is alive, and nothing writes to it.
        unsafe { bytes_of(self.raw) }
    }
}

impl From<&[u8]> for Text<'_> {
    fn from(bytes: &[u8]) -> Self {
        Text::new(bytes)
    }
}

impl AsRef<[u8]> for Text<'_> {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Clone for Text<'_> {
    fn clone(&self) -> Self {
        if self.owned {
            // SAFETY: the string is alive.
            unsafe { api!(RedisModule_RetainString)(ptr::null_mut(), self.raw) };
        }
        Text { ..*self }
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the reference is ours, and given up once.
            unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), self.raw) };
        }
    }
}

/// # Safety
/// The string must outlive the slice.
unsafe fn bytes_of<'a>(raw: *mut RedisModuleString) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the server returns a pointer to that many bytes, never null for a live string.
    unsafe {
        let start = api!(RedisModule_StringPtrLen)(raw, &mut length);
        if start.is_null() {
            return &[];
        }
        std::slice::from_raw_parts(start.cast(), length)
    }
}
