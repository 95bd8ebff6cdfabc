//! Engines that several event loops of this process use, by number.
//!
//! Node loads the addon once for a process and registers it in each of its threads, so a static is shared by all event loops.
//! It has nothing of an environment of Node: each event loop has its own [`NativeEngine`](crate::NativeEngine), and with it its
//! own completions.

use crate::ProcessEngine;
use crate::completions::lock;
use std::sync::{Arc, Mutex, Weak};

/// At the place of its number, each engine that was shared. They end with the event loop that opened them.
static SHARED: Mutex<Vec<Weak<ProcessEngine>>> = Mutex::new(Vec::new());

/// The number of an engine from now on; the same for each call with one engine.
pub fn add(engine: &Arc<ProcessEngine>) -> u32 {
    let mut shared = lock(&SHARED);
    let known = shared.iter().position(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(engine)));
    let number = known.unwrap_or_else(|| {
        shared.push(Arc::downgrade(engine));
        shared.len() - 1
    });
    number as u32
}

/// The engine of a number, as long as it is there.
pub fn find(number: u32) -> Option<Arc<ProcessEngine>> {
    lock(&SHARED).get(number as usize)?.upgrade()
}
