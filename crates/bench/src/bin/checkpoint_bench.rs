//! What checkpoints cost and what they save: the speed of a replay, the bytes written to data files for each byte of
//! the log, and latencies of writers and readers while a checkpoint is written.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin checkpoint_bench -- [--mib 256] [--dir DIR]
//! ```

use kithdb_bench::flags::Flags;
use kithdb_bench::requests::{self, wait_until_indexed};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::{Limits, Thresholds};
use kithdb_engine::storage::{LockGuard, Map, RealDisk, Result as StorageResult, Storage, StorageFile};
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut flags = Flags::of_this_process();
    let (mib, dir) = (flags.value("mib", 256u64)?, flags.value("dir", std::env::temp_dir())?);
    flags.finish()?;
    let dir = dir.join(format!("kithdb-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let measured =
        replay(&dir, mib).and_then(|()| amplification(&dir, mib)).and_then(|()| latency(&dir, mib));
    std::fs::remove_dir_all(&dir)?;
    measured
}

/// What is written, over and over.
#[derive(Clone, Copy)]
enum Load {
    /// New points of 768 dimensions.
    Wide,
    /// New points of 8 dimensions with a payload.
    Narrow,
    /// 10,000 points of 768 dimensions, replaced at random.
    Replace,
    /// One key of the payload of 1,000 points at a time.
    Payload,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Wide => "new points, 768 dims",
            Load::Narrow => "new points, 8 dims, payload",
            Load::Replace => "10,000 points replaced, 768 dims",
            Load::Payload => "payloads of 1,000 points edited",
        }
    }

    fn dim(self) -> usize {
        if matches!(self, Load::Wide | Load::Replace) { 768 } else { 8 }
    }

    /// The request with that number, and its body.
    fn request(self, number: u64) -> (&'static str, Vec<u8>) {
        let point = |id: u64| {
            let vector: Vec<f32> = (0..self.dim() as u64)
                .map(|at| ((id * 31 + at * 17 + number) % 1009) as f32 / 1009.0)
                .collect();
            json!({"id": id, "vector": vector, "payload": {"n": id, "text": "some forty characters of a payload here"}})
        };
        let body = match self {
            Load::Wide | Load::Narrow => {
                json!({"points": (number * 256..(number + 1) * 256).map(point).collect::<Vec<_>>()})
            }
            Load::Replace => {
                let ids = (0..256).map(|at| (number * 7919 + at * 104_729) % 10_000);
                json!({"points": ids.map(point).collect::<Vec<_>>()})
            }
            Load::Payload if number < 40 => {
                json!({"points": (number * 256..(number + 1) * 256).map(point).collect::<Vec<_>>()})
            }
            Load::Payload => {
                let ids: Vec<u64> = (0..1000).map(|at| (number * 7919 + at * 7) % 10_000).collect();
                return ("set_payload", json!({"payload": {"k": number}, "points": ids}).to_string().into());
            }
        };
        ("upsert_points", body.to_string().into())
    }
}

/// Writes a log that no checkpoint has shortened, and opens a copy of it.
fn replay(dir: &Path, mib: u64) -> Outcome<()> {
    for load in [Load::Wide, Load::Narrow, Load::Payload] {
        let from = dir.join("written");
        let thresholds = Thresholds {
            checkpoint_bytes: usize::MAX,
            log_budget_bytes: u64::MAX,
            log_segment_bytes: 64 << 20,
            ..Thresholds::default()
        };
        let limits = Limits { max_unsaved_work: usize::MAX, ..Limits::default() };
        let options = Options { thresholds, limits, ..Options::default() };
        let engine = Engine::open(Arc::new(RealDisk::open(&from)?), options)?;
        create(&engine, load.dim())?;
        let work = || engine.catalog().shared().unsaved_work.load(Ordering::Relaxed) as u64;
        let mut number = 0;
        while work() < mib << 20 {
            let (operation, body) = load.request(number);
            call(&engine, operation, body)?;
            number += 1;
        }
        let (work, log) = (work(), engine.catalog().shared().log.size_bytes());
        let to = dir.join("copied");
        copy(&from.join("log"), &to.join("log"))?;
        engine.close();
        drop(engine);
        let start = Instant::now();
        let engine = Engine::open(Arc::new(RealDisk::open(&to)?), options)?;
        let took = start.elapsed().as_secs_f64();
        println!(
            "replay         {:<34} {:>4.0} MB of log, {:>4.0} MB of work in {took:.2} s: {:.0} MB/s",
            load.name(),
            log as f64 / 1e6,
            work as f64 / 1e6,
            work as f64 / 1e6 / took
        );
        // The data are not needed afterwards, so no checkpoint is written.
        call(&engine, "delete_collection", Vec::new())?;
        drop(engine);
        std::fs::remove_dir_all(&from)?;
        std::fs::remove_dir_all(&to)?;
    }
    Ok(())
}

