//! The similarities of multi-vectors to the points of one field.

use super::scorer;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::FieldTable;
use crate::index::{Distance, MaxSim, Stopped};
use crate::types::{Metric, PointOffset};
use crate::vectors::MultiVector;
use kithdb_kernels::normalise;

/// Some multi-vectors, ready to be compared with the points of one field.
pub struct MultiScorer<'a> {
    view: &'a View,
    table: &'a FieldTable,
    field: usize,
    queries: Vec<MaxSim>,
    deadline: &'a Deadline,
}

impl<'a> MultiScorer<'a> {
    /// A scorer for vectors that all fit the field.
    pub fn new<'v>(
        view: &'a View,
        field: usize,
        vectors: impl Iterator<Item = &'v MultiVector>,
        deadline: &'a Deadline,
    ) -> MultiScorer<'a> {
        let table = &view.fields[field];
        let distance = Distance::of(scorer::metric_of(&view.state.config, field), table.format);
        let query = |query| MaxSim::new(distance, table.dim, prepared(distance.metric(), query));
        MultiScorer { view, table, field, queries: vectors.map(query).collect(), deadline }
    }

    /// The similarities of the live point at an offset to each of the vectors, in `out`. False when the point has no
    /// vector in the field.
    ///
    /// # Errors
    /// `Timeout`: one comparison may take long.
    pub fn similarities(&mut self, offset: PointOffset, out: &mut Vec<f32>) -> Result<bool, Error> {
        out.clear();
        let Some(first) = self.view.state.at(offset).row(self.field) else { return Ok(false) };
        let stop = || self.deadline.passed();
        for query in &mut self.queries {
            let distance = query.compare(&self.table.rows, self.table.run(first), &stop);
            // `0.0 - x` and not `-x`: no distance is −0, and no similarity either.
            out.push(0.0 - distance.map_err(|Stopped| self.deadline.error())?);
        }
        Ok(true)
    }
}

/// The rows of a query as they are compared.
pub fn prepared(metric: Metric, query: &MultiVector) -> Vec<f32> {
    let mut rows = query.components.clone();
    if metric == Metric::Cosine {
        rows.chunks_exact_mut(query.dim).for_each(normalise);
    }
    rows
}
