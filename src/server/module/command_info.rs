//! `RM_SetCommandInfo`: a command's documentation as the C structures that the server copies. Nothing but the types of
//! [`crate::docs`] is needed here.

use std::ffi::CString;
use std::os::raw::{c_char, c_int};
use std::ptr;

use redis_module::raw::{
    self, RedisModuleCommand, RedisModuleCommandArg, RedisModuleCommandHistoryEntry, RedisModuleCommandInfo,
    RedisModuleCommandInfoVersion, RedisModuleCommandKeySpec,
};

use crate::docs::{ArgType, Argument, Doc, KeyAt, KeySpec, KeyUse};

/// Owns what the C structures point to, until the server has copied it.
#[derive(Default)]
struct Arena {
    strings: Vec<CString>,
    lists: Vec<Vec<RedisModuleCommandArg>>,
}

/// The C header has a static for this, which is not linked into a Rust module.
static VERSION: RedisModuleCommandInfoVersion = RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<RedisModuleCommandArg>(),
};

/// Whether the server took it.
///
/// # Safety
/// The command was just created.
pub unsafe fn set_command_info(command: *mut RedisModuleCommand, doc: &Doc) -> bool {
    let mut arena = Arena::default();
    let args = arena.args(&doc.args(), &mut 0);
    let mut key_specs: Vec<RedisModuleCommandKeySpec> = doc.keys.iter().map(|key| arena.key_spec(key)).collect();
    // SAFETY: an all-zero spec ends the list.
    key_specs.push(unsafe { std::mem::zeroed() });
    let info = RedisModuleCommandInfo {
        version: &VERSION,
        summary: arena.string(doc.summary),
        complexity: arena.string(doc.complexity),
        since: arena.string(doc.since),
        history: ptr::null_mut(),
        tips: ptr::null(),
        arity: doc.arity(),
        key_specs: key_specs.as_mut_ptr(),
        args,
    };
    // SAFETY: the command is the caller's; the server copies the structures, which live until here.
    unsafe { api!(RedisModule_SetCommandInfo)(command, &info) == raw::REDISMODULE_OK as c_int }
}

impl Arena {
    fn string(&mut self, text: &str) -> *const c_char {
        let string = CString::new(text).unwrap_or_default();
        let start = string.as_ptr();
        self.strings.push(string);
        start
    }

    /// `next_key` counts the keys, which are in the order of their specs.
    fn args(&mut self, args: &[Argument], next_key: &mut c_int) -> *mut RedisModuleCommandArg {
        let mut list: Vec<RedisModuleCommandArg> = args.iter().map(|arg| self.arg(arg, next_key)).collect();
        // SAFETY: an all-zero argument ends the list.
        list.push(unsafe { std::mem::zeroed() });
        let start = list.as_mut_ptr();
        self.lists.push(list);
        start
    }

    fn arg(&mut self, arg: &Argument, next_key: &mut c_int) -> RedisModuleCommandArg {
        // SAFETY: zero is "none" for every part.
        let mut made: RedisModuleCommandArg = unsafe { std::mem::zeroed() };
        made.name = self.string(&arg.name);
        if let Some(display) = &arg.display {
            made.display_text = self.string(display);
        }
        made.key_spec_index = -1;
        made.type_ = match arg.kind {
            ArgType::String => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
            ArgType::Integer => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
            ArgType::Double => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
            ArgType::Key => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
            ArgType::UnixTime => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_UNIX_TIME,
            ArgType::PureToken => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
            ArgType::OneOf => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
            ArgType::Block => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
        };
        if arg.kind == ArgType::Key {
            made.key_spec_index = *next_key;
            *next_key += 1;
        }
        if let Some(token) = &arg.token {
            made.token = self.string(token);
        }
        let optional = if arg.optional { raw::REDISMODULE_CMD_ARG_OPTIONAL } else { 0 };
        let multiple = if arg.multiple { raw::REDISMODULE_CMD_ARG_MULTIPLE } else { 0 };
        made.flags = (optional | multiple) as c_int;
        if !arg.children.is_empty() {
            made.subargs = self.args(&arg.children, next_key);
        }
        made
    }

    fn key_spec(&mut self, key: &KeySpec) -> RedisModuleCommandKeySpec {
        // SAFETY: zero is "none" for every part.
        let mut spec: RedisModuleCommandKeySpec = unsafe { std::mem::zeroed() };
        spec.flags = u64::from(flags_of(key.usage));
        match key.at {
            KeyAt::Index(index) => {
                spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
                spec.bs.index.pos = index;
            }
            KeyAt::Keyword(word, from) => {
                spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_KEYWORD;
                spec.bs.keyword.keyword = self.string(word);
                spec.bs.keyword.startfrom = from;
            }
            KeyAt::Numbered(index) => {
                spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
                spec.bs.index.pos = index;
                spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM;
                spec.fk.keynum.keynumidx = 0;
                spec.fk.keynum.firstkey = 1;
                spec.fk.keynum.keystep = 1;
                return spec;
            }
            // The servers ask the handler only if a spec is incomplete.
            KeyAt::Dynamic => {
                spec.flags |= u64::from(raw::REDISMODULE_CMD_KEY_INCOMPLETE);
                spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_UNKNOWN;
                spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_UNKNOWN;
                return spec;
            }
        }
        spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
        spec.fk.range.lastkey = 0;
        spec.fk.range.keystep = 1;
        spec.fk.range.limit = 0;
        spec
    }
}

/// What the server calls the use of a key.
pub fn flags_of(usage: KeyUse) -> u32 {
    match usage {
        KeyUse::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        KeyUse::Update => {
            raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_UPDATE
        }
        KeyUse::Change => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE,
        KeyUse::Pop => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_ACCESS | raw::REDISMODULE_CMD_KEY_DELETE,
        KeyUse::Delete => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE,
        KeyUse::Insert => raw::REDISMODULE_CMD_KEY_OW | raw::REDISMODULE_CMD_KEY_INSERT,
    }
}
