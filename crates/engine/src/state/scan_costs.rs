//! What filters cost that no field index answers, by path and kinds of index: the reason for automatic indexes (C23).

use super::State;
use crate::config::FieldIndexes;
use crate::filter::{Filter, Kinds, Unindexed};
use crate::limits::Thresholds;
use crate::payload::{FieldKind, JsonPath};
use crate::sync::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The least number of documents of a filter that is counted is the least number of points of a collection, divided by this.
/// Fewer documents cost next to nothing.
const LEAST_DOCUMENTS_DIVISOR: usize = 156;
/// Building an index takes about as long as looking at every document so many times.
const SCANS_PER_BUILD: u64 = 4;
/// Paths and kinds that are counted at a time. A further one takes the place of the cheapest.
const MAX_ACCOUNTS: usize = 64;
/// What was counted is halved at this interval, so that a scan now and then never adds up to an index.
const HALVED_EVERY: Duration = Duration::from_secs(600);

/// The accounts of one collection, shared by all its states.
pub struct ScanCosts {
    accounts: Mutex<Accounts>,
    /// Points that the collection must have for its filters to be counted.
    least_points: u64,
    /// Documents that a filter must look at to be counted.
    least_documents: u64,
    /// Some account has come to what an index costs.
    is_due: AtomicBool,
}

struct Accounts {
    list: Vec<Account>,
    halved: Instant,
}

/// Documents that filters looked at for want of one of these kinds of index over a path.
struct Account {
    path: JsonPath,
    kinds: Kinds,
    documents: u64,
}

impl Default for ScanCosts {
    fn default() -> Self {
        Self::of_points(Thresholds::default().auto_index_points)
    }
}

impl ScanCosts {
    /// No costs yet, of a collection that must have so many points for them to be counted.
    pub fn of_points(least: usize) -> ScanCosts {
        let accounts = Accounts { list: Vec::new(), halved: Instant::now() };
        ScanCosts {
            accounts: Mutex::new(accounts),
            least_points: least as u64,
            least_documents: (least / LEAST_DOCUMENTS_DIVISOR).max(1) as u64,
            is_due: AtomicBool::new(false),
        }
    }

    /// Whether some path has cost more than its index would.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    /// Takes out the path that has cost most, if that is more than its index would among so many points, and the kinds of
    /// which it needs one; none where any kind answers.
    pub fn take_due(&self, points: u64) -> Option<(JsonPath, Kinds)> {
        let mut accounts = self.accounts.lock();
        let list = &mut accounts.list;
        let costliest = (0..list.len()).max_by_key(|at| list[*at].documents);
        let Some(at) = costliest.filter(|at| list[*at].documents >= cost_of_build(points)) else {
            self.is_due.store(false, Ordering::Relaxed);
            return None;
        };
        let Account { path, kinds, .. } = list.swap_remove(at);
        Some((path, kinds))
    }

    /// Forgets all counts: some may be of filters that the index which was put into use answers.
    pub fn reset(&self) {
        self.accounts.lock().list.clear();
        self.is_due.store(false, Ordering::Relaxed);
    }

    /// Halves what was counted, when it is time.
    pub fn age(&self) {
        let mut accounts = self.accounts.lock();
        if accounts.halved.elapsed() >= HALVED_EVERY {
            accounts.halved = Instant::now();
            accounts.list.iter_mut().for_each(|account| account.documents /= 2);
            accounts.list.retain(|account| account.documents > 0);
        }
    }

