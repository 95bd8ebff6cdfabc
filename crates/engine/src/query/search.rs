//! One search on one field of one view: which rows may be answered, in which order, and the exact scan of them.

use super::excluded::Excluded;
use super::matching::Matching;
use super::rows::RowFinder;
use super::scorer;
use crate::collection::View;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::field::FieldTable;
use crate::index::{Distance, Stopped, TopK, flat};
use crate::types::PointOffset;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::ops::Range;

/// See the module.
pub(super) struct Search<'a> {
    pub view: &'a View,
    pub table: &'a FieldTable,
    pub field: usize,
    pub distance: Distance,
    /// The query vector as rows are compared with it.
    pub query: Vec<f32>,
    /// Rows wanted.
    pub k: usize,
    pub deadline: &'a Deadline,
    /// Points to leave out.
    pub excluded: &'a Excluded,
}

impl<'a> Search<'a> {
    /// A search of a field of dense vectors for the `k` rows that are best for `components`.
    pub fn new(
        view: &'a View,
        field: usize,
        components: &[f32],
        excluded: &'a Excluded,
        k: usize,
        deadline: &'a Deadline,
    ) -> Search<'a> {
        let metric = view.state.config.fields()[field].1.metric;
        let table = &view.fields[field];
        Search {
            view,
            table,
            field,
            distance: Distance::of(metric, table.format),
            query: scorer::prepared(components, metric),
            k,
            deadline,
            excluded,
        }
    }

    /// Exact distances to everything that matches: the best `k`, best first.
    pub fn scan(&self, matching: &mut Matching<'_>) -> Result<Vec<(f32, u32)>, Error> {
        let mut top = TopK::new(self.k, |a, b| self.tie(a, b));
        if matching.is_everything() {
            self.scan_range(0..self.table.len(), &Check::new(self, matching), &mut top)?;
        } else {
            matching.settle(self.deadline)?;
            let rows = self.rows(matching);
            let stop = || self.deadline.passed();
            flat::scan_ids(&self.table.rows, self.distance, &self.query, rows, &mut top, &stop)
                .map_err(|Stopped| self.deadline.error())?;
        }
        Ok(top.into_sorted())
    }

    /// Offers the rows of a range that pass the check, with their exact distances.
    pub fn scan_range<T: Fn(u32, u32) -> Ordering>(
        &self,
        range: Range<u32>,
        check: &Check<'_>,
        top: &mut TopK<T>,
    ) -> Result<(), Error> {
        let stop = || check.is_late() || self.deadline.passed();
        let accept = |row| check.passes(row);
        flat::scan_range(&self.table.rows, self.distance, &self.query, range, &accept, top, &stop)
            .map_err(|Stopped| self.deadline.error())?;
        check.finish()
    }

    /// Rows of the candidates, in the order of their offsets.
    pub fn rows<'m>(&self, matching: &'m Matching<'_>) -> impl Iterator<Item = u32> + use<'m, 'a> {
        let mut finder = RowFinder::new(self.view, self.field);
        let excluded = self.excluded;
        let offsets = matching.candidates().iter().filter(move |&offset| !excluded.contains(offset));
        offsets.filter_map(move |offset| finder.row(offset))
    }

    /// How many points can be answered at most.
    pub fn possible(&self, matching: &Matching<'_>) -> u64 {
        let is_everything = matching.is_everything();
        let is_candidate = |offset: PointOffset| is_everything || matching.candidates().contains(offset);
        let has_row = |offset: PointOffset| self.view.state.at(offset).rows.row(self.field).is_some();
        let matches = matching.at_most() - self.excluded.count(is_candidate);
        matches.min(self.table.vectors() - self.excluded.count(has_row))
    }

    /// Order among equal distances: by id, so that the answer does not depend on the plan.
    pub fn tie(&self, a: u32, b: u32) -> Ordering {
        let id = |row| self.view.state.at(self.table.owner(row)).id;
        id(a).cmp(&id(b))
    }
}

/// Whether a row may be answered. Keeps an eye on the clock, because documents may have to be read for it.
pub(super) struct Check<'a> {
    search: &'a Search<'a>,
    matching: &'a Matching<'a>,
    /// No row of the table is dead: a look at its death would be a cache miss for nothing.
    is_all_alive: bool,
    pace: RefCell<Pace<'a>>,
    late: Cell<bool>,
    passed: Cell<u64>,
}

impl<'a> Check<'a> {
    /// A check of rows against a filter.
    pub fn new(search: &'a Search<'a>, matching: &'a Matching<'a>) -> Check<'a> {
        let pace = RefCell::new(matching.pace(search.deadline));
        let is_all_alive = search.table.live() == u64::from(search.table.len());
        Check { search, matching, is_all_alive, pace, late: Cell::new(false), passed: Cell::new(0) }
    }

    /// Whether the row is alive and its point matches. Nothing passes any more once it is late.
    #[inline]
    pub fn passes(&self, row: u32) -> bool {
        let passes = self.is_match(row);
        self.passed.set(self.passed.get() + u64::from(passes));
        passes
    }

    /// How many rows have passed.
    pub fn passed(&self) -> u64 {
        self.passed.get()
    }

    #[inline(always)]
    fn is_match(&self, row: u32) -> bool {
        let Search { view, table, excluded, .. } = self.search;
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

    /// An error when it did: rows may have been refused for it.
    pub fn finish(&self) -> Result<(), Error> {
        if self.is_late() { Err(self.search.deadline.error()) } else { Ok(()) }
    }

    fn has_time(&self, offset: PointOffset) -> bool {
        let bytes = self.search.view.state.at(offset).payload.bytes().len();
        self.late.set(self.late.get() || self.pace.borrow_mut().step(bytes).is_err());
        !self.late.get()
    }
}
