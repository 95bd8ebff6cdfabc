//! A client's side of a program: what was sent, acknowledged, refused, and is of unknown fate.

use crate::common::{Client, Random, result_of};
use crate::expiry;
use crate::model::{Collection, Level, Model, collection_of};
use crate::parts::Staged;
use crate::program::{self, Known, Step};
use crate::snapshots::{self, RECOVER, Snapshot};
use crate::verify;
use kithdb_engine::error::Error;
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// The operation that makes a collection of another.
const CLONE: &str = "clone_collection";

/// See the module.
pub struct Session {
    pub random: Random,
    /// What the engine must show now: everything that was acknowledged, nothing that was refused.
    pub model: Model,
    /// The states before it back to the last that is known to be durable, which is the first: what was acknowledged
    /// without a sync may be gone after a power cut, but only from the end, over all collections.
    unsynced: Vec<Model>,
    /// The power went since the last settled state.
    pub lost_power: bool,
    /// The state after a request of unknown fate, which the next boot may show instead, whole.
    pub maybe: Option<Model>,
    /// A fault is planned, or the disk is full: requests may fail.
    pub armed: bool,
    /// The log takes no writes until the next boot.
    pub poisoned: bool,
    /// Background work, which writes to the log too, has met a planned fault or may have: the log may take no writes.
    pub may_be_poisoned: bool,
    /// Boots so far: the log may be shorter after one, and a repeat have an id of the longer one.
    boots: u64,
    /// What the clock says, in seconds since 1970. It goes on with the requests, and stands otherwise.
    pub now: i64,
    /// Snapshots that were taken.
    pub snapshots: Vec<Snapshot>,
    /// A sync whose last part is still to come.
    pub staged: Option<Staged>,
    /// Syncs in parts so far: no two have the same name.
    pub syncs: u64,
    /// Requests that were applied, of which a client may think that they were not.
    repeatable: Vec<Sent>,
    /// The request of unknown fate.
    unanswered: Option<Sent>,
    /// The unanswered request once its effects are settled, with the state that a repeat of it leaves.
    to_repeat: Option<Repeat>,
    /// Background work is under way and waits for this.
    pub is_interleaved: bool,
    /// A failure of interleaved work. Background work, which catches panics, must not hide it.
    pub failure: Option<Box<dyn Any + Send>>,
}

/// A request of unknown fate that is to be repeated.
struct Repeat {
    sent: Sent,
    /// What it leaves.
    after: Model,
    /// Whether the engine has shown that.
    is_applied: bool,
    /// Whether earlier requests may be lost which only versions tell from what is there.
    may_have_lost: bool,
}

/// A request as it was sent.
#[derive(Clone)]
struct Sent {
    id: Option<u128>,
    operation: &'static str,
    collection: String,
    target: Option<String>,
    wait: bool,
    body: String,
}

impl Sent {
    fn send(&self, client: &Client) -> Result<Value, Error> {
        let (target, body) = (self.target.as_deref(), self.body.clone().into_bytes());
        client
            .answer_named(self.id, self.operation, &self.collection, target, self.wait, body)
            .map(|envelope| result_of(&envelope))
    }

    /// Whether it makes or removes a collection, or changes aliases.
    fn is_of_catalog(&self) -> bool {
        matches!(self.operation, "create_collection" | "delete_collection" | "change_aliases" | RECOVER)
            || self.is_clone()
    }

    /// The names of collections that it makes or removes, or whose vector fields it changes.
    fn ends(&self) -> Vec<String> {
        match self.operation {
            RECOVER => snapshots::names_of(&self.body),
            "create_collection" | "delete_collection" => vec![self.collection.clone()],
            _ => Vec::new(),
        }
    }

    /// Whether it may change the vector fields of collections.
    fn is_of_fields(&self) -> bool {
        matches!(self.operation, "create_vector_name" | "delete_vector_name")
    }

    /// The code with which a repeat may be refused although it was not answered the first time.
    fn may_be_refused_with(&self, may_have_lost: bool) -> Option<&'static str> {
        if self.body.contains("\"last\":true") {
            // The parts before it are lost.
            return Some("sync_conflict");
        }
        (may_have_lost && self.body.contains("\"if_version\"")).then_some("version_conflict")
    }

    fn is_clone(&self) -> bool {
        self.operation == CLONE
    }
}

