//! The projection: a random sample of the matching points, as places of a plane (C6.10). See docs/projection.md.

use super::estimate;
use super::matching::Matching;
use super::request::{ProjectionMethod, ProjectionRequest};
use super::rows::RowFinder;
use crate::arena::{RowArena, RowTable};
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::{FieldGraph, FieldTable, GraphSearch, QuantizationParams};
use crate::index::{Distance, Stopped, TopK, Traversal, WalkParams, WalkScratch, flat};
use crate::limits::MAX_COMPARED_COMPONENTS;
use crate::point_set::PointSet;
use crate::projection::layout::lay_out;
use crate::projection::neighbours::{Edge, Neighbours};
use crate::projection::principal::{self, Principal};
use crate::projection::{Place, Random};
use crate::types::{Metric, Node, PointOffset, Row, RowRange};
use crate::vectors::{RowFormat, VectorKind};
use kithdb_kernels::normalise;
use std::time::Duration;

/// Components that are compared to find neighbours by comparing everything, where there is a graph as well: one to two
/// seconds. Tests have few points, and let walks find them.
const FEW_COMPONENTS: u64 = if cfg!(test) { 1 << 24 } else { 1 << 36 };
/// Points whose neighbours are found by one scan.
const SCANNED_AT_ONCE: usize = 256;
/// Width of walks for neighbours, for each neighbour that is wanted.
const WIDTH_PER_NEIGHBOUR: usize = 2;
/// Walks go through refused nodes without comparing them where fewer than the nodes ÷ this are in the sample.
const SPARSE_SAMPLE_DIVISOR: u64 = 2;
/// A graph is used where at most the points ÷ this are not in it.
const LEFT_OUT_DIVISOR: usize = 10;
/// Bytes that the means of a sample's multi-vectors may take.
const MAX_MEAN_BYTES: u64 = if cfg!(test) { 64 << 10 } else { 64 << 20 };
/// Points between two checks of the deadline, of those that are looked at and of those whose vectors are read.
const LOOKED_AT: usize = 4096;
const READ: usize = 256;

/// A sample of points in the plane.
pub struct Projection {
    /// The points.
    pub offsets: Vec<PointOffset>,
    /// Their places, in the same order.
    pub places: Vec<Place>,
    /// The share of the variance that the plane shows: of principal components only.
    pub explained_variance: Option<f64>,
}

/// Projects a sample of the points that match and have the vector.
///
/// # Errors
/// `VectorNotFound`; `BadRequest` for a sparse vector, and for a sample whose comparisons or means are too much work; those
/// of the deadline.
pub fn project(
    snapshot: &Snapshot,
    request: &ProjectionRequest,
    deadline: &Deadline,
) -> Result<Projection, Error> {
    let config = &snapshot.view.state.config;
    let field = config.declared_position(&request.using)?;
    if config.kind_at(field) == VectorKind::Sparse {
        return Err(Error::bad("using: sparse vectors are not projected"));
    }
    let sample = Sample::draw(snapshot, field, request, deadline)?;
    let stop = || deadline.passed();
    let given_up = |Stopped| deadline.error();
    let (mut places, explained_variance) = sample.by_components(request.seed, deadline)?;
    let is_laid_out = request.method == ProjectionMethod::Umap && sample.rows.len() > 1;
    if is_laid_out {
        let edges = sample.edges(request.neighbors, deadline)?;
        lay_out(&mut places, &edges, request.seed, &stop).map_err(given_up)?;
    }
    let explained_variance = Some(explained_variance).filter(|_| request.method == ProjectionMethod::Pca);
    Ok(Projection { offsets: sample.offsets, places, explained_variance })
}

/// The vectors that are projected: those of the field, or the means of its multi-vectors.
struct Vectors {
    rows: RowTable,
    format: RowFormat,
    dim: usize,
}

impl Vectors {
    /// The vectors of a dense field.
    fn of(table: &FieldTable) -> Vectors {
        Vectors { rows: table.rows.clone(), format: table.format, dim: table.dim }
    }

