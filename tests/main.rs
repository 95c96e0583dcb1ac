//! The integration tests: real servers with the module loaded, one file for each guarantee.

mod support;

mod bad_input;
mod boards;
mod clients;
mod cluster;
mod command_docs;
mod companions;
mod config;
mod documents;
mod effects;
mod exactness;
mod fields;
mod flood;
mod following;
mod fuzz;
mod groups;
mod layouts;
mod model;
mod packaging;
mod permissions;
mod random_input;
mod rate;
mod rate_effects;
mod rate_keys;
mod reads;
mod replicas;
mod replication;
mod replies;
mod restarts;
mod script;
mod smoke;
mod ties;
mod verify;
mod workload;
mod writes;
