//! One program: a seed decides every request, every interleaving, every fault, every cut.

use crate::common::TestEngine;
use crate::interleaving::{self, Work};
use crate::model::Model;
use crate::session::Session;
use crate::verify;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{Call, Fault, SimDisk, Storage};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Small enough that a program of a few dozen requests sees checkpoints, copying forward and cut logs.
pub const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 6 << 10,
    log_budget_bytes: 24 << 10,
    log_segment_bytes: 8 << 10,
    graph_step_rows: 10,
    vacuum_rows: 10,
    order_rows: 30,
    row_chunk_bytes: 4 << 10,
    auto_index_points: 8,
    residency: ResidencyThresholds { idle: Some(Duration::ZERO), ..ResidencyThresholds::USUAL },
};
/// Boots of one program; each ends with a power cut or a kill.
const BOOTS: u64 = 3;

struct Run {
    engine: TestEngine,
    session: Arc<Mutex<Session>>,
}

/// Runs the program of a seed. Returns what the disk holds at its end, as one number.
pub fn run(seed: u64) -> u64 {
    // In every fourth program a start leaves as many collections asleep as it can.
    let opened_at_start = if seed % 4 == 1 { 0 } else { THRESHOLDS.residency.opened_at_start };
    let residency = ResidencyThresholds { opened_at_start, ..THRESHOLDS.residency };
    let thresholds = Thresholds { residency, ..THRESHOLDS };
    let engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
    let session = Arc::new(Mutex::new(Session::new(seed, Model::new())));
    engine.client().set_clock(session.lock().unwrap().now);
    let mut run = Run { engine, session };
    for _ in 0..BOOTS {
        run.boot();
    }
    run.engine.disk.fingerprint()
}

