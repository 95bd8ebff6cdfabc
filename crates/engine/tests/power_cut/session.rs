//! A client's side of a program: what was sent, acknowledged, refused, and is of unknown fate.

use crate::common::{Client, Random};
use crate::model::Model;
use crate::program::{self, Step};
use crate::verify;
use kithdb_engine::error::Error;
use serde_json::{Value, json};
use std::any::Any;

/// See the module.
pub struct Session {
    pub random: Random,
    /// What the engine must show now: everything that was acknowledged, nothing that was refused.
    pub model: Model,
    /// The state after a request of unknown fate, which the next boot may show instead, whole.
    pub maybe: Option<Model>,
    /// A fault is planned, or the disk is full: requests may fail.
    pub armed: bool,
    /// The log takes no writes until the next boot.
    pub poisoned: bool,
    /// Background work, which writes to the log too, has met a planned fault or may have: the log may take no writes.
    pub shaken: bool,
    /// Background work is under way and waits for this.
    pub in_turn: bool,
    /// What went wrong during a turn, inside of background work, which catches panics.
    pub failure: Option<Box<dyn Any + Send>>,
}

impl Session {
    pub fn new(seed: u64, model: Model) -> Session {
        Session {
            random: Random(seed),
            model,
            maybe: None,
            armed: false,
            poisoned: false,
            shaken: false,
            in_turn: false,
            failure: None,
        }
    }

    /// Sends a random request: see [`request`](Self::request).
    pub fn random_request(&mut self, client: &Client) -> Option<Error> {
        let step = program::step(&mut self.random, &self.model);
        self.request(client, step)
    }

    /// Sends a request and checks its answer against the model. Answers the error of the disk, if it met one.
    pub fn request(&mut self, client: &Client, step: Step) -> Option<Error> {
        let Step { operation, collection, target, wait, body, outcome } = step;
        // The index may be the one that is being built: nobody would answer before the end of the turn.
        let wait = wait && !(self.in_turn && operation == "create_field_index");
        match (client.execute(operation, &collection, target.as_deref(), wait, body.into_bytes()), outcome) {
            (Ok(result), Ok(after)) => {
                assert!(!self.poisoned, "{operation} was acknowledged by a log that takes no writes");
                if let Some(status) = result.get("status") {
                    assert_eq!(status, if wait { "completed" } else { "acknowledged" }, "{operation}");
                }
                self.model = after;
                // C5: a write that was acknowledged is seen by what follows.
                self.counts_agree(client, &collection);
                None
            }
            (Err(error), Err(code)) if error.code() == code => None,
            (Err(error), outcome) => {
                assert!(
                    self.armed || self.poisoned || self.shaken,
                    "{operation} failed without a reason: {error}"
                );
                self.failed(operation, &error, outcome.ok());
                Some(error)
            }
            (Ok(_), Err(code)) => panic!("{operation} must be refused with {code}"),
        }
    }

    fn counts_agree(&self, client: &Client, collection: &str) {
        let shown = client.call("count", collection, json!({})).ok();
        let expected: Option<Value> =
            self.model.get(collection).map(|held| json!({"count": held.points.len()}));
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

    /// The engine shows what was acknowledged, or that and the request of unknown fate; which of the two it was is
    /// known from here on.
    pub fn settle(&mut self, client: &Client) {
        let candidates: Vec<&Model> = [&self.model].into_iter().chain(&self.maybe).collect();
        let place = verify::one_of(client, &candidates);
        if let (1, Some(maybe)) = (place, self.maybe.take()) {
            self.model = maybe;
        }
        (self.maybe, self.poisoned, self.shaken) = (None, false, false);
    }

    /// Counts, pages and searches agree with what the engine must show.
    pub fn answers_agree(&mut self, client: &Client) {
        verify::answers_agree(client, &self.model, &mut self.random);
    }

    /// Goes on with a failure that was caught during a turn.
    pub fn rethrow(&mut self) {
        if let Some(failure) = self.failure.take() {
            std::panic::resume_unwind(failure);
        }
    }
}
