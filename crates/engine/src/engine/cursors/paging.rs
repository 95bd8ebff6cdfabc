//! Reads with further pages: the first page, which opens a cursor, and those that it is asked for.

use super::cursor::{Asked, Cursor, RankedBy, Source};
use super::ranking::{Ranking, Shared};
use super::token::{self, Position};
use crate::api::response;
use crate::catalog::Use;
use crate::collection::{Collection, Snapshot, View};
use crate::engine::point_writer::{PointWriter, write_hits};
use crate::engine::profile::{Part, timed};
use crate::engine::read::Read;
use crate::engine::strict::Strict;
use crate::engine::{Operation, search};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::json::write_string;
use crate::query::request::{CursorRequest, ScrollRequest};
use crate::query::tree::{Query, QueryRequest};
use crate::query::{self, Hit, Shown};
use crate::scheduling::lane;
use crate::types::PointId;
use std::sync::Arc;

/// A ranking is extended to this multiple of what it has: the pages between two extensions cost nothing but their writing.
const EXTENSION: usize = 4;

/// The view of a cursor without the points whose time has come since.
fn seen_now(collection: &Collection, cursor: &Cursor) -> Arc<View> {
    let view = &cursor.snapshot.view;
    if PlantedFault::CursorSeesLaterWrites.is_on() {
        collection.current_view()
    } else if PlantedFault::CursorShowsExpired.is_on() {
        Arc::clone(view)
    } else {
        collection.without_expired_since(view)
    }
}

