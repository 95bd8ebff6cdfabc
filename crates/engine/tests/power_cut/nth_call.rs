//! Every call of one scenario fails once, or from then on: the answer is the right error or a success that holds, reads
//! go on, and what is left opens.

use crate::common::setting;
use crate::model::Level;
use crate::scenario::{Kind, Prepared, prepared};
use crate::{commit, on_every_core, verify};
use kithdb_engine::error::Error;
use kithdb_engine::storage::{Call, Fault};
use std::sync::Mutex;

/// Calls of a scenario that a normal run lets fail.
const CALLS: u64 = 500;
/// A normal run lets each call of this step fail, in each of the scenarios; `KITHDB_CALL_STEP` sets another one for both,
/// and `KITHDB_FIRST_CALL` which call comes first.
const CALL_STEPS: [u64; 2] = [8, 32];
/// The step for calls of one kind, which are few.
const KIND_STEP: u64 = 3;

/// Operations on points of one collection, with checkpoints and vacuums that have something to do.
const POINTS: [Kind; 22] = [
    Kind::Upsert,
    Kind::Edit,
    Kind::Checkpoint,
    Kind::Delete,
    Kind::Vacuum,
    Kind::Declare,
    Kind::Upsert,
    Kind::Vacuum,
    Kind::Checkpoint,
    Kind::Edit,
    Kind::Drop,
    Kind::Create,
    Kind::Upsert,
    Kind::Vacuum,
    Kind::Declare,
    Kind::Delete,
    Kind::Checkpoint,
    Kind::Upsert,
    Kind::Edit,
    Kind::Vacuum,
    Kind::Upsert,
    Kind::Checkpoint,
];

/// Operations on several collections, their names, their fields, and points that come to their end or to a sync.
const COLLECTIONS: [Kind; 17] = [
    Kind::Alias,
    Kind::AddName,
    Kind::Sync,
    Kind::Expire,
    Kind::Recover,
    Kind::Versioned,
    Kind::Vacuum,
    Kind::RemoveName,
    Kind::Clone,
    Kind::Upsert,
    Kind::Sync,
    Kind::Checkpoint,
    Kind::Drop,
    Kind::Recover,
    Kind::Versioned,
    Kind::Vacuum,
    Kind::Checkpoint,
];
const SCENARIOS: [&[Kind]; 2] = [&POINTS, &COLLECTIONS];

/// What happens to the `n`-th call.
#[derive(Clone, Copy, Debug)]
struct Trial {
    fault: Fault,
    /// The kind of call that is counted; any if there is none.
    of: Option<Call>,
    lasting: bool,
    n: u64,
    scenario: &'static [Kind],
}

/// Runs the scenario with a fault. Returns whether it was met.
fn run(trial: Trial, start: &Prepared) -> bool {
    let Trial { fault, of, lasting, n, scenario } = trial;
    let mut engine = start.engine.duplicate();
    engine.open().expect("the prepared disk opens");
    let client = engine.client();
    let mut session = start.session(n);
    let before = engine.disk.calls();
    match (of, lasting) {
        (Some(kind), _) => engine.disk.fail_nth_of(kind, n, fault),
        (None, true) => engine.disk.fail_from(n, fault),
        (None, false) => engine.disk.fail_nth(n, fault),
    }
    session.armed = true;
    for (at, kind) in scenario.iter().enumerate() {
        kind.run_and(&mut session, &client, at as u64, |error| {
            // A disk that is full says so, and nothing that failed for want of space takes the log along.
            if fault == Fault::Enospc {
                assert!(matches!(error, Error::StorageFull), "{trial:?}: {error}");
            }
        });
        if session.poisoned {
            assert_ne!(fault, Fault::Enospc, "{trial:?} closed the log");
        }
    }
    // Reads go on, of exactly what was acknowledged.
    verify::one_of(&client, &[&session.model]);
    session.answers_agree(&client);
    let met = if lasting { engine.disk.calls() - before >= n } else { !engine.disk.has_faults() };
    engine.disk.clear_faults();
    session.armed = false;
    if !session.poisoned {
        // A log that was not closed takes writes again as soon as the disk does.
        Kind::Create.run(&mut session, &client, 90);
        Kind::Upsert.run(&mut session, &client, 91);
        Kind::Checkpoint.run(&mut session, &client, 92);
    }
    for by_cut in [false, true] {
        let mut left = engine.duplicate();
        let mut session = session.left_behind(n, by_cut);
        if by_cut {
            left.cut(n);
        } else {
            left.disk.drop_caches(n);
        }
        left.open().unwrap_or_else(|error| panic!("{trial:?}: what is left does not open: {error}"));
        let client = left.client();
        session.settle(&client);
        session.answers_agree(&client);
        session.repeat_unanswered(&client);
        Kind::Create.run(&mut session, &client, 90);
        Kind::Upsert.run(&mut session, &client, 95);
    }
    met
}

#[test]
fn every_nth_call_may_fail_in_every_way_c1_5_c1_7() {
    let all = setting("KITHDB_EXHAUSTIVE").is_some();
    let starts = [prepared(Level::Always), prepared(Level::Os)];
    let mut ways: Vec<(Fault, Option<Call>, bool)> = Vec::new();
    for fault in Fault::ALL {
        ways.extend([(fault, None, false), (fault, None, true)]);
        // By kind of call the rare ones are met at once; in a run of all they come anyway.
        let kinds = Call::ALL.into_iter().filter(|kind| fault.applies_to(*kind) && !all);
        ways.extend(kinds.map(|kind| (fault, Some(kind), false)));
    }
    let most = if all { u64::MAX } else { CALLS };
    let steps = match setting("KITHDB_CALL_STEP") {
        _ if all => [1, 1],
        Some(step) => [step.max(1); 2],
        None => CALL_STEPS,
    };
    let first = setting("KITHDB_FIRST_CALL").unwrap_or(0);
    let met = Mutex::new(0);
    let runs = (ways.len() * starts.len() * SCENARIOS.len()) as u64;
    let of_run = |number: u64| {
        let (number, scenario) = (number as usize / SCENARIOS.len(), number as usize % SCENARIOS.len());
        (ways[number / starts.len()], &starts[number % starts.len()], SCENARIOS[scenario], steps[scenario])
    };
    let failed = on_every_core(0..runs, |number| {
        let ((fault, of, lasting), start, scenario, step) = of_run(number);
        let (most, step) = if of.is_some() { (most.min(10), step.min(KIND_STEP)) } else { (most, step) };
        for n in (1 + first % step..=most).step_by(step as usize) {
            if !run(Trial { fault, of, lasting, n, scenario }, start) {
                break;
            }
            *met.lock().unwrap() += 1;
        }
    });
    println!("{} faults met in {} ways", met.into_inner().unwrap(), ways.len());
    let named: Vec<_> = failed.iter().map(|number| of_run(*number).0).collect();
    assert!(failed.is_empty(), "failed{}: {named:?}", commit());
}
