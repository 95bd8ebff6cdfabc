//! A disk in memory, for temporary data of code that needs a [`Storage`].
//!
//! The simulated disk of the tests is the same [`Tree`](tree::Tree), with contents and names that remember which of
//! their changes a sync has covered.

pub(super) mod tree;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use self::tree::{Content, NodeId, Tree};
use super::{ErrorKind, LockGuard, Map, Result, Storage, StorageError, StorageFile, path};

/// A disk in memory, empty at first. Syncs do nothing, and what is removed frees its memory with the disk. Clones are
/// handles to the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Contents>);

struct Contents {
    tree: Mutex<Tree<Vec<u8>, ()>>,
    locked: AtomicBool,
}

impl Default for Contents {
    fn default() -> Self {
        Self { tree: Mutex::new(Tree::new()), locked: AtomicBool::new(false) }
    }
}

impl MemoryDisk {
    fn handle(&self, path: &str, file: NodeId) -> Box<dyn StorageFile> {
        Box::new(MemoryFile { disk: self.clone(), file, path: path.to_owned() })
    }
}

impl Storage for MemoryDisk {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        path::check("create directory", dir)?;
        self.0.tree.lock().create_dir_all(dir)
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("create", path)?;
        let file = self.0.tree.lock().create(path)?;
        Ok(self.handle(path, file))
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("open", path)?;
        let file = self.0.tree.lock().file("open", path)?;
        Ok(self.handle(path, file))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        path::check_file("read", path)?;
        self.0.tree.lock().read("read", path)
    }

    fn map(&self, path: &str) -> Result<Map> {
        path::check_file("map", path)?;
        self.0.tree.lock().read("map", path).map(Map::of_bytes)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        path::check("list", dir)?;
        Ok(self.0.tree.lock().list(dir))
    }

    fn exists(&self, path: &str) -> Result<bool> {
        path::check("look up", path)?;
        Ok(self.0.tree.lock().find(path).is_some())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        path::check_rename(from, to)?;
        self.0.tree.lock().rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        path::check_file("link", from)?;
        path::check_file("link", to)?;
        self.0.tree.lock().link(from, to)
    }

    fn remove(&self, path: &str) -> Result<()> {
        path::check_file("remove", path)?;
        self.0.tree.lock().remove(path)
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        path::check_file("remove directory", dir)?;
        self.0.tree.lock().remove_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        path::check("sync directory", dir)?;
        self.0.tree.lock().dir("sync directory", dir).map(drop)
    }

    fn truncate(&self, path: &str, len: u64) -> Result<()> {
        path::check_file("truncate", path)?;
        let mut tree = self.0.tree.lock();
        let file = tree.file("truncate", path)?;
        tree.truncate(path, file, len)
    }

    fn lock(&self) -> Result<LockGuard> {
        if self.0.locked.swap(true, Ordering::AcqRel) {
            let detail = format!("the data directory is in use by process {}", std::process::id());
            return Err(StorageError::new(ErrorKind::Locked, "lock", "", detail));
        }
        Ok(LockGuard::new(MemoryLock(self.clone())))
    }
}

struct MemoryLock(MemoryDisk);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.0.locked.store(false, Ordering::Release);
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    file: NodeId,
    path: String,
}

impl StorageFile for MemoryFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut tree = self.disk.0.tree.lock();
        let content = tree.content_mut("append", &self.path, self.file)?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        if at > content.bytes().len() {
            return Err(StorageError::new(ErrorKind::Io, "append", &self.path, "behind the end of the file"));
        }
        content.write(at, bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        self.disk.0.tree.lock().truncate(&self.path, self.file, len)
    }

    fn len(&self) -> u64 {
        self.disk.0.tree.lock().content(self.file).map_or(0, |content| content.bytes().len() as u64)
    }
}
