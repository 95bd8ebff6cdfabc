//! What the engine finds on this machine, for `kithdb doctor` and `kithdb init`: nothing is opened.

use crate::status::NativeKernels;
use kithdb_engine::{Decision, decide_for, file_system_name, instruction_sets};
use napi_derive::napi;
use std::path::Path;

/// What a start would do about the file system of a folder.
#[napi(object, object_from_js = false)]
pub struct NativeFileSystem {
    /// Its name, such as `ext4`; empty where it is not known.
    pub name: String,
    /// `open`, `warn` or `refuse`.
    pub decision: &'static str,
    /// Why it warns or refuses; empty otherwise.
    pub reason: String,
}

/// Which instructions this CPU runs the engine with.
#[napi(catch_unwind)]
pub fn kernels() -> NativeKernels {
    let sets = instruction_sets();
    NativeKernels { rows: sets.rows, codes: sets.codes }
}

/// What a start would do about the file system of a folder, which need not exist. `allowed` are the names of file systems
/// that are allowed although they do not keep the promises of one.
#[napi(catch_unwind)]
pub fn file_system_of(folder: String, allowed: Vec<String>) -> NativeFileSystem {
    let path = Path::new(&folder);
    let (decision, reason) = match decide_for(path, &allowed) {
        Decision::Open => ("open", String::new()),
        Decision::Warn(why) => ("warn", why),
        Decision::Refuse(why) => ("refuse", why),
    };
    NativeFileSystem { name: file_system_name(path), decision, reason }
}
