//! A search of one field for the points nearest to a vector.

use super::excluded::Excluded;
use super::prepared::Step;
use super::tree::{Idf, SearchParams};
use crate::config::{CollectionConfig, EffectiveHnsw};
use crate::field::calibration::ef_by_formula;
use crate::types::Row;
use crate::vectors::VectorValue;

/// What to search for, in which field.
#[derive(Clone, Debug)]
pub struct Target {
    /// Position of the field, over all kinds of fields.
    pub field: usize,
    /// The vector as sent; it fits the field.
    pub vector: VectorValue,
    /// Which points weigh it; only of a sparse field with the modifier `idf`.
    pub idf: Option<Idf>,
}

/// Where the width of walks comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    /// From the request or the configuration.
    Given,
    /// It is to be chosen for this recall, and at most so great; until it is known how many points match, and where nothing
    /// is calibrated, it is that of a formula.
    Formula(f64, usize),
    /// The calibration has it for this recall.
    Calibrated(f64),
}

impl Width {
    /// The recall that it was chosen for.
    pub fn target(&self) -> Option<f64> {
        match *self {
            Width::Given => None,
            Width::Formula(target, _) | Width::Calibrated(target) => Some(target),
        }
    }
}

/// A search of one field for the points nearest to a vector.
#[derive(Clone, Copy)]
pub struct VectorSearch<'a> {
    /// What to search for.
    pub target: &'a Target,
    /// Hits wanted.
    pub k: usize,
    /// Width of walks through the field's graph, at least `k`; an exact search makes none.
    pub ef: usize,
    /// Where that comes from.
    pub width: Width,
    /// How to search.
    pub params: SearchParams,
    /// A row that walks do not meet, as if it were not in the graph.
    pub avoided: Option<Row>,
    /// Scores worse than this are left out.
    pub threshold: Option<f32>,
    /// Points to leave out.
    pub excluded: &'a Excluded,
}

impl<'a> VectorSearch<'a> {
    /// The search for `k` hits that a step of a query needs.
    pub fn of_step(
        config: &CollectionConfig,
        step: &'a Step,
        params: SearchParams,
        target: &'a Target,
        k: usize,
    ) -> VectorSearch<'a> {
        let hnsw = || config.effective_hnsw(config.name_at(target.field));
        let goal = |hnsw: Option<&EffectiveHnsw>| {
            params.target_recall.or_else(|| hnsw.and_then(|hnsw| hnsw.target_recall))
        };
        let (ef, width) = match (params.exact, params.hnsw_ef) {
            (true, _) => (k, Width::Given),
            (false, Some(ef)) => (ef.max(k), Width::Given),
            (false, None) => {
                let hnsw = hnsw();
                match goal(hnsw.as_ref()) {
                    Some(recall) => {
                        // No search is wider than strict mode allows a request to ask for.
                        let most = config.strict_mode().and_then(|mode| mode.search_max_hnsw_ef);
                        let most =
                            most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
                        (ef_by_formula(recall, k).min(most).max(k), Width::Formula(recall, most))
                    }
                    None => (hnsw.map_or(k, |hnsw| hnsw.ef_search).max(k), Width::Given),
                }
            }
        };
        VectorSearch {
            target,
            k,
            ef,
            width,
            params,
            avoided: None,
            threshold: step.threshold,
            excluded: &step.excluded,
        }
    }
}
