//! Syncs of a source (C20): what a request wants a scope to hold. `docs/sync.md` has the design.

use super::NamedVectors;
use crate::change::{Revision, Skipped};
use crate::config::VectorModels;
use crate::filter::Filter;
use crate::json::write_string;
use crate::payload::{Document, JsonPath, Value};
use crate::types::{PointId, TextInput};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The longest hash in JSON, its quotes included.
const MAX_HASH_BYTES: usize = 258;
/// About what an entry takes beside its hash and its content: itself, and its place by id.
const ENTRY_BYTES: usize = 160;

/// A sync: the points of a scope become those of the entries.
#[derive(Clone, Debug)]
pub struct SourceSync {
    /// As it was sent. It restricts, unless all points were asked for.
    pub scope: Filter,
    /// What of it the caller may reach.
    reached: Filter,
    /// Where the hash of a point is.
    pub hash_key: JsonPath,
    /// What the scope is to hold.
    pub entries: Arc<SyncEntries>,
    /// The revision that the scope must have.
    pub if_revision: Option<Revision>,
    /// The models of the vectors, of each part of the source.
    pub models: Vec<VectorModels>,
    /// Entries with content in the request itself, without those of the parts that were staged before.
    pub sent_contents: usize,
}

impl SourceSync {
    /// A sync that needs no revision.
    pub fn new(scope: Filter, hash_key: JsonPath, entries: SyncEntries, models: VectorModels) -> SourceSync {
        SourceSync {
            reached: scope.clone(),
            scope,
            hash_key,
            sent_contents: entries.contents(),
            entries: Arc::new(entries),
            if_revision: None,
            models: vec![models],
        }
    }

    /// Keeps the sync to the points that the caller may reach (C15).
    pub fn limit(&mut self, within: &Arc<Filter>) {
        self.reached = Filter::all_of([Arc::clone(within), Arc::new(self.scope.clone())]);
    }

    /// What of the scope the caller may reach.
    pub fn reached(&self) -> &Filter {
        &self.reached
    }

    /// Whether a stored point has the hash of its entry.
    pub fn is_unchanged(&self, id: &PointId, document: &[u8]) -> bool {
        self.entries.of(id).is_some_and(|(_, entry)| entry.hash.is_in(document, &self.hash_key))
    }
}

/// Entries by id; the last of a repeated id counts.
#[derive(Clone, Default)]
pub struct SyncEntries {
    list: Vec<SyncEntry>,
    places: HashMap<PointId, u32>,
    contents: usize,
    bytes: u64,
}

/// What taking a part out of entries needs.
pub struct MergedPart {
    /// The entries that it has replaced, with their places. Each id is there once in a part.
    replaced: Vec<(u32, SyncEntry)>,
    /// How many entries there were before it.
    len: usize,
}

/// Without the order of the map, which differs from run to run.
impl fmt::Debug for SyncEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl SyncEntries {
    /// Adds an entry, in place of one of its id, which is returned with its place.
    pub fn put(&mut self, entry: SyncEntry) -> Option<(u32, SyncEntry)> {
        self.count_in(&entry);
        let next = self.list.len() as u32;
        match self.places.get(&entry.id) {
            Some(&place) => {
                let before = std::mem::replace(&mut self.list[place as usize], entry);
                self.count_out(&before);
                Some((place, before))
            }
            None => {
                self.places.insert(entry.id.clone(), next);
                self.list.push(entry);
                None
            }
        }
    }

    /// Adds those of a later part. What it returns takes them out again.
    pub fn merge(&mut self, later: SyncEntries) -> MergedPart {
        let len = self.list.len();
        let replaced = later.list.into_iter().filter_map(|entry| self.put(entry));
        MergedPart { replaced: replaced.collect(), len }
    }

    /// Takes the entries of the part that was added last out again.
    pub fn take_back(&mut self, part: MergedPart) {
        for entry in self.list.split_off(part.len) {
            self.count_out(&entry);
            self.places.remove(&entry.id);
        }
        for (place, before) in part.replaced {
            self.count_in(&before);
            let entry = std::mem::replace(&mut self.list[place as usize], before);
            self.count_out(&entry);
        }
    }

    fn count_in(&mut self, entry: &SyncEntry) {
        self.contents += usize::from(entry.content.is_some());
        self.bytes += entry.bytes();
    }

    fn count_out(&mut self, entry: &SyncEntry) {
        self.contents -= usize::from(entry.content.is_some());
        self.bytes -= entry.bytes();
    }

    /// Drops the texts whose vectors were not made: the body that has them is gone.
    pub fn forget_texts(&mut self) {
        for content in self.list.iter_mut().filter_map(|entry| entry.content.as_mut()) {
            if let Texts::Wanted(_) = content.texts {
                let before = content.bytes();
                content.texts = Texts::Gone;
                self.bytes -= (before - content.bytes()) as u64;
            }
        }
    }

    /// The entry of an id, and its place.
    pub fn of(&self, id: &PointId) -> Option<(usize, &SyncEntry)> {
        let place = *self.places.get(id)? as usize;
        Some((place, &self.list[place]))
    }

