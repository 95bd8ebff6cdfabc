//! The scheduler's locks with the interface of parking_lot's.

use shuttle::sync as modelled;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// As parking_lot's: a panic leaves it usable.
#[derive(Default)]
pub struct Mutex<T>(modelled::Mutex<T>);

/// Holds a [`Mutex`].
pub struct MutexGuard<'a, T> {
    /// Taken out only while a [`Condvar`] waits.
    held: Option<modelled::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(modelled::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { held: Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)) }
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|held| MutexGuard { held: Some(held) })
    }

    pub fn is_locked(&self) -> bool {
        self.try_lock().is_none()
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect("held, but while waiting")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held, but while waiting")
    }
}

/// As parking_lot's. No time passes: waits never time out.
#[derive(Default)]
pub struct Condvar(modelled::Condvar);

/// How a wait with a limit ended.
pub struct Waited;

impl Waited {
    pub fn timed_out(&self) -> bool {
        false
    }
}

impl Condvar {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.held.take().expect("held, but while waiting");
        guard.held = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Instant) -> Waited {
        self.wait(guard);
        Waited
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) -> Waited {
        self.wait(guard);
        Waited
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
