//! The lane of the request that a thread runs: light or heavy.
//!
//! A request begins as a light one. It becomes heavy when the work that it is about to do is estimated to take longer than
//! [`LIGHT_WORK`], or when it has used that much processor time. It goes on where it is, on its thread. But its thread no
//! longer counts among those that serve the light lane, so another takes its place there, and from then on it runs only
//! when the [`RunQueue`] lets it: beside light reads on all processors but those that these need.
//!
//! Deadlines call [`checkpoint`], so each loop that checks the deadline of its request takes part.
//!
//! A request can also run on a thread that is not the engine's, between [`begin_here`] and [`end_here`]: that of its caller,
//! which has other things to do. There it is given up where it would take longer than [`WORK_HERE`] or wait for another thread.

use super::backlog::{self, Backlog, Share};
use super::run_queue::{Parker, RunQueue};
use super::{LightRead, thread_time};
use crate::error::Error;
use crate::faults::PlantedFault;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A request that takes longer than this is heavy.
pub const LIGHT_WORK: Duration = Duration::from_millis(2);
/// What a request may take on the thread of its caller.
pub const WORK_HERE: Duration = Duration::from_micros(500);
/// Nanoseconds in which a byte of a document is looked at for a condition or a path, at most roughly: texts take longest.
const DOCUMENT_BYTE: u64 = 5;
/// Documents with fewer bytes to look at take less than the time between two deadline checks.
const SHORT_LOOK: usize = 4096;
/// Processor time after which a heavy request is given up, on each thread that works for it: what its deadline allows may
/// be an hour.
pub const MAX_WORK: Duration = Duration::from_secs(120);

/// The turns of all heavy requests of the process, because its engines share the processors.
static RUN_QUEUE: LazyLock<RunQueue> = LazyLock::new(RunQueue::default);
/// What is left to do of those that have just become heavy.
static BACKLOG: Backlog = Backlog::new();

/// The threads that serve a light and a heavy lane.
pub trait Lanes: Send + Sync {
    /// Counts the calling thread as one of the heavy lane, if that has room: another may take its place in the light one.
    fn enter_heavy(&self) -> bool;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// The thread runs nothing that has a lane.
    None,
    Light,
    Heavy,
    /// A request runs on the thread of its caller.
    Here,
}

/// Why a request is given up on account of its lane.
#[derive(Clone, Copy)]
enum Refusal {
    HeavyLaneFull,
    LongWait,
    TooMuchWork,
    /// It needs a thread of the engine.
    NeedsThread,
}

/// What a thread of a pool with lanes runs.
struct Run {
    lanes: OnceCell<Arc<dyn Lanes>>,
    lane: Cell<Lane>,
    /// Processor time of the thread when it began.
    began: Cell<Duration>,
    /// For a light request: when its processor time is checked next. For a heavy one: when its turn began.
    since: Cell<Option<Instant>>,
    /// Total time of a heavy request's earlier turns.
    attained: Cell<Duration>,
    /// Work that was estimated.
    expected: Cell<Duration>,
    refusal: Cell<Option<Refusal>>,
    /// Whether it has a turn.
    has_turn: Cell<bool>,
    parker: OnceCell<Arc<Parker>>,
    light_read: Cell<Option<LightRead>>,
    /// A heavy request's share of the backlog.
    backlog: Cell<Option<Share>>,
}

thread_local! {
    /// What is to be counted of the request that runs on the thread of its caller.
    static COUNTS_HERE: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
    static RUN: Run = const {
        Run {
            lanes: OnceCell::new(),
            lane: Cell::new(Lane::None),
            began: Cell::new(Duration::ZERO),
            since: Cell::new(None),
            attained: Cell::new(Duration::ZERO),
            expected: Cell::new(Duration::ZERO),
            refusal: Cell::new(None),
            has_turn: Cell::new(false),
            parker: OnceCell::new(),
            light_read: Cell::new(None),
            backlog: Cell::new(None),
        }
    };
}

/// Says which lanes the calling thread serves from now on.
pub fn serve(lanes: Arc<dyn Lanes>) {
    RUN.with(|run| drop(run.lanes.set(lanes)));
}

/// A request begins on this thread, whose processor time is `now`; light, if the thread serves lanes.
pub fn begin(now: Duration) {
    RUN.with(|run| {
        if run.lanes.get().is_some() {
            run.lane.set(Lane::Light);
            run.began.set(now);
            run.since.set(Some(Instant::now() + LIGHT_WORK));
            run.attained.set(Duration::ZERO);
            run.expected.set(Duration::ZERO);
        }
    });
}

/// A request begins on the thread of its caller.
pub fn begin_here() {
    RUN.with(|run| {
        run.lane.set(Lane::Here);
        run.since.set(Some(Instant::now() + WORK_HERE));
        run.expected.set(Duration::ZERO);
    });
}

