//! The real file system.

use crate::faults::PlantedFault;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};

use super::map::faulted_files;
use super::{ErrorKind, LockGuard, Map, Result, Storage, StorageError, StorageFile, path};
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the lock file in the data directory. It holds the decimal process id of the owner.
const LOCK_FILE: &str = "lock";

/// A data directory on the real file system: directories are made with mode 0700, files with 0600.
#[derive(Debug, Clone)]
pub struct RealDisk {
    root: PathBuf,
    /// Tells the maps of this tree from those of others, and of earlier openings of the same one.
    number: u64,
}

/// The number of the next tree that is opened.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

impl RealDisk {
    /// Uses `root` as the data directory and creates it if it is missing.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref().to_path_buf();
        make_root(&root).map_err(|e| StorageError::from_io("open data directory", "", &e))?;
        Ok(Self { root, number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed) })
    }

    fn at(&self, operation: &'static str, relative: &str) -> Result<PathBuf> {
        path::check(operation, relative)?;
        Ok(self.root.join(relative))
    }

    fn file_at(&self, operation: &'static str, relative: &str) -> Result<PathBuf> {
        path::check_file(operation, relative)?;
        Ok(self.root.join(relative))
    }
}

fn make_dirs(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path)
}

/// Creates a directory with those above it durably, so that files that are synced in it survive a power cut.
fn make_root(root: &Path) -> io::Result<()> {
    let missing = root.ancestors().take_while(|path| path.file_name().is_some() && !path.exists()).count();
    make_dirs(root)?;
    // The directory that holds it is always synced: a process that made it before may have ended before the sync.
    for dir in root.ancestors().skip(1).take(missing.max(1)) {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        match sync_directory(dir) {
            // A directory of another user that may be entered and not be read.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}

fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    options.mode(0o600);
    options
}

#[cfg(unix)]
fn write_all_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

#[cfg(not(unix))]
fn write_all_at(file: &mut File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.seek(io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// A directory can be synced only where it can be opened as a file.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

impl Storage for RealDisk {
    fn create_dir_all(&self, dir: &str) -> Result<()> {
        make_dirs(&self.at("create directory", dir)?)
            .map_err(|e| StorageError::from_io("create directory", dir, &e))
    }

    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        let full = self.file_at("create", path)?;
        let file = owner_only(OpenOptions::new().write(true).create_new(true))
            .open(full)
            .map_err(|e| StorageError::from_io("create", path, &e))?;
        Ok(Box::new(DiskFile { file, path: path.to_owned(), len: 0 }))
    }

    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>> {
        let full = self.file_at("open", path)?;
        let open = || {
            let file = OpenOptions::new().write(true).open(full)?;
            let len = file.metadata()?.len();
            Ok((file, len))
        };
        let (file, len) = open().map_err(|e: io::Error| StorageError::from_io("open", path, &e))?;
        Ok(Box::new(DiskFile { file, path: path.to_owned(), len }))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        let full = self.file_at("read", path)?;
        fs::read(full).map_err(|e| StorageError::from_io("read", path, &e))
    }

    fn read_range(&self, path: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        let full = self.file_at("read", path)?;
        let read = || {
            let mut file = File::open(full)?;
            file.seek(io::SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(len)?;
            file.take(len as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|e: io::Error| StorageError::from_io("read", path, &e))
    }

    fn len_of(&self, path: &str) -> Result<u64> {
        let full = self.file_at("look up", path)?;
        fs::metadata(full)
            .map(|metadata| metadata.len())
            .map_err(|e| StorageError::from_io("look up", path, &e))
    }

    fn map(&self, path: &str) -> Result<Map> {
        let full = self.file_at("map", path)?;
        File::open(full)
            .and_then(|file| Map::of_file(&file, self.number, path))
            .map_err(|e| StorageError::from_io("map", path, &e))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        let full = self.at("list", dir)?;
        let fail = |e: &io::Error| StorageError::from_io("list", dir, e);
        let entries = match fs::read_dir(full) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(fail(&e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|e| fail(&e))?.file_name();
            // The engine creates ASCII names only, so names that are not UTF-8 are not its own.
            names.extend(name.into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        let full = self.at("look up", path)?;
        full.try_exists().map_err(|e| StorageError::from_io("look up", path, &e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        path::check_rename(from, to)?;
        fs::rename(self.root.join(from), self.root.join(to))
            .map_err(|e| StorageError::from_io("rename", from, &e))
    }

    fn link(&self, from: &str, to: &str) -> Result<()> {
        let (mut source, target) = (self.file_at("link", from)?, self.file_at("link", to)?);
        // A link to a relative symbolic link in another folder would resolve to another file.
        if fs::symlink_metadata(&source).is_ok_and(|found| found.is_symlink()) {
            source = fs::canonicalize(source).map_err(|e| StorageError::from_io("link", from, &e))?;
        }
        match fs::hard_link(&source, &target) {
            Ok(()) => Ok(()),
            Err(e) if matches!(e.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                Err(StorageError::from_io("link", from, &e))
            }
            Err(_) => {
                let copy = || {
                    let mut file =
                        owner_only(OpenOptions::new().write(true).create_new(true)).open(target)?;
                    io::copy(&mut File::open(source)?, &mut file)?;
                    file.sync_all()
                };
                copy().map_err(|e: io::Error| StorageError::from_io("copy", from, &e))
            }
        }
    }

    fn remove(&self, path: &str) -> Result<()> {
        let full = self.file_at("remove", path)?;
        fs::remove_file(full).map_err(|e| StorageError::from_io("remove", path, &e))
    }

    fn remove_dir_all(&self, dir: &str) -> Result<()> {
        let full = self.file_at("remove directory", dir)?;
        match fs::remove_dir_all(full) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StorageError::from_io("remove directory", dir, &e))
            }
            _ => Ok(()),
        }
    }

    fn sync_dir(&self, dir: &str) -> Result<()> {
        let full = self.at("sync directory", dir)?;
        let sync = || sync_directory(&full);
        PlantedFault::SyncDirDoesNothing
            .skips(sync)
            .map_err(|e| StorageError::from_io("sync directory", dir, &e))
    }

    fn truncate(&self, path: &str, len: u64) -> Result<()> {
        self.open_append(path)?.truncate(len)
    }

    fn lock(&self) -> Result<LockGuard> {
        let path = self.root.join(LOCK_FILE);
        let file = owner_only(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(&path)
            .or_else(|e| match e.kind() {
                // A reader also works on a snapshot, or on a disk that became read-only after a failure. A lock works
                // on a file that cannot be written, too.
                io::ErrorKind::ReadOnlyFilesystem => File::open(&path),
                _ => Err(e),
            })
            .map_err(|e| StorageError::from_io("open", LOCK_FILE, &e))?;
        hold(file)
    }

    fn lock_to_read(&self) -> Result<LockGuard> {
        let path = self.root.join(LOCK_FILE);
        // A lock file created by this user might not be writable for the user of the server.
        let open = OpenOptions::new().read(true).write(true).open(&path).or_else(|e| match e.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => File::open(&path),
            _ => Err(e),
        });
        match open {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(LockGuard::new(())),
            Err(e) => Err(StorageError::from_io("open", LOCK_FILE, &e)),
            Ok(file) => hold(file),
        }
    }

    fn unreadable_maps(&self) -> Vec<String> {
        faulted_files(self.number)
    }

    #[cfg(unix)]
    fn free_bytes(&self) -> Option<u64> {
        // A file system that does not report its size reports no blocks.
        let stat = rustix::fs::statvfs(&self.root).ok().filter(|stat| stat.f_blocks > 0)?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Locks the file of a data directory, and says in it whose the lock is.
fn hold(mut file: File) -> Result<LockGuard> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(held_by(&mut file)),
        Err(TryLockError::Error(e)) => return Err(StorageError::from_io("lock", LOCK_FILE, &e)),
    }
    let write_id = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}", std::process::id())
    };
    // The id is only for the error message of other processes. A full disk must not keep a server from starting.
    let _ = write_id(&mut file);
    // The operating system drops the lock with the file, also when the process is killed.
    Ok(LockGuard::new(file))
}

/// The error for a lock that is taken; names the process that wrote its id into the lock file.
fn held_by(file: &mut File) -> StorageError {
    let mut text = String::new();
    let holder = file.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    let detail = match holder {
        Some(pid) => format!("the data directory is in use by process {pid}: stop it first"),
        None => "the data directory is in use by another process: stop it first".to_owned(),
    };
    StorageError::new(ErrorKind::Locked, "lock", "", detail)
}

struct DiskFile {
    file: File,
    path: String,
    len: u64,
}

impl StorageFile for DiskFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        match write_all_at(&mut self.file, bytes, offset) {
            Ok(()) => {
                self.len = self.len.max(offset + bytes.len() as u64);
                Ok(())
            }
            Err(e) => {
                // Part of the bytes may be in the file; the caller needs to know how long it is now.
                if let Ok(metadata) = self.file.metadata() {
                    self.len = metadata.len();
                }
                Err(StorageError::from_io("write", &self.path, &e))
            }
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| StorageError::from_io("sync", &self.path, &e))
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        if len > self.len {
            return Err(StorageError::new(ErrorKind::Io, "truncate", &self.path, "longer than the file"));
        }
        self.file.set_len(len).map_err(|e| StorageError::from_io("truncate", &self.path, &e))?;
        self.len = len;
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }
}
