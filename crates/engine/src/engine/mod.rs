//! The engine: open, execute, status, close; and what is done with a data directory that no engine has open.

mod access;
mod answer_budget;
mod background;
mod calibration;
mod closing;
mod cursors;
mod directory;
mod execute;
mod explained;
mod health_issue;
mod heap_trim;
mod heavy_lane;
mod housekeeping;
mod idle_log;
mod info;
mod job_queue;
mod maintenance;
mod memory_watch;
mod noted_syncs;
mod options;
mod point_writer;
mod pool;
mod profile;
mod projections;
mod read;
mod reembedding;
mod replication;
mod report;
mod residency;
mod scrub;
mod search;
mod shared_work;
mod source_sync;
mod staged_syncs;
mod status;
mod strict;
mod tuning;
mod write;

pub use crate::api::{BodyForm, Operation, Packing};
pub use access::{Access, filter_problem};
pub use background::index_everything;
pub use calibration::calibrate_everything;
pub use cursors::CursorFigures;
pub use directory::{
    DirectoryLock, check_directory, read_auth_generation, repair_directory, verify_directory,
};
pub use health_issue::{HealthIssue, HealthIssueKind};
pub use housekeeping::{checkpoint_everything, run_housekeeping, shorten_idle_log};
pub use options::Options;
pub use profile::Profile;
pub use report::{BackgroundPanic, Report, Reported};
pub use residency::{put_to_sleep, sleep_idle, wake_expiring};
pub use scrub::{ScrubFinding, ScrubOptions, ScrubReport};
pub use status::{CollectionFigures, DiskBytes, InstructionSets, Status, instruction_sets};
pub use strict::{CollectionSize, StrictScope};
pub use tuning::Tuning;

use crate::api::Strictness;
use crate::catalog::{self, Catalog, Mode, OpenError, Opened};
use crate::collection::GraphPolicy;
use crate::deadline::{Cancellation, Closing};
use crate::error::Error;
use crate::field::IndexScratch;
use crate::json::JsonBody;
use crate::limits::{Limits, MAX_REPORTED_DAMAGES};
use crate::query::Totals;
use crate::recent_operations::CallIdentity;
use crate::scheduling::{ActiveRead, lane};
use crate::storage::{LockGuard, Storage};
use crate::supervision::Supervisor;
use crate::types::Lsn;
#[cfg(doc)]
use crate::types::OpNumber;
use answer_budget::AnswersInProgress;
use background::Background;
use calibration::Calibrator;
use cursors::Cursors;
use heavy_lane::HeavyLane;
use parking_lot::Mutex;
pub use pool::Load;
use pool::{Capacity, Pool, PoolOptions, Priority};
use projections::Projections;
use report::Reporter;
use scrub::Scrub;
use staged_syncs::StagedSyncs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tuning::Tuner;

/// Reads that may wait for a thread; more are refused with 429.
const WAITING_READS: usize = 1024;
/// Once a read has waited for so long, more are refused.
const LONGEST_WAIT_OF_READS: Duration = Duration::from_millis(50);
/// Heavy reads that are under way at a time, for each thread that answers reads; more are refused with 429. They take
/// turns, so each of them has a thread.
const HEAVY_READS_PER_THREAD: usize = 8;
/// The most threads for heavy reads.
const MAX_HEAVY_READS: usize = 64;
/// Writes that may wait to be parsed. Their bodies are bounded by the server's byte budget.
const WAITING_WRITES: usize = 4096;
/// Bytes of a write from which on it has threads apart from shorter ones: parsing it takes milliseconds, and a hundred
/// filters in it far more.
const LARGE_BODY_BYTES: usize = 256 << 10;
/// Threads that create and delete collections. Each waits for the log, one at a time.
const CATALOG_THREADS: usize = 2;
/// The greatest timeout of a request. A longer one is shortened to this.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(3600);
/// Time that a request has when it does not say how much.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The bytes of a body.
pub type Body = Box<dyn AsRef<[u8]> + Send + Sync>;

