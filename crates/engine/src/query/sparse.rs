//! Sparse vectors against the points of one field.

use super::estimate;
use super::matching::Matching;
use super::tree::Idf;
use super::vector_search::VectorSearch;
use super::{Hit, tally};
use crate::collection::View;
use crate::config::Modifier;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::field::SparseTable;
use crate::filter::Filter;
use crate::index::TopK;
use crate::index::sparse::{Found, Sums, scan};
use crate::types::{PointOffset, Row};
use crate::vectors::SparseVector;
use std::cell::RefCell;
use std::cmp::Ordering;

/// Postings that a scan adds up in the time that it takes to fetch the row of one candidate and multiply it.
const POSTINGS_PER_CANDIDATE: u64 = 200;
/// Rows between two checks of the deadline where they are multiplied one by one.
const ROWS_PER_CHECK: u32 = 1024;
/// Lists that are looked up between two checks of the deadline. Each may be counted row by row.
const LISTS_PER_CHECK: usize = 4096;

thread_local! {
    static SUMS: RefCell<Sums> = RefCell::default();
}

/// A sparse vector, ready to be compared with the points of a field.
pub struct SparseSearch<'a> {
    view: &'a View,
    table: &'a SparseTable,
    position: usize,
    /// The weights as rows are multiplied with them.
    query: SparseVector,
}

impl<'a> SparseSearch<'a> {
    /// A search of the field at a position, which takes sparse vectors. `idf` says which points weigh the vector where the
    /// field has that modifier.
    ///
    /// # Errors
    /// `Timeout`: for weights by inverse document frequency, the points of each index are counted.
    pub fn new(
        view: &'a View,
        position: usize,
        vector: &SparseVector,
        idf: Option<&Idf>,
        deadline: &Deadline,
    ) -> Result<SparseSearch<'a>, Error> {
        let config = &view.state.config;
        let at = position - config.fields().len();
        let table = &view.sparse[at];
        let mut query = vector.clone();
        if config.sparse_fields()[at].1.modifier() == Modifier::Idf {
            let (points, sharing) = match idf {
                Some(Idf::Corpus(filter)) => count_corpus(view, position, &query, filter, deadline)?,
                Some(Idf::Global) | None => count_all(view, table, &query, deadline)?,
            };
            weigh(&mut query, points, &sharing);
        }
        Ok(SparseSearch { view, table, position, query })
    }

    /// The best points that match and share an index with the vector, best first, ties by id.
    ///
    /// # Errors
    /// `Timeout`.
    pub fn nearest(
        &self,
        search: &VectorSearch<'_>,
        matching: &mut Matching<'_>,
        deadline: &Deadline,
    ) -> Result<Vec<Hit>, Error> {
        tally::count(|tally| tally.exact_scans += 1);
        let mut best = Best {
            view: self.view,
            table: self.table,
            search,
            matching: None,
            pace: matching.pace(deadline),
            failed: None,
            top: TopK::new(search.k, |a, b| self.tie(a, b)),
        };
        // Counting postings costs a good part of adding them up, so they are counted only if there is a choice of plans.
        let postings = if matching.is_everything() { None } else { Some(self.postings(deadline)?) };
        match postings {
            None => self.scan(&mut best, deadline)?,
            Some(postings) if matching.at_most() * POSTINGS_PER_CANDIDATE <= postings => {
                matching.settle(deadline)?;
                self.multiply_each(matching, &mut best, deadline)?;
            }
            Some(postings) => {
                matching.expect(postings.min(self.table.live()));
                best.matching = Some(&*matching);
                self.scan(&mut best, deadline)?;
            }
        }
        if let Some(error) = best.failed {
            return Err(error);
        }
        let found = best.top.into_sorted();
        Ok(found
            .into_iter()
            .map(|(distance, row)| Hit::scored(self.table.owner(row), 0.0 - distance))
            .collect())
    }

    /// The similarity of the live point at an offset, 0 where no index is shared; `None` when it has no vector in the
    /// field.
    pub fn similarity(&self, offset: PointOffset) -> Option<f32> {
        let row = self.view.state.at(offset).row(self.position)?;
        Some(self.table.row(row).dot(&self.query).unwrap_or(0.0))
    }

    /// Multiplies the rows of the points that match, which are settled, one by one.
    fn multiply_each<T: Fn(Row, Row) -> Ordering>(
        &self,
        matching: &Matching<'_>,
        best: &mut Best<'_, T>,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        for (at, offset) in (0u32..).zip(matching.candidates()) {
            if at % ROWS_PER_CHECK == 0 {
                deadline.check()?;
            }
            if let Some(row) = self.view.state.at(offset).row(self.position)
                && let Some(score) = self.table.row(row).dot(&self.query)
                && score >= best.bound()
            {
                best.offer(row, score);
            }
        }
        Ok(())
    }

    /// Adds up the lists of all blocks, and multiplies the rows that are in none.
    fn scan<T: Fn(Row, Row) -> Ordering>(
        &self,
        best: &mut Best<'_, T>,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        SUMS.with_borrow_mut(|sums| {
            for block in self.table.blocks.iter() {
                deadline.check()?;
                scan(block, &self.query, sums, best);
                if best.failed.is_some() {
                    break;
                }
            }
            Ok(())
        })?;
        for row in self.table.tail().iter() {
            if row.get() % ROWS_PER_CHECK == 0 {
                deadline.check()?;
            }
            if self.table.rows.holds(row)
                && let Some(score) = self.table.row(row).dot(&self.query)
                && score >= best.bound()
            {
                best.offer(row, score);
            }
        }
        Ok(())
    }

    /// Postings that a scan adds up.
    fn postings(&self, deadline: &Deadline) -> Result<u64, Error> {
        let mut postings = 0;
        for block in self.table.blocks.iter() {
            for indices in self.query.indices.chunks(LISTS_PER_CHECK) {
                deadline.check()?;
                postings += indices.iter().map(|&index| block.count(index) as u64).sum::<u64>();
            }
        }
        Ok(postings)
    }

    /// Order of rows of equal score: by id, so that the result does not depend on the plan.
    fn tie(&self, a: Row, b: Row) -> Ordering {
        let id = |row| self.view.state.at(self.table.owner(row)).id();
        id(a).cmp(&id(b))
    }
}

