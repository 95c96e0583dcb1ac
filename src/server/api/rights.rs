//! Whether the caller may use a key that the command line does not name.

use std::os::raw::c_int;
use std::ptr::NonNull;

use redis_module::raw::{self, RedisModuleString, RedisModuleUser};

use super::context::Ctx;
use super::key::Access;
use super::text::Text;

pub struct Caller {
    user: User,
}

enum User {
    /// There is none: the client may do everything.
    Root,
    /// The server no longer knows it: it may do nothing.
    Nobody,
    /// A reference that the module holds.
    Known(NonNull<RedisModuleUser>),
}

impl Caller {
    /// Whether the user has permission for a key, by any of the user's selectors.
    pub fn may(&self, key: &Text, access: Access) -> bool {
        let flags = match access {
            Access::Read | Access::ReadUntouched => raw::REDISMODULE_CMD_KEY_ACCESS,
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
    pub fn caller(self) -> Caller {
        // What a primary or an AOF sends was permitted when it was first run.
        if self.has_flag(raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING) {
            return Caller { user: User::Root };
        }
        let user = self.user_name().map_or(User::Root, |name| find_user(&name).map_or(User::Nobody, User::Known));
        Caller { user }
    }

    /// The name of the user who called; `None` for a client without one, which may do everything.
    pub fn user_name(self) -> Option<Text<'static>> {
        // SAFETY: the context is alive; the string that is made, if any, is ours.
        let of_connection = unsafe {
            let id = api!(RedisModule_GetClientId)(self.raw());
            Text::take(api!(RedisModule_GetClientUserNameById)(self.raw(), id))
        };
        of_connection.or_else(|| {
            // A script or another module called, by a client that is no connection. It may have no user, and the function
            // below does not check that.
            // SAFETY: as above.
            self.has_user().then(|| unsafe { Text::take(api!(RedisModule_GetCurrentUserName)(self.raw())) })?
        })
    }
}

/// A reference to a user, which the caller frees.
fn find_user(name: &Text) -> Option<NonNull<RedisModuleUser>> {
    // SAFETY: the string is alive.
    NonNull::new(unsafe { api!(RedisModule_GetModuleUserFromUserName)(name.raw()) })
}

/// Whether a user may run a command, given by its words. `None` may do everything.
pub(super) fn user_may_run(user: Option<&Text>, words: &mut [*mut RedisModuleString]) -> bool {
    let Some(name) = user else { return true };
    let Some(user) = find_user(name) else { return false };
    // SAFETY: user and strings are alive; the user is freed once.
    unsafe {
        let count = words.len() as c_int;
        let status = api!(RedisModule_ACLCheckCommandPermissions)(user.as_ptr(), words.as_mut_ptr(), count);
        api!(RedisModule_FreeModuleUser)(user.as_ptr());
        status == raw::REDISMODULE_OK as c_int
    }
}