impl Session {
    pub fn new(seed: u64, model: Model) -> Session {
        Session {
            random: Random(seed),
            model,
            unsynced: Vec::new(),
            lost_power: false,
            maybe: None,
            armed: false,
            poisoned: false,
            may_be_poisoned: false,
            boots: 1,
            now: expiry::BEGIN,
            snapshots: Vec::new(),
            staged: None,
            syncs: 0,
            repeatable: Vec::new(),
            unanswered: None,
            to_repeat: None,
            is_interleaved: false,
            failure: None,
        }
    }

    /// Sends a random request: see [`request`](Self::request). Now and then one is repeated that was acknowledged.
    pub fn random_request(&mut self, client: &Client) -> Option<Error> {
        if !self.armed && !self.poisoned && !self.may_be_poisoned && self.random.chance(8) {
            self.repeat_acknowledged(client);
        }
        if self.random.chance(8) {
            self.move_clock(client);
        }
        self.take_snapshot(client);
        if self.random.chance(8) {
            return self.send_part(client);
        }
        let step = loop {
            let known = Known { now: self.now, snapshots: &self.snapshots, client };
            let step = program::step(&mut self.random, &self.model, &known);
            // It would wait for the checkpoint that it is interleaved with.
            if !(self.is_interleaved && step.operation == CLONE) {
                break step;
            }
        };
        self.request(client, step)
    }

    /// Sends a request and checks its answer against the model. Returns the error of the disk, if it met one.
    pub fn request(&mut self, client: &Client, step: Step) -> Option<Error> {
        let Step { operation, collection, target, wait, body, outcome } = step;
        let wait = wait && !self.must_not_wait(operation);
        self.to_repeat = None;
        // No two operations of a directory have it, and every run of a program the same.
        let id = self
            .random
            .chance(40)
            .then(|| u128::from(self.boots) << 64 | u128::from(client.0.log_position().get()));
        let sent = Sent { id, operation, collection: collection.clone(), target, wait, body };
        self.forget_staged_in(&sent);
        match (sent.send(client), outcome) {
            (Ok(result), Ok(after)) => {
                assert!(!self.poisoned, "{operation} was acknowledged by a log that takes no writes");
                if let Some(status) = result.get("status") {
                    assert_eq!(status, if wait { "completed" } else { "acknowledged" }, "{operation}");
                }
                self.acknowledged(&sent, after);
                self.keep(sent);
                // C5: a write that was acknowledged is seen by what follows.
                self.counts_agree(client, &collection);
                None
            }
            (Err(error), Err(code)) if error.code() == code => None,
            (Err(error), outcome) => {
                assert!(
                    self.armed || self.poisoned || self.may_be_poisoned,
                    "{operation} failed without a reason: {error}"
                );
                let was_poisoned = self.poisoned;
                self.failed(operation, &error, outcome.ok());
                if self.maybe.is_some() && !was_poisoned {
                    self.unanswered = Some(sent);
                }
                Some(error)
            }
            (Ok(_), Err(code)) => panic!("{operation} must be refused with {code}"),
        }
    }

    /// The index may be the one that is being built: the answer would come only after the interleaved work.
    fn must_not_wait(&self, operation: &str) -> bool {
        self.is_interleaved && operation == "create_field_index"
    }

    /// What was sent to a collection that a request makes or removes is none of the next one of its name.
    fn forget_those_before(&mut self, sent: &Sent) {
        let ended = sent.ends();
        self.repeatable.retain(|kept| !ended.contains(&kept.collection) || kept.is_of_catalog());
    }

    /// Forgets the sync that waits for its last part, where its vectors may fit no more or its collection is gone.
    fn forget_staged_in(&mut self, sent: &Sent) {
        let is_ended = self.staged.as_ref().is_some_and(|staged| sent.ends().contains(&staged.collection));
        if is_ended || sent.is_of_fields() {
            self.staged = None;
        }
    }

    /// Keeps a request to repeat it.
    fn keep(&mut self, sent: Sent) {
        self.forget_those_before(&sent);
        if sent.id.is_some() {
            self.repeatable.push(sent);
        }
    }

