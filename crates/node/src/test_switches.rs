//! Switches that only tests set. An addon with the feature `testing` exports `setTestSwitches`; the product does not.

use crate::completions::lock;
use kithdb_engine::{
    CrashPoint, CrashPoints, Engine, LockGuard, OpenError, Options, PlantedPanic, Storage, Supervisor,
    refuse_from,
};
use napi_derive::napi;
use std::sync::{Arc, Mutex};

/// Switches for the engines that this process opens from now on.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct TestSwitches {
    /// Operations on the collection `__panic__` panic.
    pub panics_on_request: Option<bool>,
    /// Background work starts at thresholds of a few kilobytes and rows, and is due every 10 ms: a small
    /// collection is checkpointed, vacuumed and cut from the log many times a second.
    pub eager: Option<bool>,
    /// `NAME:COUNT`: the process is killed when it reaches the crash point `NAME` for the `COUNT`-th time since the
    /// engine was opened. `crates/engine/src/storage/crash_points.rs` lists the names.
    pub crash_point: Option<String>,
    /// `TASK:TIMES`: the background task panics the next so many times. `crates/engine/src/supervision/task.rs` has the
    /// names.
    pub panic_in: Option<String>,
    /// The system seems to refuse allocations of so many bytes and more, of buffers and arenas of the engine.
    pub refuse_from: Option<u32>,
}

static SWITCHES: Mutex<TestSwitches> = Mutex::new(TestSwitches {
    panics_on_request: None,
    eager: None,
    crash_point: None,
    panic_in: None,
    refuse_from: None,
});

/// Replaces all switches; those that are absent are off.
///
/// # Errors
/// When `crashPoint` is not of the form `NAME:COUNT`, or `panicIn` not of the form `TASK:TIMES`.
#[napi(catch_unwind)]
pub fn set_test_switches(switches: TestSwitches) -> napi::Result<()> {
    crash_point(&switches).map_err(napi::Error::from_reason)?;
    panic_in(&switches).map_err(napi::Error::from_reason)?;
    refuse_from(switches.refuse_from.map_or(usize::MAX, |bytes| bytes as usize));
    *lock(&SWITCHES) = switches;
    Ok(())
}

/// Opens an engine as the switches say.
pub fn open(
    storage: Arc<dyn Storage>,
    held: LockGuard,
    options: Options,
    supervisor: &Arc<Supervisor>,
) -> Result<Engine, OpenError> {
    let (options, crash_point) = {
        let switches = lock(&SWITCHES);
        let options = if switches.eager.unwrap_or(false) { options.eager() } else { options };
        let panics_on_request = switches.panics_on_request.unwrap_or(false);
        let panics_in = panic_in(&switches).ok().flatten();
        (Options { panics_on_request, panics_in, ..options }, crash_point(&switches).ok().flatten())
    };
    let storage = match crash_point {
        Some(point) => Arc::new(CrashPoints::new(storage, point)),
        None => storage,
    };
    Engine::open_held(storage, held, options, supervisor)
}

fn crash_point(switches: &TestSwitches) -> Result<Option<CrashPoint>, String> {
    switches.crash_point.as_deref().map(str::parse).transpose()
}

fn panic_in(switches: &TestSwitches) -> Result<Option<PlantedPanic>, String> {
    switches.panic_in.as_deref().map(str::parse).transpose()
}
