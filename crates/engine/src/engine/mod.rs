//! The engine: open, execute, status, close; and what is done with a data directory that no engine has open.

mod answer_budget;
mod background;
mod directory;
mod execute;
mod health_issue;
mod heap_trim;
mod job_queue;
mod notifier;
mod operation;
mod options;
mod pool;
mod read;
mod scrub;
mod search;
mod shared_work;
mod tuning;
mod write;

pub use background::{checkpoint_everything, index_everything, run_housekeeping};
pub use directory::{Claim, check_directory, repair_directory, verify_directory};
pub use health_issue::{HealthIssue, HealthIssueKind};
pub use operation::Operation;
pub use options::Options;
pub use scrub::{ScrubFinding, ScrubOptions, ScrubReport};
pub use tuning::Tuning;

use crate::catalog::{self, Catalog, Mode, OpenError, Opened};
use crate::collection::{GraphPolicy, MemoryReport};
use crate::deadline::Closing;
use crate::error::Error;
use crate::field::IndexScratch;
use crate::limits::{Limits, MAX_REPORTED_DAMAGES};
use crate::query::{Tally, Totals};
use crate::scheduling::ActiveRead;
use crate::storage::{LockGuard, Storage};
use background::Background;
use kithdb_kernels::{code_kernels, kernels};
use parking_lot::Mutex;
use pool::{Pool, Priority};
use scrub::Scrub;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tuning::Tuner;

/// Reads that may wait for a thread; more are refused with 429.
const WAITING_READS: usize = 1024;
/// Writes that may wait to be parsed. Their bodies are bounded by the server's byte budget.
const WAITING_WRITES: usize = 4096;
/// Threads that wait until deleted collections are unused.
const DELETION_THREADS: usize = 4;
/// The greatest timeout of a request. A longer one is shortened to this.
const LONGEST_REQUEST: Duration = Duration::from_secs(3600);
/// Time that a request has when it does not say how much.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The bytes of a body.
pub type Body = Box<dyn AsRef<[u8]> + Send>;

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
    /// When the request arrived: the envelope's `time` counts from here.
    pub start: Instant,
}

/// Called once with the whole success envelope, or the error.
pub type Reply = Box<dyn FnOnce(Result<Vec<u8>, Error>) + Send>;

/// What an engine serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Collections, quarantined ones included.
    pub collections: usize,
    /// Live points of all of them.
    pub points: usize,
    /// Name and fault of each quarantined collection.
    pub faults: Vec<(String, String)>,
    /// File, relative to the data directory, and a sentence for each piece of damage that the log had when it was
    /// opened; at most [`MAX_REPORTED_DAMAGES`].
    pub log_damages: Vec<(String, String)>,
    /// What searches did since the engine was opened.
    pub searches: Tally,
    /// What all collections hold in memory.
    pub memory: MemoryReport,
}

/// The instruction sets that this CPU runs the kernels with, such as `avx512`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSets {
    /// For original vectors.
    pub rows: &'static str,
    /// For codes.
    pub codes: &'static str,
}

/// The instruction sets that were chosen for this CPU.
pub fn instruction_sets() -> InstructionSets {
    InstructionSets { rows: kernels().level.name(), codes: code_kernels().level.name() }
}

/// What the threads of a pool do.
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
    /// Deletions of collections, which wait for requests that still use them.
    deletions: Mutex<Option<Jobs>>,
    background: Mutex<Option<Background>>,
    tuner: Mutex<Option<Tuner>>,
    scrub: Mutex<Scrub>,
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
    /// What searches did since the engine was opened.
    searches: Arc<Totals>,
}

/// What runs on threads, apart from reads; nothing in an engine without threads.
#[derive(Default)]
struct Threads {
    writes: Option<Jobs>,
    deletions: Option<Jobs>,
    background: Option<Background>,
}

