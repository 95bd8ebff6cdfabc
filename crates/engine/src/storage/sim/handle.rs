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
        let mut state = self.machine.state.lock();
        if state.boot == self.boot {
            state.locked = false;
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
        if entered.state.boot == self.boot {
            Ok(entered)
        } else {
            let detail = "the file was opened before the machine went off";
            Err(StorageError::new(ErrorKind::Io, operation, &self.path, detail))
        }
    }
}

impl StorageFile for SimFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let Entered { mut state, fault } = self.enter(Call::Append, "append")?;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let overwritten =
            state.tree.content_mut("append", &self.path, self.file)?.bytes().len().checked_sub(at);
        let Some(overwritten) = overwritten else {
            return Err(StorageError::new(ErrorKind::Io, "append", &self.path, "behind the end of the file"));
        };
        let room = match state.capacity_bytes {
            Some(capacity) => {
                capacity.saturating_sub(state.tree.used_bytes()).saturating_add(overwritten as u64)
            }
            None => u64::MAX,
        };
        let accepted = match fault {
            Some(_) => bytes.len() / 2,
            None => bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX)),
        };
        state.tree.content_mut("append", &self.path, self.file)?.write(at, &bytes[..accepted]);
        if accepted < bytes.len() || fault.is_some() {
            return Err(StorageError::new(ErrorKind::Full, "append", &self.path, "simulated full disk"));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        let Entered { mut state, fault } = self.enter(Call::Sync, "sync")?;
        let content = state.tree.content_mut("sync", &self.path, self.file)?;
        if fault.is_some() {
            content.fail_sync();
            return Err(failed_sync("sync", &self.path));
        }
        content.sync();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        let mut state = self.enter(Call::Truncate, "truncate")?.state;
        state.tree.truncate(&self.path, self.file, len)
    }

    fn len(&self) -> u64 {
        let state = self.machine.state.lock();
        state.tree.content(self.file).map_or(0, |content| content.bytes().len() as u64)
    }
}