    /// C25: a repeat of a request that was acknowledged is acknowledged, and changes nothing.
    fn repeat_acknowledged(&mut self, client: &Client) {
        let Some(at) = self.repeatable.len().checked_sub(1).map(|most| self.random.below(most as u64 + 1))
        else {
            return;
        };
        let sent = &self.repeatable[at as usize];
        if sent.wait && self.must_not_wait(sent.operation) {
            return;
        }
        let answer = sent.send(client);
        assert!(answer.is_ok(), "a repeat of {} in {}: {answer:?}", sent.operation, sent.collection);
        let collection = sent.collection.clone();
        self.counts_agree(client, &collection);
    }

    /// A request on a collection was acknowledged: as durable as the stricter of the levels before and after it; what
    /// creates and deletes collections always is.
    fn acknowledged(&mut self, sent: &Sent, after: Model) {
        let level = |model: &Model| model.get(&sent.collection).map(|held| held.level);
        let level = level(&self.model).min(level(&after));
        let waited = sent.is_clone() || level.is_none_or(|level| level == Level::Always);
        let before = std::mem::replace(&mut self.model, after);
        if waited {
            self.synced()
        } else {
            self.unsynced.push(before)
        }
        if sent.operation == RECOVER {
            snapshots::RECOVERED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the power went while something may not have been synced; operations that move rows are among it.
    pub fn may_lose(&self) -> bool {
        self.lost_power && self.model.values().any(|held| held.level != Level::Always)
    }

    /// What a power cut may leave, oldest first.
    pub fn possible(&self) -> Vec<Model> {
        self.unsynced.iter().chain([&self.model]).cloned().collect()
    }

    /// The same promises, to be checked on a copy of the disk after a power cut or a kill.
    pub fn left_behind(&self, seed: u64, lost_power: bool) -> Session {
        Session {
            unsynced: self.unsynced.clone(),
            lost_power,
            maybe: self.maybe.clone(),
            boots: self.boots,
            now: self.now,
            unanswered: self.unanswered.clone(),
            may_be_poisoned: self.may_be_poisoned || self.poisoned,
            ..Session::new(seed, self.model.clone())
        }
    }

    /// A session after a power cut that may have left each of some states, oldest first.
    pub fn after_cut(seed: u64, mut possible: Vec<Model>) -> Session {
        let model = possible.pop().expect("at least one state");
        Session { unsynced: possible, lost_power: true, ..Session::new(seed, model) }
    }

    /// Everything so far is known to be durable.
    pub fn synced(&mut self) {
        self.unsynced.clear();
    }

    /// The clock goes on. It stands while a request of unknown fate is to be repeated, for which it would be another one.
    fn move_clock(&mut self, client: &Client) {
        if self.maybe.is_some() || self.to_repeat.is_some() {
            return;
        }
        self.now += expiry::step(&mut self.random);
        client.set_clock(self.now);
        self.unsynced.iter_mut().chain([&mut self.model]).for_each(|model| expiry::pass(model, self.now));
    }

    /// Now and then, where the disk works, takes a snapshot of a collection.
    fn take_snapshot(&mut self, client: &Client) {
        let is_sound = !self.armed && !self.poisoned && !self.may_be_poisoned;
        // Interleaved, it would wait for the checkpoint that it is interleaved with.
        if self.snapshots.len() >= snapshots::MOST
            || self.is_interleaved
            || !is_sound
            || !self.random.chance(6)
        {
            return;
        }
        let at = self.random.below(self.model.len().max(1) as u64) as usize;
        if let Some((name, held)) = self.model.iter().nth(at) {
            let folder = format!("snapshots/{}", self.snapshots.len());
            snapshots::link(client, name, &folder);
            self.snapshots.push(Snapshot::new(folder, held));
        }
    }

    /// The background has removed everything that has come to its end in the collections that are awake, without an error.
    /// Where a collection waits for no sync, a power cut may bring that back.
    pub fn expired_are_removed(&mut self, awake: &BTreeSet<String>) {
        let is_awake = |name: &String| awake.contains(name);
        let loses = |held: &Collection| !held.expired.is_empty() && held.level != Level::Always;
        let may_come_back = self.model.iter().any(|(name, held)| is_awake(name) && loses(held));
        let before = may_come_back.then(|| self.model.clone());
        self.unsynced.extend(before);
        let awake = self.model.iter_mut().filter(|(name, _)| is_awake(name));
        awake.for_each(|(_, held)| held.expired.clear());
    }

    fn counts_agree(&self, client: &Client, collection: &str) {
        let shown = client.call("count", collection, json!({})).ok();
        let held = self.model.get(collection).or_else(|| collection_of(&self.model, collection));
        let expected: Option<Value> = held.map(|held| json!({"count": held.points.len()}));
        assert_eq!(shown, expected, "count of {collection} after a write");
    }

    /// A request failed because of the disk.
    fn failed(&mut self, operation: &str, error: &Error, after: Option<Model>) {
        match error {
            Error::StorageFull => {}
            // Only the first of these leaves a request of unknown fate: the log takes nothing afterwards.
            Error::Internal(cause) if cause.contains("until the server is restarted") => {
                if !self.poisoned {
                    self.maybe = after;
                    self.poisoned = true;
                }
            }
            Error::Internal(_) => {}
            other => panic!("{operation} answered {} to a failing disk: {other}", other.code()),
        }
    }

    /// The engine shows what was acknowledged, or that and the request of unknown fate, or, where the power went or a
    /// sync may have failed, a state between the last durable one and these. Which it was is known from here on, and
    /// what a start has shown is durable.
    pub fn settle(&mut self, client: &Client) {
        let may_be_gone = self.lost_power || self.poisoned || self.may_be_poisoned;
        let may_have_lost = may_be_gone && !self.unsynced.is_empty();
        let gone = std::mem::take(&mut self.unsynced).into_iter().filter(|_| may_be_gone);
        let mut candidates = vec![std::mem::take(&mut self.model)];
        let has_maybe = self.maybe.is_some();
        candidates.extend(self.maybe.take());
        candidates.extend(gone.rev());
        let place = verify::one_of(client, &candidates.iter().collect::<Vec<_>>());
        (self.lost_power, self.poisoned, self.may_be_poisoned) = (false, false, false);
        let unanswered = self.unanswered.take().filter(|_| has_maybe && place < 2);
        if let (Some(sent), 1) = (&unanswered, place) {
            self.forget_those_before(sent);
            // Parts that were staged since are of the collection that it has replaced.
            self.forget_staged_in(sent);
        }
        let repeatable = unanswered.filter(|sent| sent.id.is_some());
        self.to_repeat = repeatable.map(|sent| Repeat {
            sent,
            after: candidates[1].clone(),
            is_applied: place == 1,
            may_have_lost,
        });
        self.staged.iter_mut().for_each(Staged::lose);
        if may_have_lost {
            // A repeat of what was acknowledged without a sync, and is gone, would be applied.
            self.repeatable.clear();
        }
        self.model = candidates.swap_remove(place);
        self.boots += 1;
    }

    /// C25: whether a request of unknown fate was applied or not, a repeat of it leaves it applied once.
    pub fn repeat_unanswered(&mut self, client: &Client) {
        let Some(Repeat { sent, after, is_applied, may_have_lost }) = self.to_repeat.take() else { return };
        let answer = sent.send(client);
        if let (Err(error), false) = (&answer, is_applied)
            && sent.may_be_refused_with(may_have_lost) == Some(error.code())
        {
            verify::one_of(client, &[&self.model]);
            return;
        }
        assert!(answer.is_ok(), "a repeat of {} in {}: {answer:?}", sent.operation, sent.collection);
        // It may have been applied now: to the collections that it replaces, and without a sync.
        self.forget_staged_in(&sent);
        self.acknowledged(&sent, after);
        verify::one_of(client, &[&self.model]);
        self.keep(sent);
    }

    /// Counts, pages and searches agree with what the engine must show.
    pub fn answers_agree(&mut self, client: &Client) {
        verify::answers_agree(client, &self.model, &mut self.random);
    }

    /// Resumes a panic that was caught during interleaved work.
    pub fn rethrow(&mut self) {
        if let Some(failure) = self.failure.take() {
            std::panic::resume_unwind(failure);
        }
    }
}
