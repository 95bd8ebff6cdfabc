//! The calls of a simulated disk.

use std::sync::Arc;

use super::fault::Call;
use super::handle::{SimFile, SimLock};
use super::{Entered, SimDisk, World, failed_sync};
use crate::storage::memory::tree::NodeId;
use crate::storage::{ErrorKind, LockGuard, Map, Result, Storage, StorageError, StorageFile, path};

impl SimDisk {
    fn handle(&self, world: &World, path: &str, file: NodeId) -> Box<dyn StorageFile> {
        Box::new(SimFile {
            machine: Arc::clone(&self.machine),
            boot: world.boot,
            file,
            path: path.to_owned(),
        })
    }
}

impl Storage for SimDisk {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        path::check("create directory", dir)?;
        self.enter(Call::Create, "create directory", dir)?.world.tree.create_dir_all(dir)
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("create", path)?;
        let mut world = self.enter(Call::Create, "create", path)?.world;
        let file = world.tree.create(path)?;
        Ok(self.handle(&world, path, file))
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        path::check_file("open", path)?;
        let world = self.enter(Call::Read, "open", path)?.world;
        let file = world.tree.file("open", path)?;
        Ok(self.handle(&world, path, file))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        path::check_file("read", path)?;
        self.enter(Call::Read, "read", path)?.world.tree.read("read", path)
    }

    fn map(&self, path: &str) -> Result<Map> {
        path::check_file("map", path)?;
        self.enter(Call::Read, "map", path)?.world.tree.read("map", path).map(Map::of_bytes)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        path::check("list", dir)?;
        Ok(self.enter(Call::Read, "list", dir)?.world.tree.list(dir))
    }

    fn exists(&self, path: &str) -> Result<bool> {
        path::check("look up", path)?;
        Ok(self.enter(Call::Read, "look up", path)?.world.tree.find(path).is_some())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        path::check_rename(from, to)?;
        self.enter(Call::Rename, "rename", from)?.world.tree.rename(from, to)
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        path::check_file("link", from)?;
        path::check_file("link", to)?;
        let mut world = self.enter(Call::Create, "link", to)?.world;
        if world.has_links {
            return world.tree.link(from, to);
        }
        drop(world);
        let bytes = self.read(from)?;
        let mut file = self.create(to)?;
        file.append(&bytes)?;
        file.sync()
    }

    fn remove(&self, path: &str) -> Result<()> {
        path::check_file("remove", path)?;
        self.enter(Call::Remove, "remove", path)?.world.tree.remove(path)
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        path::check_file("remove directory", dir)?;
        self.enter(Call::Remove, "remove directory", dir)?.world.tree.remove_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        path::check("sync directory", dir)?;
        let Entered { mut world, fault } = self.enter(Call::SyncDir, "sync directory", dir)?;
        let id = world.tree.dir("sync directory", dir)?;
        if fault.is_some() {
            return Err(failed_sync("sync directory", dir));
        }
        world.tree.sync_dir(id);
        Ok(())
    }

    fn truncate(&self, path: &str, len: u64) -> Result<()> {
        path::check_file("truncate", path)?;
        let mut world = self.enter(Call::Truncate, "truncate", path)?.world;
        let file = world.tree.file("truncate", path)?;
        world.tree.truncate(path, file, len)
    }

    fn lock(&self) -> Result<LockGuard> {
        let mut world = self.enter(Call::Lock, "lock", "")?.world;
        if world.locked {
            let pid = std::process::id();
            let detail = format!("the data directory is in use by process {pid}");
            return Err(StorageError::new(ErrorKind::Locked, "lock", "", detail));
        }
        world.locked = true;
        Ok(LockGuard::new(SimLock { machine: Arc::clone(&self.machine), boot: world.boot }))
    }

    fn turn(&self, place: &'static str) {
        self.machine.turn(place);
    }

    fn free_bytes(&self) -> Option<u64> {
        let world = self.machine.world.lock();
        world.capacity_bytes.map(|capacity| capacity.saturating_sub(world.tree.used_bytes()))
    }
}
