//! Snapshots of collections, and their recovery (C12): over a collection that is there, under a name that is free, or both
//! at once.

use crate::common::{Client, Random};
use crate::model::{Collection, Model, collection_of};
use crate::program::{NAMES, Step};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

/// The operation that makes collections of folders.
pub const RECOVER: &str = "adopt_folders";
/// Snapshots that one program takes at most.
pub const MOST: usize = 3;

/// Recoveries of all programs that were acknowledged.
pub static RECOVERED: AtomicU64 = AtomicU64::new(0);

/// A snapshot, and what it holds.
#[derive(Clone)]
pub struct Snapshot {
    folder: String,
    holds: Collection,
}

impl Snapshot {
    /// One that [`link`] has made, or will.
    pub fn new(folder: String, of: &Collection) -> Snapshot {
        Snapshot { folder, holds: Collection { aliases: BTreeSet::new(), ..of.clone() } }
    }
}

/// Takes a snapshot of a collection of a disk that works. It is durable when this returns.
pub fn link(client: &Client, name: &str, folder: &str) {
    let storage = &*client.0.catalog().shared().storage;
    storage.create_dir_all(folder).expect("the disk works");
    client.ok("link_snapshot", name, json!({"folder": folder}));
    let parents = folder.match_indices('/').map(|(at, _)| &folder[..at]);
    let dirs = ["", folder].into_iter().chain(parents);
    dirs.for_each(|dir| storage.sync_dir(dir).expect("the disk works"));
}

/// A recovery of one of the snapshots under one or two names.
pub fn recover_any(random: &mut Random, model: &Model, snapshots: &[Snapshot]) -> Step {
    let snapshot = &snapshots[random.below(snapshots.len() as u64) as usize];
    let first = random.below(3) as usize;
    let names = [NAMES[first], NAMES[(first + 1 + random.below(2) as usize) % 3]];
    recover(model, snapshot, if random.chance(60) { &names[..1] } else { &names })
}

/// A recovery of a snapshot under some names, all at once.
pub fn recover(model: &Model, snapshot: &Snapshot, names: &[&str]) -> Step {
    let mut after = model.clone();
    for name in names {
        // Those of the collection that it replaces.
        let aliases = model.get(*name).map(|held| held.aliases.clone()).unwrap_or_default();
        after.insert(name.to_string(), Collection { aliases, ..snapshot.holds.clone() });
    }
    let is_alias = |name: &&str| !model.contains_key(*name) && collection_of(model, name).is_some();
    let folders: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "folder": snapshot.folder})).collect();
    Step {
        operation: RECOVER,
        collection: String::new(),
        target: None,
        wait: true,
        body: json!({"collections": folders}).to_string(),
        outcome: if names.iter().any(is_alias) { Err("alias_exists") } else { Ok(after) },
    }
}

/// The names of the collections that a recovery makes.
pub fn names_of(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).expect("a body of a program is JSON");
    let collections = body["collections"].as_array().expect("a list");
    collections.iter().map(|one| one["name"].as_str().expect("a name").to_string()).collect()
}