impl Read<'_> {
    /// Answers the first page of a search or a query, and opens its cursor where there is a second one.
    pub(in crate::engine) fn first_ranked_page(
        &mut self,
        held: &Use,
        snapshot: &Arc<Snapshot>,
        request: QueryRequest,
        cursor: CursorRequest,
    ) -> Result<(), Error> {
        lane::need_engine_thread()?;
        // A sample of a collection has no order to skip in.
        let is_sample = matches!(request.node.query, Query::Sample) && request.node.prefetch.is_empty();
        let (from, limit) = (if is_sample { 0 } else { request.offset }, request.node.limit);
        let prepared = search::prepare(self.core, self.request, snapshot, &request, self.deadline)?;
        let source = self.ranked(snapshot, RankedBy::Query(prepared), from + limit + 1)?;
        let taken = (held.collection()?, Arc::clone(snapshot));
        let cursor = Cursor::new(self.asked(), cursor, taken, (limit, request.with), source)?;
        self.ranked_page(held.collection()?, &Arc::new(cursor), from, true)
    }

    /// Answers the first page of a scroll, and opens its cursor where there is a second one.
    pub(in crate::engine) fn first_scrolled_page(
        &mut self,
        held: &Use,
        request: ScrollRequest,
        cursor: CursorRequest,
    ) -> Result<(), Error> {
        let collection = held.collection()?;
        let snapshot = collection.read_snapshot();
        let view = collection.without_expired_since(&snapshot.view);
        let snapshot = Arc::new(Snapshot { view, ..snapshot });
        let (limit, with, from) = (request.limit, request.with.clone(), request.offset.clone());
        let is_ordered = request.order_by.is_some();
        let source = if is_ordered {
            self.ranked(&snapshot, RankedBy::Field(request), limit + 1)?
        } else {
            Source::ById(request)
        };
        let cursor =
            Arc::new(Cursor::new(self.asked(), cursor, (collection, snapshot), (limit, with), source)?);
        match is_ordered {
            true => self.ranked_page(collection, &cursor, 0, true),
            false => self.page_by_id(collection, &cursor, from, true),
        }
    }

    /// Answers a further page.
    ///
    /// # Errors
    /// `CursorNotFound`, and those of the read.
    pub(in crate::engine) fn further_page(&mut self, text: &str) -> Result<(), Error> {
        let held = self.enter()?;
        let collection = held.collection()?;
        if let Some(strict) = Strict::of(collection, &collection.view().state, self.request)? {
            strict.check_page()?;
        }
        let (id, position) = token::read(text).ok_or(Error::CursorNotFound)?;
        let cursor = self.core.cursors.find(id, &self.asked(), collection)?;
        match (&cursor.source, position) {
            (Source::Ranked(..), Position::Rank(from)) => self.ranked_page(collection, &cursor, from, false),
            (Source::ById(_), Position::Id(from)) => self.page_by_id(collection, &cursor, Some(from), false),
            _ => Err(Error::CursorNotFound),
        }
    }

    fn asked(&self) -> Asked<'_> {
        let body_bytes = (*self.request.body).as_ref().len();
        Asked { caller: &self.request.caller, operation: self.request.operation, body_bytes }
    }

    /// Writes a page of a ranking.
    fn ranked_page(
        &mut self,
        collection: &Collection,
        cursor: &Arc<Cursor>,
        from: usize,
        is_first: bool,
    ) -> Result<(), Error> {
        let Source::Ranked(by, shared) = &cursor.source else { return Err(Error::CursorNotFound) };
        let end = from.saturating_add(cursor.limit);
        let ranking = self.extended(cursor, (by, shared), end.saturating_add(1))?;
        let view = seen_now(collection, cursor);
        // Without what has expired since, and what the caller may not reach any more.
        let within = self.shown().filter(|_| !PlantedFault::CursorOutsideToken.is_on());
        let mut shown = Shown::new(within, self.deadline);
        let mut hits = Vec::new();
        for hit in ranking.page(from, cursor.limit) {
            if view.state.live.contains(hit.offset) && shown.has(&view.state, hit.offset)? {
                hits.push(hit);
            }
        }
        let begin = if PlantedFault::CursorPagesOverlap.is_on() { end - 1 } else { end };
        let next = (end < ranking.len()).then_some(Position::Rank(begin));
        self.settle(cursor, next, is_first)?;
        let operation = self.request.operation;
        let mut writer = PointWriter::new(&view, &cursor.with, &mut self.points, hits.len());
        if operation == Operation::Scroll {
            response::write_page(self.out, None, |out| {
                response::write_elements(out, hits, |out, hit| writer.record(out, hit));
            });
        } else {
            write_hits(self.out, &mut writer, &hits, operation != Operation::Query);
        }
        Ok(())
    }

    /// Writes a page of points by their ids.
    fn page_by_id(
        &mut self,
        collection: &Collection,
        cursor: &Arc<Cursor>,
        from: Option<PointId>,
        is_first: bool,
    ) -> Result<(), Error> {
        let Source::ById(request) = &cursor.source else { return Err(Error::CursorNotFound) };
        let view = seen_now(collection, cursor);
        let filter = if is_first || PlantedFault::CursorOutsideToken.is_on() {
            request.filter.clone()
        } else {
            self.within(request.filter.clone())
        };
        let page = ScrollRequest { offset: from, filter, ..request.clone() };
        let page = query::scroll(&view, &page, self.deadline)?;
        self.settle(cursor, page.next.clone().map(Position::Id), is_first)?;
        let mut writer = PointWriter::new(&view, &cursor.with, &mut self.points, page.hits.len());
        response::write_page(self.out, page.next.as_ref(), |out| {
            response::write_elements(out, page.hits, |out, hit| writer.record(out, hit));
        });
        Ok(())
    }

    /// Keeps a cursor that has a further page; writes whether it has.
    fn settle(&mut self, cursor: &Arc<Cursor>, next: Option<Position>, is_first: bool) -> Result<(), Error> {
        let Some(position) = next else {
            cursor.note_last_page();
            self.next_cursor.extend_from_slice(b"null");
            return Ok(());
        };
        if is_first {
            self.core.cursors.keep(Arc::clone(cursor))?;
            *self.opened = Some(cursor.id);
        }
        cursor.renew();
        write_string(self.next_cursor, &token::write(cursor.id, &position));
        Ok(())
    }

    /// The ranking of a cursor with at least `wanted` hits, or with all that there are.
    fn extended(
        &self,
        cursor: &Cursor,
        (by, shared): (&RankedBy, &Shared),
        wanted: usize,
    ) -> Result<Arc<Ranking>, Error> {
        let (ranking, most) = (Arc::clone(&shared.lock()), self.core.limits.max_result_window);
        let wanted = wanted.min(most);
        if ranking.len() >= wanted || ranking.is_whole() {
            return Ok(ranking);
        }
        let reach = wanted.max(ranking.len().saturating_mul(EXTENSION)).min(most);
        // Without the lock: another request of the cursor may do the same, and has what is there meanwhile.
        let hits = self.rank(&cursor.snapshot, by, reach)?;
        let mut longer = Ranking::clone(&ranking);
        longer.extend(&hits, reach, most);
        let longer = Arc::new(longer);
        let mut current = shared.lock();
        if Arc::ptr_eq(&current, &ranking) {
            *current = Arc::clone(&longer);
            return Ok(longer);
        }
        // The places of hits that were answered stay: another extension counts.
        Ok(Arc::clone(&current))
    }

    /// A ranking with its first `wanted` hits, at most as many as it may have.
    fn ranked(&self, snapshot: &Arc<Snapshot>, by: RankedBy, wanted: usize) -> Result<Source, Error> {
        let reach = wanted.min(self.core.limits.max_result_window);
        let ranking = Ranking::new(&self.rank(snapshot, &by, reach)?, reach);
        Ok(Source::Ranked(by, Shared::new(Arc::new(ranking))))
    }

    /// The first `reach` hits.
    fn rank(&self, snapshot: &Arc<Snapshot>, by: &RankedBy, reach: usize) -> Result<Vec<Hit>, Error> {
        match by {
            RankedBy::Query(prepared) => {
                let prepared = Arc::new(prepared.reaching(reach));
                timed(self.profile(), Part::Search, || {
                    search::hits(self.core, self.request, snapshot, &prepared, self.deadline)
                })
            }
            RankedBy::Field(request) => {
                let request = ScrollRequest { limit: reach, ..request.clone() };
                Ok(query::scroll(&snapshot.view, &request, self.deadline)?.hits)
            }
        }
    }
}
