//! Searches of one batch that are better run together.

use super::Hit;
use super::matching::Matching;
use super::nearest::{self, Target};
use super::request::{Query, QueryRequest};
use super::run::{self, Lookup};
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;

/// Searches that one pass over the rows serves at most.
const MAX_GROUP: usize = 256;
/// Searches that a thread should have at least, for a pass of its own over the rows to be worth it.
const MIN_GROUP: usize = 8;
/// Groups that a search is compared with, so that thousands of different filters do not cost millions of comparisons.
const OPEN_GROUPS: usize = 16;

/// Divides a batch into groups for [`query_group`], as places in `requests`, ascending in each: exact scans of one
/// field under one filter together, in enough groups to occupy `threads`, and every other search for itself.
pub fn groups(snapshot: &Snapshot, requests: &[QueryRequest], threads: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut scans: Vec<usize> = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        if is_scan(snapshot, request) {
            let open = scans.iter().rev().take(OPEN_GROUPS);
            let same = |&&group: &&usize| scans_alike(&requests[groups[group][0]], request);
            if let Some(&group) = open.clone().find(same) {
                groups[group].push(at);
                continue;
            }
            scans.push(groups.len());
        }
        groups.push(vec![at]);
    }
    groups
        .into_iter()
        .flat_map(|group| {
            let parts = threads.min(group.len() / MIN_GROUP).max(group.len().div_ceil(MAX_GROUP)).max(1);
            let size = group.len().div_ceil(parts);
            group.chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether the search is one over all rows for certain.
fn is_scan(snapshot: &Snapshot, request: &QueryRequest) -> bool {
    let field = snapshot.view.state.config.field_index(&request.using);
    matches!(request.query, Query::Nearest(_))
        && field.is_some_and(|field| request.params.exact || snapshot.graphs[field].is_none())
}

fn scans_alike(a: &QueryRequest, b: &QueryRequest) -> bool {
    a.using == b.using && a.filter == b.filter
}

/// The hits of the searches of a group, each as [`run::query`] would answer it. A search that is not `allowed` is not
/// run.
pub fn query_group(
    snapshot: &Snapshot,
    requests: &[&QueryRequest],
    allowed: impl Fn(&QueryRequest) -> Result<(), Error>,
    lookup: &dyn Lookup,
    deadline: &Deadline,
) -> Vec<Result<Vec<Hit>, Error>> {
    if let [one] = requests {
        return vec![allowed(one).and_then(|()| run::query(snapshot, one, lookup, deadline))];
    }
    let target = |request: &QueryRequest| {
        allowed(request)?;
        run::nearest_target(snapshot, request, lookup)
    };
    let targets: Vec<Result<Target, Error>> = requests.iter().map(|request| target(request)).collect();
    let ready: Vec<(&Target, usize)> = targets
        .iter()
        .zip(requests)
        .filter_map(|(target, request)| Some((target.as_ref().ok()?, run::window(request))))
        .collect();
    let mut matching = Matching::new(&snapshot.view.state, requests[0].filter.as_ref());
    let scanned = nearest::scan_many(snapshot, &ready, &mut matching, deadline);
    let mut scanned = scanned.map(Vec::into_iter);
    let answers = targets.into_iter().zip(requests).map(|(target, request)| {
        let target = target?;
        match &mut scanned {
            Ok(scanned) => {
                let found = scanned.next().expect("an answer for each target");
                Ok(run::page(nearest::hits(snapshot, &target, request, found), request))
            }
            Err(error) => Err(error.clone()),
        }
    });
    answers.collect()
}
