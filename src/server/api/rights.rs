//! Whether the caller may use a key that the command line does not name.

use std::io;
use std::os::raw::c_int;

use redis_module::raw;

use super::context::Ctx;
use super::key::Access;
use super::text::Text;

impl Ctx<'_> {
    /// Whether the user who called has permission for a key, by any of the user's selectors.
    pub fn permits(self, key: &Text, access: Access) -> bool {
        // What a primary or an AOF sends was permitted when it was first run.
        if self.has_flag(raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING) {
            return true;
        }
        let flags = match access {
            Access::Read => raw::REDISMODULE_CMD_KEY_ACCESS,
            Access::Write => {
                raw::REDISMODULE_CMD_KEY_INSERT | raw::REDISMODULE_CMD_KEY_UPDATE | raw::REDISMODULE_CMD_KEY_DELETE
            }
        };
        let name = match self.user_name() {
            Ok(name) => name,
            Err(is_root) => return is_root,
        };
        // SAFETY: the strings are alive; the user is freed once.
        unsafe {
            let user = api!(RedisModule_GetModuleUserFromUserName)(name.raw());
            if user.is_null() {
                return false;
            }
            let status = api!(RedisModule_ACLCheckKeyPermissions)(user, key.raw(), flags as c_int);
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