/// One request.
pub struct Request {
    /// What to do.
    pub operation: Operation,
    /// The collection's name; empty where the operation has none.
    pub collection: String,
    /// Point id or field name from the path.
    pub target: Option<String>,
    /// C5: answer when the change is visible (true), or when it is durable.
    pub wait: bool,
    /// Time from [`Request::start`] after which the request is given up.
    pub timeout: Option<Duration>,
    /// The body as it came; empty when there was none.
    pub body: Body,
    /// The identity of a write that may be repeated (C25).
    pub identity: Option<CallIdentity>,
    /// The place of a write in a replicated stream (docs/cluster.md), from which it gets its number
    /// ([`OpNumber::of_position`]). Writes of one collection are executed one after the other, in the order of their
    /// positions; one whose position was passed fails with [`Error::PositionPassed`].
    pub position: Option<u64>,
    /// Whether a write of points is only tried: it is answered as it would be, and changes nothing.
    pub dry_run: bool,
    /// Which limits of the strict mode of its collection it meets (C4.3).
    pub strict_scope: StrictScope,
    /// How strictly it is taken (C12).
    pub strictness: Strictness,
    /// Whether it may fail with [`Error::VectorsWanted`], for its caller to send it again with the vectors in it.
    pub gives_out_texts: bool,
    /// What its caller may reach (C15); everything when absent.
    pub access: Option<Arc<Access>>,
    /// Whose cursors it may use (C22): the same text is the same caller; empty for an anonymous one.
    pub caller: Box<str>,
    /// The form of the body, and of the vectors of the answer.
    pub packing: Packing,
    /// The most bytes that the answer may have at the moment; no bound of the caller when absent.
    pub answer_budget: Option<usize>,
    /// Where it is noted what its searches did; nowhere when absent.
    pub profile: Option<Arc<Profile>>,
    /// When the request arrived: the envelope's `time` counts from here.
    pub start: Instant,
    /// Says that the client has disconnected: the request is given up, unless it is logged already.
    pub cancellation: Cancellation,
}

impl Request {
    /// A request that begins now: strictly read, without a target, a time limit of its own, limits of its caller or an
    /// identity, and answered when its change is visible.
    pub fn new(operation: Operation, collection: impl Into<String>, body: Vec<u8>) -> Request {
        Request {
            operation,
            collection: collection.into(),
            target: None,
            wait: true,
            timeout: None,
            body: Box::new(body),
            identity: None,
            position: None,
            dry_run: false,
            strict_scope: StrictScope::default(),
            strictness: Strictness::Strict,
            gives_out_texts: false,
            access: None,
            caller: Box::default(),
            packing: Packing::default(),
            answer_budget: None,
            profile: None,
            start: Instant::now(),
            cancellation: Cancellation::default(),
        }
    }

    /// The body as parsers take it.
    ///
    /// # Errors
    /// `Internal` where it should have packed vectors and has none, and for another form than JSON.
    fn json(&self) -> Result<JsonBody<'_>, Error> {
        let bytes = (*self.body).as_ref();
        match self.packing.body {
            BodyForm::Json | BodyForm::Lines => Ok(JsonBody::from(bytes)),
            BodyForm::Packed => JsonBody::unpack(bytes),
            BodyForm::Arrow => Err(Error::Internal("an Arrow IPC stream in place of JSON".to_string())),
        }
    }
}

/// Called once with the whole success envelope, or the error.
pub type Reply = Box<dyn FnOnce(Result<Vec<u8>, Error>) + Send>;

/// What the threads of a pool do.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every job is a request, and a box would be an allocation for each"
)]
enum Job {
    /// A request and its reply. A read of points is counted as an active read while it runs.
    Request(Request, Reply, Option<ActiveRead>),
    /// A part of another thread's request.
    Help(shared_work::Help),
}

impl From<shared_work::Help> for Job {
    fn from(help: shared_work::Help) -> Job {
        Job::Help(help)
    }
}

/// A pool of threads that execute requests.
type Jobs = Pool<Job>;

/// An open engine.
pub struct Engine {
    core: Arc<Core>,
    writes: Mutex<Option<Jobs>>,
    /// Writes of large bodies.
    large_writes: Mutex<Option<Jobs>>,
    /// Creations and deletions of collections, which no other write holds up.
    catalog_changes: Mutex<Option<Jobs>>,
    background: Mutex<Option<Background>>,
    tuner: Mutex<Option<Tuner>>,
    /// None in an engine without threads, and where no recall is to be measured.
    calibrator: Mutex<Option<Calibrator>>,
    scrub: Mutex<Scrub>,
    /// None in an engine without threads.
    reporter: Option<Reporter>,
    /// Held while the engine is open: one process for each data directory.
    lock: Mutex<Option<LockGuard>>,
}

