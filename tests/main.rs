//! The integration tests: real servers with the module loaded, one file for each guarantee.

mod support;

mod rate;
mod rate_effects;
mod rate_keys;
mod smoke;
