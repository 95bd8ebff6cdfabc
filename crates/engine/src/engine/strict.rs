//! Strict mode: the limits that a collection has of its own (C4.3).

use super::Request;
use crate::collection::update::{NamedVectors, Selection, SourceSync, SyncContent, Update};
use crate::collection::{Collection, Rate, Short, State, View, Write};
use crate::config::StrictMode;
use crate::error::Error;
use crate::filter::Filter;
use crate::payload::JsonPath;
use crate::query::tree::{Example, Idf, QueryNode, QueryRequest};
use crate::types::PointId;
use crate::vectors::VectorValue;
use std::collections::HashSet;
use std::time::Instant;

/// Tokens of a write rate that an update of the points that match a filter takes, however many match: they are not known
/// before it is resolved.
const TOKENS_OF_FILTERED_UPDATE: u64 = 5;

/// Bytes of `{}`, the payload of a point without one.
const EMPTY_OBJECT: usize = 2;

/// The limits of a collection whose strict mode is enabled, and what they are compared with.
pub struct Strict<'a> {
    mode: StrictMode,
    collection: &'a Collection,
    state: &'a State,
}

impl<'a> Strict<'a> {
    /// Those of a collection; `None` where strict mode is not enabled.
    ///
    /// # Errors
    /// `BadRequest` for a timeout that is too long.
    pub fn of(
        collection: &'a Collection,
        state: &'a State,
        request: &Request,
    ) -> Result<Option<Strict<'a>>, Error> {
        let Some(mode) = state.config.strict_mode() else { return Ok(None) };
        let seconds = request.timeout.map(|timeout| timeout.as_secs());
        at_most("timeout", seconds, "max_timeout", mode.max_timeout)?;
        Ok(Some(Strict { mode, collection, state }))
    }

    /// Checks searches or queries, of a batch unless it is one alone.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_queries(&self, requests: &[QueryRequest], is_batch: bool) -> Result<(), Error> {
        if is_batch {
            let count = Some(requests.len() as u64);
            at_most("searches", count, "search_max_batchsize", self.mode.search_max_batchsize)?;
        }
        requests.iter().try_for_each(|request| self.check_node(&request.node))?;
        self.take_reads(requests.iter().map(|request| tokens_of(&request.node)).sum())
    }

    /// Checks a look-up of points by their ids.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_retrieve(&self, ids: usize) -> Result<(), Error> {
        self.take_reads(ids as u64)
    }

    /// Checks a further page of a read that was checked when it began.
    ///
    /// # Errors
    /// `RateLimited`
    pub fn check_page(&self) -> Result<(), Error> {
        self.take_reads(1)
    }

    fn check_node(&self, node: &QueryNode) -> Result<(), Error> {
        let mode = &self.mode;
        at_most(&node.path("limit"), Some(node.limit as u64), "max_query_limit", mode.max_query_limit)?;
        let ef = node.params.hnsw_ef.map(|ef| ef as u64);
        at_most(&node.path("params.hnsw_ef"), ef, "search_max_hnsw_ef", mode.search_max_hnsw_ef)?;
        let oversampling = node.params.quantization.oversampling.map(f64::from);
        let place = node.path("params.quantization.oversampling");
        at_most(&place, oversampling, "search_max_oversampling", mode.search_max_oversampling)?;
        if node.params.exact && mode.search_allow_exact == Some(false) {
            let place = node.path("params.exact");
            return Err(Error::bad(format!(
                "{place}: strict mode of the collection has search_allow_exact: false"
            )));
        }
        if mode.search_allow_exact == Some(false)
            && node.explain.as_ref().is_some_and(|asked| !asked.why.is_empty())
        {
            let place = node.path("params.why");
            return Err(Error::bad(format!(
                "{place}: it compares exactly, and strict mode of the collection has search_allow_exact: false"
            )));
        }
        self.check_filter(&node.path("filter"), node.filter.as_deref(), mode.unindexed_filtering_retrieve)?;
        if let Some(Idf::Corpus(filter)) = &node.idf {
            let place = node.path("params.idf.corpus");
            self.check_filter(&place, Some(filter), mode.unindexed_filtering_retrieve)?;
        }
        node.prefetch.iter().try_for_each(|source| self.check_node(source))
    }

    /// Checks a page, a count, a facet or a matrix.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_read(&self, limit: Option<usize>, filter: Option<&Filter>) -> Result<(), Error> {
        let limit = limit.map(|limit| limit as u64);
        at_most("limit", limit, "max_query_limit", self.mode.max_query_limit)?;
        self.check_filter("filter", filter, self.mode.unindexed_filtering_retrieve)?;
        self.take_reads(1 + filter.map_or(0, |filter| filter.conditions() as u64))
    }

    /// Checks the plan of a sync.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_scope(&self, scope: &Filter) -> Result<(), Error> {
        self.check_filter("scope", Some(scope), self.mode.unindexed_filtering_retrieve)?;
        self.take_reads(1 + scope.conditions() as u64)
    }

    fn take_reads(&self, tokens: u64) -> Result<(), Error> {
        take(&self.collection.rates().reads, self.mode.read_rate_limit, tokens, "read_rate_limit")
    }

    /// Checks that a field that is read of every point has an index where filters need one.
    ///
    /// # Errors
    /// `BadRequest` that names the limit.
    pub fn check_key(&self, place: &str, key: &JsonPath) -> Result<(), Error> {
        let has_index = self.state.indexes.iter().any(|index| index.path() == key);
        if self.mode.unindexed_filtering_retrieve == Some(false) && !has_index {
            return Err(Error::bad(format!(
                "{place}: field '{key}' has no index, and strict mode of the collection has unindexed_filtering_retrieve: false"
            )));
        }
        Ok(())
    }

    fn check_filter(
        &self,
        place: &str,
        filter: Option<&Filter>,
        unindexed: Option<bool>,
    ) -> Result<(), Error> {
        let Some(filter) = filter else { return Ok(()) };
        let mode = &self.mode;
        let conditions = Some(filter.conditions() as u64);
        at_most(place, conditions, "filter_max_conditions", mode.filter_max_conditions)?;
        let listed = Some(filter.longest_list() as u64);
        at_most(place, listed, "condition_max_size", mode.condition_max_size)?;
        if unindexed != Some(false) {
            return Ok(());
        }
        let kind_at = |path: &JsonPath| {
            let index = self.state.indexes.iter().find(|index| index.path() == path)?;
            Some(index.schema().kind())
        };
        let Some(missing) = filter.unindexed(&kind_at) else { return Ok(()) };
        let kinds: Vec<&str> = missing.kinds.iter().map(|kind| kind.name()).collect();
        let which = if kinds.is_empty() { "any kind".to_string() } else { kinds.join(" or ") };
        Err(Error::bad(format!(
            "{place}: strict mode of the collection needs an index of {which} over '{}' for this filter",
            missing.key
        )))
    }

    /// Checks a write.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_write(&self, view: &View, write: &Write) -> Result<(), Error> {
        match write {
            Write::Points { updates, .. } => {
                updates.iter().try_for_each(|update| self.check_update(update))?;
                self.check_points(view, updates)?;
                self.check_sizes(view, updates)?;
                let tokens = updates.iter().map(tokens_of_update).sum();
                take(&self.collection.rates().updates, self.mode.write_rate_limit, tokens, "write_rate_limit")
            }
            Write::CreateIndex { path, .. } => {
                let others = self.state.indexes.iter().filter(|index| index.path() != path).count() as u64;
                let most = self.mode.max_payload_index_count;
                at_most("field indexes", Some(others + 1), "max_payload_index_count", most)
            }
            _ => Ok(()),
        }
    }

    fn check_update(&self, update: &Update) -> Result<(), Error> {
        let most = self.mode.upsert_max_batchsize;
        let size = |points: usize| at_most("points", Some(points as u64), "upsert_max_batchsize", most);
        let unindexed = self.mode.unindexed_filtering_update;
        match update {
            Update::Upsert { points, update_filter, .. } => {
                size(points.len())?;
                self.check_lengths(points.iter().map(|point| &point.vectors))?;
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
            }
            Update::UpdateVectors { points, update_filter, .. } => {
                size(points.len())?;
                self.check_lengths(points.iter().map(|point| &point.vectors))?;
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
            }
            Update::Sync(sync) => {
                size(sync.sent_contents)?;
                self.check_lengths(contents_of(sync).map(|(_, content)| &content.vectors))?;
                self.check_filter("scope", Some(&sync.scope), unindexed)
            }
            Update::Delete(selection) | Update::ClearPayload(selection) => self.check_selection(selection),
            Update::DeleteVectors { selection, .. }
            | Update::SetPayload { selection, .. }
            | Update::OverwritePayload { selection, .. }
            | Update::DeletePayload { selection, .. } => self.check_selection(selection),
        }
    }

    fn check_selection(&self, selection: &Selection) -> Result<(), Error> {
        match selection {
            Selection::Ids(..) => Ok(()),
            Selection::Filter(filter) => {
                self.check_filter("filter", Some(filter), self.mode.unindexed_filtering_update)
            }
        }
    }

    /// How many points there would be: with all new ones of the request, whatever it deletes.
    fn check_points(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        let Some(most) = self.mode.max_points_count else { return Ok(()) };
        let upserted = updates.iter().flat_map(|update| -> Box<dyn Iterator<Item = PointId> + '_> {
            match update {
                Update::Upsert { points, .. } => Box::new(points.iter().map(|point| point.id)),
                Update::Sync(sync) => Box::new(contents_of(sync).map(|(id, _)| id)),
                _ => Box::new(std::iter::empty()),
            }
        });
        let new: HashSet<PointId> = upserted.filter(|id| self.state.offset(*id).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = (view.points_count() + new.len()) as u64;
        at_most("points of the collection", Some(count), "max_points_count", Some(most))
    }

    /// How many rows a multi-vector and how many indices a sparse vector has.
    fn check_lengths<'v>(&self, points: impl Iterator<Item = &'v NamedVectors>) -> Result<(), Error> {
        let mode = &self.mode;
        if mode.multivector_rows.is_empty() && mode.sparse_indices.is_empty() {
            return Ok(());
        }
        for (at, vectors) in points.enumerate() {
            for (name, value) in vectors {
                let (limits, length, kind, unit, setting) = match value {
                    VectorValue::Dense(_) => continue,
                    VectorValue::Multi(rows) => {
                        (&mode.multivector_rows, rows.len(), "Multivector", "vectors", "multivector_config")
                    }
                    VectorValue::Sparse(sparse) => {
                        (&mode.sparse_indices, sparse.len(), "Sparse vector", "indices", "sparse_config")
                    }
                };
                let most = limits.iter().find(|(named, _)| named == name).map(|(_, most)| *most);
                if most.is_some_and(|most| length as u64 > most) {
                    let most = most.unwrap_or_default();
                    return Err(Error::bad(format!(
                        "points[{at}].vector: {kind} '{name}' has a limit of {most} {unit}, but {length} were provided! ({setting} of the collection's strict mode)"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether there is room for what the updates bring: a limit that is reached refuses whatever brings more, so the size
    /// may exceed it by what one request brings.
    fn check_sizes(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        let (mut vectors, mut payloads) = (false, false);
        for update in updates {
            match update {
                Update::Upsert { points, .. } => {
                    vectors |= points.iter().any(|point| !point.vectors.is_empty());
                    payloads |= points.iter().any(|point| point.payload.len() > EMPTY_OBJECT);
                }
                Update::Sync(sync) => {
                    vectors |= contents_of(sync).any(|(_, content)| !content.vectors.is_empty());
                    payloads |= contents_of(sync).any(|(_, content)| content.payload.len() > EMPTY_OBJECT);
                }
                Update::UpdateVectors { .. } => vectors = true,
                Update::SetPayload { .. } | Update::OverwritePayload { .. } => payloads = true,
                _ => {}
            }
        }
        let limits = [
            (vectors, "vector", self.mode.max_collection_vector_size_bytes),
            (payloads, "payload", self.mode.max_collection_payload_size_bytes),
        ];
        for (brings, what, most) in limits {
            let Some(most) = most.filter(|_| brings) else { continue };
            let size = if what == "vector" { view.live_vector_bytes() } else { self.state.payload_bytes };
            if size >= most {
                return Err(Error::bad(format!(
                    "Max {what} storage size limit of {most} bytes reached: the collection has {size} (max_collection_{what}_size_bytes of its strict mode)"
                )));
            }
        }
        Ok(())
    }
}

/// Tokens of a read rate that a query takes: one for each vector that it compares points with, a row of a multi-vector
/// each, and at least one; one for each condition of its filter; and those of its prefetches.
fn tokens_of(node: &QueryNode) -> u64 {
    let mut vectors = 0;
    node.query.for_each_example(&mut |example| {
        vectors += match example {
            Example::Vector(VectorValue::Multi(rows), _) => rows.len() as u64,
            _ => 1,
        };
    });
    let conditions = node.filter.as_ref().map_or(0, |filter| filter.conditions() as u64);
    vectors.max(1) + conditions + node.prefetch.iter().map(tokens_of).sum::<u64>()
}

/// Tokens of a write rate that an update takes: one for each point that it names.
fn tokens_of_update(update: &Update) -> u64 {
    match update {
        Update::Upsert { points, .. } => points.len() as u64,
        Update::UpdateVectors { points, .. } => points.len() as u64,
        Update::Sync(sync) => sync.sent_contents as u64 + TOKENS_OF_FILTERED_UPDATE,
        Update::Delete(selection)
        | Update::ClearPayload(selection)
        | Update::DeleteVectors { selection, .. }
        | Update::SetPayload { selection, .. }
        | Update::OverwritePayload { selection, .. }
        | Update::DeletePayload { selection, .. } => match selection {
            Selection::Ids(ids, _) => ids.len() as u64,
            Selection::Filter(_) => TOKENS_OF_FILTERED_UPDATE,
        },
    }
}

/// The points of a sync that have content.
fn contents_of(sync: &SourceSync) -> impl Iterator<Item = (PointId, &SyncContent)> {
    sync.entries.iter().filter_map(|entry| Some((entry.id, entry.content.as_deref()?)))
}

/// Takes tokens of a rate, if it is limited. The sentence of a rate that is used up is Qdrant's.
fn take(rate: &Rate, limit: Option<u64>, tokens: u64, name: &str) -> Result<(), Error> {
    let Some(limit) = limit else { return Ok(()) };
    rate.take(limit, tokens, Instant::now()).map_err(|short| match short {
        Short::Never => Error::bad(format!(
            "request: takes {tokens} tokens, which exceeds {name}: {limit} of the collection's strict mode; split it"
        )),
        Short::Until(left, wait) => {
            let seconds = (wait.as_secs_f64().ceil() as u64).max(1);
            let what = if name == "read_rate_limit" { "Read" } else { "Write" };
            let text = format!(
                "Rate limiting exceeded: {what} rate limit exceeded: Operation requires {tokens} tokens but only {left:.1} were available. Retry after {seconds}s"
            );
            Error::RateLimited(text, seconds)
        }
    })
}

fn at_most<N: PartialOrd + std::fmt::Display>(
    place: &str,
    value: Option<N>,
    name: &str,
    most: Option<N>,
) -> Result<(), Error> {
    match (value, most) {
        (Some(value), Some(most)) if value > most => Err(Error::bad(format!(
            "{place}: {value} exceeds {name}: {most} of the collection's strict mode"
        ))),
        _ => Ok(()),
    }
}
