//! Named points at which a test ends the process, as `kill -9` does. Compiled only with the feature `testing`.
//!
//! The points are steps that the engine takes anyway:
//! - each place of [`Storage::yield_point`], by its name. `moving rows` and `dropping rows` are during a vacuum, `taking
//!   in a tail` during the build of a graph, `rewriting a graph` during the build of its successor, `moving payloads`
//!   during a checkpoint, and `cutting the log` before segments of the log are removed;
//! - `create NAME`, before a file is created. At `create MANIFEST.new` a checkpoint has written and synced its data;
//! - `rename NAME` and `renamed NAME`, before and after a file is renamed to `NAME`, which is `MANIFEST`, `CATALOG` or
//!   `cut`. At `renamed NAME` the directory is not synced yet;
//! - `remove NAME`, before a file is removed.
//!
//! `NAME` is the last part of the path. Data files and segments of the log have numbers for names, so they go by their
//! extensions: `create .data`, `remove .log`.

use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{LockGuard, Map, Result, Storage, StorageFile, path};

/// A point, and at which of the times that it is reached the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    name: String,
    count: u64,
}

impl FromStr for CrashPoint {
    type Err = String;

    /// Reads `NAME:COUNT`; the first time that a point is reached has the count 1.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = text.rsplit_once(':').and_then(|(name, count)| Some((name, count.parse().ok()?)));
        match parts {
            Some((name, count)) if count > 0 => Ok(Self { name: name.to_owned(), count }),
            _ => Err(format!("'{text}' is not a crash point of the form NAME:COUNT")),
        }
    }
}

/// A disk that ends the process at a crash point, and says so before on standard error.
pub struct CrashPoints {
    below: Arc<dyn Storage>,
    point: CrashPoint,
    reached: AtomicU64,
    /// Ends the process.
    end: fn(),
}

impl CrashPoints {
    /// `below`, ending the process with SIGKILL (an abort where there are no signals) at `point`.
    pub fn new(below: Arc<dyn Storage>, point: CrashPoint) -> CrashPoints {
        CrashPoints { below, point, reached: AtomicU64::new(0), end: kill_this_process }
    }

    fn reach(&self, step: &str, name: &str) {
        let is_point = match self.point.name.strip_prefix(step) {
            Some(rest) if name.is_empty() => rest.is_empty(),
            Some(rest) => rest.strip_prefix(' ') == Some(name),
            None => false,
        };
        if is_point && self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.point.count {
            // In one piece, between the lines of other threads.
            let line = format!("at the crash point {}:{}\n", self.point.name, self.point.count);
            let _ = std::io::stderr().write_all(line.as_bytes());
            (self.end)();
        }
    }
}

/// The last part of a path, or its extension where the name is a number.
fn name_of(file_path: &str) -> &str {
    let name = path::split(file_path).1;
    match name.rsplit_once('.') {
        Some((number, extension)) if number.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            &name[name.len() - extension.len() - 1..]
        }
        _ => name,
    }
}

fn kill_this_process() {
    #[cfg(unix)]
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may take a moment to arrive; nothing is to be done in it.
        loop {
            std::thread::park();
        }
    }
    #[cfg(not(unix))]
    std::process::abort();
}

impl Storage for CrashPoints {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        self.below.create_dir_all(dir)
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        self.reach("create", name_of(path));
        self.below.create(path)
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        self.below.open_append(path)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        self.below.read(path)
    }

    fn read_range(&self, path: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.below.read_range(path, offset, len)
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        self.below.len_of(path)
    }

    fn map(&self, path: &str) -> Result<Map> {
        self.below.map(path)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.below.list(dir)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.below.exists(path)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.reach("rename", name_of(to));
        self.below.rename(from, to)?;
        self.reach("renamed", name_of(to));
        Ok(())
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        self.below.link(from, to)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.reach("remove", name_of(path));
        self.below.remove(path)
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        self.below.remove_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        self.below.sync_dir(dir)
    }

    fn truncate(&self, path: &str, len: u64) -> Result<()> {
        self.below.truncate(path, len)
    }

    fn lock(&self) -> Result<LockGuard> {
        self.below.lock()
    }

    fn lock_to_read(&self) -> Result<LockGuard> {
        self.below.lock_to_read()
    }

    fn yield_point(&self, place: &'static str) {
        self.reach(place, "");
        self.below.yield_point(place);
    }

    fn free_bytes(&self) -> Option<u64> {
        self.below.free_bytes()
    }

    fn unreadable_maps(&self) -> Vec<String> {
        self.below.unreadable_maps()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SimDisk, replace};
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn disk(point: &str) -> (SimDisk, CrashPoints) {
        let below = SimDisk::new();
        let crashing = CrashPoints {
            end: || panic!("the process ends"),
            ..CrashPoints::new(Arc::new(below.clone()), point.parse().unwrap())
        };
        (below, crashing)
    }

    fn ends(work: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(work)).is_err()
    }

    #[test]
    fn a_process_ends_at_the_nth_pass_of_its_point_and_no_other() {
        let (_, crashing) = disk("moving rows:2");
        crashing.yield_point("moving rows");
        crashing.yield_point("moving");
        crashing.yield_point("dropping rows");
        assert!(ends(|| crashing.yield_point("moving rows")));
        crashing.yield_point("moving rows");
    }

    #[test]
    fn a_process_ends_before_or_after_a_rename() {
        for (point, is_renamed) in [("rename MANIFEST:1", false), ("renamed MANIFEST:1", true)] {
            let (below, crashing) = disk(point);
            crashing.create_dir_all("c").unwrap();
            assert!(ends(|| replace(&crashing, "c", "MANIFEST", b"1").unwrap()));
            assert_eq!(below.exists("c/MANIFEST").unwrap(), is_renamed);
        }
    }

    #[test]
    fn a_file_whose_name_is_a_number_goes_by_its_extension() {
        let (below, crashing) = disk("create .data:1");
        assert!(ends(|| drop(crashing.create("0000001f.data"))));
        assert!(!below.exists("0000001f.data").unwrap());
        assert_eq!(name_of("collections/1/MANIFEST.new"), "MANIFEST.new");
    }

    #[test]
    fn a_point_without_a_name_or_a_count_is_refused() {
        assert!(["", "x", "x:", "x:0", "x:y"].iter().all(|text| text.parse::<CrashPoint>().is_err()));
    }
}
