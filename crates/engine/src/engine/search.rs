//! Searches and queries on several threads: those of a batch, and the prefetches of one query.

use super::access::{Access, Right};
use super::pool::Pool;
use super::profile::Profile;
use super::read::check_names;
use super::{Core, Request, shared_work};
use crate::catalog::Catalog;
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::query::groups::{self, Group};
use crate::query::request::GroupsRequest;
use crate::query::tree::QueryRequest;
use crate::query::{self, Explanation, Hit, List, Lookup, Prepared, Shown, Totals};
use crate::scheduling::lane;
use crate::types::PointOffset;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where it is added up what searches did.
struct Sums {
    of_engine: Arc<Totals>,
    of_request: Option<Arc<Profile>>,
}

impl Sums {
    fn of(core: &Core, request: &Request) -> Sums {
        Sums { of_engine: Arc::clone(&core.searches), of_request: profile_of(request).cloned() }
    }

    /// Adds what this thread's searches did.
    fn settle(&self) {
        let (tally, costs) = query::take_work();
        lane::when_answered(&self.of_engine, move |sums| sums.add(tally));
        if let Some(profile) = &self.of_request {
            profile.add(tally, costs);
        }
    }
}

/// Where the profile of a request is. One that runs on the thread of its caller is short, and may be given up and run again.
fn profile_of(request: &Request) -> Option<&Arc<Profile>> {
    request.profile.as_ref().filter(|_| !lane::is_here())
}

/// The hits of a query that `of` asks for. Its prefetches are searched for on this thread and those that are free.
pub fn one(
    core: &Core,
    of: &Request,
    snapshot: &Arc<Snapshot>,
    request: &QueryRequest,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    hits(core, of, snapshot, &Arc::new(prepare(core, of, snapshot, request, deadline)?), deadline)
}

/// A query made ready to run.
pub fn prepare(
    core: &Core,
    of: &Request,
    snapshot: &Snapshot,
    request: &QueryRequest,
    deadline: &Deadline,
) -> Result<Prepared, Error> {
    check_names(&snapshot.view, &request.with.vector)?;
    request.node.check_models(&snapshot.view.state.config)?;
    let others = Others { catalog: &core.catalog, access: of.access.as_ref(), deadline };
    Prepared::new(snapshot, request, &others)
}

/// The hits of a query that is ready to run.
pub fn hits(
    core: &Core,
    of: &Request,
    snapshot: &Arc<Snapshot>,
    prepared: &Arc<Prepared>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let hits = if prepared.root.sources.is_empty() {
        query::run(snapshot, prepared, deadline)
    } else {
        search_leaves(core, of, snapshot, prepared, deadline)
            .and_then(|lists| query::finish(snapshot, prepared, lists, deadline))
    };
    Sums::of(core, of).settle();
    hits
}

/// The groups of a query (C12).
pub fn groups<'v>(
    core: &Core,
    of: &Request,
    snapshot: &'v Arc<Snapshot>,
    request: &GroupsRequest,
    deadline: &Deadline,
) -> Result<Vec<Group<'v>>, Error> {
    check_names(&snapshot.view, &request.query.with.vector)?;
    let widened = groups::widened(request, core.limits.max_result_window);
    widened.node.check_models(&snapshot.view.state.config)?;
    let others = Others { catalog: &core.catalog, access: of.access.as_ref(), deadline };
    let mut prepared = Prepared::new(snapshot, &widened, &others)?;
    if groups::can_continue(&prepared) {
        let found = groups::search(snapshot, &prepared, request, deadline);
        Sums::of(core, of).settle();
        return found;
    }
    groups::find_all(&mut prepared);
    let prepared = Arc::new(prepared);
    let hits = hits(core, of, snapshot, &prepared, deadline)?;
    Ok(groups::group_hits(snapshot, &prepared, request, &hits))
}

/// The hits of a query and what it did, on this thread.
///
/// # Errors
/// As [`one`], and those of [`query::explain`].
pub fn explained(
    core: &Core,
    of: &Request,
    snapshot: &Snapshot,
    request: &QueryRequest,
    deadline: &Deadline,
) -> Result<(Vec<Hit>, Explanation), Error> {
    check_names(&snapshot.view, &request.with.vector)?;
    request.node.check_models(&snapshot.view.state.config)?;
    let others = Others { catalog: &core.catalog, access: of.access.as_ref(), deadline };
    let (hits, explanation) = query::explain(snapshot, request, &others, deadline)?;
    if let Some(profile) = profile_of(of) {
        explanation.steps.iter().for_each(|step| profile.add(step.tally, None));
    }
    Ok((hits, explanation))
}

