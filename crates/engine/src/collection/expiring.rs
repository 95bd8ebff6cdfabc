//! Points whose time has come (C17): what readers see without them, and their removal.

use super::Collection;
use super::writer::{Write, WriteCall, WriteRequest};
use crate::deadline::Deadline;
use crate::faults::PlantedFault;
use crate::state::{Expiry, View};
use crate::sync::atomic::Ordering;
use crate::sync::mpsc::sync_channel;
use crate::types::PointOffset;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Points that one operation removes: a write that waits for it waits for some milliseconds.
pub const REMOVED_AT_ONCE: usize = 1000;
/// Time limit of one of them.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// About what the names of the points take.
const REMOVAL_BYTES: usize = 16 * REMOVED_AT_ONCE;

/// The last view from which points were taken whose time had come.
#[derive(Default)]
pub(super) struct Unexpired(ArcSwapOption<Taken>);

struct Taken {
    /// What it was made of.
    from: Arc<View>,
    /// It is right from the first of these times on, and before the second.
    times: (i64, i64),
    view: Arc<View>,
}

impl Collection {
    /// What readers see now: the view without the points whose time has come.
    pub fn current_view(&self) -> Arc<View> {
        self.without_expired(self.view())
    }

    /// What a write meets: in a replica also the points whose time has come, since its clock decides nothing.
    pub fn view_for_writes(&self) -> Arc<View> {
        if self.shared.is_replica { self.view() } else { self.current_view() }
    }

    /// A view without the points whose time has come.
    pub(super) fn without_expired(&self, view: Arc<View>) -> Arc<View> {
        let Some(expiry) = &view.state.expiry else { return view };
        let now = self.shared.clock.now();
        if !expiry.has_due(now) {
            return view;
        }
        if let Some(taken) = &*self.unexpired.0.load()
            && Arc::ptr_eq(&taken.from, &view)
            && (PlantedFault::UnexpiredViewKept.is_on() || (taken.times.0..taken.times.1).contains(&now))
        {
            return Arc::clone(&taken.view);
        }
        let times = (now, expiry.next_after(now));
        let taken = Arc::new(without_due(&view, expiry, now));
        let kept = Taken { from: view, times, view: Arc::clone(&taken) };
        self.unexpired.0.store(Some(Arc::new(kept)));
        taken
    }

    /// A view of the past without the points whose time has come since.
    pub fn without_expired_since(&self, view: &Arc<View>) -> Arc<View> {
        let now = self.shared.clock.now();
        match &view.state.expiry {
            Some(expiry) if expiry.has_due(now) => Arc::new(without_due(view, expiry, now)),
            _ => Arc::clone(view),
        }
    }

    /// The time for writes, where points come to their end.
    pub(super) fn now_if_expiring(&self) -> Option<i64> {
        self.shared.time_for_writes(&self.view.load().state)
    }

    /// A time by which about [`REMOVED_AT_ONCE`] points have come to their end, more only where several do at the same time: in
    /// microseconds since 1970. `None` where the time of none has come.
    pub fn expired_until(&self) -> Option<i64> {
        let view = self.view();
        view.state.expiry.as_ref()?.until(self.shared.clock.now(), REMOVED_AT_ONCE)
    }

    /// Removes some points whose time has come, in one operation. Returns whether it removed any: there may be more.
    pub fn remove_expired(self: &Arc<Self>) -> bool {
        let view = self.view();
        let now = self.shared.clock.now();
        if !view.state.expiry.as_ref().is_some_and(|expiry| expiry.has_due(now)) {
            // A view that was taken from holds memory.
            self.unexpired.0.store(None);
            return false;
        }
        drop(view);
        if self.shared.is_replica {
            return false;
        }
        self.shared.storage.yield_point("removing expired points");
        let (send, receive) = sync_channel(1);
        let call = WriteCall::plain(
            Deadline::new(Instant::now(), REMOVAL_TIMEOUT, "Removal of expired points"),
            REMOVAL_BYTES,
            Box::new(move |result| {
                // The receiver is gone if this thread was unwound.
                let _ = send.send(result.is_ok());
            }),
        );
        let before = self.shared.expired_points.load(Ordering::Relaxed);
        self.write_unqueued(WriteRequest { write: Write::RemoveExpired { until: None }, call });
        receive.recv().unwrap_or(false) && self.shared.expired_points.load(Ordering::Relaxed) > before
    }
}

fn without_due(view: &View, expiry: &Expiry, now: i64) -> View {
    let state = view.state.without(&expiry.due(now));
    let (fields, sparse) = (Arc::clone(&view.fields), Arc::clone(&view.sparse));
    View { op: view.op, lsn: view.lsn, state, fields, sparse }
}

/// The points of a head that are due, at most as many as one operation removes.
pub(super) fn due_points(expiry: &Expiry, now: i64) -> Vec<PointOffset> {
    expiry.due(now).iter().take(REMOVED_AT_ONCE).collect()
}
