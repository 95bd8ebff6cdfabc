//! Vectors of any kind against the points of one field. Only this module distinguishes the kinds.
//!
//! | question | answered by |
//! |---|---|
//! | does this vector fit that field? | [`fit`] |
//! | which vector has that point? | [`vector_of`] |
//! | which points are nearest to a vector? | [`nearest`] |
//! | how similar is one point to some vectors? | [`Scorer`] |
//!
//! Inside, a point has a *similarity* to a vector: larger is better, −(squared distance) under Euclid, −(sum of
//! differences) under Manhattan, the product otherwise. What clients see is [`Metric::score`] of the negated
//! similarity.

use super::matching::Matching;
use super::multi;
use super::multi_scorer::MultiScorer;
use super::rows::RowFinder;
use super::sparse::SparseSearch;
use super::tree::Idf;
use super::vector_search::VectorSearch;
use super::{Hit, nearest};
use crate::collection::{Snapshot, View};
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::FieldTable;
use crate::index::Distance;
use crate::types::{Metric, PointOffset};
use crate::vectors::{MultiVector, VectorKind, VectorValue};
use kithdb_kernels::normalise;

/// The metric of a field: what its similarities mean.
pub fn metric_of(config: &CollectionConfig, field: usize) -> Metric {
    // Sparse vectors are compared by their product.
    config.fields().get(field).map_or(Metric::Dot, |(_, params)| params.metric)
}

/// The vector in the form in which the field's points are compared with it, as sent otherwise.
///
/// # Errors
/// `DimensionMismatch`; `BadRequest` for a vector of another kind, after the place that it stands at.
pub fn fit(
    config: &CollectionConfig,
    field: usize,
    vector: VectorValue,
    place: impl Fn() -> String,
) -> Result<VectorValue, Error> {
    let name = config.name_at(field);
    let size = |got: usize| match config.fields()[field].1.size {
        expected if expected == got => Ok(()),
        expected => Err(Error::DimensionMismatch { name: name.to_string(), expected, got }),
    };
    match (config.kind_at(field), vector) {
        (VectorKind::Dense, VectorValue::Dense(components)) => {
            size(components.len())?;
            Ok(VectorValue::Dense(components))
        }
        // One vector is one row.
        (VectorKind::Multi, VectorValue::Dense(components)) => {
            size(components.len())?;
            Ok(VectorValue::Multi(MultiVector { dim: components.len(), components }))
        }
        (VectorKind::Multi, VectorValue::Multi(multi)) => {
            size(multi.dim)?;
            Ok(VectorValue::Multi(multi))
        }
        (VectorKind::Sparse, VectorValue::Sparse(sparse)) => Ok(VectorValue::Sparse(sparse)),
        (kind, vector) => Err(Error::bad(format!(
            "{}: vector '{name}' is compared with {}, got {}",
            place(),
            kind.words(),
            vector.kind().words()
        ))),
    }
}

/// The vector of the live point at an offset, as clients read it back.
pub fn vector_of(view: &View, field: usize, offset: PointOffset) -> Option<VectorValue> {
    view.vector(view.state.at(offset), field)
}

/// The best points that match, best first, ties by id.
///
/// # Errors
/// `Timeout`.
pub fn nearest(
    snapshot: &Snapshot,
    search: &VectorSearch<'_>,
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    match &search.target.vector {
        VectorValue::Dense(components) => nearest::dense(snapshot, search, components, matching, deadline),
        VectorValue::Sparse(vector) => SparseSearch::new(
            &snapshot.view,
            search.target.field,
            vector,
            search.target.idf.as_ref(),
            deadline,
        )?
        .nearest(search, matching, deadline),
        VectorValue::Multi(rows) => multi::nearest(snapshot, search, rows, matching, deadline),
    }
}

/// Some vectors, ready to be compared with the points of one field.
pub struct Scorer<'a>(Kind<'a>);