/// Multiplies each weight with the inverse document frequency of its index: ln((N − n + ½)/(n + ½) + 1), where n of the N
/// points that have a vector in the field share the index.
fn weigh(query: &mut SparseVector, points: u64, sharing: &[usize]) {
    let points = points as f64;
    for (weight, &shared) in query.values.iter_mut().zip(sharing) {
        let shared = shared as f64;
        *weight = (f64::from(*weight) * ((points - shared + 0.5) / (shared + 0.5) + 1.0).ln()) as f32;
    }
}

/// The points that match and have a vector in the field, and how many of them share each index of a vector.
fn count_corpus(
    view: &View,
    position: usize,
    query: &SparseVector,
    corpus: &Filter,
    deadline: &Deadline,
) -> Result<(u64, Vec<usize>), Error> {
    let table = &view.sparse[position - view.fields.len()];
    let mut matching = Matching::new(&view.state, Some(corpus), deadline);
    matching.settle(deadline)?;
    deadline.expect(estimate::documents(matching.at_most(), 1))?;
    let (mut points, mut sharing) = (0, vec![0; query.indices.len()]);
    let mut count = |offset: PointOffset| {
        if let Some(row) = view.state.at(offset).row(position) {
            points += 1;
            table.row(row).for_each_shared(&query.indices, |place, _| sharing[place] += 1);
        }
    };
    let all = matching.is_everything().then_some(&view.state.live);
    for (at, offset) in (0u32..).zip(all.unwrap_or_else(|| matching.candidates())) {
        if at % ROWS_PER_CHECK == 0 {
            deadline.check()?;
        }
        count(offset);
    }
    Ok((points, sharing))
}