/// State that every request uses.
struct Core {
    catalog: Arc<Catalog>,
    limits: Limits,
    #[cfg(feature = "testing")]
    panics_on_request: bool,
    /// Everything runs on the calling thread: there is no background work.
    inline: bool,
    /// The damage that the log reported when it was opened.
    log_damages: Vec<(String, String)>,
    /// Whether the engine is closing: running requests are cancelled then.
    closing: Closing,
    /// Threads that answer reads; a batch is split over those that are free.
    reads: Mutex<Option<Jobs>>,
    /// Threads that resolve writes with heavy filters.
    heavy: Mutex<Option<HeavyLane>>,
    /// What searches did since the engine was opened.
    searches: Arc<Totals>,
    /// What the answers that are being written hold.
    answers: AnswersInProgress,
    /// Views that are kept for further pages.
    cursors: Arc<Cursors>,
    /// Parts of sources that wait for the last one.
    staged_syncs: Arc<StagedSyncs>,
    /// The projections that are being made.
    projections: Projections,
    /// Collections that the reports have figures of.
    reported_collections: usize,
}

/// What runs on threads, apart from reads.
struct Threads {
    writes: Option<Jobs>,
    large_writes: Option<Jobs>,
    catalog_changes: Option<Jobs>,
    background: Option<Background>,
}

impl Threads {
    /// Starts the pools, that of the reads included, and the background work.
    fn start(core: &Arc<Core>, options: &Options) -> Result<Threads, OpenError> {
        let pool = |name: &'static str, capacity: Capacity, priority: Priority| {
            let core = Arc::clone(core);
            let supervisor = Arc::clone(&core.catalog.shared().supervisor);
            let options = PoolOptions { name, capacity, priority, supervisor };
            Pool::start(options, move |job| match job {
                Job::Request(request, reply, mut read) => {
                    lane::hold(read.as_mut().and_then(ActiveRead::take_light));
                    execute::run(&core, request, reply);
                    drop(read);
                }
                Job::Help(help) => help(),
            })
            .map_err(OpenError::Threads)
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let light = options.search_threads.max(1);
        let reads = Capacity {
            light,
            heavy: (light * HEAVY_READS_PER_THREAD).min(MAX_HEAVY_READS),
            waiting: WAITING_READS,
            longest_wait: Some(LONGEST_WAIT_OF_READS),
        };
        let reads = pool("read", reads, Priority::Normal)?;
        let writes = pool("write", Capacity::of(cores.max(2), WAITING_WRITES), Priority::Low)?;
        let large_writes = pool("large", Capacity::of(cores.max(2), WAITING_WRITES), Priority::Low)?;
        let heavy =
            HeavyLane::start(cores / 2, &core.catalog.shared().supervisor).map_err(OpenError::Threads)?;
        let (heavy_queue, cursors) = (Arc::clone(heavy.queue()), Arc::clone(&core.cursors));
        let staged_syncs = Arc::clone(&core.staged_syncs);
        let background = Background::start(&core.catalog, options.housekeeping, move || {
            heavy_queue.give_up_overdue();
            cursors.sweep();
            staged_syncs.sweep();
        })
        .map_err(OpenError::Threads)?;
        // They mostly wait for the log. A thread of low priority counts as background work while it does, and other
        // background work would yield to it.
        let catalog_changes =
            pool("catalog", Capacity::of(CATALOG_THREADS, WAITING_WRITES), Priority::Normal)?;
        *core.reads.lock() = Some(reads);
        *core.heavy.lock() = Some(heavy);
        Ok(Threads {
            writes: Some(writes),
            large_writes: Some(large_writes),
            catalog_changes: Some(catalog_changes),
            background: Some(background),
        })
    }
}

