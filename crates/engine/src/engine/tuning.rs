//! Measures once how this machine prefetches rows best, and keeps the result in the file `TUNING` of the data
//! directory.

use super::pool::Priority;
use crate::index::fetch::FetchTable;
use crate::index::tuning::Measurement;
use crate::storage::{Result, Storage};
use crate::supervision::{self, Stop, Supervisor, Task};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Name of the file, and of the next one while it is written.
const FILE: &str = "TUNING";
const NEW_FILE: &str = "TUNING.new";
/// First line of the file: what it is, and the version of its format and of the way in which it was measured.
const TITLE: &str = "kithdb tuning 2";
/// Begins the last line: the CRC32C of all before it.
const SEAL: &str = "crc32c ";

/// How rows are prefetched before they are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// As measured on this model of CPU: on a thread of its own after opening, unless the data directory has the
    /// result.
    Measured,
    /// The default for most CPUs, or what another engine of the process has measured.
    Fixed,
}

/// What this process has measured: one measurement serves all its engines.
static MEASURED: Mutex<Option<FetchTable>> = Mutex::new(None);

/// The thread that measures.
pub struct Tuner {
    stop: Arc<AtomicBool>,
    /// Ends the pause after a panic.
    pause: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Tuner {
    /// Starts it. Searches use what they have until it is done.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(storage: Arc<dyn Storage>, supervisor: &Arc<Supervisor>) -> std::io::Result<Tuner> {
        let (stop, pause) = (Arc::new(AtomicBool::new(false)), Arc::<Stop>::default());
        let stopped = Arc::clone(&stop);
        let work = move || {
            Priority::Low.take();
            let found = find(&*storage, &machine(), || {
                let mut measured = MEASURED.lock();
                *measured = measured.or_else(|| Measurement::take(Measurement::BUDGET, &stopped).table());
                *measured
            });
            if let Some(table) = found {
                table.install();
            }
        };
        let thread = supervisor.spawn("kith-tune".into(), Task::Tuning, &pause, work)?;
        Ok(Tuner { stop, pause, thread: Some(thread) })
    }

    /// Ends a measurement that still runs, and waits for the thread, at most until `deadline`. False when it still runs
    /// then.
    pub fn close(&mut self, deadline: Option<Instant>) -> bool {
        self.stop.store(true, Ordering::Relaxed);
        self.pause.request();
        supervision::join(self.thread.take(), deadline)
    }
}

/// The result that the directory has for this machine, or else a measurement, which is stored in it. If it cannot be
/// stored, the next start measures again.
fn find(
    storage: &dyn Storage,
    machine: &str,
    measure: impl FnOnce() -> Option<FetchTable>,
) -> Option<FetchTable> {
    let known = storage.read(FILE).ok().and_then(|bytes| decode(&bytes, machine));
    if known.is_some() {
        return known;
    }
    let table = measure()?;
    let _ = remember(storage, encode(&table, machine).as_bytes());
    Some(table)
}

/// Replaces the file. Its name need not be durable: what is lost is measured again.
fn remember(storage: &dyn Storage, bytes: &[u8]) -> Result<()> {
    if storage.exists(NEW_FILE)? {
        storage.remove(NEW_FILE)?;
    }
    let mut file = storage.create(NEW_FILE)?;
    file.append(bytes)?;
    file.sync()?;
    drop(file);
    storage.rename(NEW_FILE, FILE)
}

/// What a measurement holds for: model of CPU and kernels, a line each.
fn machine() -> String {
    let (vectors, codes) = (kithdb_kernels::kernels().level, kithdb_kernels::code_kernels().level);
    format!("cpu {}\nkernels {vectors:?} {codes:?}\n", cpu_model())
}

/// The model of this CPU as Linux reports it, or else the architecture.
fn cpu_model() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // x86 has one line of words, arm64 several of numbers; all cores are taken to be like the first.
    let first = cpuinfo.split("\n\n").next().unwrap_or_default();
    let names = ["model name", "CPU implementer", "CPU variant", "CPU part"];
    let values = first.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        names.contains(&name.trim()).then_some(value.trim())
    });
    let model = values.collect::<Vec<_>>().join(" ");
    if model.is_empty() { format!("{} {}", std::env::consts::OS, std::env::consts::ARCH) } else { model }
}

fn encode(table: &FetchTable, machine: &str) -> String {
    let text = format!("{TITLE}\n{machine}{}", table.to_text());
    format!("{text}{SEAL}{:08x}\n", crc32c::crc32c(text.as_bytes()))
}

