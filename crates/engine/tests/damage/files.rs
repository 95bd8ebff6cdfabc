//! The files of a data directory, what each is, and ways in which a medium spoils them.

use crate::common::Random;
use kithdb_engine::storage::{SimDisk, Storage};

/// What a file is, and so what its damage may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Catalog,
    /// The other file of the same content.
    CatalogCopy,
    /// A segment of the log.
    Segment,
    /// The mark that says how far the log was cut.
    CutMark,
    /// The other file of the same content.
    CutMarkCopy,
    Manifest,
    /// Rows, points and payloads.
    Data,
    Graph,
    /// The names of syncs whose parts are in memory.
    StagedSyncs,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Catalog,
        Kind::CatalogCopy,
        Kind::Segment,
        Kind::CutMark,
        Kind::CutMarkCopy,
        Kind::Manifest,
        Kind::Data,
        Kind::Graph,
        Kind::StagedSyncs,
    ];
}

/// Missing where no sync ever came in parts.
const STAGED_SYNCS: &str = "catalog/staged-syncs";

/// A file of a data directory.
#[derive(Clone, Debug)]
pub struct File {
    pub path: String,
    pub kind: Kind,
    /// Its loss cannot be distinguished from a directory that never had it.
    pub may_vanish: bool,
}

/// All files that hold something.
pub fn files(disk: &SimDisk) -> Vec<File> {
    let list = |dir: &str| disk.list(dir).expect("a directory");
    let mut files = Vec::new();
    let mut add = |path: String, kind: Kind| files.push(File { path, kind, may_vanish: false });
    add("catalog/CATALOG".to_string(), Kind::Catalog);
    add("collections/CATALOG".to_string(), Kind::CatalogCopy);
    add("catalog/cut".to_string(), Kind::CutMarkCopy);
    for name in list("log") {
        let kind = if name == "cut" { Kind::CutMark } else { Kind::Segment };
        add(format!("log/{name}"), kind);
    }
    for dir in list("collections").into_iter().filter(|name| name != "CATALOG") {
        for name in list(&format!("collections/{dir}")) {
            let path = format!("collections/{dir}/{name}");
            let start = disk.read(&path).expect("a file").get(64..72).map(<[u8]>::to_vec);
            let kind = match start.as_deref() {
                _ if name == "MANIFEST" => Kind::Manifest,
                Some(b"KITHHNSW") => Kind::Graph,
                _ => Kind::Data,
            };
            add(path, kind);
        }
    }
    if let Some(last) = files.iter_mut().rfind(|file| file.kind == Kind::Segment) {
        last.may_vanish = true;
    }
    let path = STAGED_SYNCS.to_string();
    if disk.exists(&path).expect("the disk works") {
        files.push(File { path, kind: Kind::StagedSyncs, may_vanish: true });
    }
    files
}

/// Damages a file; says how.
pub fn damage(disk: &SimDisk, file: &File, random: &mut Random) -> String {
    if !file.may_vanish && random.chance(5) {
        disk.remove(&file.path).expect("it can be removed");
        disk.kill();
        return "removed".to_string();
    }
    spoil_at(disk, &file.path, random)
}

/// Damages the bytes of a file; says how.
pub fn spoil_at(disk: &SimDisk, path: &str, random: &mut Random) -> String {
    let mut how = String::new();
    disk.decay(path, |bytes| how = spoil(bytes, random)).expect("the file is there");
    how
}

/// Changes some bytes, always to something else; says how.
fn spoil(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let before = bytes.clone();
    loop {
        let at = random.below(bytes.len() as u64) as usize;
        // Headers are small: half of the damage goes there.
        let near = if random.chance(50) { at.min(random.below(128) as usize) } else { at };
        let how = match random.below(10) {
            0..4 => {
                bytes[near] ^= 1 << random.below(8);
                format!("a bit flipped at {near}")
            }
            4 | 5 => {
                let from = at / 4096 * 4096;
                let end = bytes.len().min(from + 4096);
                bytes[from..end].fill(0);
                format!("a page of zeros at {from}..{end}")
            }
            6 => {
                let end = bytes.len().min(near + 1 + random.below(512) as usize);
                bytes[near..end].fill_with(|| random.next() as u8);
                format!("garbage at {near}..{end}")
            }
            7 => {
                // A sector that was written to the wrong place.
                let from = random.below(bytes.len() as u64) as usize;
                let len = (bytes.len() - from.max(at)).min(512);
                bytes.copy_within(from..from + len, at);
                format!("{len} bytes of {from} at {at}")
            }
            8 => {
                bytes.truncate(at);
                format!("cut to {at} bytes")
            }
            _ => {
                let more = 1 + random.below(5000);
                bytes.extend((0..more).map(|_| random.next() as u8));
                format!("{more} bytes of garbage behind the end")
            }
        };
        if *bytes != before {
            return how;
        }
    }
}
