//! Strict mode: the limits that a collection has of its own (C4.3).

use super::Request;
use crate::collection::State;
use crate::collection::update::{Selection, Update};
use crate::collection::{View, Write};
use crate::config::StrictMode;
use crate::error::Error;
use crate::filter::Filter;
use crate::payload::JsonPath;
use crate::query::tree::{Idf, QueryNode, QueryRequest};
use crate::types::PointId;
use std::collections::HashSet;

/// The limits of a collection whose strict mode is enabled, and what they are compared with.
pub struct Strict<'a> {
    mode: StrictMode,
    state: &'a State,
}

impl<'a> Strict<'a> {
    /// Those of a collection; `None` where strict mode is not enabled.
    ///
    /// # Errors
    /// `BadRequest` for a timeout that is too long.
    pub fn of(state: &'a State, request: &Request) -> Result<Option<Strict<'a>>, Error> {
        let Some(mode) = state.config.strict_mode() else { return Ok(None) };
        let seconds = request.timeout.map(|timeout| timeout.as_secs());
        at_most("timeout", seconds, "max_timeout", mode.max_timeout)?;
        Ok(Some(Strict { mode, state }))
    }

    /// Checks searches or queries, of a batch unless it is one alone.
    ///
    /// # Errors
    /// `BadRequest` that names the limit.
    pub fn check_queries(&self, requests: &[QueryRequest], is_batch: bool) -> Result<(), Error> {
        if is_batch {
            let count = Some(requests.len() as u64);
            at_most("searches", count, "search_max_batchsize", self.mode.search_max_batchsize)?;
        }
        requests.iter().try_for_each(|request| self.check_node(&request.node))
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
    /// `BadRequest` that names the limit.
    pub fn check_read(&self, limit: Option<usize>, filter: Option<&Filter>) -> Result<(), Error> {
        let limit = limit.map(|limit| limit as u64);
        at_most("limit", limit, "max_query_limit", self.mode.max_query_limit)?;
        self.check_filter("filter", filter, self.mode.unindexed_filtering_retrieve)
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
    /// `BadRequest` that names the limit.
    pub fn check_write(&self, view: &View, write: &Write) -> Result<(), Error> {
        match write {
            Write::Points { updates, .. } => {
                updates.iter().try_for_each(|update| self.check_update(update))?;
                self.check_points(view, updates)
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
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
            }
            Update::UpdateVectors { points, update_filter, .. } => {
                size(points.len())?;
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
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
        let upserted = updates.iter().filter_map(|update| match update {
            Update::Upsert { points, .. } => Some(points),
            _ => None,
        });
        let ids = upserted.flatten().map(|point| point.id);
        let new: HashSet<PointId> = ids.filter(|id| self.state.offset(*id).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = (view.points_count() + new.len()) as u64;
        at_most("points of the collection", Some(count), "max_points_count", Some(most))
    }
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
