//! The integration tests: real servers with the module loaded, one file for each guarantee.

mod support;

mod smoke;
