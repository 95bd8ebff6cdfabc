//! The control groups that limit the memory of this process: its own and those above it, of version 1 and 2.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// From here on a limit of version 1, which knows no word for "none", is none.
const UNLIMITED: u64 = 1 << 60;

/// A group with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    dir: PathBuf,
    version: Version,
    /// In bytes.
    pub limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn limit(self) -> &'static str {
        match self {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        }
    }

    /// What of the usage the system gives up when it needs memory, those below the group included.
    fn reclaimable(self) -> &'static [&'static str] {
        match self {
            Version::One => &["total_inactive_file", "total_active_file"],
            Version::Two => &["inactive_file", "active_file", "slab_reclaimable"],
        }
    }
}

impl Group {
    /// Bytes that the processes of the group hold and that cannot be taken from them: what counts against the limit when
    /// it is reached. Pages of mapped files are left out.
    pub fn held(&self) -> Option<u64> {
        let usage = number(&self.dir.join(self.version.usage()))?;
        let stat = read_to_string(self.dir.join("memory.stat")).ok()?;
        let reclaimable = stat.lines().filter_map(|line| line.split_once(' ')).filter_map(|(name, bytes)| {
            self.version.reclaimable().contains(&name).then(|| bytes.trim().parse::<u64>().ok()).flatten()
        });
        Some(usage.saturating_sub(reclaimable.sum()))
    }
}

/// The groups with a limit that this process is in. `root` is `/`, but in tests.
pub fn groups(root: &Path) -> Vec<Group> {
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut found = Vec::new();
    for (version, path) in own.lines().filter_map(membership) {
        for mount in mounts.lines().filter_map(|line| Mount::parse(line, version)) {
            found.extend(mount.dirs(root, path).filter_map(|dir| {
                let limit = number(&dir.join(version.limit())).filter(|limit| *limit < UNLIMITED)?;
                Some(Group { dir, version, limit })
            }));
        }
    }
    found
}

/// A line of `/proc/self/cgroup` that is about memory: the version, and the path of the group.
fn membership(line: &str) -> Option<(Version, &str)> {
    let mut parts = line.splitn(3, ':');
    let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    match controllers {
        "" if hierarchy == "0" => Some((Version::Two, path)),
        some if some.split(',').any(|one| one == "memory") => Some((Version::One, path)),
        _ => None,
    }
}

/// A mount of groups that limit memory.
struct Mount<'a> {
    /// The group that is mounted.
    root: &'a str,
    point: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str, version: Version) -> Option<Mount<'a>> {
        // 36 35 98:0 /root /point options … - type source super-options
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, _, options) = (after.next()?, after.next(), after.next().unwrap_or_default());
        let fits = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
            Version::Two => kind == "cgroup2",
        };
        fits.then_some(Mount { root, point })
    }

    /// The folders of a group and of all above it, as far as the mount shows them.
    fn dirs(&self, root: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
        let top = root.join(self.point.trim_start_matches('/'));
        // In a container the mount often shows its own group only, while the path is that of the host.
        let below = path.strip_prefix(self.root).unwrap_or("").trim_start_matches('/');
        let own = if below.starts_with("..") { top.clone() } else { top.join(below) };
        let dirs: Vec<PathBuf> =
            own.ancestors().take_while(|dir| dir.starts_with(&top)).map(PathBuf::from).collect();
        dirs.into_iter()
    }
}

/// The number in a file; `None` for `max`.
fn number(path: &Path) -> Option<u64> {
    read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        dir
    }

    #[test]
    fn nested_groups_of_version_2_all_count_and_page_cache_does_not() {
        let tree = tree(&[
            ("proc/self/cgroup", "0::/pod/one\n"),
            ("proc/self/mountinfo", "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/pod/memory.max", "1000\n"),
            ("sys/fs/cgroup/pod/one/memory.max", "max\n"),
            ("sys/fs/cgroup/pod/memory.current", "900\n"),
            (
                "sys/fs/cgroup/pod/memory.stat",
                "anon 500\nfile 350\ninactive_file 100\nactive_file 200\nslab_reclaimable 7\n",
            ),
        ]);
        let groups = groups(tree.path());
        assert_eq!(groups.iter().map(|group| group.limit).collect::<Vec<_>>(), [1000]);
        assert_eq!(groups[0].held(), Some(593));
    }

    #[test]
    fn nested_groups_of_version_1_all_count() {
        let tree = tree(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n"),
            (
                "proc/self/mountinfo",
                "30 1 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4000\n"),
            ("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "3000\n"),
            (
                "sys/fs/cgroup/memory/docker/abc/memory.stat",
                "inactive_file 1\ntotal_inactive_file 500\ntotal_active_file 20\n",
            ),
        ]);
        let groups = groups(tree.path());
        assert_eq!(groups.iter().map(|group| group.limit).collect::<Vec<_>>(), [4000, 5000]);
        assert_eq!(groups[0].held(), Some(2480));
        assert_eq!(groups[1].held(), None);
    }

    #[test]
    fn a_mount_of_the_own_group_alone_is_that_group() {
        for path in ["/docker/abc", "/../abc", "/"] {
            let tree = tree(&[
                ("proc/self/cgroup", &format!("0::{path}\n")),
                ("proc/self/mountinfo", "25 1 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"),
                ("sys/fs/cgroup/memory.max", "77\n"),
            ]);
            assert_eq!(
                groups(tree.path()).iter().map(|group| group.limit).collect::<Vec<_>>(),
                [77],
                "{path}"
            );
        }
        assert!(groups(Path::new("/nowhere")).is_empty());
    }
}
