//! Writes whose filters are resolved beside the writer: see docs/scheduling-writes.md.

use super::request::{Write, WriteCall, WriteRequest};
use crate::collection::Collection;
use crate::collection::update::{Resolution, TimeSlice, Update, Updates, edited_bytes, filter_work};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::state::Numbering;
use std::sync::Arc;

/// A byte of a payload that is edited, in bytes that a filter looks at: editing copies, and hardly compares.
const LOOKS_PER_EDIT: u64 = 64;

/// Work of filters that is left to the writer: tens of milliseconds at worst. A write whose points are changed by others
/// faster than they can be looked at goes on beside the writer until its deadline.
const WRITER_WORK: u64 = 8 << 20;

/// Points that a write may change in a few tens of milliseconds.
const LONG_POINTS: u64 = 1 << 14;

/// A write that is resolved beside the writer of its collection.
pub struct HeavyWrite {
    collection: Arc<Collection>,
    updates: Vec<Update>,
    batch: Option<Vec<&'static str>>,
    within: Option<Arc<Filter>>,
    resolution: Box<Resolution>,
    /// The ids that it names have much to edit.
    is_long: bool,
    call: WriteCall,
}

/// A write with its class.
pub enum Class {
    /// For [`Collection::enqueue`].
    Light(WriteRequest),
    /// To be resolved beside the writer.
    Heavy(HeavyWrite),
}

/// Where a heavy write is after a step.
pub enum Step {
    /// It needs more of them.
    More(HeavyWrite),
    /// It is resolved, and takes so long to apply that others should not wait for it: to be [written](HeavyWrite::write).
    Resolved(HeavyWrite),
    /// It was answered, or will be by the log.
    Done,
}

impl Collection {
    /// Decides whether a write is to be resolved beside the writer.
    pub fn classify(self: &Arc<Self>, request: WriteRequest) -> Class {
        let WriteRequest { write: Write::Points { updates, batch, within }, call } = request else {
            return Class::Light(request);
        };
        let view = self.view();
        // One that was applied before only needs its answer.
        let is_repeat = view.state.operations.is_repeat(call.identity);
        let light = self.shared.limits.light_filter_work;
        let edited = edited_bytes(&view.state, &updates, light.saturating_mul(LOOKS_PER_EDIT));
        let is_long = edited / LOOKS_PER_EDIT >= light.max(1);
        let is_light = is_repeat || PlantedFault::EveryWriteIsLight.is_on();
        if is_light || filter_work(&view.state, &updates, light) <= light && !is_long {
            let write = Write::Points { updates, batch, within };
            return Class::Light(WriteRequest { write, call });
        }
        let resolution = Box::new(Resolution::new(view));
        let collection = Arc::clone(self);
        Class::Heavy(HeavyWrite { collection, updates, batch, within, resolution, is_long, call })
    }
}

impl HeavyWrite {
    /// Goes on for about a time slice, and writes when everything is resolved.
    pub fn step(mut self, mut slice: TimeSlice) -> Step {
        let mut limits = self.collection.shared.limits;
        if matches!(self.call.numbering, Numbering::At(_)) {
            // What a filter costs depends on which field indexes are built, and replicas must not differ in what they refuse.
            limits.max_filter_work = u64::MAX;
        }
        let updates = Updates {
            list: &self.updates,
            batch: self.batch.as_deref(),
            within: self.within.as_deref(),
            now: self.collection.now_if_expiring(),
            numbering: self.call.numbering,
            limits: &limits,
            deadline: &self.call.deadline,
        };
        // A write that will be refused is not resolved.
        let admitted = self.collection.check_writable().and_then(|()| match self.grows() {
            true => self.collection.shared.admit_growth(0),
            false => Ok(()),
        });
        match admitted.and_then(|()| self.resolution.go_on(updates, &mut slice)) {
            Err(error) => {
                self.refuse(error);
                Step::Done
            }
            Ok(false) => Step::More(self),
            Ok(true) => {
                let view = self.collection.view();
                let behind = self.resolution.behind(&view, &self.updates);
                if behind.is_none_or(|work| work > WRITER_WORK) {
                    self.resolution.catch_up(view);
                    return Step::More(self);
                }
                if self.is_long || self.resolution.points() > LONG_POINTS {
                    return Step::Resolved(self);
                }
                self.write();
                Step::Done
            }
        }
    }

    fn grows(&self) -> bool {
        self.updates.iter().any(Update::grows)
    }

    /// Applies it to the head, and has it logged. It does not wait in the queue: it is in order with what was written before it was resolved,
    /// and has no order with what waits.
    pub fn write(self) {
        let HeavyWrite { collection, updates, batch, within, resolution, call, .. } = self;
        let write = Write::Resolved { updates, batch, within, resolution };
        collection.write_unqueued(WriteRequest { write, call });
    }

    /// Whether it is to be given up.
    pub fn is_overdue(&self) -> bool {
        self.call.deadline.passed()
    }

    /// Answers it with the error of its deadline.
    pub fn give_up(self) {
        let error = self.call.deadline.error();
        self.refuse(error);
    }

    /// Answers it with an error.
    pub fn refuse(self, error: Error) {
        (self.call.reply)(Err(error));
    }

    /// At least the bytes of payloads that its resolution holds beside those of the collection.
    pub fn held_bytes(&self) -> u64 {
        self.resolution.held_bytes()
    }
}
