//! The files by which processes find the owner of a folder: `attach`, which says who it is and where it listens, the socket
//! itself, and `successor`, whose lock a process holds that is to be the next owner.

use super::frame::Purpose;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
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
        // Other processes may open it by another path: all of them resolve it to this one.
        let folder = fs::canonicalize(folder)?;
        let (place, inside) = (folder.join(SOCKET), folder.join(PRIVATE_FOLDER));
        remove(&place)?;
        remove_dir(&inside)?;
        let bound = inside.join(SOCKET);
        // From here on the address is dropped where a step fails, and what it has on the disk goes.
        let (listener, address) = if bound.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
            let address = Address { folder, socket: place, elsewhere: None };
            (bind_inside(&inside, &bound, &address.socket)?, address)
        } else {
            let private = private_folder()?;
            let address = Address { folder, socket: private.join(SOCKET), elsewhere: Some(private) };
            (bind(&address.socket)?, address)
        };
        address.publish()?;
        Ok((listener, address))
    }

    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Writes the file that leads to the socket. It says which folder it belongs to, because a copy of the folder has it too.
    fn publish(&self) -> io::Result<()> {
        let temporary = self.folder.join(format!("{FILE}.tmp"));
        remove(&temporary)?;
        let published = self.write(&temporary).and_then(|()| fs::rename(&temporary, self.folder.join(FILE)));
        if published.is_err() {
            // What stays is removed by the next attempt.
            let _ = remove(&temporary);
        }
        published
    }

    /// Writes the same to a new file.
    fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let name = if self.elsewhere.is_some() { self.socket.as_path() } else { Path::new(SOCKET) };
        let (pid, identity) = (std::process::id(), identity(&self.folder)?);
        writeln!(file, "{FIRST_LINE}\n{pid}\n{}\n{identity}", name.display())
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

/// Binds a socket in a new folder that only its owner can enter, and moves it to its place.
fn bind_inside(inside: &Path, bound: &Path, place: &Path) -> io::Result<UnixListener> {
    DirBuilder::new().mode(0o700).create(inside)?;
    let listener = bind(bound).and_then(|listener| fs::rename(bound, place).map(|()| listener));
    let removed = remove_dir(inside);
    let listener = listener?;
    removed.map(|()| listener)
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

/// Tells a folder from its copies: the numbers of its device and its inode.
fn identity(folder: &Path) -> io::Result<String> {
    let metadata = fs::metadata(folder)?;
    Ok(format!("{}:{}", metadata.dev(), metadata.ino()))
}

/// What the file `attach` of a folder says; nothing where there is none that is complete, and where it was copied with the
/// folder.
pub fn published(folder: &Path) -> Option<Published> {
    use std::io::Read;
    // The path by which its owner has the socket: another one may be too long for a socket.
    let folder = fs::canonicalize(folder).ok()?;
    let mut text = String::new();
    File::open(folder.join(FILE)).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return None;
    }
    let pid = lines.next()?.parse().ok()?;
    let name = Path::new(lines.next()?);
    let belongs_here = match lines.next() {
        Some(written) => identity(&folder).is_ok_and(|identity| identity == written),
        // Earlier releases wrote no such line. A copy has no listener at a name that is relative to it.
        None => name.is_relative(),
    };
    belongs_here.then(|| Published { pid, socket: folder.join(name) })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder whose path is too long for a socket.
    fn long(dir: &tempfile::TempDir, letter: &str) -> PathBuf {
        let path = dir.path().join(letter.repeat(100));
        fs::create_dir(&path).expect("a folder");
        path
    }

    fn found(folder: &Path) -> PathBuf {
        published(folder).expect("its address is published").socket
    }

    #[test]
    fn a_copy_of_a_folder_has_no_address_and_a_folder_that_was_moved_has_c18() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, copy) = (long(&dir, "x"), long(&dir, "y"));
        let (_listener, address) = Address::listen(&folder).expect("a socket");
        assert_eq!(found(&folder), address.socket());
        fs::copy(folder.join(FILE), copy.join(FILE)).expect("a copy");
        assert_eq!(published(&copy), None);
        let moved = dir.path().join("z");
        fs::rename(&folder, &moved).expect("another name");
        assert_eq!(found(&moved), address.socket());
    }

    #[test]
    fn of_an_address_without_its_folder_only_a_relative_one_counts_c18() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |socket: &str| {
            fs::write(dir.path().join(FILE), format!("{FIRST_LINE}\n7\n{socket}\n")).expect("a file");
            published(dir.path())
        };
        assert_eq!(write(SOCKET).map(|published| published.pid), Some(7));
        assert_eq!(write("/tmp/kithdb-7/attach.sock"), None);
    }

    #[test]
    fn a_folder_has_one_address_by_a_short_path_and_by_a_long_one_c18() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, short) = (long(&dir, "x"), dir.path().join("l"));
        std::os::unix::fs::symlink(&folder, &short).expect("a link");
        let (_listener, address) = Address::listen(&short).expect("a socket");
        assert_eq!(found(&folder), address.socket());
        assert_eq!(found(&short), address.socket());
        std::os::unix::net::UnixStream::connect(found(&folder)).expect("its path is short enough");
        drop(address);
        assert_eq!(published(&folder), None);
    }

    #[test]
    fn an_address_that_cannot_be_published_leaves_nothing_c18() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join(FILE).join("x")).expect("a folder in its place");
        Address::listen(dir.path()).map(drop).expect_err("its place is taken");
        for name in [SOCKET, PRIVATE_FOLDER, "attach.tmp"] {
            assert!(!dir.path().join(name).exists(), "{name} is left");
        }
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 1);
    }
}