    /// The mean of the rows of each multi-vector; `first_rows` has the first row of each. Under Cosine the rows count by
    /// their directions, and so does the mean.
    ///
    /// # Errors
    /// `BadRequest` where they take too much memory; those of the deadline.
    fn means(
        table: &FieldTable,
        first_rows: &[Row],
        metric: Metric,
        deadline: &Deadline,
    ) -> Result<Vectors, Error> {
        let (format, dim) = (RowFormat::F32, table.dim);
        let bytes = (first_rows.len() as u64).saturating_mul(format.row_bytes(dim) as u64);
        if bytes > MAX_MEAN_BYTES {
            return Err(Error::bad(format!(
                "sample: the means of its multi-vectors take {bytes} bytes, at most {MAX_MEAN_BYTES} may be used"
            )));
        }
        let count = first_rows.iter().map(|&row| table.run(row).numbers().len() as u64).sum();
        deadline.expect(estimate::rows(count, table.rows.row_bytes()))?;
        let mut arena = RowArena::new(format.row_bytes(dim));
        let (mut vector, mut sum, mut stored) = (Vec::with_capacity(dim), vec![0.0; dim], Vec::new());
        let mut read = 0;
        for &first in first_rows {
            let run = table.run(first);
            sum.fill(0.0f64);
            for row in run.iter() {
                check_each(READ, read, deadline)?;
                read += 1;
                table.vector(row, &mut vector);
                sum.iter_mut().zip(&vector).for_each(|(sum, component)| *sum += f64::from(*component));
            }
            let rows = run.numbers().len() as f64;
            vector.clear();
            vector.extend(sum.iter().map(|sum| (sum / rows) as f32));
            if metric == Metric::Cosine {
                normalise(&mut vector);
            }
            stored.clear();
            format.encode(&vector, &mut stored);
            arena.push(&stored);
        }
        Ok(Vectors { rows: arena.table(), format, dim })
    }

    /// Replaces `out` by a vector as it is compared.
    fn read(&self, row: Row, out: &mut Vec<f32>) {
        out.clear();
        self.format.decode_for_search(self.rows.row(row.get()), self.dim, out);
    }
}

/// The points that are projected.
struct Sample<'a> {
    snapshot: &'a Snapshot,
    field: usize,
    vectors: Vectors,
    metric: Metric,
    offsets: Vec<PointOffset>,
    /// The row of each in `vectors`, ascending.
    rows: Vec<Row>,
}