    /// All, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, SyncEntry> {
        self.list.iter()
    }

    /// All, in their order.
    pub fn into_list(self) -> Vec<SyncEntry> {
        self.list
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many have content.
    pub fn contents(&self) -> usize {
        self.contents
    }

    /// About what they take in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A point of a source.
#[derive(Clone, Debug)]
pub struct SyncEntry {
    /// Its id.
    pub id: PointId,
    /// The hash of its content.
    pub hash: ContentHash,
    /// Its content; none where the point is to be left alone.
    pub content: Option<Box<SyncContent>>,
}

impl SyncEntry {
    fn bytes(&self) -> u64 {
        let content = self.content.as_ref().map_or(0, |content| content.bytes());
        (ENTRY_BYTES + self.hash.0.len() + content) as u64 + self.id.heap_bytes()
    }
}

/// What a point of a source is to be.
#[derive(Clone, Debug)]
pub struct SyncContent {
    /// Its vectors; of a text whose vector was not made something that stands for it.
    pub vectors: NamedVectors,
    /// Its payload as normalised JSON, with the hash.
    pub payload: Box<[u8]>,
    /// Its place in the `points` of its request.
    pub place: usize,
    /// Texts in place of vectors.
    pub texts: Texts,
}

impl SyncContent {
    fn bytes(&self) -> usize {
        let texts = match &self.texts {
            Texts::Wanted(inputs) => inputs.iter().map(|input| input.text.len()).sum(),
            Texts::None | Texts::Gone => 0,
        };
        let vectors = self.vectors.iter().map(|(name, vector)| name.len() + vector.bytes());
        size_of::<SyncContent>() + self.payload.len() + vectors.sum::<usize>() + texts
    }
}

/// The texts of a point whose vectors were not made. Nobody makes them for a point that is left alone.
#[derive(Clone, Debug)]
pub enum Texts {
    /// All its vectors are there.
    None,
    /// These are in the body of the request.
    Wanted(Vec<TextInput>),
    /// There were some in the body of an earlier part.
    Gone,
}

/// The value at `hash_key`: a string or an integer, in normalised JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash(Box<[u8]>);

impl ContentHash {
    /// The hash given as a text; `None` for a text that is too long.
    pub fn text(text: &str) -> Option<ContentHash> {
        let mut json = Vec::with_capacity(text.len() + 2);
        write_string(&mut json, text);
        (json.len() <= MAX_HASH_BYTES).then(|| ContentHash(json.into()))
    }

    /// The hash given as an integer, as it was written; `None` for another number.
    pub fn integer(text: &str) -> Option<ContentHash> {
        let is_integer = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        is_integer.then(|| ContentHash(text.as_bytes().into()))
    }

    /// The hash in a payload; `None` where there is no such value.
    pub fn of(document: &[u8], key: &JsonPath) -> Option<ContentHash> {
        let mut found = None;
        Document::new(document).values_at(key, |value| {
            found = match value {
                Value::String(text) if text.raw().len() + 2 <= MAX_HASH_BYTES => {
                    Some(ContentHash([b"\"", text.raw(), b"\""].concat().into()))
                }
                Value::Number(text) => ContentHash::integer(text),
                _ => None,
            };
        });
        found
    }

    /// Whether a payload has it.
    fn is_in(&self, document: &[u8], key: &JsonPath) -> bool {
        let mut is_same = false;
        Document::new(document).values_at(key, |value| {
            is_same = match value {
                Value::String(text) => {
                    let quoted = self.0.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
                    quoted == Some(text.raw())
                }
                Value::Number(text) => *self.0 == *text.as_bytes(),
                _ => false,
            };
        });
        is_same
    }
}

/// What a sync did: its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Points that were not there.
    pub added: u32,
    /// Points with another hash.
    pub updated: u32,
    /// Points that were left alone.
    pub unchanged: u32,
    /// Points of the scope that are none of the source.
    pub deleted: u32,
    /// What the scope has now.
    pub revision: Revision,
}

impl Synced {
    /// The note of it in a record (see [`Skipped::is_of_sync`]).
    pub fn note(&self) -> Skipped {
        let counts = [self.updated, self.unchanged, self.deleted].map(|count| PointId::Num(count.into()));
        let ids = [&counts[..], &[PointId::Uuid(self.revision.bits())]].concat();
        Skipped { at: Skipped::OF_SYNC, count: self.added, ids }
    }

    /// Reads a note; none where it is not one of a sync.
    pub fn read(note: &Skipped) -> Option<Synced> {
        let [PointId::Num(updated), PointId::Num(unchanged), PointId::Num(deleted), PointId::Uuid(revision)] =
            &note.ids[..]
        else {
            return None;
        };
        let count = |count: &u64| u32::try_from(*count).ok();
        note.is_of_sync().then_some(())?;
        Some(Synced {
            added: note.count,
            updated: count(updated)?,
            unchanged: count(unchanged)?,
            deleted: count(deleted)?,
            revision: Revision::of_bits(*revision),
        })
    }
}

#[cfg(test)]
#[path = "tests/source_sync.rs"]
mod tests;
