//! The module API's function pointers.

/// The function behind a pointer that every server from 7.0 on fills in.
macro_rules! api {
    ($name:ident) => {
        match redis_module::raw::$name {
            Some(function) => function,
            None => $crate::server::api::missing(stringify!($name)),
        }
    };
}

/// Cannot happen on a server that loaded the module; ends the command, not the server.
#[cold]
pub fn missing(name: &str) -> ! {
    std::panic::panic_any(format!("the server has no {name}"))
}