    fn charge(&self, missing: impl Iterator<Item = Unindexed>, documents: u64, points: u64) {
        let mut accounts = self.accounts.lock();
        for Unindexed { key, kinds } in missing {
            let list = &mut accounts.list;
            let known = list.iter().position(|account| account.path == key && account.kinds == kinds);
            let at = known.unwrap_or_else(|| {
                if list.len() >= MAX_ACCOUNTS
                    && let Some(cheapest) = (0..list.len()).min_by_key(|at| list[*at].documents)
                {
                    list.swap_remove(cheapest);
                }
                list.push(Account { path: key, kinds, documents: 0 });
                list.len() - 1
            });
            list[at].documents = list[at].documents.saturating_add(documents);
            if list[at].documents >= cost_of_build(points) {
                self.is_due.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// What building an index costs, in documents that a filter looks at.
fn cost_of_build(points: u64) -> u64 {
    points.saturating_mul(SCANS_PER_BUILD)
}

impl State {
    /// Counts the documents that a filter was checked on, for the paths that have no index at all.
    pub fn note_scan(&self, filter: &Filter, documents: u64) {
        let points = self.live.len();
        if documents < self.scan_costs.least_documents
            || points < self.scan_costs.least_points
            || self.config.field_indexes == FieldIndexes::Manual
        {
            return;
        }
        let missing = filter.indexes(&|path| self.kind_at(path)).missing.into_iter();
        let is_open = |one: &Unindexed| {
            one.kinds != [FieldKind::Text]
                && !self.has_declared(&one.key)
                && self.auto_index(&one.key).is_none()
        };
        self.scan_costs.charge(missing.filter(is_open), documents, points);
    }
}

/// Counts the documents that a filter is checked on, until it is dropped.
pub struct ScanMeter<'a> {
    state: &'a State,
    filter: &'a Filter,
    documents: Cell<u64>,
}

impl<'a> ScanMeter<'a> {
    /// A meter of one use of a filter.
    pub fn new(state: &'a State, filter: &'a Filter) -> ScanMeter<'a> {
        ScanMeter { state, filter, documents: Cell::new(0) }
    }

    /// A meter of another use of the same filter.
    pub fn another(&self) -> ScanMeter<'a> {
        ScanMeter::new(self.state, self.filter)
    }

    /// Counts a document.
    #[inline]
    pub fn count(&self) {
        self.documents.set(self.documents.get() + 1);
    }
}

impl Drop for ScanMeter<'_> {
    fn drop(&mut self) {
        self.state.note_scan(self.filter, self.documents.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(path: &str) -> Unindexed {
        Unindexed { key: JsonPath::parse(path).unwrap(), kinds: &[FieldKind::Keyword] }
    }

    fn charge(costs: &ScanCosts, path: &str, documents: u64) {
        costs.charge([missing(path)].into_iter(), documents, 100);
    }

    #[test]
    fn a_path_is_due_when_its_scans_have_cost_more_than_an_index_would_c23() {
        let costs = ScanCosts::default();
        charge(&costs, "a", 399);
        charge(&costs, "b", 399);
        assert!(!costs.is_due() && costs.take_due(100).is_none());
        charge(&costs, "b", 1);
        charge(&costs, "a", 51);
        assert!(costs.is_due());
        assert_eq!(costs.take_due(100).unwrap().0.to_string(), "a", "the costliest comes first");
        assert_eq!(costs.take_due(100).unwrap().0.to_string(), "b");
        assert!(costs.take_due(100).is_none() && !costs.is_due());
    }

    #[test]
    fn what_was_counted_before_an_index_counts_no_more_c23() {
        let costs = ScanCosts::default();
        charge(&costs, "a", 500);
        costs.reset();
        assert!(!costs.is_due() && costs.take_due(100).is_none());
    }

    #[test]
    fn accounts_are_limited_and_halved_at_intervals_c23() {
        let costs = ScanCosts::default();
        charge(&costs, "dear", 300);
        (0..200).for_each(|at| charge(&costs, &format!("cheap{at}"), 1));
        assert_eq!(costs.accounts.lock().list.len(), MAX_ACCOUNTS);
        costs.accounts.lock().halved -= HALVED_EVERY;
        costs.age();
        costs.age();
        let list = &costs.accounts.lock().list;
        assert_eq!(list.iter().map(|account| account.documents).collect::<Vec<_>>(), [150], "once");
    }
}
