//! A vector search on one view: which rows it may return, in which order, and the exact scan of them.

use super::estimate;
use super::matching::Matching;
use super::rows::RowFinder;
use super::scorer;
use super::vector_search::VectorSearch;
use crate::collection::View;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::field::FieldTable;
use crate::index::{Distance, Stopped, TopK, flat};
use crate::types::{PointOffset, Row, RowRange};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

/// A vector search on one view.
pub(super) struct BoundSearch<'a> {
    pub search: VectorSearch<'a>,
    pub view: &'a View,
    pub table: &'a FieldTable,
    pub distance: Distance,
    /// The query vector in the form that rows are compared with. The rows of a multi-vector follow each other.
    pub query: Vec<f32>,
    pub deadline: &'a Deadline,
}

impl<'a> BoundSearch<'a> {
    /// A search of a field of dense vectors for the rows that are best for `components`.
    pub fn new(
        view: &'a View,
        search: VectorSearch<'a>,
        components: &[f32],
        deadline: &'a Deadline,
    ) -> BoundSearch<'a> {
        let field = search.target.field;
        let metric = view.state.config.fields()[field].1.metric;
        let table = &view.fields[field];
        let (distance, query) = (Distance::of(metric, table.format), scorer::prepared(components, metric));
        BoundSearch { search, view, table, distance, query, deadline }
    }

    /// Position of the field.
    pub fn field(&self) -> usize {
        self.search.target.field
    }

    /// Exact distances to everything that matches: the best `k`, best first.
    pub fn scan(&self, matching: &mut Matching<'_>) -> Result<Vec<(f32, Row)>, Error> {
        let mut top = self.top();
        if matching.is_everything() {
            self.scan_range(self.table.all_rows(), &Check::new(self, matching), &mut top)?;
        } else {
            matching.settle(self.deadline)?;
            self.deadline.expect(estimate::rows(matching.at_most(), self.table.rows.row_bytes()))?;
            let rows = self.rows(matching);
            let stop = || self.deadline.passed();
            flat::scan_ids(&self.table.rows, self.distance, &self.query, rows, &mut top, &stop)
                .map_err(|Stopped| self.deadline.error())?;
        }
        Ok(top.into_sorted())
    }

    /// Offers the rows of a range that pass the check, with their exact distances.
    pub fn scan_range<T: Fn(Row, Row) -> Ordering>(
        &self,
        range: RowRange,
        check: &Check<'_>,
        top: &mut TopK<Row, T>,
    ) -> Result<(), Error> {
        self.deadline.expect(estimate::rows(range.numbers().len() as u64, self.table.rows.row_bytes()))?;
        let stop = || check.is_late() || self.deadline.passed();
        let accept = |row| check.passes(row);
        flat::scan_range(&self.table.rows, self.distance, &self.query, range, &accept, top, &stop)
            .map_err(|Stopped| self.deadline.error())?;
        check.finish()
    }

    /// Rows of the candidates, in the order of their offsets.
    pub fn rows<'m>(&self, matching: &'m Matching<'_>) -> impl Iterator<Item = Row> + use<'m, 'a> {
        let mut finder = RowFinder::new(self.view, self.field());
        let excluded = self.search.excluded;
        let offsets = matching.candidates().iter().filter(move |&offset| !excluded.contains(offset));
        offsets.filter_map(move |offset| finder.row(offset))
    }

    /// The most points that the search can return.
    pub fn possible(&self, matching: &Matching<'_>) -> u64 {
        let is_everything = matching.is_everything();
        let is_candidate = |offset: PointOffset| is_everything || matching.candidates().contains(offset);
        let has_row = |offset: PointOffset| self.view.state.at(offset).row(self.field()).is_some();
        let matches = matching.at_most() - self.search.excluded.count(is_candidate);
        matches.min(self.table.vectors() - self.search.excluded.count(has_row))
    }

    /// An empty selection of the best rows.
    pub fn top(&self) -> TopK<Row, impl Fn(Row, Row) -> Ordering> {
        TopK::new(self.search.k, |a, b| self.tie(a, b))
    }

    /// Order of rows of equal distance: by id, so that the result does not depend on the plan.
    pub fn tie(&self, a: Row, b: Row) -> Ordering {
        let id = |row| self.view.state.at(self.table.owner(row)).id();
        id(a).cmp(&id(b))
    }
}

/// Decides whether a search may return a row. This may have to read documents, so it checks the deadline.
pub(super) struct Check<'a> {
    search: &'a BoundSearch<'a>,
    matching: &'a Matching<'a>,
    /// No row of the table is dead. Then deaths are not read: each read would be a cache miss.
    is_all_alive: bool,
    pace: RefCell<Pace<'a>>,
    late: Cell<bool>,
    passed: Cell<u64>,
}

impl<'a> Check<'a> {
    /// A check of rows against a filter.
    pub fn new(search: &'a BoundSearch<'a>, matching: &'a Matching<'a>) -> Check<'a> {
        let pace = RefCell::new(matching.pace(search.deadline));
        let is_all_alive = search.table.live() == u64::from(search.table.len());
        Check { search, matching, is_all_alive, pace, late: Cell::new(false), passed: Cell::new(0) }
    }

    /// Whether the row is alive and its point matches. After the deadline no row passes.
    #[inline]
    pub fn passes(&self, row: Row) -> bool {
        let passes = self.is_match(row);
        self.passed.set(self.passed.get() + u64::from(passes));
        passes
    }

    /// How many rows have passed.
    pub fn passed(&self) -> u64 {
        self.passed.get()
    }

    #[inline(always)]
    fn is_match(&self, row: Row) -> bool {
        let BoundSearch { view, table, search: VectorSearch { excluded, .. }, .. } = self.search;
        if !self.is_all_alive && !table.alive(row, view.op) {
            return false;
        }
        if self.matching.is_everything() {
            return excluded.is_empty() || !excluded.contains(table.owner(row));
        }
        let offset = table.owner(row);
        !excluded.contains(offset)
            && (self.matching.is_exact() || self.has_time(offset))
            && self.matching.accepts(offset)
    }

    /// Whether the deadline passed while documents were read.
    pub fn is_late(&self) -> bool {
        self.late.get()
    }

    /// An error if it did: rows that match may have been left out.
    pub fn finish(&self) -> Result<(), Error> {
        if self.is_late() { Err(self.search.deadline.error()) } else { Ok(()) }
    }

    fn has_time(&self, offset: PointOffset) -> bool {
        let bytes = self.search.view.state.at(offset).document().len();
        self.late.set(self.late.get() || self.pace.borrow_mut().step(bytes).is_err());
        !self.late.get()
    }
}
