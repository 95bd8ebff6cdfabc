//! Strict mode: the limits that a collection has of its own (C4.3).

mod rates;
mod reads;
mod scope;
mod sizes;
mod writes;

pub use scope::{CollectionSize, StrictScope};

use super::Request;
use crate::collection::{Collection, State};
use crate::config::StrictMode;
use crate::error::Error;
use crate::filter::{Filter, Unindexed};
use crate::payload::{FieldKind, JsonPath};

/// The limits of a collection whose strict mode is enabled, and what they are compared with.
pub struct Strict<'a> {
    mode: StrictMode,
    collection: &'a Collection,
    state: &'a State,
    scope: StrictScope,
    /// The request is only tried.
    is_dry_run: bool,
    /// The caller may not reach all points (C15).
    hides_counts: bool,
}

impl<'a> Strict<'a> {
    /// The strict mode of a collection; `None` where it is not enabled, and for a write from a replicated stream, which was
    /// checked before it got there: replicas must not differ in what they refuse.
    ///
    /// # Errors
    /// `BadRequest` for a timeout that is too long.
    pub fn of(
        collection: &'a Collection,
        state: &'a State,
        request: &Request,
    ) -> Result<Option<Strict<'a>>, Error> {
        let mode = state.config.strict_mode().filter(|_| request.position.is_none());
        let Some(mode) = mode else { return Ok(None) };
        let seconds = match request.strict_scope {
            StrictScope::Request => request.timeout.map(|timeout| timeout.as_secs()),
            StrictScope::Check { timeout } => timeout,
            StrictScope::Part { .. } => None,
        };
        at_most("timeout", seconds, "max_timeout", mode.max_timeout)?;
        let (scope, is_dry_run) = (request.strict_scope, request.dry_run);
        let hides_counts = request.access.as_ref().is_some_and(|access| access.filter().is_some());
        Ok(Some(Strict { mode, collection, state, scope, is_dry_run, hides_counts }))
    }

    /// The kind of the field index over a path, if there is one.
    fn kind_at(&self, path: &JsonPath) -> Option<FieldKind> {
        let index = self.state.indexes.iter().find(|index| index.path() == path)?;
        Some(index.schema().kind())
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
        match filter.unindexed(&|path| self.kind_at(path)) {
            Some(missing) => Err(needs_index(place, &missing, "this filter")),
            None => Ok(()),
        }
    }
}

/// The error of a field that is read of points and has no index that strict mode asks for.
fn needs_index(place: &str, missing: &Unindexed, what: &str) -> Error {
    let kinds: Vec<&str> = missing.kinds.iter().map(|kind| kind.name()).collect();
    let which = if kinds.is_empty() { "any kind".to_string() } else { kinds.join(" or ") };
    Error::bad(format!(
        "{place}: strict mode of the collection needs an index of {which} over '{}' for {what}",
        missing.key
    ))
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
