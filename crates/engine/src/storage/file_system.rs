//! Which file systems keep the promises that a data directory is built on: locks that every process sees, renames that
//! replace whole files, syncs that reach the disk, and maps that show what was written.
//!
//! [`judge`] is the one table. What the operating system says of a folder is read by [`file_system_of`].

use std::path::Path;

/// A file system, by what the operating system says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its number in `statfs` (Linux); 0 where there is none.
    pub magic: u64,
    /// Its name in the list of mounts, such as `ext4` or `fuse.sshfs`; empty where it is not known.
    pub name: String,
}

/// What a file system is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It keeps them, as far as is known.
    Keeps,
    /// It does not, or nobody knows: by what name it can be allowed.
    Breaks(String),
}

/// Numbers of `statfs` on Linux, with the names by which they can be allowed.
const BREAKING_MAGICS: [(u64, &str); 6] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "smb"),
    (0xfe53_4d42, "smb"),
    // WSL 2 mounts the drives of Windows (drvfs) by this one.
    (0x0102_1997, "9p"),
    (0x5346_4846, "drvfs"),
];
/// Names in the list of mounts, for systems without such numbers.
const BREAKING_NAMES: [(&str, &str); 10] = [
    ("nfs", "nfs"),
    ("nfs4", "nfs"),
    ("cifs", "smb"),
    ("smb3", "smb"),
    ("smbfs", "smb"),
    ("smb", "smb"),
    ("9p", "9p"),
    ("drvfs", "drvfs"),
    ("afpfs", "afp"),
    ("webdav", "webdav"),
];
const FUSE_MAGIC: u64 = 0x6573_5546;
/// File systems over FUSE that pass all calls on to one that keeps its promises.
const SOUND_FUSE: [&str; 2] = ["fuse.fuse-overlayfs", "fuseblk"];

/// The table.
pub fn judge(found: &FileSystem) -> Verdict {
    let by_magic = BREAKING_MAGICS.iter().find(|(magic, _)| *magic == found.magic).map(|(_, name)| *name);
    let by_name = || BREAKING_NAMES.iter().find(|(name, _)| *name == found.name).map(|(_, name)| *name);
    if let Some(name) = by_magic.or_else(by_name) {
        // `drvfs` is the name that users know.
        return Verdict::Breaks(if found.name == "drvfs" { "drvfs" } else { name }.to_string());
    }
    let is_fuse = found.magic == FUSE_MAGIC || found.name.starts_with("fuse") || found.name == "virtiofs";
    if is_fuse && !SOUND_FUSE.contains(&found.name.as_str()) {
        return Verdict::Breaks(if found.name.is_empty() { "fuse" } else { &found.name }.to_string());
    }
    Verdict::Keeps
}

/// What a start does about the file system of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Open,
    /// It opens the folder, and says this.
    Warn(String),
    /// It does not, and says why.
    Refuse(String),
}

/// Decides about a folder. `allowed` are the names that the user allows; `has_data` when the folder was opened before.
pub fn decide(verdict: Verdict, allowed: &[String], has_data: bool) -> Decision {
    let Verdict::Breaks(name) = verdict else { return Decision::Open };
    let why = format!(
        "the folder is on the file system {name}, which is not known to keep locks, renames, syncs and maps as a database \
         needs them: acknowledged writes may be lost there"
    );
    if has_data || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(&name)) {
        return Decision::Warn(why);
    }
    Decision::Refuse(format!(
        "{why}. Put it on a disk of this machine, or allow it with KITHDB_ALLOW_FILESYSTEM={name}"
    ))
}

/// Decides about the folder at a path, which need not exist.
pub fn decide_for(path: &Path, allowed: &[String]) -> Decision {
    let has_data = ["log", "catalog"].iter().any(|part| path.join(part).exists());
    decide(judge(&file_system_of(path)), allowed, has_data)
}

/// The name of the file system of a path, or of the nearest folder above that exists; empty where it is not known.
pub fn file_system_name(path: &Path) -> String {
    file_system_of(path).name
}

/// The file system of a path, or of the nearest folder above that exists.
#[cfg(target_os = "linux")]
fn file_system_of(path: &Path) -> FileSystem {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let existing = existing.canonicalize().unwrap_or_else(|_| existing.to_path_buf());
    // The type of the number differs between processors; it is one of 32 bits.
    let magic = rustix::fs::statfs(&existing).map_or(0, |stat| stat.f_type as u32);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    FileSystem { magic: u64::from(magic), name: mounted_at(&existing, &mounts).unwrap_or_default() }
}

/// The name of the file system that is mounted nearest above a path, by the text of `/proc/self/mountinfo`.
#[cfg(any(target_os = "linux", test))]
fn mounted_at(path: &Path, mounts: &str) -> Option<String> {
    let parse = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let place = mount.split(' ').nth(4)?.replace("\\040", " ");
        let name = file_system.split(' ').next()?.to_string();
        Some((place, name))
    };
    // Of several on one place the last is on top.
    let above = mounts.lines().filter_map(parse).filter(|(place, _)| path.starts_with(place));
    above.max_by_key(|(place, _)| place.len()).map(|(_, name)| name)
}