impl Run {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap()
    }

    fn below(&self, bound: u64) -> u64 {
        self.session().random.below(bound)
    }

    fn chance(&self, percent: u64) -> bool {
        self.session().random.chance(percent)
    }

    /// Requests until the machine stops, then the recovery.
    fn boot(&mut self) {
        for _ in 0..8 + self.below(26) {
            self.act();
        }
        let mut off = false;
        if self.chance(75) {
            // The power goes off during what follows.
            self.wake_all();
            self.engine.disk.set_capacity(None);
            self.engine.disk.crash_after(self.below(25));
            self.session().armed = true;
            off = true;
            for _ in 0..5 {
                self.act_without_faults();
            }
        }
        if off || self.chance(40) {
            self.cut();
            self.recover(None);
        } else {
            let before = self.kill();
            self.recover(before);
        }
    }

    fn act(&mut self) {
        match self.below(100) {
            0..8 => self.plan_fault(),
            8..10 => self.restart(),
            _ => self.act_without_faults(),
        }
    }

    fn act_without_faults(&mut self) {
        let work = match self.below(100) {
            0..5 => Work::Index,
            5..12 => Work::Housekeeping,
            12..15 => Work::Checkpoint,
            15..18 => Work::Rows,
            18..20 => Work::IdleLog,
            // A collection that wakes while the disk fails would be quarantined.
            20..22 if !self.session().armed => Work::Sleep,
            _ => {
                let client = self.engine.client();
                let failed = self.session().random_request(&client).is_some();
                if failed {
                    self.after_failure();
                }
                return;
            }
        };
        interleaving::work(&self.engine, &self.session, work);
        if self.chance(25) {
            // Indexes that were built during the requests are right before a restart builds them again.
            let client = self.engine.client();
            self.session().answers_agree(&client);
        }
    }

    /// A request failed because of the disk.
    fn after_failure(&mut self) {
        if self.chance(30) {
            // Reads go on, and show nothing of what failed.
            verify::one_of(&self.engine.client(), &[&self.session().model]);
        }
        if self.chance(60) && !self.session().poisoned {
            // Later writes must succeed without a restart.
            self.disarm();
        }
    }

    fn plan_fault(&mut self) {
        if self.session().armed {
            return self.disarm();
        }
        self.wake_all();
        let draws: [u64; 4] = std::array::from_fn(|_| self.below(1 << 20));
        let disk = &self.engine.disk;
        let fault = Fault::ALL[draws[1] as usize % 4];
        match draws[0] % 100 {
            0..25 => {
                // The disk will be full soon.
                disk.set_capacity(Some(1 << 40));
                let used = (1 << 40) - disk.free_bytes().expect("a disk with a capacity knows");
                disk.set_capacity(Some(used + draws[2] % 6_000));
            }
            25..45 => {
                // One kind of call fails, however rare it is.
                let fits = |call: &Call| fault.applies_to(*call);
                let kinds: Vec<Call> = Call::ALL.into_iter().filter(fits).collect();
                disk.fail_nth_of(kinds[draws[3] as usize % kinds.len()], 1 + draws[2] % 3, fault);
            }
            45..55 => disk.fail_from(1 + draws[2] % 12, fault),
            _ => disk.fail_nth(1 + draws[2] % 12, fault),
        }
        self.session().armed = true;
    }

    /// Wakes all sleeping collections while their files can still be read.
    fn wake_all(&self) {
        verify::wake_all(&self.engine.client());
    }

    fn disarm(&mut self) {
        self.engine.disk.clear_faults();
        self.engine.disk.set_capacity(None);
        self.session().armed = false;
    }

    fn restart(&mut self) {
        let before = if self.chance(50) {
            self.kill()
        } else {
            self.close();
            None
        };
        self.recover(before);
    }

    /// Stops cleanly; no level of durability loses anything then, whatever comes next.
    fn close(&mut self) {
        self.engine.close();
        let mut session = self.session();
        session.may_be_poisoned |= session.armed;
        if !session.poisoned && !session.may_be_poisoned {
            session.synced();
        }
    }

    fn cut(&mut self) {
        let seed = {
            let mut session = self.session();
            session.lost_power = true;
            session.random.next()
        };
        self.engine.cut(seed);
    }

    /// Ends the process. Returns the digest of what it held, if the next one must have exactly that.
    fn kill(&mut self) -> Option<Digests> {
        let digests = {
            let session = self.session();
            let is_certain = !session.armed && !session.poisoned && !session.may_be_poisoned;
            is_certain.then(|| verify::digests(&self.engine.client()))
        };
        if self.chance(50) {
            // What is in the cache only, and is not known to be on the disk, may be read from there.
            let seed = self.session().random.next();
            self.engine.disk.drop_caches(seed);
        }
        self.engine.kill();
        digests
    }

    /// Opens what is left, sometimes failing or losing power on the way, and checks everything.
    fn recover(&mut self, before: Option<Digests>) {
        self.disarm();
        let now = self.session().now;
        self.engine.now = Some(now);
        while self.chance(15) {
            self.open_and_fail();
        }
        self.disarm();
        // The power may have gone while what was killed was opened.
        let before = before.filter(|_| !self.session().may_lose());
        let copy = self.chance(30).then(|| self.engine.duplicate());
        self.open_and_check();
        let digests = verify::digests(&self.engine.client());
        if let Some(before) = before {
            assert_eq!(digests, before, "the state that was acknowledged is the state after replay");
        }
        if let Some(mut copy) = copy {
            // Replay is deterministic: the same directory gives the same state again.
            copy.open().expect("what opens once opens twice");
            assert_eq!(verify::digests(&copy.client()), digests, "two openings of one directory");
        }
        if self.chance(40) {
            // What a recovery showed stays, also when the next one comes at once.
            if self.chance(50) {
                self.cut();
            } else {
                self.close();
            }
            self.open_and_check();
            assert_eq!(verify::digests(&self.engine.client()), digests, "what a recovery showed stays");
        }
        let client = self.engine.client();
        self.session().repeat_unanswered(&client);
    }

    fn open_and_check(&mut self) {
        self.engine.open().expect("what is left opens");
        let client = self.engine.client();
        let mut session = self.session();
        session.settle(&client);
        session.answers_agree(&client);
    }

    /// An opening that meets a power cut or a failing disk.
    fn open_and_fail(&mut self) {
        let disk = self.engine.disk.clone();
        if self.chance(50) {
            disk.crash_after(self.below(20));
            // It may open nevertheless, if it needed fewer calls.
            let _ = self.engine.open();
            self.cut();
        } else {
            let fault = [Fault::Eio, Fault::FsyncFails][self.below(2) as usize];
            disk.fail_nth(1 + self.below(20), fault);
            if self.engine.open().is_ok() && self.chance(50) {
                // Collections that it could not read are quarantined; the others are not harmed.
                self.engine.work(kithdb_engine::collection::GraphPolicy::Always);
            }
            self.engine.kill();
        }
    }
}

type Digests = std::collections::BTreeMap<String, u128>;
