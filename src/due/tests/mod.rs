//! Schedules against a naive model: a list of items that is looked through every time.

mod interleavings;
mod model;
mod scores;