impl<'a> Sample<'a> {
    /// Draws points: each set of that size is equally likely, over all seeds. Selection sampling (Knuth, *The Art of Computer
    /// Programming* 2, 3.4.2, algorithm S), which needs no memory for what it passes over.
    fn draw(
        snapshot: &'a Snapshot,
        field: usize,
        request: &ProjectionRequest,
        deadline: &Deadline,
    ) -> Result<Sample<'a>, Error> {
        let view = &*snapshot.view;
        let filter = request.filter.as_ref().filter(|_| !PlantedFault::ProjectionOutsideFilter.is_on());
        let matching = Matching::new(&view.state, filter, deadline);
        let candidates = matching.offsets(deadline)?;
        let table = &view.fields[field];
        let mut with_vector = 0;
        each_row(view, field, &candidates, deadline, |_, _| with_vector += 1)?;
        let (mut left, mut wanted) = (with_vector, (request.sample as u64).min(with_vector));
        let mut random = Random::new(request.seed);
        let mut drawn = Vec::with_capacity(wanted as usize);
        each_row(view, field, &candidates, deadline, |offset, row| {
            let is_drawn = random.below_u64(left) < wanted;
            if is_drawn || (PlantedFault::ProjectionOfFirst.is_on() && wanted > 0) {
                wanted -= 1;
                drawn.push((row, offset));
            }
            left -= 1;
        })?;
        drawn.sort_unstable();
        let (rows, offsets): (Vec<Row>, Vec<PointOffset>) = drawn.into_iter().unzip();
        let metric = view.state.config.fields()[field].1.metric;
        let (vectors, rows) = if table.is_multi {
            let numbered = RowRange::of_len(Row::FIRST, rows.len() as u32).iter().collect();
            (Vectors::means(table, &rows, metric, deadline)?, numbered)
        } else {
            (Vectors::of(table), rows)
        };
        Ok(Sample { snapshot, field, vectors, metric, offsets, rows })
    }

    fn dim(&self) -> usize {
        self.vectors.dim
    }

    /// The place of each point in the plane of the principal components, and the share of the variance that it shows.
    fn by_components(&self, seed: u64, deadline: &Deadline) -> Result<(Vec<Place>, f64), Error> {
        let (count, dim) = (self.rows.len(), self.dim());
        let compared = (count as u64).saturating_mul(8);
        deadline.expect(estimate::rows(compared, self.vectors.rows.row_bytes()))?;
        let fitted = principal::fitted(count, dim);
        let (mut fit, mut vector) = (Vec::with_capacity(fitted * dim), Vec::with_capacity(dim));
        for at in 0..fitted {
            check_each(READ, at, deadline)?;
            // Spread over the sample, which is in the order in which points came.
            self.vectors.read(self.rows[at * count / fitted], &mut vector);
            fit.extend_from_slice(&vector);
        }
        let plane =
            Principal::fit(fit, dim, seed, &|| deadline.passed()).map_err(|Stopped| deadline.error())?;
        let mut places = Vec::with_capacity(count);
        let (mut shown, mut all) = (0.0, 0.0);
        for (at, &row) in self.rows.iter().enumerate() {
            check_each(READ, at, deadline)?;
            self.vectors.read(row, &mut vector);
            let (place, square) = plane.place(&mut vector);
            shown += place.iter().map(|along| f64::from(*along).powi(2)).sum::<f64>();
            all += square;
            places.push(place);
        }
        Ok((places, if all > 0.0 { (shown / all).min(1.0) } else { 0.0 }))
    }

    /// The edges between neighbours.
    fn edges(&self, neighbours: usize, deadline: &Deadline) -> Result<Vec<Edge>, Error> {
        let width = neighbours.min(self.rows.len() - 1);
        let mut lists = Neighbours::new(self.rows.len(), width);
        let count = self.rows.len() as u64;
        let components = count.saturating_mul(count).saturating_mul(self.dim() as u64);
        match self.graph().filter(|_| components > FEW_COMPONENTS) {
            Some(graph) => self.walk(graph, &mut lists, deadline)?,
            None if components > MAX_COMPARED_COMPONENTS => {
                return Err(Error::bad(format!(
                    "sample: without a graph of the field, the points of the sample have {components} components to \
                     compare, at most {MAX_COMPARED_COMPONENTS} are"
                )));
            }
            None => self.scan(&mut lists, deadline)?,
        }
        lists.edges(&|| deadline.passed()).map_err(|Stopped| deadline.error())
    }

    /// The graph of the field, if it has nearly all of the sample. That of multi-vectors has their rows, and not their means.
    fn graph(&self) -> Option<&'a FieldGraph> {
        if self.snapshot.view.fields[self.field].is_multi {
            return None;
        }
        let (graph, _) = self.snapshot.graphs[self.field].as_ref()?;
        let left_out = self.rows.iter().filter(|&&row| graph.node_of(row).is_none()).count();
        let has_most = left_out * LEFT_OUT_DIVISOR <= self.rows.len();
        (has_most || PlantedFault::ProjectionWithoutTail.is_on()).then_some(&**graph)
    }

    /// Finds neighbours by walks through the graph, each from the node of the point itself.
    fn walk(&self, graph: &FieldGraph, lists: &mut Neighbours, deadline: &Deadline) -> Result<(), Error> {
        let ef = WIDTH_PER_NEIGHBOUR * (lists.width() + 1);
        let links = 2 * graph.hnsw.params().m;
        let compared = (self.rows.len() * links).saturating_mul(ef / 2) as u64;
        deadline.expect(estimate::rows(compared, self.vectors.rows.row_bytes()))?;
        let members = Members::of(&self.rows, self.vectors.rows.len());
        let is_sparse = self.rows.len() as u64 * SPARSE_SAMPLE_DIVISOR < u64::from(graph.hnsw.len());
        let traversal = if is_sparse { Traversal::TwoHop } else { Traversal::Check };
        let accept = |node: Node| members.contains(graph.hnsw.row_of(node));
        let (mut scratch, mut vector) = (WalkScratch::new(), Vec::new());
        for (point, &row) in self.rows.iter().enumerate() {
            self.vectors.read(row, &mut vector);
            let starts: Vec<Node> = graph.node_of(row).into_iter().collect();
            let search = GraphSearch {
                graph,
                table: &self.snapshot.view.fields[self.field],
                query: &vector,
                k: lists.width() + 1,
                quantization: QuantizationParams::default(),
            };
            let params = WalkParams { ef, traversal, starts: &starts, avoided: None };
            let tie = |a: Row, b: Row| a.cmp(&b);
            let found = search
                .walk(&params, (&accept, &accept), &|_| true, tie, &mut scratch, &|| deadline.passed())
                .map_err(|Stopped| deadline.error())?;
            self.put(lists, point, found.best);
        }
        Ok(())
    }

    /// Finds neighbours by comparing each point with all others.
    fn scan(&self, lists: &mut Neighbours, deadline: &Deadline) -> Result<(), Error> {
        let count = self.rows.len() as u64;
        deadline.expect(estimate::rows(count.saturating_mul(count), self.vectors.rows.row_bytes()))?;
        let members = Members::of(&self.rows, self.vectors.rows.len());
        let distance = Distance::of(self.metric, self.vectors.format);
        for (chunk, rows) in self.rows.chunks(SCANNED_AT_ONCE).enumerate() {
            let mut vectors = vec![Vec::new(); rows.len()];
            rows.iter().zip(&mut vectors).for_each(|(&row, vector)| self.vectors.read(row, vector));
            let queries: Vec<&[f32]> = vectors.iter().map(|vector| &**vector).collect();
            let top = || TopK::new(lists.width() + 1, |a: Row, b: Row| a.cmp(&b));
            let mut tops: Vec<_> = queries.iter().map(|_| top()).collect();
            let accept = |row| members.contains(row);
            let table = &self.vectors.rows;
            let range = RowRange::of_len(Row::FIRST, table.len());
            flat::scan_many(table, distance, &queries, range, &accept, &mut tops, &|| deadline.passed())
                .map_err(|Stopped| deadline.error())?;
            for (at, top) in tops.into_iter().enumerate() {
                self.put(lists, chunk * SCANNED_AT_ONCE + at, top.into_sorted());
            }
        }
        Ok(())
    }

    /// Puts what was found for a point into its list, without the point itself.
    fn put(&self, lists: &mut Neighbours, point: usize, found: Vec<(f32, Row)>) {
        let own = self.rows[point];
        let others = found.into_iter().filter(|&(_, row)| row != own);
        let numbered = others.filter_map(|(distance, row)| {
            let number = self.rows.binary_search(&row).ok()?;
            Some((length(self.metric, distance), number as u32))
        });
        lists.set(point as u32, numbered);
    }
}

