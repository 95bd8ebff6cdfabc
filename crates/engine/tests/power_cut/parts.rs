//! A sync of a source whose points come in parts (C20): parts change nothing, the last one applies all of them, and where a
//! start came between them the next one is refused.

use crate::body;
use crate::common::{Client, Random};
use crate::content::TAGS;
use crate::content::any_id;
use crate::model::{Filter, Model, Point, shown};
use crate::program::Step;
use crate::session::Session;
use crate::syncing::of_source;
use kithdb_engine::error::Error;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Last parts of all programs that applied what earlier parts had.
pub static APPLIED: AtomicU64 = AtomicU64::new(0);
/// Parts of all programs that were refused because a start had lost those before.
pub static REFUSED: AtomicU64 = AtomicU64::new(0);

/// What a source has of a point.
#[derive(Clone)]
enum Entry {
    Hash(Value),
    Content(Arc<Point>),
}

/// A sync that waits for its last part.
pub struct Staged {
    pub collection: String,
    tag: &'static str,
    sync_id: u64,
    /// The last entry of each id.
    entries: BTreeMap<u64, Entry>,
    /// Whether a part was answered.
    has_begun: bool,
    /// Whether a start came since.
    is_lost: bool,
}

impl Staged {
    fn new(random: &mut Random, collection: &str, sync_id: u64) -> Staged {
        let (collection, tag) = (collection.to_string(), TAGS[random.below(4) as usize]);
        Staged { collection, tag, sync_id, entries: BTreeMap::new(), has_begun: false, is_lost: false }
    }

    /// A start came: the engine has no parts any more.
    pub fn lose(&mut self) {
        self.is_lost |= self.has_begun;
    }

    /// All parts are to be sent again, under the same name.
    fn begin_anew(&mut self) {
        self.entries.clear();
        (self.has_begun, self.is_lost) = (false, false);
    }

    fn scope(&self) -> Filter {
        Filter::Tagged(self.tag.to_string())
    }

    /// Some points of the source: those that are stored, changed or not, and new ones.
    fn some(&self, random: &mut Random, model: &Model) -> Vec<(u64, Entry)> {
        let collection = &model[&self.collection];
        let fields = collection.fields();
        let mut points = Vec::new();
        for id in collection.matching(&self.scope()) {
            if random.chance(50) {
                continue;
            }
            let number = collection.points[&id].payload.get("n").cloned();
            let hash = number.filter(|_| random.chance(60)).map(Entry::Hash);
            let entry =
                hash.unwrap_or_else(|| Entry::Content(Arc::new(of_source(random, &fields, self.tag))));
            points.push((id, entry));
        }
        for _ in 0..random.below(3) {
            let id = any_id(random);
            if !collection.points.contains_key(&id) || random.chance(10) {
                points.push((id, Entry::Content(Arc::new(of_source(random, &fields, self.tag)))));
            }
        }
        points
    }

    /// The body of a part.
    fn body(&self, points: &[(u64, Entry)], more: &str) -> String {
        let points: Vec<String> = points
            .iter()
            .map(|(id, entry)| match entry {
                Entry::Hash(hash) => json!({"id": shown(*id), "hash": hash}).to_string(),
                Entry::Content(point) => body::point(*id, point),
            })
            .collect();
        let (scope, sync_id, points) = (self.scope().json(), self.sync_id, points.join(","));
        format!(
            "{{\"sync_id\":\"{sync_id}\",\"scope\":{scope},\"hash_key\":\"n\",\"points\":[{points}]{more}}}"
        )
    }

    /// The last part, with more points of the source.
    fn last(&self, random: &mut Random, model: &Model) -> Step {
        let points = self.some(random, model);
        let staged = self.entries.len() as u64;
        let says = random.below(10);
        let more = match says {
            0..5 => String::new(),
            5..9 => format!(",\"staged\":{staged}"),
            _ => format!(",\"staged\":{}", staged + 1),
        };
        let mut whole = self.entries.clone();
        whole.extend(points.iter().cloned());
        let is_refused = self.is_lost || says == 9;
        Step {
            operation: "sync_points",
            collection: self.collection.clone(),
            target: None,
            wait: random.chance(70),
            body: self.body(&points, &format!(",\"last\":true{more}")),
            outcome: if is_refused { Err("sync_conflict") } else { self.applied(model, &whole) },
        }
    }

