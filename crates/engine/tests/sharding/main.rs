//! A collection of several shards beside the same points in one: splitting its writes and asking its shards gives what the
//! one collection answers.

mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod outcomes;
mod placement;
mod reads;
mod strict;
mod writes;