/// A distance as a length, but for a constant.
fn length(metric: Metric, distance: f32) -> f32 {
    if metric == Metric::Euclid { distance.max(0.0).sqrt() } else { distance }
}

/// Calls `each` with the points of a set that have a vector in the field, and the row of it, ascending.
fn each_row(
    view: &View,
    field: usize,
    offsets: &PointSet,
    deadline: &Deadline,
    mut each: impl FnMut(PointOffset, Row),
) -> Result<(), Error> {
    deadline.expect(Duration::from_nanos(offsets.len().saturating_mul(10)))?;
    let mut finder = RowFinder::new(view, field);
    let is_multi = view.fields[field].is_multi;
    for (at, offset) in offsets.iter().enumerate() {
        check_each(LOOKED_AT, at, deadline)?;
        // The finder may give any row of a multi-vector.
        let row = if is_multi { view.state.at(offset).row(field) } else { finder.row(offset) };
        if let Some(row) = row {
            each(offset, row);
        }
    }
    Ok(())
}

fn check_each(interval: usize, at: usize, deadline: &Deadline) -> Result<(), Error> {
    if at % interval == interval - 1 { deadline.check() } else { Ok(()) }
}

/// A set of rows with a membership test of a nanosecond.
struct Members(Vec<u64>);

impl Members {
    /// Some rows of a table that has `len`.
    fn of(rows: &[Row], len: u32) -> Members {
        let mut words = vec![0u64; (len as usize).div_ceil(64)];
        rows.iter().for_each(|row| words[row.get() as usize / 64] |= 1 << (row.get() % 64));
        Members(words)
    }

    #[inline(always)]
    fn contains(&self, row: Row) -> bool {
        self.0.get(row.get() as usize / 64).is_some_and(|word| word >> (row.get() % 64) & 1 == 1)
    }
}