/// All points that have a vector in the field, and how many of them share each index of a vector.
fn count_all(
    view: &View,
    table: &SparseTable,
    query: &SparseVector,
    deadline: &Deadline,
) -> Result<(u64, Vec<usize>), Error> {
    let alive = |row| table.alive(row, view.op);
    let all_alive = table.live() == u64::from(table.len());
    let mut in_tail = vec![0usize; query.indices.len()];
    for row in table.tail().iter().filter(|&row| alive(row)) {
        deadline.check()?;
        table.row(row).for_each_shared(&query.indices, |place, _| in_tail[place] += 1);
    }
    let mut in_blocks = vec![0usize; query.indices.len()];
    for block in table.blocks.iter() {
        let lists = query.indices.chunks(LISTS_PER_CHECK).zip(in_blocks.chunks_mut(LISTS_PER_CHECK));
        for (indices, counts) in lists {
            deadline.check()?;
            for (index, count) in indices.iter().zip(counts) {
                *count += if all_alive { block.count(*index) } else { block.count_of(*index, alive) };
            }
        }
    }
    let sharing = in_blocks.into_iter().zip(in_tail).map(|(in_blocks, in_tail)| in_blocks + in_tail);
    Ok((table.live(), sharing.collect()))
}

/// The best rows so far.
struct Best<'a, T: Fn(Row, Row) -> Ordering> {
    view: &'a View,
    table: &'a SparseTable,
    search: &'a VectorSearch<'a>,
    /// The filter; none where all rows that are offered are of points that match.
    matching: Option<&'a Matching<'a>>,
    pace: Pace<'a>,
    /// Set when the deadline has passed while documents were read. From then on nothing is kept.
    failed: Option<Error>,
    top: TopK<Row, T>,
}

impl<T: Fn(Row, Row) -> Ordering> Best<'_, T> {
    fn is_match(&mut self, offset: PointOffset) -> bool {
        let Some(matching) = self.matching else { return true };
        if !matching.is_exact() {
            let bytes = self.view.state.at(offset).document().len();
            if let Err(error) = self.pace.step(bytes) {
                self.failed.get_or_insert(error);
                return false;
            }
        }
        matching.accepts(offset)
    }
}

impl<T: Fn(Row, Row) -> Ordering> Found for Best<'_, T> {
    fn bound(&self) -> f32 {
        let bound = 0.0 - self.top.bound();
        self.search.threshold.map_or(bound, |threshold| threshold.max(bound))
    }

    fn offer(&mut self, row: Row, score: f32) {
        if self.failed.is_some() || !self.table.alive(row, self.view.op) {
            return;
        }
        let offset = self.table.owner(row);
        if !self.search.excluded.contains(offset) && self.is_match(offset) {
            self.top.offer(0.0 - score, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::{Change, Head};
    use crate::config::tests::config_of;
    use crate::types::{Lsn, PointId};
    use crate::vectors::VectorValue;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_counted_for_the_weights_of_a_long_query_ends_with_its_time_c1_10() {
        let mut head = Head::new(config_of(r#"{"sparse_vectors":{"s":{"modifier":"idf"}}}"#), 1 << 12);
        for n in 1..=20 {
            let vector = SparseVector { indices: vec![n], values: vec![1.0] };
            let vectors = vec![(0, VectorValue::Sparse(vector))];
            let payload = Box::from(&b"{}"[..]);
            head.op = head.op.next();
            head.apply(head.op, &Change::Put { id: PointId::Num(n.into()), vectors, payload }).unwrap();
        }
        let view = head.view(Lsn::NONE);
        let query = SparseVector { indices: (0..100).collect(), values: vec![1.0; 100] };
        let after = |allowed| Deadline::new(Instant::now(), allowed, "Search");
        let search = SparseSearch::new(&view, 0, &query, None, &after(Duration::from_secs(60))).ok().unwrap();
        let weights = &search.query.values;
        assert!(weights[1] == weights[20] && weights[0] > weights[1] && weights[21] == weights[0]);
        assert!(search.postings(&after(Duration::ZERO)).is_err());
        assert!(matches!(
            SparseSearch::new(&view, 0, &query, None, &after(Duration::ZERO)),
            Err(Error::Timeout(_))
        ));
    }
}
