//! One program: a seed decides every request, every fault, every cut.

use crate::common::{Random, TestEngine};
use crate::model::Model;
use crate::program::{self, Step};
use crate::verify;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{Fault, SimDisk, Storage};
use serde_json::json;

/// Small enough that a program of a few dozen requests sees checkpoints, copying forward and cut logs.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 6 << 10,
    log_budget_bytes: 24 << 10,
    log_segment_bytes: 8 << 10,
    graph_step_rows: 10,
    vacuum_rows: 10,
    order_rows: 30,
    row_chunk_bytes: 4 << 10,
};
/// Boots of one program; each ends with a power cut or a kill.
const BOOTS: u64 = 3;

struct Run {
    engine: TestEngine,
    random: Random,
    /// What the engine must show now.
    model: Model,
    /// The state after a request of unknown fate, which the next boot may show instead.
    maybe: Option<Model>,
    /// A fault is planned, or the disk is full: requests may fail.
    armed: bool,
    /// The log takes no writes until the next boot.
    poisoned: bool,
    /// Background work, which writes to the log too, has met a planned fault or may have: the log may take no writes.
    shaken: bool,
}

/// Runs the program of a seed.
pub fn run(seed: u64) {
    let engine = TestEngine::with(SimDisk::new(), seed, THRESHOLDS).expect("an empty disk opens");
    let mut run = Run {
        engine,
        random: Random(seed),
        model: Model::new(),
        maybe: None,
        armed: false,
        poisoned: false,
        shaken: false,
    };
    for _ in 0..BOOTS {
        run.boot();
    }
}

impl Run {
    /// Requests until the machine stops, then the recovery.
    fn boot(&mut self) {
        for _ in 0..8 + self.random.below(22) {
            self.act();
        }
        let mut off = false;
        if self.random.chance(75) {
            // The machine goes off in the middle of what follows.
            self.engine.disk.set_capacity(None);
            self.engine.disk.crash_after(self.random.below(25));
            (self.armed, off) = (true, true);
            for _ in 0..5 {
                self.act_without_faults();
            }
        }
        if off || self.random.chance(40) {
            self.engine.cut(self.random.next());
        } else {
            self.engine.kill();
        }
        self.recover();
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..8 => self.plan_fault(),
            8..10 => self.restart(),
            _ => self.act_without_faults(),
        }
    }

    fn act_without_faults(&mut self) {
        match self.random.below(100) {
            0..10 => {
                self.shaken |= self.armed;
                self.engine.work(GraphPolicy::WhenGrown);
            }
            10..14 => self.engine.work(GraphPolicy::Always),
            _ => {
                let step = program::step(&mut self.random, &self.model);
                self.request(step);
            }
        }
    }

    fn plan_fault(&mut self) {
        if self.armed {
            self.disarm();
            return;
        }
        self.armed = true;
        let disk = &self.engine.disk;
        if self.random.chance(25) {
            // The disk will be full soon.
            disk.set_capacity(Some(1 << 40));
            let used = (1 << 40) - disk.free_bytes().expect("a disk with a capacity knows");
            disk.set_capacity(Some(used + self.random.below(6_000)));
        } else {
            let faults = [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails];
            disk.fail_nth(1 + self.random.below(12), faults[self.random.below(4) as usize]);
        }
    }

    fn disarm(&mut self) {
        self.engine.disk.clear_faults();
        self.engine.disk.set_capacity(None);
        self.armed = false;
    }

    fn restart(&mut self) {
        if self.random.chance(50) {
            self.engine.kill();
        } else {
            self.engine.close();
        }
        self.recover();
    }

    /// Sends a request and checks its answer against the model.
    fn request(&mut self, step: Step) {
        let Step { operation, collection, target, wait, body, outcome } = step;
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.engine.execute(operation, &collection, target.as_deref(), wait, bytes);
        match (answer, outcome) {
            (Ok(result), Ok(after)) => {
                assert!(!self.poisoned, "{operation} was acknowledged by a log that takes no writes");
                if let Some(status) = result.get("status") {
                    assert_eq!(status, if wait { "completed" } else { "acknowledged" });
                }
                self.model = after;
                // C5: a write that was acknowledged is seen by what follows.
                let count = |model: &Model| model.get(&collection).map(|c| json!({"count": c.points.len()}));
                assert_eq!(self.engine.call("count", &collection, json!({})).ok(), count(&self.model));
            }
            (Err(error), Err(code)) if error.code() == code => {}
            (Err(error), outcome) => {
                assert!(
                    self.armed || self.poisoned || self.shaken,
                    "{operation} failed without a reason: {error}"
                );
                self.failed(operation, &error, outcome.ok());
            }
            (Ok(_), Err(code)) => panic!("{operation} must be refused with {code}"),
        }
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
        if self.random.chance(30) {
            // Reads go on, and show nothing of what failed.
            verify::one_of(&self.engine, std::slice::from_ref(&self.model));
        }
        if self.random.chance(60) && !self.poisoned {
            // Later writes must succeed without a restart.
            self.disarm();
        }
    }

    /// Opens what is left, sometimes failing or losing power on the way, and checks everything.
    fn recover(&mut self) {
        self.disarm();
        while self.random.chance(15) {
            let disk = &self.engine.disk;
            if self.random.chance(50) {
                disk.crash_after(self.random.below(20));
                // It may open all the same, if it needed fewer calls.
                let _ = self.engine.open();
                self.engine.cut(self.random.next());
            } else {
                disk.fail_nth(
                    1 + self.random.below(20),
                    [Fault::Eio, Fault::FsyncFails][self.random.below(2) as usize],
                );
                let _ = self.engine.open();
                self.engine.kill();
            }
        }
        (self.poisoned, self.shaken) = (false, false);
        self.engine.open().expect("what is left opens");
        let mut candidates = vec![self.model.clone()];
        candidates.extend(self.maybe.take());
        let place = verify::one_of(&self.engine, &candidates);
        self.model = candidates.swap_remove(place);
        verify::answers_agree(&self.engine, &self.model, &mut self.random);
        if self.random.chance(40) {
            // What a recovery showed stays, also when the next one comes at once.
            if self.random.chance(50) {
                self.engine.cut(self.random.next());
            } else {
                self.engine.close();
            }
            self.engine.open().expect("it opens once more");
            verify::one_of(&self.engine, std::slice::from_ref(&self.model));
            verify::answers_agree(&self.engine, &self.model, &mut self.random);
        }
    }
}