/// The request of this thread ends, which is the thread of its caller. False where it was given up, because it needs one of
/// the engine.
pub fn end_here() -> bool {
    RUN.with(|run| {
        run.lane.set(Lane::None);
        run.refusal.take().is_none()
    })
}

/// Whether the request runs on the thread of its caller.
pub fn is_here() -> bool {
    RUN.with(|run| run.lane.get() == Lane::Here)
}

/// To be called before what a request may do once only: a token is taken, a cursor is opened. On the thread of its caller it
/// may still be given up behind that and run again, so there it is given up before.
///
/// # Errors
/// Nobody sees it: the request runs again.
pub fn need_engine_thread() -> Result<(), Error> {
    if share_out() { Ok(()) } else { Err(refused(Refusal::NeedsThread)) }
}

/// Counts something of a request: at once, or on the thread of its caller when the request is answered there
/// ([`settle_counts`]).
pub fn when_answered<T: 'static>(sums: &Arc<T>, count: impl FnOnce(&T) + 'static) {
    if is_here() {
        let sums = Arc::clone(sums);
        COUNTS_HERE.with_borrow_mut(|counts| counts.push(Box::new(move || count(&sums))));
    } else {
        count(sums);
    }
}

/// A request on the thread of its caller has ended. It counts where it was answered.
pub fn settle_counts(is_answered: bool) {
    let counts = COUNTS_HERE.take();
    if is_answered {
        counts.into_iter().for_each(|count| count());
    }
}

/// Whether a document of so many bytes may be looked at for so many conditions or paths. On the thread of its caller a request
/// is given up where that takes long: it cannot stop in the middle of a document.
#[inline]
pub fn may_look_at(bytes: usize, times: usize) -> bool {
    let looked_at = bytes.saturating_mul(times);
    looked_at < SHORT_LOOK
        || expect_here(Duration::from_nanos((looked_at as u64).saturating_mul(DOCUMENT_BYTE)))
}

/// Whether the request may go on, which is false on the thread of its caller where its work is too much for that. Elsewhere
/// the work is not counted.
fn expect_here(work: Duration) -> bool {
    RUN.with(|run| {
        if run.lane.get() != Lane::Here {
            return true;
        }
        run.expected.set(run.expected.get().saturating_add(work));
        if run.expected.get() > WORK_HERE {
            run.refusal.set(Some(Refusal::NeedsThread));
        }
        run.refusal.get().is_none()
    })
}

/// Whether the request may be shared out to other threads. On the thread of its caller it is given up in place of that.
pub fn share_out() -> bool {
    RUN.with(|run| {
        let may_share = run.lane.get() != Lane::Here;
        if !may_share {
            run.refusal.set(Some(Refusal::NeedsThread));
        }
        may_share
    })
}

/// The request is a read that counts as a light one until it becomes heavy or ends.
pub fn hold(read: Option<LightRead>) {
    RUN.with(|run| run.light_read.set(read));
}

/// The request of this thread ends. Says whether it was heavy.
pub fn end() -> bool {
    RUN.with(|run| {
        run.give_turn_back();
        run.refusal.set(None);
        run.backlog.set(None);
        if let Some(read) = run.light_read.take() {
            read.answered();
        }
        run.lane.replace(Lane::None) == Lane::Heavy
    })
}

/// Whether the request of this thread is heavy.
pub fn is_heavy() -> bool {
    RUN.with(|run| run.lane.get() == Lane::Heavy)
}

/// Called between two steps of work, at most a millisecond apart. Here a light request becomes heavy, and a heavy one waits
/// for its turn, until it is `given_up`. True when it must not go on; then [`refusal`] may say why.
pub fn yield_turn(now: Instant, given_up: &impl Fn() -> bool) -> bool {
    RUN.with(|run| match run.lane.get() {
        Lane::None => false,
        _ if run.refusal.get().is_some() => true,
        Lane::Light if run.since.get().is_none_or(|look_at| now < look_at) => false,
        Lane::Light => {
            let used = thread_time().saturating_sub(run.began.get());
            if used < LIGHT_WORK {
                run.since.set(Some(now + (LIGHT_WORK - used)));
                return false;
            }
            !run.turn_heavy(given_up)
        }
        Lane::Heavy => run.step(now, given_up),
        Lane::Here => {
            let is_long = run.since.get().is_none_or(|end| now >= end);
            if is_long {
                run.refusal.set(Some(Refusal::NeedsThread));
            }
            is_long
        }
    })
}

