//! What each durability level promises, what bounds the log, and what a full disk leaves possible.

mod budget;
#[path = "../common/mod.rs"]
mod common;
mod full_disk;
mod health_issues;
mod levels;