impl Threads {
    /// Starts the pools, that of the reads included, and the background work.
    fn start(core: &Arc<Core>, options: &Options) -> Result<Threads, OpenError> {
        let pool = |name: &str, threads: usize, waiting: usize, priority: Priority| {
            let core = Arc::clone(core);
            Pool::start(name, threads, waiting, priority, move |job| match job {
                Job::Request(request, reply, read) => {
                    execute::run(&core, request, reply);
                    drop(read);
                }
                Job::Help(help) => help(),
            })
            .map_err(OpenError::Threads)
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let reads = pool("read", options.search_threads, WAITING_READS, Priority::Normal)?;
        let writes = pool("write", cores.max(2), WAITING_WRITES, Priority::Low)?;
        let background =
            Background::start(&core.catalog, options.housekeeping).map_err(OpenError::Threads)?;
        // Deletions mostly wait. A thread of low priority counts as background work while it does, and other background
        // work would yield to it.
        let deletions = pool("delete", DELETION_THREADS, WAITING_WRITES, Priority::Normal)?;
        *core.reads.lock() = Some(reads);
        Ok(Threads { writes: Some(writes), deletions: Some(deletions), background: Some(background) })
    }
}

impl Engine {
    /// Opens a data directory: takes its lock, loads the checkpoints, replays the log, starts the threads.
    ///
    /// # Errors
    /// [`OpenError`] when nothing can be served. A collection that cannot be opened is no error: it is quarantined.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Engine, OpenError> {
        let lock = catalog::claim(&*storage)?;
        let Opened { catalog, report, damage } =
            catalog::open(Arc::clone(&storage), options.limits, options.thresholds, options.mode)?;
        background::measure_room(&catalog);
        let found = ScrubReport::of_start(&damage, &report);
        let records = damage.records.iter().map(|record| record.describe(&*storage));
        let log_damages = report.sentences(MAX_REPORTED_DAMAGES).into_iter().chain(records);
        let inline = options.mode != Mode::Threaded;
        let core = Arc::new(Core {
            catalog: Arc::clone(&catalog),
            limits: options.limits,
            #[cfg(feature = "testing")]
            panics_on_request: options.panics_on_request,
            inline,
            log_damages: log_damages.take(MAX_REPORTED_DAMAGES).collect(),
            closing: Closing::default(),
            reads: Mutex::new(None),
            searches: Arc::default(),
        });
        let threads = if inline { None } else { Some(Threads::start(&core, &options)?) };
        let Threads { writes, deletions, background } = threads.unwrap_or_default();
        let scrub =
            Scrub::start(&catalog, options.scrub.filter(|_| !inline), found).map_err(OpenError::Threads)?;
        // If the system refuses the thread, the defaults stay in use.
        let tuner = (!inline && options.tuning == Tuning::Measured).then(|| Tuner::start(storage).ok());
        Ok(Engine {
            core,
            writes: Mutex::new(writes),
            deletions: Mutex::new(deletions),
            background: Mutex::new(background),
            tuner: Mutex::new(tuner.flatten()),
            scrub: Mutex::new(scrub),
            lock: Mutex::new(Some(lock)),
        })
    }

    /// Executes a request; the reply is called exactly once, on a thread of the engine or on the caller's.
    pub fn execute(&self, request: Request, reply: Reply) {
        if self.core.inline {
            return execute::run(&self.core, request, reply);
        }
        let (pool, read) = match request.operation {
            Operation::DeleteCollection => (&self.deletions, None),
            operation if operation.is_write() => (&self.writes, None),
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

    /// What the engine serves now.
    pub fn status(&self) -> Status {
        let log_damages = self.core.log_damages.clone();
        let mut status = Status { searches: self.core.searches.sum(), log_damages, ..Status::default() };
        for entry in self.core.catalog.entries() {
            status.collections += 1;
            if let Some(collection) = entry.collection() {
                status.points += collection.view().points_count();
                status.memory.add(&collection.memory());
            }
            if let Some(fault) = entry.fault() {
                status.faults.push((entry.name.clone(), fault.to_string()));
            }
        }
        status
    }

    /// The health issues for an operator; at most [`MAX_HEALTH_ISSUES`](crate::limits::MAX_HEALTH_ISSUES).
    pub fn health_issues(&self) -> Vec<HealthIssue> {
        health_issue::health_issues(&self.core.catalog)
    }

    /// What the scrub did since the engine was opened.
    pub fn scrub_report(&self) -> ScrubReport {
        self.scrub.lock().report()
    }

    /// One pass of the scrub in the caller, as fast as it goes: for tests and simulations.
    pub fn scrub_once(&self) {
        self.scrub.lock().run_once(&self.core.catalog);
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

    /// Cancels requests that run or wait, each at its next deadline check, unless it is written already. A caller that
    /// wants them finished waits for their replies first. Then this checkpoints, closes the log and releases the
    /// directory. A second call does nothing.
    pub fn close(&self) {
        self.core.closing.begin();
        for pool in [&self.core.reads, &self.writes, &self.deletions] {
            let taken = pool.lock().take();
            if let Some(mut pool) = taken {
                pool.close();
            }
        }
        if let Some(mut tuner) = self.tuner.lock().take() {
            tuner.close();
        }
        self.scrub.lock().close();
        if let Some(mut background) = self.background.lock().take() {
            background.close();
        }
        for collection in self.core.catalog.collections() {
            collection.stop_waiting();
        }
        if let Some(lock) = self.lock.lock().take() {
            let log = &self.core.catalog.shared().log;
            // What is queued must be durable before it can be checkpointed; a log that cannot sync says so at the
            // next start, which replays what there is.
            if log.sync().is_ok() {
                checkpoint_everything(&self.core.catalog);
            }
            let _ = log.close();
            drop(lock);
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