/// Says that `work` is about to be done. A request that is heavy by all that it has said becomes one here. False when it
/// must not go on.
pub fn expect(work: Duration, given_up: &impl Fn() -> bool) -> bool {
    RUN.with(|run| {
        let (Lane::Light | Lane::Here) = run.lane.get() else { return run.refusal.get().is_none() };
        run.expected.set(run.expected.get().saturating_add(work));
        if run.lane.get() == Lane::Here && run.expected.get() > WORK_HERE {
            run.refusal.set(Some(Refusal::NeedsThread));
        }
        run.refusal.get().is_none() && (run.expected.get() <= LIGHT_WORK || run.turn_heavy(given_up))
    })
}

/// Makes this request a heavy one, for which nothing can give up its wait. False when the heavy lane is full.
pub fn be_heavy() -> bool {
    RUN.with(|run| run.lane.get() != Lane::Light || run.turn_heavy(&|| false))
}

/// Why the request of this thread is given up, if it is on account of its lane.
pub fn refusal() -> Option<Error> {
    RUN.with(|run| run.refusal.get()).map(refused)
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::HeavyLaneFull => {
            Error::Overloaded("the lane of heavy requests is full: too many of them are running".into())
        }
        Refusal::LongWait => Error::Overloaded("too many heavy requests wait for a processor".into()),
        Refusal::TooMuchWork => Error::Timeout(format!(
            "the request used more than {} seconds of processor time",
            MAX_WORK.as_secs()
        )),
        // Nobody sees it: the request runs again.
        Refusal::NeedsThread => Error::Overloaded("the request needs a thread of the engine".into()),
    }
}

/// Waits for other threads. `wait` returns whether what it waits for has come, at the latest after the time that it is
/// given. Meanwhile the thread takes no turn of others, and after a moment no place in the light lane. A request on the
/// thread of its caller does not wait, and is given up.
pub fn wait_aside(mut wait: impl FnMut(Option<Duration>) -> bool) {
    RUN.with(|run| {
        if run.lane.get() == Lane::Here {
            run.refusal.set(Some(Refusal::NeedsThread));
            wait(Some(Duration::ZERO));
            return;
        }
        if run.lane.get() == Lane::Light && !wait(Some(LIGHT_WORK)) {
            run.leave_light();
        }
        if run.lane.get() == Lane::Heavy {
            run.give_turn_back();
            wait(None);
            run.take_turn(&|| false);
        } else {
            wait(None);
        }
    });
}

impl Run {
    /// From the light lane to the heavy one, and waits for a turn. False when the request must not go on.
    fn turn_heavy(&self, given_up: &impl Fn() -> bool) -> bool {
        let Some(share) = BACKLOG.join(self.expected.get(), super::processors()) else {
            return self.refuse_heavy(Refusal::LongWait);
        };
        if !self.leave_light() {
            return self.refuse_heavy(Refusal::HeavyLaneFull);
        }
        self.backlog.set(Some(share));
        self.take_turn(given_up)
    }

    fn refuse_heavy(&self, why: Refusal) -> bool {
        // It was no light read: no processor is kept free for the next one.
        self.light_read.set(None);
        self.refusal.set(Some(why));
        false
    }

    fn leave_light(&self) -> bool {
        let may_leave = !PlantedFault::HeavyStaysLight.is_on();
        let left = may_leave && self.lanes.get().is_some_and(|lanes| lanes.enter_heavy());
        if left {
            self.lane.set(Lane::Heavy);
            self.light_read.set(None);
        }
        left
    }

    /// A step of a heavy request. True when it must not go on.
    fn step(&self, now: Instant, given_up: &impl Fn() -> bool) -> bool {
        let ran = self.since.get().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let attained = self.attained.get() + ran;
        if attained > MAX_WORK {
            self.refusal.set(Some(Refusal::TooMuchWork));
            return true;
        }
        if attained >= backlog::SHORT {
            self.backlog.set(None);
        }
        if !self.has_turn.get() || !RUN_QUEUE.must_pause(ran, super::permits(now)) {
            return false;
        }
        self.attained.set(attained);
        let has_turn = RUN_QUEUE.pause(self.parker(), attained, &permits_now, given_up);
        self.has_turn.set(has_turn);
        self.since.set(Some(Instant::now()));
        !has_turn
    }

    fn take_turn(&self, given_up: &impl Fn() -> bool) -> bool {
        let has_turn = RUN_QUEUE.enter(self.parker(), self.attained.get(), &permits_now, given_up);
        self.has_turn.set(has_turn);
        self.since.set(Some(Instant::now()));
        has_turn
    }

    fn give_turn_back(&self) {
        if self.has_turn.replace(false) {
            let ran = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            self.attained.set(self.attained.get() + ran);
            RUN_QUEUE.leave(permits_now());
        }
    }

    fn parker(&self) -> &Arc<Parker> {
        self.parker.get_or_init(Arc::default)
    }
}

fn permits_now() -> usize {
    super::permits(Instant::now())
}