/// Writes with the thresholds of a server, stops cleanly, and compares the bytes of the log and of data files.
fn amplification(dir: &Path, mib: u64) -> Outcome<()> {
    for load in [Load::Wide, Load::Narrow, Load::Replace, Load::Payload] {
        let at = dir.join("amplified");
        let disk = Arc::new(CountingDisk { disk: RealDisk::open(&at)?, bytes: Arc::default() });
        let bytes = Arc::clone(&disk.bytes);
        let engine = Engine::open(disk, Options::default())?;
        create(&engine, load.dim())?;
        let mut number = 0;
        let mut longest = 0;
        while bytes.log.load(Ordering::Relaxed) < (4 * mib) << 20 && number < 2_500 {
            let (operation, body) = load.request(number);
            call(&engine, operation, body)?;
            longest = longest.max(engine.catalog().shared().unsaved_work.load(Ordering::Relaxed));
            number += 1;
        }
        engine.close();
        let (log, data) = (bytes.log.load(Ordering::Relaxed), bytes.data.load(Ordering::Relaxed));
        println!(
            "amplification  {:<34} {:>4.0} MB of log, {:>5.0} MB of data: {:.2}; at most {:.0} MB to replay",
            load.name(),
            log as f64 / 1e6,
            data as f64 / 1e6,
            data as f64 / log as f64,
            longest as f64 / 1e6
        );
        drop(engine);
        std::fs::remove_dir_all(&at)?;
    }
    Ok(())
}

/// One point a request and one search a request, idle and while checkpoints of so many MiB are written.
fn latency(dir: &Path, mib: u64) -> Outcome<()> {
    let at = dir.join("latency");
    let thresholds =
        Thresholds { checkpoint_bytes: usize::MAX, log_budget_bytes: u64::MAX, ..Thresholds::default() };
    let options = Options { thresholds, ..Options::default() };
    let engine = Engine::open(Arc::new(RealDisk::open(&at)?), options)?;
    create(&engine, 768)?;
    let collection = engine.catalog().collections().remove(0);
    let (mut number, mut idle, mut busy) = (0, Latencies::default(), Latencies::default());
    let mut checkpoints = Vec::new();
    for _ in 0..5 {
        while collection.unsaved_work() < (mib << 18) as usize {
            let (operation, body) = Load::Wide.request(number);
            call(&engine, operation, body)?;
            number += 1;
        }
        wait_until_indexed(&engine)?;
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            idle.measure(&engine)?;
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| -> Outcome<()> {
            let checkpoint = scope.spawn(|| {
                let start = Instant::now();
                let written = collection.checkpoint(GraphPolicy::WhenGrown);
                done.store(true, Ordering::Release);
                written.map(|()| start.elapsed())
            });
            while !done.load(Ordering::Acquire) {
                busy.measure(&engine)?;
            }
            let took = checkpoint.join().map_err(|_| "the checkpoint panicked")?;
            checkpoints.push(took.map_err(|error| format!("{error:?}"))?);
            Ok(())
        })?;
    }
    println!("latency        checkpoints took {checkpoints:.0?}");
    idle.report("idle");
    busy.report("during a checkpoint");
    drop(engine);
    std::fs::remove_dir_all(&at)?;
    Ok(())
}

#[derive(Default)]
struct Latencies {
    upserts: Vec<Duration>,
    searches: Vec<Duration>,
}

impl Latencies {
    fn measure(&mut self, engine: &Engine) -> Outcome<()> {
        let number = self.upserts.len() as u64;
        let vector: Vec<f32> = (0..768).map(|at| ((number * 13 + at) % 997) as f32 / 997.0).collect();
        let upsert = json!({"points": [{"id": 1u64 << 40, "vector": vector}]}).to_string();
        let start = Instant::now();
        call(engine, "upsert_points", upsert.into())?;
        self.upserts.push(start.elapsed());
        let search = json!({"vector": vector, "limit": 10, "params": {"hnsw_ef": 64}}).to_string();
        let start = Instant::now();
        call(engine, "search", search.into())?;
        self.searches.push(start.elapsed());
        Ok(())
    }

