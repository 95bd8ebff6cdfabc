//! The data directory of one collection.

use crate::catalog::{CatalogFile, Mode};
use crate::checkpoint::{Extent, ExtentWriter, Manifest, directory};
use crate::collection::GraphPolicy;
use crate::config::CollectionConfig;
use crate::engine::{Engine, Operation, Options, Request};
use crate::error::Error;
use crate::storage::{SimDisk, StorageError, make_dir};
use crate::types::{Lsn, OpNumber};
use std::sync::{Arc, Mutex};

/// Number and name of the collection.
const ID: u64 = 1;
const NAME: &str = "c";

/// Body of a manifest, and of each data file from number 1 on what follows the header; of at most 65,535 bytes each.
pub type Parts = Vec<Vec<u8>>;

/// A manifest and its data files as one piece, for [`checkpoint`].
pub fn pack_checkpoint(parts: &Parts) -> Vec<u8> {
    let length = |part: &Vec<u8>| (part.len() as u16).to_le_bytes();
    parts.iter().flat_map(|part| length(part).into_iter().chain(part.iter().copied())).collect()
}

fn unpack(mut bytes: &[u8]) -> Parts {
    let mut parts = Parts::new();
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let (part, after) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
        parts.push(part.to_vec());
        bytes = after;
    }
    parts
}

/// A manifest and data files with checksums made right: the collection is quarantined, or answers every question and
/// the same when what was loaded is written anew.
pub fn checkpoint(bytes: &[u8]) {
    let parts = unpack(bytes);
    let Some((body, files)) = parts.split_first() else { return };
    let Ok(mut manifest) = Manifest::decode(body) else { return };
    let Ok(config) = CollectionConfig::restore(&manifest.config) else { return };
    // No collection has more operations and records.
    manifest.op = OpNumber::new(manifest.op.get() % (1 << 40));
    manifest.lsn = Lsn::new(manifest.lsn.get() % (1 << 40));
    manifest.next_file = files.len() as u32 + 1;
    manifest.extents_mut().for_each(|extent| seal(extent, files));
    let disk = SimDisk::new();
    write(&disk, &manifest, &config, files).expect("the disk takes everything");
    let Ok(engine) = open(&disk) else { return };
    if !engine.status().faults.is_empty() {
        return;
    }
    ask(&engine);
    // Everything is written anew, what was loaded and a change.
    let _ = call(&engine, Operation::UpsertPoints, r#"{"points":[{"id":1,"vector":{},"payload":{}}]}"#);
    let _ = call(&engine, Operation::DeletePoints, r#"{"points":[1]}"#);
    let changed = ask(&engine);
    engine.work_in_background(GraphPolicy::Always);
    let faults = engine.catalog().collections().into_iter().filter_map(|collection| collection.fault());
    assert_eq!(faults.collect::<Vec<_>>(), [""; 0], "work in the background panicked");
    drop(engine);
    disk.kill();
    let engine = open(&disk).expect("a directory that was opened opens again");
    assert_eq!(engine.status().faults, [], "what was written cannot be read");
    assert_eq!(ask(&engine), changed, "what was written reads otherwise");
}

/// Makes the checksum of an extent that lies in a file right.
fn seal(extent: &mut Extent, files: &[Vec<u8>]) {
    let file = (extent.file as usize).checked_sub(1).and_then(|at| files.get(at));
    let from = extent.offset.checked_sub(Extent::FIRST).and_then(|from| usize::try_from(from).ok());
    let end = from.zip(usize::try_from(extent.len).ok()).and_then(|(from, len)| from.checked_add(len));
    if let (Some(file), Some(from), Some(end)) = (file, from, end)
        && let Some(bytes) = file.get(from..end)
    {
        extent.crc = crc32c::crc32c(bytes);
    }
}

fn write(
    disk: &SimDisk,
    manifest: &Manifest,
    config: &CollectionConfig,
    files: &[Vec<u8>],
) -> Result<(), StorageError> {
    let entries = vec![(ID, NAME.to_string(), Arc::new(config.clone()))];
    CatalogFile { lsn: Lsn::FIRST, next_id: ID + 1, entries, ..CatalogFile::default() }.store(disk)?;
    let dir = directory(ID);
    make_dir(disk, &dir)?;
    for (number, bytes) in (1..).zip(files) {
        let mut writer = ExtentWriter::create(disk, &format!("{dir}/{number:08x}.data"), ID, number)?;
        writer.append(bytes)?;
        writer.finish()?;
    }
    manifest.store(disk, &dir)
}

fn open(disk: &SimDisk) -> Result<Engine, String> {
    let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
    Engine::open(Arc::new(disk.clone()), options).map_err(|error| error.to_string())
}

fn call(engine: &Engine, operation: Operation, body: &str) -> Result<Vec<u8>, Error> {
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    let request = Request::new(operation, NAME, body.as_bytes().to_vec());
    let put = move |result| *slot.lock().expect("the lock is not poisoned") = Some(result);
    engine.execute(request, Box::new(put));
    let answer = answer.lock().expect("the lock is not poisoned").take().expect("every request is answered");
    assert!(!matches!(answer, Err(Error::Panic)), "{body}: the engine panicked");
    answer
}

/// Everything that a client can read of all points.
fn ask(engine: &Engine) -> Vec<u8> {
    let questions = [
        (Operation::Count, r#"{"filter":{"must_not":{"key":"n","match":{"value":1}}}}"#),
        (Operation::CollectionInfo, ""),
        (Operation::Query, r#"{"query":{"sample":"random"},"with_vector":true,"with_payload":true}"#),
    ];
    for (operation, body) in questions {
        let _ = call(engine, operation, body);
    }
    let body = r#"{"limit":100,"with_vector":true,"with_payload":true}"#;
    let Ok(answer) = call(engine, Operation::Scroll, body) else { return Vec::new() };
    // The time that it took is in front of the result.
    let result = answer.windows(8).position(|window| window == b"\"result\"").unwrap_or_default();
    answer[result..].to_vec()
}
