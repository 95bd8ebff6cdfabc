//! The calls of a simulated disk.

use std::sync::Arc;

use super::fault::Call;
use super::handle::{SimFile, SimLock};
use super::{Entered, SimDisk, SimState, failed_sync};
use crate::storage::memory::tree::NodeId;
use crate::storage::{ErrorKind, LockGuard, Map, Result, Storage, StorageError, StorageFile, path};

impl SimDisk {
    fn handle(&self, state: &SimState, path: &str, file: NodeId) -> Box<dyn StorageFile> {
        Box::new(SimFile {
            machine: Arc::clone(&self.machine),
            boot: state.boot,
            file,
            path: path.to_owned(),
        })
    }
}

impl Storage for SimDisk {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        path::check("create directory", dir)?;
        self.enter(Call::Create, "create directory", dir)?.state.tree.create_dir_all(dir)
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("create", path)?;
        let mut state = self.enter(Call::Create, "create", path)?.state;
        let file = state.tree.create(path)?;
        Ok(self.handle(&state, path, file))
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("open", path)?;
        let state = self.enter(Call::Read, "open", path)?.state;
        let file = state.tree.file("open", path)?;
        Ok(self.handle(&state, path, file))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        path::check_file("read", path)?;
        self.enter(Call::Read, "read", path)?.state.tree.read("read", path)
    }

    fn map(&self, path: &str) -> Result<Map> {
        path::check_file("map", path)?;
        self.enter(Call::Read, "map", path)?.state.tree.read("map", path).map(Map::of_bytes)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        path::check("list", dir)?;
        Ok(self.enter(Call::Read, "list", dir)?.state.tree.list(dir))
    }

    fn exists(&self, path: &str) -> Result<bool> {
        path::check("look up", path)?;
        Ok(self.enter(Call::Read, "look up", path)?.state.tree.find(path).is_some())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        path::check_rename(from, to)?;
        self.enter(Call::Rename, "rename", from)?.state.tree.rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        path::check_file("link", from)?;
        path::check_file("link", to)?;
        let mut state = self.enter(Call::Create, "link", to)?.state;
        if state.has_links {
            return state.tree.link(from, to);
        }
        drop(state);
        let bytes = self.read(from)?;
        let mut file = self.create(to)?;
        file.append(&bytes)?;
        file.sync()
    }

    fn remove(&self, path: &str) -> Result<()> {
        path::check_file("remove", path)?;
        self.enter(Call::Remove, "remove", path)?.state.tree.remove(path)
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        path::check_file("remove directory", dir)?;
        self.enter(Call::Remove, "remove directory", dir)?.state.tree.remove_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        path::check("sync directory", dir)?;
        let Entered { mut state, fault } = self.enter(Call::SyncDir, "sync directory", dir)?;
        let id = state.tree.dir("sync directory", dir)?;
        if fault.is_some() {
            return Err(failed_sync("sync directory", dir));
        }
        state.tree.sync_dir(id);
        Ok(())
    }

    fn truncate(&self, path: &str, len: u64) -> Result<()> {
        path::check_file("truncate", path)?;
        let mut state = self.enter(Call::Truncate, "truncate", path)?.state;
        let file = state.tree.file("truncate", path)?;
        state.tree.truncate(path, file, len)
    }

    fn lock(&self) -> Result<LockGuard> {
        let mut state = self.enter(Call::Lock, "lock", "")?.state;
        if state.locked {
            let pid = std::process::id();
            let detail = format!("the data directory is in use by process {pid}");
            return Err(StorageError::new(ErrorKind::Locked, "lock", "", detail));
        }
        state.locked = true;
        Ok(LockGuard::new(SimLock { machine: Arc::clone(&self.machine), boot: state.boot }))
    }

    fn yield_point(&self, place: &'static str) {
        self.machine.yield_point(place);
    }

    fn free_bytes(&self) -> Option<u64> {
        let state = self.machine.state.lock();
        state.capacity_bytes.map(|capacity| capacity.saturating_sub(state.tree.used_bytes()))
    }
}
