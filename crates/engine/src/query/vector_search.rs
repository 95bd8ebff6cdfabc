//! A search of one field for the points nearest to a vector.

use super::excluded::Excluded;
use super::prepared::Step;
use super::tree::{Idf, SearchParams};
use crate::config::CollectionConfig;
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

/// A search of one field for the points nearest to a vector.
#[derive(Clone, Copy)]
pub struct VectorSearch<'a> {
    /// What to search for.
    pub target: &'a Target,
    /// Hits wanted.
    pub k: usize,
    /// Width of walks through the field's graph, at least `k`; an exact search makes none.
    pub ef: usize,
    /// How to search.
    pub params: SearchParams,
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
        let configured = || {
            let hnsw = config.effective_hnsw(config.name_at(target.field));
            hnsw.map_or(k, |hnsw| hnsw.ef_search)
        };
        let ef = if params.exact { k } else { params.hnsw_ef.unwrap_or_else(configured).max(k) };
        VectorSearch { target, k, ef, params, threshold: step.threshold, excluded: &step.excluded }
    }
}
