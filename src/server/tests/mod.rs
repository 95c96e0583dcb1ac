//! Test doubles of the server.

pub mod absent;