    fn report(mut self, when: &str) {
        for (what, times) in [("upsert", &mut self.upserts), ("search", &mut self.searches)] {
            times.sort_unstable();
            let at = |share: f64| times[(times.len() as f64 * share) as usize];
            println!(
                "latency        {when:<20} {what} p50 {:.0?}  p99 {:.0?}  of {}",
                at(0.5),
                at(0.99),
                times.len()
            );
        }
    }
}

fn create(engine: &Engine, dim: usize) -> Outcome<()> {
    // No graph: only the log and the data files are measured.
    let body = json!({"vectors": {"size": dim, "distance": "Dot"}, "hnsw_config": {"ef_construct": 16}});
    call(engine, "create_collection", body.to_string().into()).map(drop)
}

/// Sends a request again as long as the engine has too much to save.
fn call(engine: &Engine, operation: &str, body: Vec<u8>) -> Outcome<Value> {
    loop {
        match requests::call(engine, operation, None, body.clone()) {
            Err(error) if is_overloaded(&*error) => std::thread::sleep(Duration::from_millis(20)),
            answer => return answer,
        }
    }
}

fn is_overloaded(error: &(dyn Error + 'static)) -> bool {
    let refused = error.downcast_ref::<kithdb_engine::error::Error>();
    refused.is_some_and(|error| error.code() == "overloaded")
}

fn copy(from: &Path, to: &PathBuf) -> Outcome<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

#[derive(Default)]
struct Bytes {
    log: AtomicU64,
    data: AtomicU64,
}

/// The real disk, with counters of the bytes appended to the log and to data files.
struct CountingDisk {
    disk: RealDisk,
    bytes: Arc<Bytes>,
}

impl CountingDisk {
    fn counted(&self, path: &str, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let in_log = path.starts_with("log/");
        let in_data = path.starts_with("collections/");
        Box::new(CountingFile { file, bytes: Arc::clone(&self.bytes), in_log, in_data })
    }
}

impl Storage for CountingDisk {
    fn create_dir_all(&self, dir: &str) -> StorageResult<()> {
        self.disk.create_dir_all(dir)
    }
    fn create(&self, path: &str) -> StorageResult<Box<dyn StorageFile>> {
        Ok(self.counted(path, self.disk.create(path)?))
    }
    fn open_append(&self, path: &str) -> StorageResult<Box<dyn StorageFile>> {
        Ok(self.counted(path, self.disk.open_append(path)?))
    }
    fn read(&self, path: &str) -> StorageResult<Vec<u8>> {
        self.disk.read(path)
    }
    fn map(&self, path: &str) -> StorageResult<Map> {
        self.disk.map(path)
    }
    fn list(&self, dir: &str) -> StorageResult<Vec<String>> {
        self.disk.list(dir)
    }
    fn exists(&self, path: &str) -> StorageResult<bool> {
        self.disk.exists(path)
    }
    fn rename(&self, from: &str, to: &str) -> StorageResult<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &str) -> StorageResult<()> {
        self.disk.remove(path)
    }
    fn remove_dir_all(&self, dir: &str) -> StorageResult<()> {
        self.disk.remove_dir_all(dir)
    }
    fn sync_dir(&self, dir: &str) -> StorageResult<()> {
        self.disk.sync_dir(dir)
    }
    fn truncate(&self, path: &str, len: u64) -> StorageResult<()> {
        self.disk.truncate(path, len)
    }
    fn lock(&self) -> StorageResult<LockGuard> {
        self.disk.lock()
    }
    fn free_bytes(&self) -> Option<u64> {
        self.disk.free_bytes()
    }
}

struct CountingFile {
    file: Box<dyn StorageFile>,
    bytes: Arc<Bytes>,
    in_log: bool,
    in_data: bool,
}

impl StorageFile for CountingFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> StorageResult<()> {
        let counter =
            if self.in_log { Some(&self.bytes.log) } else { self.in_data.then_some(&self.bytes.data) };
        if let Some(counter) = counter {
            counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.file.write_at(offset, bytes)
    }
    fn sync(&mut self) -> StorageResult<()> {
        self.file.sync()
    }
    fn truncate(&mut self, len: u64) -> StorageResult<()> {
        self.file.truncate(len)
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
}
