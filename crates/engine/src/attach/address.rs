//! The files by which processes find the owner of a folder: `attach`, which says who it is and where it listens, the socket
//! itself, and `successor`, whose lock a process holds that is to be the next owner.

use super::frame::Purpose;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Says who owns the folder and where it listens.
const FILE: &str = "attach";
const SOCKET: &str = "attach.sock";
/// Folder in which the socket gets its mode.
const PRIVATE_FOLDER: &str = "attach.new";
/// Locked by the process that is to be the next owner.
const SUCCESSOR: &str = "successor";
/// Unix limits the path of a socket to 104 or 108 bytes.
const MAX_SOCKET_PATH_BYTES: usize = 100;
/// Where sockets are whose folder has a longer path.
const ELSEWHERE: &str = "/tmp";
const FIRST_LINE: &str = "kithdb attach 1";
/// The file is much shorter.
const MAX_FILE_BYTES: u64 = 8192;

/// What the file `attach` says.
#[derive(Debug, PartialEq, Eq)]
pub struct Published {
    /// The owner's process id.
    pub pid: u32,
    /// Path of its socket.
    pub socket: PathBuf,
}

/// A listener that only this user can reach. What it has on the disk goes when it is dropped, which must be before the
/// lock of the folder is released.
pub struct Address {
    folder: PathBuf,
    socket: PathBuf,
    /// The folder of a socket that lies elsewhere.
    elsewhere: Option<PathBuf>,
}

impl Address {
    /// Listens, and says so in the folder, whose lock the caller holds: what is there was left by a process that was
    /// killed.
    ///
    /// A socket has the mode that the process' umask leaves, and a change of the umask would reach every thread. So it is
    /// bound in a folder that only its owner can enter, and moved to its place when its mode is 0600.
    ///
    /// # Errors
    /// The error of the disk or the system.
    pub fn listen(folder: &Path) -> io::Result<(UnixListener, Address)> {
        let (place, inside) = (folder.join(SOCKET), folder.join(PRIVATE_FOLDER));
        remove(&place)?;
        remove_dir(&inside)?;
        let bound = inside.join(SOCKET);
        let (listener, socket, elsewhere) = if bound.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
            DirBuilder::new().mode(0o700).create(&inside)?;
            let listener = bind(&bound)?;
            fs::rename(&bound, &place)?;
            remove_dir(&inside)?;
            (listener, place, None)
        } else {
            let private = private_folder()?;
            let bound = private.join(SOCKET);
            (bind(&bound)?, bound, Some(private))
        };
        let address = Address { folder: folder.to_path_buf(), socket, elsewhere };
        address.publish()?;
        Ok((listener, address))
    }

    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Writes the file that leads to the socket.
    fn publish(&self) -> io::Result<()> {
        let temporary = self.folder.join(format!("{FILE}.tmp"));
        remove(&temporary)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        let name = if self.elsewhere.is_some() { self.socket.as_path() } else { Path::new(SOCKET) };
        writeln!(file, "{FIRST_LINE}\n{}\n{}", std::process::id(), name.display())?;
        fs::rename(temporary, self.folder.join(FILE))
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        // What stays is found to be old by the next owner, and by whoever tries to connect.
        let _ = remove(&self.folder.join(FILE));
        let _ = remove(&self.socket);
        if let Some(folder) = &self.elsewhere {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A new folder that only this user can enter.
fn private_folder() -> io::Result<PathBuf> {
    let number = getrandom::u64().map_err(io::Error::other)?;
    let path = Path::new(ELSEWHERE).join(format!("kithdb-{number:016x}"));
    // It fails where another process has made one of that name.
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What the file `attach` of a folder says; nothing where there is none that is complete.
pub fn published(folder: &Path) -> Option<Published> {
    use std::io::Read;
    let mut text = String::new();
    File::open(folder.join(FILE)).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return None;
    }
    let pid = lines.next()?.parse().ok()?;
    Some(Published { pid, socket: folder.join(lines.next()?) })
}

/// Takes the right to be the next owner; nothing while another process has it. It is released when the file is dropped,
/// and when the process ends.
///
/// # Errors
/// The error of the disk.
pub fn lock_succession(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(SUCCESSOR);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// How a message names a process.
pub fn described(pid: u32, purpose: Purpose) -> String {
    match purpose {
        Purpose::Server => format!("the server with the process id {pid}"),
        Purpose::Embedded => format!("process {pid}"),
    }
}