/// What each leaf of a query finds.
///
/// # Errors
/// The error of the first leaf that fails.
fn search_leaves(
    core: &Core,
    of: &Request,
    snapshot: &Arc<Snapshot>,
    prepared: &Arc<Prepared>,
    deadline: &Deadline,
) -> Result<Vec<List>, Error> {
    let count = prepared.leaves().len();
    let answers = Arc::new(Answers::of(count));
    let work = {
        let (sums, deadline) = (Sums::of(core, of), deadline.clone());
        let (answers, snapshot, prepared) =
            (Arc::clone(&answers), Arc::clone(snapshot), Arc::clone(prepared));
        move |at: usize| {
            if answers.is_wanted(at) {
                answers.put(at, query::leaf(&snapshot, prepared.leaves()[at], &deadline));
                sums.settle();
            }
        }
    };
    shared_work::run_on_pool(&core.reads, count, work);
    answers.take().map_err(|(_, error)| error)
}

/// The hits of each search of a batch, on this thread and those that are free.
///
/// # Errors
/// The error of the first search that fails, with its place in the batch.
pub fn batch(
    core: &Core,
    of: &Request,
    snapshot: &Arc<Snapshot>,
    requests: &Arc<Vec<QueryRequest>>,
    deadline: &Deadline,
) -> Result<Vec<Vec<Hit>>, Error> {
    let threads = core.reads.lock().as_ref().map_or(1, Pool::threads);
    let groups = query::groups(snapshot, requests, threads);
    let answers = Arc::new(Answers::of(requests.len()));
    let work = {
        let (catalog, sums, deadline) = (Arc::clone(&core.catalog), Sums::of(core, of), deadline.clone());
        let (answers, snapshot, requests) =
            (Arc::clone(&answers), Arc::clone(snapshot), Arc::clone(requests));
        let access = of.access.clone();
        move |group: &[usize]| {
            // What comes after a failure is not answered.
            if answers.is_wanted(group[0]) {
                let members: Vec<&QueryRequest> = group.iter().map(|&at| &requests[at]).collect();
                let allowed = |one: &QueryRequest| {
                    check_names(&snapshot.view, &one.with.vector)?;
                    one.node.check_models(&snapshot.view.state.config)
                };
                let others = Others { catalog: &catalog, access: access.as_ref(), deadline: &deadline };
                let hits = query::query_group(&snapshot, &members, allowed, &others, &deadline);
                sums.settle();
                group.iter().zip(hits).for_each(|(&at, hits)| answers.put(at, hits));
            }
        }
    };
    let count = groups.len();
    shared_work::run_on_pool(&core.reads, count, move |at| work(&groups[at]));
    answers.take().map_err(|(at, error)| error.within(format!("searches[{at}]")))
}

/// The answers to the parts of a request, as they come.
struct Answers<T> {
    /// Place of the first part that failed.
    first_failure: AtomicUsize,
    found: Mutex<Vec<Result<T, Error>>>,
}

impl<T> Answers<T> {
    fn of(count: usize) -> Answers<T> {
        let none = || Err(Error::Internal("a part of a request was left out".into()));
        Answers {
            first_failure: AtomicUsize::new(usize::MAX),
            found: Mutex::new(std::iter::repeat_with(none).take(count).collect()),
        }
    }

    fn is_wanted(&self, at: usize) -> bool {
        at < self.first_failure.load(Ordering::Relaxed)
    }

    fn put(&self, at: usize, found: Result<T, Error>) {
        if found.is_err() {
            self.first_failure.fetch_min(at, Ordering::Relaxed);
        }
        self.found.lock()[at] = found;
    }

    /// All of them, or the first failure with its place.
    fn take(&self) -> Result<Vec<T>, (usize, Error)> {
        let found = std::mem::take(&mut *self.found.lock());
        found.into_iter().enumerate().map(|(at, found)| found.map_err(|error| (at, error))).collect()
    }
}

/// Collections that a query names beside its own.
struct Others<'a> {
    catalog: &'a Arc<Catalog>,
    /// What the caller may reach.
    access: Option<&'a Arc<Access>>,
    /// Until when it waits for one that wakes.
    deadline: &'a Deadline,
}

impl Lookup for Others<'_> {
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error> {
        let held = self.catalog.enter(name)?.until(self.deadline);
        self.access.map_or(Ok(()), |access| access.check(&held.entry().name, Right::Read))?;
        Ok(Arc::new(held.collection()?.snapshot()))
    }

    fn shows(&self, view: &View, offset: PointOffset) -> Result<bool, Error> {
        let within = self.access.and_then(|access| access.filter());
        let within = within.filter(|_| !PlantedFault::ExampleOutsideToken.is_on());
        Shown::new(within.map(|within| &**within), self.deadline).has(&view.state, offset)
    }
}