enum Kind<'a> {
    Dense(Dense<'a>),
    Sparse(Vec<SparseSearch<'a>>),
    Multi(MultiScorer<'a>),
}

impl<'a> Scorer<'a> {
    /// A scorer for vectors that all fit the field; there is at least one.
    ///
    /// # Errors
    /// `Timeout`.
    ///
    /// # Panics
    /// When one does not.
    pub fn new(
        view: &'a View,
        field: usize,
        vectors: &[&VectorValue],
        idf: Option<&Idf>,
        deadline: &'a Deadline,
    ) -> Result<Scorer<'a>, Error> {
        Ok(Scorer(match view.state.config.kind_at(field) {
            VectorKind::Dense => Kind::Dense(Dense::new(view, field, vectors)),
            VectorKind::Sparse => Kind::Sparse(sparse_searches(view, field, vectors, idf, deadline)?),
            VectorKind::Multi => {
                Kind::Multi(MultiScorer::new(view, field, vectors.iter().map(as_rows), deadline))
            }
        }))
    }

    /// The similarities of the live point at an offset to each of the vectors, in `out`. False when the point has no
    /// vector in the field. Ascending offsets are fastest.
    ///
    /// # Errors
    /// `Timeout`, where a comparison takes so long that it checks the deadline itself.
    pub fn similarities(&mut self, offset: PointOffset, out: &mut Vec<f32>) -> Result<bool, Error> {
        Ok(match &mut self.0 {
            Kind::Dense(dense) => dense.similarities(offset, out),
            Kind::Sparse(searches) => {
                out.clear();
                out.extend(searches.iter().map_while(|search| search.similarity(offset)));
                out.len() == searches.len()
            }
            Kind::Multi(scorer) => scorer.similarities(offset, out)?,
        })
    }

    /// The similarities of the live points at some offsets to each of the vectors. With many vectors this is several times
    /// as fast as one point after the other: each vector is read once for all points.
    ///
    /// # Errors
    /// `Timeout`: the deadline is checked at least once a millisecond.
    pub fn block(
        &mut self,
        offsets: &[PointOffset],
        found: &mut SimilarityBlock,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        found.points.clear();
        found.values.clear();
        if let Kind::Dense(dense) = &mut self.0 {
            return dense.block(offsets, found, deadline);
        }
        let mut similarities = Vec::new();
        for &offset in offsets {
            deadline.check()?;
            if self.similarities(offset, &mut similarities)? {
                found.points.push(offset);
                found.values.extend_from_slice(&similarities);
            }
        }
        Ok(())
    }
}

/// The similarities of some points to some vectors.
#[derive(Default)]
pub struct SimilarityBlock {
    /// The points that have a vector in the field, in the order in which they were asked for.
    points: Vec<PointOffset>,
    /// For each of them its similarities to all vectors, one point after the other.
    values: Vec<f32>,
}

impl SimilarityBlock {
    /// Each point that has a vector in the field, with its similarities in the order of the vectors.
    pub fn iter(&self) -> impl Iterator<Item = (PointOffset, &[f32])> {
        let width = (self.values.len() / self.points.len().max(1)).max(1);
        self.points.iter().copied().zip(self.values.chunks_exact(width))
    }
}

fn sparse_searches<'a>(
    view: &'a View,
    field: usize,
    vectors: &[&VectorValue],
    idf: Option<&Idf>,
    deadline: &Deadline,
) -> Result<Vec<SparseSearch<'a>>, Error> {
    let search = |vector: &&VectorValue| match vector {
        VectorValue::Sparse(vector) => SparseSearch::new(view, field, vector, idf, deadline),
        other => panic!("{:?} does not fit a field of sparse vectors", other.kind()),
    };
    vectors.iter().map(search).collect()
}

fn as_rows<'v>(vector: &&'v VectorValue) -> &'v MultiVector {
    match vector {
        VectorValue::Multi(rows) => rows,
        other => panic!("{:?} does not fit a field of multi-vectors", other.kind()),
    }
}

/// Vectors that a block of rows is compared with before the next block of vectors: with their results they fit the first
/// cache, and the rows the second.
const STRIP: usize = 16;
/// Components that are compared between two checks of the deadline: less than a millisecond.
const CHECK_COMPONENTS: usize = 4 << 20;

/// Dense vectors against the rows of a field.
struct Dense<'a> {
    table: &'a FieldTable,
    rows: RowFinder<'a>,
    distance: Distance,
    queries: Vec<Vec<f32>>,
}

impl<'a> Dense<'a> {
    fn new(view: &'a View, field: usize, vectors: &[&VectorValue]) -> Dense<'a> {
        let metric = metric_of(&view.state.config, field);
        let query = |vector: &&VectorValue| match vector {
            VectorValue::Dense(components) => prepared(components, metric),
            other => panic!("{:?} does not fit a field of dense vectors", other.kind()),
        };
        let table = &view.fields[field];
        Dense {
            table,
            rows: RowFinder::new(view, field),
            distance: Distance::of(metric, table.format),
            queries: vectors.iter().map(query).collect(),
        }
    }

    fn similarities(&mut self, offset: PointOffset, out: &mut Vec<f32>) -> bool {
        out.clear();
        let Some(row) = self.rows.row(offset) else { return false };
        let row = self.table.row(row);
        // `0.0 - x` and not `-x`: no distance is −0, and no similarity either.
        out.extend(self.queries.iter().map(|query| 0.0 - self.distance.one(query, row)));
        true
    }

    /// As of [`Scorer::block`]. The numbers are those of [`Dense::similarities`].
    fn block(
        &mut self,
        offsets: &[PointOffset],
        found: &mut SimilarityBlock,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        let mut numbers = Vec::with_capacity(offsets.len());
        for &offset in offsets {
            if let Some(row) = self.rows.row(offset) {
                found.points.push(offset);
                numbers.push(row);
            }
        }
        self.table.rows.expect(numbers.iter().map(|row| row.get()));
        let rows: Vec<&[u8]> = numbers.iter().map(|&row| self.table.row(row)).collect();
        let width = self.queries.len();
        found.values.resize(rows.len() * width, 0.0);
        let mut components = CHECK_COMPONENTS;
        for (strip, queries) in self.queries.chunks(STRIP).enumerate() {
            components += queries.len() * rows.len() * self.table.dim;
            if components >= CHECK_COMPONENTS {
                deadline.check()?;
                components = 0;
            }
            let first = strip * STRIP;
            for (at, four) in rows.chunks(4).enumerate() {
                for (lane, query) in queries.iter().enumerate() {
                    // `0.0 - x` and not `-x`: no distance is −0, and no similarity either.
                    let place = |point: usize| (at * 4 + point) * width + first + lane;
                    if let &[a, b, c, d] = four {
                        for (point, distance) in self.distance.four(query, [a, b, c, d]).iter().enumerate() {
                            found.values[place(point)] = 0.0 - distance;
                        }
                    } else {
                        for (point, row) in four.iter().enumerate() {
                            found.values[place(point)] = 0.0 - self.distance.one(query, row);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// A dense vector as rows are compared with it.
pub fn prepared(components: &[f32], metric: Metric) -> Vec<f32> {
    let mut query = components.to_vec();
    if metric == Metric::Cosine {
        normalise(&mut query);
    }
    query
}