#[cfg(target_os = "macos")]
fn file_system_of(path: &Path) -> FileSystem {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let name = rustix::fs::statfs(existing).map_or_else(
        |_| String::new(),
        |stat| {
            let bytes = stat.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
            String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
        },
    );
    FileSystem { magic: 0, name }
}

/// Windows resolves a drive that stands for a share of another machine to that share.
#[cfg(windows)]
fn file_system_of(path: &Path) -> FileSystem {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(&absolute);
    let resolved = existing.canonicalize().unwrap_or_else(|_| existing.to_path_buf());
    FileSystem { magic: 0, name: name_on_windows(&resolved.to_string_lossy()).to_string() }
}

/// The name of the file system of an absolute path on Windows: that of shares, which such a path shows, else nothing.
#[cfg(any(windows, test))]
fn name_on_windows(path: &str) -> &'static str {
    let is_share = match path.strip_prefix(r"\\?\") {
        Some(rest) => rest.starts_with(r"UNC\"),
        None => path.starts_with(r"\\") && !path.starts_with(r"\\.\"),
    };
    if is_share { "smb" } else { "" }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn file_system_of(_: &Path) -> FileSystem {
    FileSystem { magic: 0, name: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(magic: u64, name: &str) -> Verdict {
        judge(&FileSystem { magic, name: name.to_string() })
    }

    #[test]
    fn file_systems_that_cannot_keep_promises_are_told_from_those_that_can_c18() {
        let breaks = |name: &str| Verdict::Breaks(name.to_string());
        for (magic, name) in [
            (0xef53, "ext4"),
            (0x5846_5342, "xfs"),
            (0x9123_683e, "btrfs"),
            (0x2fc1_2fc1, "zfs"),
            (0x0102_1994, "tmpfs"),
            (0x794c_7630, "overlay"),
            (0, "apfs"),
            (0, ""),
            (FUSE_MAGIC, "fuse.fuse-overlayfs"),
            (FUSE_MAGIC, "fuseblk"),
        ] {
            assert_eq!(judged(magic, name), Verdict::Keeps, "{name}");
        }
        assert_eq!(judged(0x6969, "nfs4"), breaks("nfs"));
        assert_eq!(judged(0xff53_4d42, "cifs"), breaks("smb"));
        assert_eq!(judged(0xfe53_4d42, "smb3"), breaks("smb"));
        assert_eq!(judged(0, "smbfs"), breaks("smb"));
        assert_eq!(judged(0x0102_1997, "9p"), breaks("9p"));
        assert_eq!(judged(0x0102_1997, "drvfs"), breaks("drvfs"));
        assert_eq!(judged(0x5346_4846, ""), breaks("drvfs"));
        assert_eq!(judged(FUSE_MAGIC, "fuse.sshfs"), breaks("fuse.sshfs"));
        assert_eq!(judged(FUSE_MAGIC, "virtiofs"), breaks("virtiofs"));
        assert_eq!(judged(FUSE_MAGIC, ""), breaks("fuse"));
    }

    #[test]
    fn a_share_of_another_machine_is_known_by_its_path_on_windows_c18() {
        for path in [r"\\server\share\data", r"\\?\UNC\server\share\data"] {
            assert_eq!(judged(0, name_on_windows(path)), Verdict::Breaks("smb".to_string()), "{path}");
        }
        for path in [r"C:\data", r"\\?\C:\data", r"\\.\pipe\data", r"data"] {
            assert_eq!(judged(0, name_on_windows(path)), Verdict::Keeps, "{path}");
        }
    }

    #[test]
    fn a_new_folder_is_refused_there_unless_it_is_allowed_and_one_with_data_opens_with_a_warning_c18() {
        let breaks = || Verdict::Breaks("nfs".to_string());
        assert_eq!(decide(Verdict::Keeps, &[], false), Decision::Open);
        let Decision::Refuse(why) = decide(breaks(), &["smb".to_string()], false) else { panic!("refused") };
        assert!(why.contains("file system nfs") && why.contains("KITHDB_ALLOW_FILESYSTEM=nfs"), "{why}");
        assert!(matches!(decide(breaks(), &["NFS".to_string()], false), Decision::Warn(_)));
        assert!(matches!(decide(breaks(), &[], true), Decision::Warn(_)));
    }

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 0:40 / /mnt/my\\040share rw shared:1 - cifs //x/y rw\n\
                      31 22 0:41 / /mnt rw - 9p x rw\n";
        let name = |path: &str| mounted_at(Path::new(path), mounts);
        assert_eq!(name("/home/a").as_deref(), Some("ext4"));
        assert_eq!(name("/mnt/my share/data").as_deref(), Some("cifs"));
        assert_eq!(name("/mnt/c").as_deref(), Some("9p"));
        assert_eq!(name("/mntx").as_deref(), Some("ext4"));
    }

    #[test]
    fn the_folder_of_the_tests_can_be_used() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(decide_for(&dir.path().join("not/there/yet"), &[]), Decision::Open);
        #[cfg(target_os = "linux")]
        assert_ne!(file_system_name(dir.path()), "");
    }
}