impl Engine {
    /// Opens a data directory: takes its lock, loads the checkpoints, replays the log, starts the threads.
    ///
    /// # Errors
    /// [`OpenError`] when nothing can be served. A collection that cannot be opened is no error: it is quarantined.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Engine, OpenError> {
        let lock = catalog::lock_directory(&*storage)?;
        Engine::open_held(storage, lock, options, &Arc::default())
    }

    /// Opens the engine in a directory that this process has locked already, with the supervisor of its threads.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_held(
        storage: Arc<dyn Storage>,
        lock: LockGuard,
        options: Options,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Engine, OpenError> {
        let opened = catalog::open(Arc::clone(&storage), options.of_catalog(), supervisor)?;
        let Opened { catalog, report, damage } = opened;
        #[cfg(feature = "testing")]
        if let Some(planted) = options.panics_in {
            catalog.shared().supervisor.plant(planted);
        }
        #[cfg(feature = "testing")]
        if let Some(name) = options.refuses_thread {
            catalog.shared().supervisor.refuse(name);
        }
        housekeeping::measure_room(&catalog);
        let found = ScrubReport::of_start(&damage, &report);
        let records = damage.records.iter().map(|record| record.describe(&*storage));
        let log_damages = report.sentences(MAX_REPORTED_DAMAGES).into_iter().chain(records);
        let inline = options.mode != Mode::Threaded;
        let core = Arc::new(Core {
            catalog: Arc::clone(&catalog),
            limits: catalog.shared().limits,
            #[cfg(feature = "testing")]
            panics_on_request: options.panics_on_request,
            inline,
            log_damages: log_damages.take(MAX_REPORTED_DAMAGES).collect(),
            closing: Closing::default(),
            reads: Mutex::new(None),
            heavy: Mutex::new(None),
            searches: Arc::default(),
            answers: AnswersInProgress::default(),
            cursors: Arc::new(Cursors::new(&catalog.shared().limits)),
            staged_syncs: Arc::new(StagedSyncs::new(Arc::clone(&catalog.shared().storage))),
            projections: Projections::default(),
            reported_collections: options.reported_collections,
        });
        let scrub = Scrub::start(&catalog, options.scrub.filter(|_| !inline), found);
        let mut engine = Engine {
            core,
            reporter: None,
            writes: Mutex::default(),
            large_writes: Mutex::default(),
            catalog_changes: Mutex::default(),
            background: Mutex::default(),
            tuner: Mutex::default(),
            calibrator: Mutex::default(),
            scrub: Mutex::new(scrub.map_err(OpenError::Threads)?),
            lock: Mutex::new(Some(lock)),
        };
        if !inline {
            engine.start_threads(storage, &options)?;
        }
        Ok(engine)
    }

    /// Starts the threads of an engine that is not used yet. Where one is refused the engine is to be dropped: that ends the
    /// others before the directory is released.
    fn start_threads(&mut self, storage: Arc<dyn Storage>, options: &Options) -> Result<(), OpenError> {
        let threads = Threads::start(&self.core, options)?;
        *self.writes.get_mut() = threads.writes;
        *self.large_writes.get_mut() = threads.large_writes;
        *self.catalog_changes.get_mut() = threads.catalog_changes;
        *self.background.get_mut() = threads.background;
        let catalog = &self.core.catalog;
        if options.tuning == Tuning::Measured {
            *self.tuner.get_mut() = Tuner::start(storage, &catalog.shared().supervisor).ok();
        }
        if options.calibration_share > 0.0 {
            let started = Calibrator::start(catalog, options.calibration_share);
            *self.calibrator.get_mut() = Some(started.map_err(OpenError::Threads)?);
        }
        self.reporter = Some(Reporter::start(&self.core).map_err(OpenError::Threads)?);
        Ok(())
    }

    /// Executes a request; the reply is called exactly once, on a thread of the engine or on the caller's.
    pub fn execute(&self, request: Request, reply: Reply) {
        if self.core.inline {
            return execute::run(&self.core, request, reply);
        }
        let (pool, read) = match request.operation {
            Operation::CreateCollection | Operation::DeleteCollection => (&self.catalog_changes, None),
            // It copies files where the file system has no links, and verifies all of them.
            Operation::CloneCollection | Operation::AdoptFolders => (&self.large_writes, None),
            operation if operation.is_write() => {
                let is_large = (*request.body).as_ref().len() >= LARGE_BODY_BYTES;
                (if is_large { &self.large_writes } else { &self.writes }, None)
            }
            operation if operation.is_maintenance() => (&self.large_writes, None),
            operation => (&self.core.reads, operation.reads_points().then(ActiveRead::begin)),
        };
        let job = Job::Request(request, reply, read);
        let submitted = match &*pool.lock() {
            Some(pool) => pool.submit(job),
            None => Err((job, Error::ShuttingDown)),
        };
        // A refused request comes back with its reply.
        if let Err((Job::Request(_, reply, _), error)) = submitted {
            reply(Err(error));
        }
    }

    /// Answers a read on the calling thread, if it takes at most half a millisecond there. `None` where it takes longer, fails,
    /// or has to wait: then nothing was done, and [`Engine::execute`] is to be called. For reads that come one after the other:
    /// the two changes of threads that `execute` needs take longer than a short search.
    pub fn answer_here(&self, request: &Request) -> Option<Vec<u8>> {
        let may_run = request.operation.may_run_here() && !self.core.inline;
        if may_run { execute::run_here(&self.core, request) } else { None }
    }

    /// The LSN that the next record of the log would get after a kill at this moment: see [`CallIdentity::first_sent`].
    pub fn log_position(&self) -> Lsn {
        self.core.catalog.shared().log.settled_lsn()
    }

    /// What the engine serves now: walks all collections.
    pub fn status(&self) -> Status {
        self.core.status()
    }

    /// The last report of what the engine serves and of what is wrong with it. In an engine without threads it is made
    /// now.
    pub fn report(&self) -> Arc<Report> {
        self.reporter.as_ref().map_or_else(|| Arc::new(Report::make(&self.core, 0)), Reporter::report)
    }

    /// Calls `done` once, when the last report is at most so old: at once, or on a thread of the engine.
    pub fn when_reported(&self, max_age: Duration, done: Reported) {
        match &self.reporter {
            Some(reporter) => reporter.when_fresh(max_age, done),
            None => done(),
        }
    }

    /// The health issues for an operator; at most [`MAX_HEALTH_ISSUES`](crate::limits::MAX_HEALTH_ISSUES).
    pub fn health_issues(&self) -> Vec<HealthIssue> {
        health_issue::health_issues(&self.core.catalog)
    }

    /// What the scrub did since the engine was opened.
    pub fn scrub_report(&self) -> ScrubReport {
        self.scrub.lock().report(&self.core.catalog)
    }

    /// One pass of the scrub in the caller, as fast as it goes: for tests and simulations.
    pub fn scrub_once(&self) {
        self.scrub.lock().run_once(&self.core.catalog);
    }

    /// The generation of the store of authentication that was noted last (C3.8); 0 where none was. The engine keeps the
    /// number and gives it no meaning.
    pub fn auth_generation(&self) -> u64 {
        self.core.catalog.auth_generation()
    }

    /// Notes a generation of the store of authentication, durably, unless a later one was noted.
    ///
    /// # Errors
    /// `StorageFull` and `Internal`; background work then tries again.
    pub fn note_auth_generation(&self, generation: u64) -> Result<(), Error> {
        self.core.catalog.note_auth_generation(generation)
    }

    /// Links every file that is served into the folder [`STAGING`](catalog::STAGING) of the data directory,
    /// for a backup to copy: it has every acknowledged write, and each collection at one operation.
    ///
    /// # Errors
    /// `Internal` when the log cannot be made durable or the disk refuses; `StorageFull` when it is full.
    pub fn stage(&self) -> Result<(), Error> {
        self.core.catalog.stage()
    }

    /// Removes the links.
    ///
    /// # Errors
    /// `Internal` with the disk's reason.
    pub fn unstage(&self) -> Result<(), Error> {
        self.core.catalog.unstage().map_err(|error| Error::Internal(error.public()))
    }

    /// The catalog, for tests that step background work themselves.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.core.catalog
    }

    /// One step of everything that otherwise runs in the background: for tests and simulations.
    pub fn work_in_background(&self, policy: GraphPolicy) {
        index_everything(&self.core.catalog, &mut IndexScratch::default());
        match policy {
            GraphPolicy::Always => checkpoint_everything(&self.core.catalog),
            GraphPolicy::WhenGrown | GraphPolicy::Never => run_housekeeping(&self.core.catalog),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.core.inline {
            self.close();
        }
    }
}