/// The table of a file that [`encode`] wrote for the same machine.
fn decode(bytes: &[u8], machine: &str) -> Option<FetchTable> {
    let text = std::str::from_utf8(bytes).ok()?;
    let table = text.strip_prefix(TITLE)?.strip_prefix('\n')?.strip_prefix(machine)?;
    let table = FetchTable::from_text(table.get(..table.rfind(SEAL)?)?)?;
    (encode(&table, machine) == text).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Mode;
    use crate::engine::{Engine, Options};
    use crate::index::fetch::Fetch;
    use crate::storage::{Fault, SimDisk};
    use kithdb_kernels::Hint;

    const MACHINE: &str = "cpu A 1000\nkernels Avx2 Avx2\n";

    fn some_table() -> FetchTable {
        FetchTable::of(|_, size| Fetch { hint: Hint::L1, rows: size as u8 + 1, lines: Fetch::EVERY })
    }

    fn never() -> Option<FetchTable> {
        panic!("measured although it is known")
    }

    #[test]
    fn what_was_measured_once_is_remembered() {
        let disk = SimDisk::new();
        assert_eq!(find(&disk, MACHINE, || Some(some_table())), Some(some_table()));
        assert_eq!(disk.list("").expect("a directory"), [FILE]);
        assert_eq!(find(&disk, MACHINE, never), Some(some_table()));
    }

    #[test]
    fn another_cpu_or_other_kernels_are_measured_again() {
        let disk = SimDisk::new();
        find(&disk, MACHINE, || Some(some_table()));
        for other in ["cpu A 1000 v2\nkernels Avx2 Avx2\n", "cpu A 1000\nkernels Scalar Scalar\n"] {
            assert_eq!(find(&disk, other, || Some(FetchTable::default())), Some(FetchTable::default()));
            assert_eq!(find(&disk, other, never), Some(FetchTable::default()));
        }
    }

    #[test]
    fn a_damaged_file_is_measured_again_and_replaced() {
        let good = encode(&some_table(), MACHINE).into_bytes();
        assert_eq!(decode(&good, MACHINE), Some(some_table()));
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(decode(&bad, MACHINE), None, "byte {at}");
            assert_eq!(decode(&good[..at], MACHINE), None, "cut at {at}");
        }
        let disk = SimDisk::new();
        remember(&disk, &good[1..]).expect("it can be written");
        assert_eq!(find(&disk, MACHINE, || Some(some_table())), Some(some_table()));
        assert_eq!(disk.read(FILE).expect("a file"), good);
    }

    #[test]
    fn what_a_killed_process_left_behind_is_replaced() {
        let disk = SimDisk::new();
        disk.create(NEW_FILE).expect("a file").append(b"half").expect("bytes");
        find(&disk, MACHINE, || Some(some_table()));
        assert_eq!(disk.list("").expect("a directory"), [FILE]);
    }
    #[test]
    fn a_disk_that_fails_or_is_full_costs_only_the_stored_result() {
        for call in 0..8 {
            for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails] {
                let disk = SimDisk::new();
                disk.fail_nth(call, fault);
                assert_eq!(find(&disk, MACHINE, || Some(some_table())), Some(some_table()));
                disk.clear_faults();
                assert_eq!(find(&disk, MACHINE, || Some(some_table())), Some(some_table()));
                assert_eq!(find(&disk, MACHINE, never), Some(some_table()), "the disk works again");
            }
        }
    }

    #[test]
    fn a_measurement_without_a_result_is_not_remembered() {
        let disk = SimDisk::new();
        assert_eq!(find(&disk, MACHINE, || None), None);
        assert!(disk.list("").expect("a directory").is_empty());
    }

    #[test]
    fn an_engine_without_threads_or_with_fixed_tuning_measures_nothing() {
        for (mode, tuning) in [(Mode::Inline { seed: 1 }, Tuning::Measured), (Mode::Threaded, Tuning::Fixed)]
        {
            let disk = Arc::new(SimDisk::new());
            let options = Options { mode, tuning, ..Options::default() };
            let engine = Engine::open(disk.clone(), options).expect("it opens");
            assert!(engine.tuner.lock().is_none());
            engine.close();
            assert!(!disk.exists(FILE).expect("the disk works"));
        }
    }

    #[test]
    fn an_engine_that_measures_can_be_closed_at_once_and_opened_again() {
        let disk = Arc::new(SimDisk::new());
        for _ in 0..2 {
            let engine = Engine::open(disk.clone(), Options::default()).expect("it opens");
            engine.close();
            assert!(!disk.exists(NEW_FILE).expect("the disk works"));
        }
    }

    #[test]
    fn a_model_of_cpu_has_a_name_on_one_line() {
        assert!(!cpu_model().is_empty() && !cpu_model().contains('\n'));
    }
}
