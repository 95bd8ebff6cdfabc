//! Searches of one batch that are better run together.

use super::Hit;
use super::matching::Matching;
use super::nearest;
use super::prepared::{Goal, Prepared};
use super::run::{self, List, Lookup};
use super::tally;
use super::tree::{Query, QueryRequest};
use super::vector_search::VectorSearch;
use crate::collection::Snapshot;
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::vectors::VectorKind;

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

/// Whether the search is one over all rows of a field of dense vectors for certain.
fn is_scan(snapshot: &Snapshot, request: &QueryRequest) -> bool {
    let (node, config) = (&request.node, &snapshot.view.state.config);
    let is_plain = matches!(node.query, Query::Nearest(_)) && node.prefetch.is_empty();
    is_plain
        && config.vector_position(&node.using).is_some_and(|field| {
            config.kind_at(field) == VectorKind::Dense
                && (node.params.exact || snapshot.graphs[field].is_none())
        })
}

fn scans_alike(a: &QueryRequest, b: &QueryRequest) -> bool {
    a.node.using == b.node.using && a.node.filter == b.node.filter
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
    let prepare = |request: &&QueryRequest| {
        allowed(request)?;
        Prepared::new(snapshot, request, lookup)
    };
    let prepared: Vec<Result<Prepared, Error>> = requests.iter().map(prepare).collect();
    let config = &snapshot.view.state.config;
    let searches: Vec<VectorSearch<'_>> =
        prepared.iter().flatten().filter_map(|one| search_of(config, one)).collect();
    let count = searches.len() as u64;
    let filter = requests[0].node.filter.as_deref();
    let mut matching = tally::planned(count, || Matching::new(&snapshot.view.state, filter, deadline));
    let scanned = nearest::scan_many(snapshot, &searches, &mut matching, deadline);
    tally::matched(count, &matching);
    let mut scanned = scanned.map(Vec::into_iter);
    let answers = prepared.iter().map(|one| {
        let one = one.as_ref().map_err(Error::clone)?;
        match &mut scanned {
            Ok(scanned) => {
                let hits = scanned.next().expect("an answer for each search");
                run::finish(snapshot, one, vec![List { hits, smaller_is_better: false }], deadline)
            }
            Err(error) => Err(error.clone()),
        }
    });
    answers.collect()
}

/// The search that a query without sources consists of, if it is one.
fn search_of<'a>(config: &CollectionConfig, prepared: &'a Prepared) -> Option<VectorSearch<'a>> {
    let root = &prepared.root;
    match &root.goal {
        Goal::Nearest(target) => Some(VectorSearch::of_step(config, root, root.params, target, root.window)),
        _ => None,
    }
}