    /// The model in which the points of the scope are those of the source.
    fn applied(&self, model: &Model, source: &BTreeMap<u64, Entry>) -> Result<Model, &'static str> {
        let mut after = model.clone();
        let collection = after.get_mut(&self.collection).expect("it exists");
        let held: Vec<u64> = collection.matching(&self.scope()).collect();
        collection.points.retain(|id, _| !held.contains(id) || source.contains_key(id));
        for (id, entry) in source {
            let stored = collection.points.get(id);
            let is_foreign = stored.is_some() && !held.contains(id);
            let number = stored.and_then(|stored| stored.payload.get("n"));
            let is_same = match entry {
                Entry::Hash(hash) => number == Some(hash),
                Entry::Content(point) => number.is_some() && number == point.payload.get("n"),
            };
            match entry {
                _ if is_foreign => return Err("sync_conflict"),
                _ if is_same => {}
                Entry::Hash(_) => return Err("sync_conflict"),
                Entry::Content(point) => drop(collection.points.insert(*id, Arc::clone(point))),
            }
        }
        Ok(after)
    }
}

impl Session {
    /// Sends a part of a sync: the first of a new one, a further one, or the last.
    pub fn send_part(&mut self, client: &Client) -> Option<Error> {
        let staged = self.staged.take().filter(|staged| self.model.contains_key(&staged.collection));
        let Some(staged) = staged else {
            let at = self.random.below(self.model.len().max(1) as u64) as usize;
            let name = self.model.keys().nth(at)?.clone();
            self.syncs += 1;
            let staged = Staged::new(&mut self.random, &name, self.syncs);
            return self.stage(client, staged);
        };
        if self.random.chance(40) {
            return self.stage(client, staged);
        }
        let mut step = staged.last(&mut self.random, &self.model);
        if let Ok(after) = &mut step.outcome {
            crate::expiry::pass(after, self.now);
        }
        let (applies, had_parts) = (step.outcome.is_ok(), !staged.entries.is_empty());
        let failed = self.request(client, step);
        match &failed {
            None if applies => {
                APPLIED.fetch_add(u64::from(had_parts), Ordering::Relaxed);
            }
            None if staged.is_lost => self.refused_as_lost(staged),
            // What the engine has of it goes with the process.
            _ => {}
        }
        failed
    }

    fn refused_as_lost(&mut self, mut staged: Staged) {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        staged.begin_anew();
        // Where the disk fails it may be said again.
        self.staged = (!self.armed).then_some(staged);
    }

    /// Sends a part that is not the last.
    fn stage(&mut self, client: &Client, mut staged: Staged) -> Option<Error> {
        let points = staged.some(&mut self.random, &self.model);
        let more = if self.random.chance(20) { ",\"last\":false" } else { "" };
        let body = staged.body(&points, more).into_bytes();
        let may_fail = self.armed || self.poisoned || self.may_be_poisoned;
        match client.execute("sync_points", &staged.collection, None, true, body) {
            Ok(answer) => {
                assert!(!staged.is_lost, "a part goes on where those before are lost: {answer}");
                staged.entries.extend(points);
                staged.has_begun = true;
                assert_eq!(answer, json!({"staged": staged.entries.len()}));
                self.staged = Some(staged);
                None
            }
            Err(error) if staged.is_lost && error.code() == "sync_conflict" => {
                self.refused_as_lost(staged);
                None
            }
            Err(error @ (Error::StorageFull | Error::Internal(_))) if may_fail => Some(error),
            Err(error) => panic!("a part of a sync: {error}"),
        }
    }
}
