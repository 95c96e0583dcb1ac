//! Whether the caller may use a key that the command line does not name.

use std::io;
use std::os::raw::c_int;
use std::ptr::NonNull;

use redis_module::raw::{self, RedisModuleUser};

use super::context::Ctx;
use super::key::Access;
use super::text::Text;

/// The user who called, for questions about several keys.
pub struct Caller {
    user: User,
}

enum User {
    /// It may do everything.
    Root,
    /// It may do nothing.
    Nobody,
    /// A reference that the module holds.
    Known(NonNull<RedisModuleUser>),
}

impl Caller {
    /// Whether the user has permission for a key, by any of the user's selectors.
    pub fn may(&self, key: &Text, access: Access) -> bool {
        let flags = match access {
            Access::Read | Access::Look => raw::REDISMODULE_CMD_KEY_ACCESS,
            Access::Write => {
                raw::REDISMODULE_CMD_KEY_INSERT | raw::REDISMODULE_CMD_KEY_UPDATE | raw::REDISMODULE_CMD_KEY_DELETE
            }
        };
        match self.user {
            User::Root => true,
            User::Nobody => false,
            User::Known(user) => {
                // SAFETY: user and string are alive.
                let status =
                    unsafe { api!(RedisModule_ACLCheckKeyPermissions)(user.as_ptr(), key.raw(), flags as c_int) };
                status == raw::REDISMODULE_OK as c_int
            }
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let User::Known(user) = self.user {
            // SAFETY: the reference is ours, and freed once.
            unsafe { api!(RedisModule_FreeModuleUser)(user.as_ptr()) };
        }
    }
}

impl Ctx<'_> {
    /// Whether the user who called has permission for a key.
    pub fn permits(self, key: &Text, access: Access) -> bool {
        self.caller().may(key, access)
    }

    /// The user who called.
    pub fn caller(self) -> Caller {
        // What a primary or an AOF sends was permitted when it was first run.
        if self.has_flag(raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING) {
            return Caller { user: User::Root };
        }
        let user = match self.user_name() {
            Err(true) => User::Root,
            Err(false) => User::Nobody,
            // SAFETY: the string is alive; the user that is made is ours.
            Ok(name) => NonNull::new(unsafe { api!(RedisModule_GetModuleUserFromUserName)(name.raw()) })
                .map_or(User::Nobody, User::Known),
        };
        Caller { user }
    }

    /// Whether a waiting client still has permission to run its command on a key.
    pub fn client_permits(self, client: u64, command: &Text, key: &Text) -> bool {
        // SAFETY: context and strings are alive; the string that is made is ours, and the user is freed once.
        unsafe {
            let name = Text::take(api!(RedisModule_GetClientUserNameById)(self.raw(), client));
            let Some(name) = name else { return io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSUP) };
            let user = api!(RedisModule_GetModuleUserFromUserName)(name.raw());
            if user.is_null() {
                return false;
            }
            let mut words = [command.raw(), key.raw()];
            let status = api!(RedisModule_ACLCheckCommandPermissions)(user, words.as_mut_ptr(), words.len() as c_int);
            api!(RedisModule_FreeModuleUser)(user);
            status == raw::REDISMODULE_OK as c_int
        }
    }

    /// The caller's name, or whether it is a client that may do everything.
    fn user_name(self) -> Result<Text<'static>, bool> {
        // SAFETY: the context is alive; the strings that are made are ours.
        unsafe {
            if self.has_flag(raw::REDISMODULE_CTX_FLAGS_LUA) {
                // A script's client is not listed anywhere, but runs as its caller.
                let name = api!(RedisModule_GetCurrentUserName)(self.raw());
                return Text::take(name).ok_or(false);
            }
            // By its id, because the server does not look whether a client has a user at all. Another module's client
            // may have none.
            let id = api!(RedisModule_GetClientId)(self.raw());
            let name = api!(RedisModule_GetClientUserNameById)(self.raw(), id);
            Text::take(name).ok_or_else(|| io::Error::last_os_error().raw_os_error() == Some(libc::ENOTSUP))
        }
    }
}
