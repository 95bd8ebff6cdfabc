//! Open files of a simulated disk, and its lock.

use std::sync::Arc;

use super::fault::Call;
use super::{Entered, Machine, enter, failed_sync};
use crate::storage::memory::tree::{Content, NodeId};
use crate::storage::{ErrorKind, Result, StorageError, StorageFile};

pub(super) struct SimLock {
    pub(super) machine: Arc<Machine>,
    pub(super) boot: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.machine.world.lock();
        if world.boot == self.boot {
            world.locked = false;
        }
    }
}

pub(super) struct SimFile {
    pub(super) machine: Arc<Machine>,
    pub(super) boot: u64,
    pub(super) file: NodeId,
    pub(super) path: String,
}

impl SimFile {
    fn enter(&self, call: Call, operation: &'static str) -> Result<Entered<'_>> {
        let entered = enter(&self.machine, call, operation, &self.path)?;
        if entered.world.boot == self.boot {
            Ok(entered)
        } else {
            let detail = "the file was opened before the machine went off";
            Err(StorageError::new(ErrorKind::Io, operation, &self.path, detail))
        }
    }
}

impl StorageFile for SimFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let Entered { mut world, fault } = self.enter(Call::Append, "append")?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let overwritten =
            world.tree.content_mut("append", &self.path, self.file)?.bytes().len().checked_sub(at);
        let Some(overwritten) = overwritten else {
            return Err(StorageError::new(ErrorKind::Io, "append", &self.path, "behind the end of the file"));
        };
        let room = match world.capacity_bytes {
            Some(capacity) => {
                capacity.saturating_sub(world.tree.used_bytes()).saturating_add(overwritten as u64)
            }
            None => u64::MAX,
        };
        let accepted = match fault {
            Some(_) => bytes.len() / 2,
            None => bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX)),
        };
        world.tree.content_mut("append", &self.path, self.file)?.write(at, &bytes[..accepted]);
        if accepted < bytes.len() || fault.is_some() {
            return Err(StorageError::new(ErrorKind::Full, "append", &self.path, "simulated full disk"));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        let Entered { mut world, fault } = self.enter(Call::Sync, "sync")?;
        let content = world.tree.content_mut("sync", &self.path, self.file)?;
        if fault.is_some() {
            content.fail_sync();
            return Err(failed_sync("sync", &self.path));
        }
        content.sync();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        let mut world = self.enter(Call::Truncate, "truncate")?.world;
        world.tree.truncate(&self.path, self.file, len)
    }

    fn len(&self) -> u64 {
        let world = self.machine.world.lock();
        world.tree.content(self.file).map_or(0, |content| content.bytes().len() as u64)
    }
}
