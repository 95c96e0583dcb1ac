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
mod following;
mod groups;
mod layouts;
mod model;
mod packaging;
mod random_input;
mod reads;
mod replicas;
mod replication;
mod replies;
mod restarts;
mod script;
mod smoke;
mod ties;
mod workload;
mod writes;
