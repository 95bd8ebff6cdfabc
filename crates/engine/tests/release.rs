//! Data directories that releases have written: every later release opens them with their exact content.
//!
//! `tests/data/release-<version>` holds a directory as files, and `answers.json.gz`, what clients saw of it when it
//! was written. For a new release, write its own and check it in beside the older ones:
//!
//! ```text
//! KITHDB_WRITE_RELEASE=1 cargo test -p kithdb-engine --test release -- --ignored
//! ```

mod common;
mod specimen;

use common::TestEngine;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::integrity::{LogEnd, check, repair, verify_files};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{RealDisk, SimDisk, Storage};
use serde_json::Value;
use specimen::Sizes;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Thresholds of a server, but for a log of short segments, so that it is cut and several are left.
fn thresholds() -> Thresholds {
    Thresholds { log_segment_bytes: 24 << 10, ..Thresholds::default() }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Directories of all releases, by version.
fn releases() -> Vec<PathBuf> {
    let entries = fs::read_dir(data()).expect("the folder of releases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    assert!(!paths.is_empty(), "there is no release");
    paths
}

/// All files below a folder, by their path relative to it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("it is below").to_str().expect("names are UTF-8");
                files.insert(name.replace('\\', "/"), fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// A disk that holds the data directory of a release.
fn disk_of(release: &Path) -> SimDisk {
    let disk = SimDisk::new();
    for (path, bytes) in files(&release.join("directory")) {
        let (dir, _) = path.rsplit_once('/').expect("every file is in a folder");
        disk.create_dir_all(dir).expect("a folder");
        let mut file = disk.create(&path).expect("a file");
        file.append(&bytes).expect("it is written");
        file.sync().expect("it is synced");
        let mut parent = String::new();
        for part in dir.split('/') {
            disk.sync_dir(&parent).expect("it is synced");
            parent = if parent.is_empty() { part.to_string() } else { format!("{parent}/{part}") };
        }
        disk.sync_dir(&parent).expect("it is synced");
    }
    disk
}

/// Whether everything expected is there; what a later release adds to objects does no harm. Processors add the products
/// of a score in different orders, so it may differ in its last bits.
fn covers(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, expected) in expected {
                let place = format!("{place}.{key}");
                covers(found.get(key).unwrap_or_else(|| panic!("{place} is missing")), expected, &place);
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{place}: number of items");
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                covers(found, expected, &format!("{place}[{at}]"));
            }
        }
        (Value::Number(found), Value::Number(expected)) if place.ends_with(".score") => {
            let (found, expected) = (found.as_f64().expect("a number"), expected.as_f64().expect("a number"));
            assert!(
                (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
                "{place}: {found}, not {expected}"
            );
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

#[test]
fn every_release_is_opened_with_its_exact_content() {
    for release in releases() {
        let answers = fs::File::open(release.join("answers.json.gz")).expect("answers");
        let expected: Value = serde_json::from_reader(GzDecoder::new(answers)).expect("JSON");
        let disk = disk_of(&release);
        let mut engine = TestEngine::with(disk, 1, thresholds()).expect("the directory of a release opens");
        assert!(engine.engine().status().faults.is_empty());
        for (name, expected) in expected.as_object().expect("collections by name") {
            covers(&specimen::shown(&engine, name), expected, name);
        }
        let names = engine.engine().status().collections;
        assert_eq!(names, specimen::NAMES.len(), "what was deleted stays deleted");
        // Releases that had no copy of the cut mark have one from now on.
        let mark = engine.disk.read("log/cut").expect("a mark");
        assert_eq!(engine.disk.read("catalog/cut").expect("a copy"), mark);
        // What this release writes from there on holds the same.
        engine.checkpoint();
        engine.restart();
        for (name, expected) in expected.as_object().expect("collections by name") {
            covers(&specimen::shown(&engine, name), expected, name);
        }
    }
}

#[test]
fn every_release_is_opened_from_files_by_an_engine_with_threads() {
    for release in releases() {
        let dir = tempfile::tempdir().expect("a directory");
        for (path, bytes) in files(&release.join("directory")) {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        let disk = RealDisk::open(dir.path()).expect("a directory");
        let engine = Engine::open(Arc::new(disk), Options::default()).expect("it opens");
        let status = engine.status();
        assert_eq!((status.collections, status.faults), (specimen::NAMES.len(), Vec::new()));
        engine.close();
    }
}

/// Sets the version in a file to that of a later release, and makes its own checksum right again.
fn make_newer(path: &str, bytes: &mut Vec<u8>) {
    let set = |bytes: &mut [u8], at: usize, value: u32| {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    set(bytes, 8, 99);
    if path.ends_with(".log") {
        let checksum = crc32c::crc32c(&bytes[..48]);
        set(bytes, 48, checksum);
    } else if path == "log/cut" {
        let checksum = crc32c::crc32c(&bytes[..20]);
        set(bytes, 20, checksum);
    } else if path.ends_with(".data") {
        let checksum = crc32c::crc32c(&bytes[..24]);
        set(bytes, 24, checksum);
    } else {
        // The checksum of a body leaves the header out: a later one is another body too.
        bytes.push(0);
        let checksum = crc32c::crc32c(&bytes[16..]);
        set(bytes, 12, checksum);
    }
}

/// Files of which there are two, the other being the one that is read first.
const COPIES: [&str; 2] = ["collections/CATALOG", "catalog/cut"];

/// Every file with its bytes, but for [`COPIES`].
fn content(disk: &SimDisk) -> BTreeMap<String, Vec<u8>> {
    let mut dirs = vec!["catalog".to_string(), "log".to_string()];
    let collections = disk.list("collections").expect("a folder");
    let of_collections = collections.iter().filter(|name| *name != "CATALOG");
    dirs.extend(of_collections.map(|name| format!("collections/{name}")));
    let files = |dir: &String| -> Vec<String> {
        disk.list(dir).expect("a folder").iter().map(|name| format!("{dir}/{name}")).collect()
    };
    let paths = dirs.iter().flat_map(files).filter(|path| !COPIES.contains(&path.as_str()));
    paths.map(|path| (path.clone(), disk.read(&path).expect("a file"))).collect()
}

#[test]
fn a_later_format_in_any_file_is_refused_by_its_name_and_nothing_is_touched() {
    let release = releases().pop().expect("a release");
    let original = disk_of(&release);
    for (path, bytes) in content(&original) {
        let disk = original.duplicate();
        disk.decay(&path, |bytes| make_newer(&path, bytes)).expect("it is there");
        let before = content(&disk);
        let name = path.rsplit_once('/').expect("it is in a folder").1;
        let at_rest = || -> Arc<dyn Storage> { Arc::new(disk.duplicate()) };
        let options = OpeningOptions::default();
        let refusals = [
            check(at_rest(), None, options).err().map(|error| error.to_string()),
            repair(&at_rest(), "stamp", false, options).err().map(|error| error.to_string()),
        ];
        for refusal in refusals {
            let refusal = refusal.unwrap_or_else(|| panic!("{path} was read"));
            assert!(refusal.contains(name) && refusal.contains("format version 99"), "{path}: {refusal}");
            assert!(refusal.contains("use the release that wrote it"), "{path}: {refusal}");
        }
        let unsound =
            verify_files(at_rest(), options.row_chunk_bytes, LogEnd::PerhapsTorn).expect("it can be read");
        assert!(unsound.iter().all(|found| found.is_of_other_release && found.file == path), "{unsound:?}");
        let sentence = match TestEngine::with(disk.clone(), 1, thresholds()) {
            Err(sentence) => {
                assert_eq!(content(&disk), before, "{path}: something was changed");
                sentence
            }
            Ok(engine) => {
                assert!(path.starts_with("collections/"), "{path} was opened");
                let faults = engine.engine().status().faults;
                let kept = content(&disk);
                assert!(
                    before
                        .iter()
                        .all(|(path, bytes)| path.starts_with("log/") || kept.get(path) == Some(bytes)),
                    "{path}: something was changed"
                );
                if bytes.get(64..72) == Some(b"KITHHNSW") {
                    // Derived data are made again.
                    assert_eq!(faults, [], "{path}");
                    continue;
                }
                assert_eq!(faults.len(), 1, "{path}: {faults:?}");
                assert!(!faults[0].1.contains("kithdb repair"), "{path}: {faults:?}");
                faults[0].1.clone()
            }
        };
        assert!(sentence.contains(name) && sentence.contains("format version 99"), "{path}: {sentence}");
    }
}

#[test]
#[ignore = "writes the directory of a release"]
fn write_the_directory_of_this_release() {
    assert!(std::env::var_os("KITHDB_WRITE_RELEASE").is_some(), "set KITHDB_WRITE_RELEASE=1 to write it");
    let release = data().join(format!("release-{}", env!("CARGO_PKG_VERSION")));
    assert!(!release.exists(), "{} is there: released bytes are never written again", release.display());
    let mut engine = TestEngine::with(SimDisk::new(), 1, thresholds()).expect("an empty disk opens");
    specimen::write(&mut engine, Sizes { points: 20, sparse: 2_060 }, 1);
    let answers = serde_json::to_value(specimen::all_shown(&engine)).expect("JSON");
    engine.kill();
    for (path, bytes) in content(&engine.disk) {
        let path = release.join("directory").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    let file = fs::File::create(release.join("answers.json.gz")).expect("a file");
    let mut packed = GzEncoder::new(file, Compression::best());
    serde_json::to_writer(&mut packed, &answers).expect("they are written");
    packed.finish().expect("they are written");
}
