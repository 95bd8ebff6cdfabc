//! Reads: parse, find the collection, run on a snapshot, write the answer.

use super::access::{self, Right};
use super::answer_budget::AnswerBudget;
use super::cursors::Opened;
use super::point_writer::{PointOutput, PointWriter, write_hits};
use super::profile::{Part, Profile, timed};
use super::strict::{Strict, StrictScope};
use super::{Core, Operation, Request, info, search};
use crate::allocator::reserve_or_unwind;
use crate::api::{self, BodyWithWarnings, RequestBody as _, response, summaries};
use crate::catalog::Use;
use crate::collection::{Collection, State, View};
use crate::config::fields::ObjectWriter;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::json::{IdRules, KindOf, PackedVectors, Watch, write_key};
use crate::query::groups::GroupId;
use crate::query::request::{GroupLookup, Selectors, VectorSelector};
use crate::query::tree::{Idf, QueryNode, QueryRequest};
use crate::query::{self, Hit, Shown};
use crate::types::{IdKind, PointOffset};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs a read and answers the whole envelope.
pub fn run(core: &Core, request: &Request, deadline: &Deadline) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let envelope = response::Envelope::start(&mut out);
    let budget = AnswerBudget::new(&core.limits, request.answer_budget, &core.answers, deadline);
    let watch = || deadline.check();
    let kind_of = |name: &str| kind_of_other(core, request, name);
    let ids = IdRules {
        kind: core.catalog.id_kind(&request.collection),
        of_others: core.catalog.has_strings().then_some(KindOf(&kind_of)),
        ..IdRules::default()
    };
    let json = request.json()?.watched(Watch(&watch)).with_ids(ids);
    let body = BodyWithWarnings::new(json, request.strictness).giving_out_texts(request.gives_out_texts);
    let mut packed = request.packing.answer.then(PackedVectors::default);
    let (mut explanation, mut next_cursor, begun) = (Vec::new(), Vec::new(), Instant::now());
    let mut opened = Opened::none(&core.cursors);
    Read {
        core,
        request,
        body: &body,
        deadline,
        out: &mut out,
        points: PointOutput { budget, packed: packed.as_mut() },
        explanation: &mut explanation,
        next_cursor: &mut next_cursor,
        opened: &mut opened.id,
        begun,
    }
    .answer()?;
    for (key, value) in [("explain", &mut explanation), ("next_cursor", &mut next_cursor)] {
        if !value.is_empty() {
            reserve_or_unwind(&mut out, value.len());
            out.push(b',');
            write_key(&mut out, key);
            out.append(value);
        }
    }
    envelope.finish_warning(&mut out, &body.into_warnings(), request.start.elapsed());
    if let Some(packed) = packed {
        packed.append_to(&mut out);
    }
    let out = deadline.whole(out)?;
    opened.keep();
    Ok(out)
}

/// Which ids a collection has in which examples are looked up. Of one that the caller may not read nothing is said: its ids
/// are read as strings, of which any will do, and it is refused afterwards.
fn kind_of_other(core: &Core, request: &Request, name: &str) -> IdKind {
    let is_allowed = request.access.as_ref().is_none_or(|access| access.allows(name, Right::Read));
    if is_allowed { core.catalog.id_kind(name) } else { IdKind::String }
}

/// A read that is being answered.
pub(super) struct Read<'a> {
    pub core: &'a Core,
    pub request: &'a Request,
    pub body: &'a BodyWithWarnings<'a>,
    pub deadline: &'a Deadline,
    pub out: &'a mut Vec<u8>,
    pub points: PointOutput<'a>,
    /// The explanation of a search, in JSON; empty where none is asked for.
    pub explanation: &'a mut Vec<u8>,
    /// The cursor of the next page, in JSON; empty where none is asked for.
    pub next_cursor: &'a mut Vec<u8>,
    /// The cursor that it has opened.
    pub opened: &'a mut Option<u128>,
    /// When a thread took the request.
    pub begun: Instant,
}

impl<'a> Read<'a> {
    /// Where it is noted what the searches of the request did; it outlives this borrow.
    pub(super) fn profile(&self) -> Option<&'a Profile> {
        self.request.profile.as_deref()
    }
}

impl Read<'_> {
    /// Writes the result.
    fn answer(mut self) -> Result<(), Error> {
        match self.request.operation {
            Operation::ListCollections => self.list_collections(),
            Operation::ListAliases | Operation::CollectionAliases => self.aliases()?,
            Operation::CollectionExists => self.collection_exists()?,
            Operation::CollectionInfo => self.collection_info()?,
            Operation::RetrievePoints => self.retrieve()?,
            Operation::GetPoint => self.get_point()?,
            Operation::Search | Operation::Query | Operation::Recommend | Operation::Discover => {
                self.search()?;
            }
            Operation::SearchBatch
            | Operation::QueryBatch
            | Operation::RecommendBatch
            | Operation::DiscoverBatch => self.search_batch()?,
            Operation::SearchGroups | Operation::QueryGroups | Operation::RecommendGroups => {
                self.groups()?;
            }
            Operation::Scroll => self.scroll()?,
            Operation::Count => self.count()?,
            Operation::Facet => self.facet()?,
            Operation::MatrixPairs | Operation::MatrixOffsets => self.matrix()?,
            Operation::ProjectPoints => self.project()?,
            Operation::PlanSync => self.plan_sync()?,
            Operation::Reembedding => self.reembedding()?,
            Operation::ListReembeddings => self.list_reembeddings(),
            Operation::NextTexts => self.next_texts()?,
            Operation::ReplicaState => self.replica_state()?,
            Operation::CollectionStatus | Operation::CollectionClusterInfo | Operation::Optimizations => {
                let held = self.enter()?;
                info::write_part(self.out, self.request.operation, held.entry());
            }
            other => return Err(Error::Internal(format!("{} is not a read", other.title()))),
        }
        let packed = self.points.packed.as_ref().map_or(0, |packed| packed.len());
        self.points.budget.finish(self.out.len() + packed + self.explanation.len())
    }

    /// The collection that the request names, kept from deletion while the answer is made.
    pub(super) fn enter(&self) -> Result<Use, Error> {
        let held = self.core.catalog.enter(&self.request.collection)?.until(self.deadline);
        // The path may have named it by an alias.
        if let Some(access) = &self.request.access {
            access.check(&held.entry().name, Right::Read)?;
        }
        // The ids of the body were read as those of the collection that had the name then.
        if held.entry().config.ids == self.body.ids().kind {
            Ok(held)
        } else {
            Err(Error::CollectionNotFound(self.request.collection.clone()))
        }
    }

    /// The cursor of a request for a further page (C22).
    fn cursor_of_page(&self) -> Result<Option<String>, Error> {
        use Operation::{Query, Scroll, Search};
        let has_pages = matches!(self.request.operation, Search | Query | Scroll);
        if has_pages { api::next_page(self.body) } else { Ok(None) }
    }

    /// Time of reading the body, which has just been read.
    fn parsed(&self) -> Duration {
        let parsing = self.begun.elapsed();
        if let Some(profile) = self.profile() {
            profile.took(Part::Queue, self.begun.saturating_duration_since(self.request.start));
            profile.took(Part::Parse, parsing);
        }
        parsing
    }

    /// Whether the request that `check` finds within the strict mode of its collection is to be answered: one that was only to be
    /// checked is answered here.
    ///
    /// # Errors
    /// Those of the check.
    fn is_wanted(
        &mut self,
        collection: &Collection,
        state: &State,
        check: impl FnOnce(&Strict<'_>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if let Some(strict) = Strict::of(collection, state, self.request)?
            && !matches!(self.request.strict_scope, StrictScope::Part { .. })
        {
            check(&strict)?;
        }
        let is_check = self.request.strict_scope.is_check();
        if is_check {
            response::write_bool(self.out, true);
        }
        Ok(!is_check)
    }

    /// The filter of the request and that of its caller.
    pub(super) fn within(&self, filter: Option<Filter>) -> Option<Filter> {
        access::reached(self.request.access.as_ref(), filter)
    }

    /// The filter of the caller.
    pub(super) fn shown(&self) -> Option<&Filter> {
        self.request.access.as_ref().and_then(|access| access.filter()).map(|filter| &**filter)
    }

    /// The filter of the points that the caller may read by their ids.
    fn shown_by_id(&self) -> Option<&Filter> {
        self.shown().filter(|_| !PlantedFault::RetrieveOutsideToken.is_on())
    }

    /// Refuses a search that looks examples up in a collection that its caller may not read.
    fn check_lookups(&self, requests: &[QueryRequest]) -> Result<(), Error> {
        let Some(access) = &self.request.access else { return Ok(()) };
        let mut named = requests.iter().flat_map(|request| request.node.lookups());
        named.try_for_each(|name| access.check(name, Right::Read))
    }

    /// Puts the filter of the caller around a search.
    fn limit(&self, request: &mut QueryRequest) {
        if self.shown().is_some() && !PlantedFault::SearchOutsideToken.is_on() {
            let own = request.node.filter.take().map(Arc::unwrap_or_clone);
            request.node.filter = self.within(own).map(Arc::new);
            self.limit_corpora(&mut request.node);
        }
    }

    /// Puts the filter of the caller around the points that weigh the vectors of a node and of its prefetches: how many match a
    /// filter shows in the scores.
    fn limit_corpora(&self, node: &mut QueryNode) {
        if let Some(Idf::Corpus(corpus)) = &mut node.idf
            && let Some(reached) = self.within(Some((**corpus).clone()))
        {
            *corpus = Arc::new(reached);
        }
        node.prefetch.iter_mut().for_each(|source| self.limit_corpora(source));
    }

    fn list_collections(&mut self) {
        let entries = self.core.catalog.entries();
        let access = self.request.access.as_ref();
        let shown = |name: &&str| access.is_none_or(|access| access.allows(name, Right::Read));
        response::write_collections(self.out, entries.iter().map(|entry| entry.name.as_str()).filter(shown));
    }

    fn aliases(&mut self) -> Result<(), Error> {
        let catalog = &self.core.catalog;
        let mut aliases = match self.request.operation {
            Operation::ListAliases => catalog.aliases(),
            _ => catalog.aliases_of(self.enter()?.entry().id),
        };
        if let Some(access) = &self.request.access {
            let shown = |name: &str| access.allows(name, Right::Read);
            aliases.retain(|(alias, collection)| shown(alias) && shown(collection));
        }
        summaries::write_aliases(self.out, &aliases);
        Ok(())
    }

    fn collection_exists(&mut self) -> Result<(), Error> {
        let (catalog, name) = (&self.core.catalog, &self.request.collection);
        if let Some(access) = &self.request.access {
            // The path may have named it by an alias.
            access.check(&catalog.resolved(name), Right::Read)?;
        }
        response::write_exists(self.out, catalog.exists(name)?);
        Ok(())
    }

    fn collection_info(&mut self) -> Result<(), Error> {
        let held = self.enter()?;
        let hides_counts = self.shown().is_some() && !PlantedFault::InfoCountsOutsideToken.is_on();
        info::write_info(self.out, &held, hides_counts);
        Ok(())
    }

    fn retrieve(&mut self) -> Result<(), Error> {
        let parsed = api::retrieve(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let view = held.collection()?.current_view();
        check_names(&view, &parsed.with.vector)?;
        if !self
            .is_wanted(held.collection()?, &view.state, |strict| strict.check_retrieve(parsed.ids.len()))?
        {
            return Ok(());
        }
        let offsets = query::retrieve(&view, &parsed, Shown::new(self.shown_by_id(), self.deadline))?;
        let mut writer = PointWriter::new(&view, &parsed.with, &mut self.points, offsets.len());
        writer.expect(offsets.iter().copied());
        response::write_list(self.out, offsets, |out, offset| writer.record(out, Hit::unscored(offset)));
        Ok(())
    }

    fn get_point(&mut self) -> Result<(), Error> {
        let parsed = match &self.request.target {
            Some(id) => api::get_point(id, self.body.ids().kind)?,
            None => api::retrieve(self.body, &self.core.limits)?,
        };
        let held = self.enter()?;
        let view = held.collection()?.current_view();
        check_names(&view, &parsed.with.vector)?;
        if !self
            .is_wanted(held.collection()?, &view.state, |strict| strict.check_retrieve(parsed.ids.len()))?
        {
            return Ok(());
        }
        let offsets = query::retrieve(&view, &parsed, Shown::new(self.shown_by_id(), self.deadline))?;
        let mut writer = PointWriter::new(&view, &parsed.with, &mut self.points, offsets.len());
        writer.expect(offsets.iter().copied());
        match offsets.first() {
            Some(&offset) => writer.record(self.out, Hit::unscored(offset)),
            None => response::write_list(self.out, offsets, |out, offset| {
                writer.record(out, Hit::unscored(offset));
            }),
        }
        Ok(())
    }

    fn search(&mut self) -> Result<(), Error> {
        if let Some(cursor) = self.cursor_of_page()? {
            return self.further_page(&cursor);
        }
        let (body, limits) = (self.body, &self.core.limits);
        let mut parsed = match self.request.operation {
            Operation::Search => api::search(body, limits)?,
            Operation::Recommend => api::recommend(body, limits)?,
            Operation::Discover => api::discover(body, limits)?,
            _ => api::query(body, limits)?,
        };
        let parsing = self.parsed();
        let is_list = self.request.operation != Operation::Query;
        self.check_lookups(std::slice::from_ref(&parsed))?;
        let held = self.enter()?;
        let snapshot = Arc::new(held.collection()?.snapshot());
        if !self.is_wanted(held.collection()?, &snapshot.view.state, |strict| {
            strict.check_queries(std::slice::from_ref(&parsed), false)
        })? {
            return Ok(());
        }
        self.limit(&mut parsed);
        if parsed.node.explain.is_some() {
            return self.explained_search(&snapshot, &parsed, parsing, is_list);
        }
        if let Some(cursor) = parsed.cursor {
            return self.first_ranked_page(&held, &snapshot, parsed, cursor);
        }
        let hits = timed(self.profile(), Part::Search, || {
            search::one(self.core, self.request, &snapshot, &parsed, self.deadline)
        })?;
        timed(self.profile(), Part::Write, || {
            let mut writer = PointWriter::new(&snapshot.view, &parsed.with, &mut self.points, hits.len());
            write_hits(self.out, &mut writer, &hits, is_list);
        });
        Ok(())
    }

    fn search_batch(&mut self) -> Result<(), Error> {
        let (body, limits) = (self.body, &self.core.limits);
        let mut parsed = match self.request.operation {
            Operation::SearchBatch => api::search_batch(body, limits)?,
            Operation::RecommendBatch => api::recommend_batch(body, limits)?,
            Operation::DiscoverBatch => api::discover_batch(body, limits)?,
            _ => api::query_batch(body, limits)?,
        };
        let parsing = self.parsed();
        let is_list = self.request.operation != Operation::QueryBatch;
        self.check_lookups(&parsed)?;
        let held = self.enter()?;
        let snapshot = Arc::new(held.collection()?.snapshot());
        if !self.is_wanted(held.collection()?, &snapshot.view.state, |strict| {
            strict.check_queries(&parsed, true)
        })? {
            return Ok(());
        }
        parsed.iter_mut().for_each(|one| self.limit(one));
        if parsed.iter().any(|one| one.node.explain.is_some()) {
            return self.explained_batch(&snapshot, &parsed, parsing, is_list);
        }
        let parsed = Arc::new(parsed);
        let results = timed(self.profile(), Part::Search, || {
            search::batch(self.core, self.request, &snapshot, &parsed, self.deadline)
        })?;
        timed(self.profile(), Part::Write, || {
            response::write_list(self.out, parsed.iter().zip(results), |out, (one, hits)| {
                let mut writer = PointWriter::new(&snapshot.view, &one.with, &mut self.points, hits.len());
                write_hits(out, &mut writer, &hits, is_list);
            });
        });
        Ok(())
    }

    fn scroll(&mut self) -> Result<(), Error> {
        if let Some(cursor) = self.cursor_of_page()? {
            return self.further_page(&cursor);
        }
        let mut parsed = api::scroll(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let view = held.collection()?.current_view();
        check_names(&view, &parsed.with.vector)?;
        if !self.is_wanted(held.collection()?, &view.state, |strict| {
            strict.check_order("order_by", parsed.order_by.as_ref())?;
            strict.check_read(Some(parsed.limit), parsed.filter.as_ref())
        })? {
            return Ok(());
        }
        if !PlantedFault::ScrollOutsideToken.is_on() {
            parsed.filter = self.within(parsed.filter);
        }
        if let Some(cursor) = parsed.cursor {
            return self.first_scrolled_page(&held, parsed, cursor);
        }
        let page = query::scroll(&view, &parsed, self.deadline)?;
        let mut writer = PointWriter::new(&view, &parsed.with, &mut self.points, page.hits.len());
        writer.expect(page.hits.iter().map(|hit| hit.offset));
        response::write_page(self.out, page.next.as_ref(), |out| {
            response::write_elements(out, page.hits, |out, hit| writer.record(out, hit));
        });
        Ok(())
    }

    fn count(&mut self) -> Result<(), Error> {
        let mut parsed = api::count(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let view = held.collection()?.current_view();
        if !self.is_wanted(held.collection()?, &view.state, |strict| {
            strict.check_read(None, parsed.filter.as_ref())
        })? {
            return Ok(());
        }
        if !PlantedFault::CountOutsideToken.is_on() {
            parsed.filter = self.within(parsed.filter);
        }
        response::write_count(self.out, query::count(&view, &parsed, self.deadline)?);
        Ok(())
    }
}

impl Read<'_> {
    fn groups(&mut self) -> Result<(), Error> {
        let (body, limits) = (self.body, &self.core.limits);
        let mut parsed = match self.request.operation {
            Operation::SearchGroups => api::search_groups(body, limits)?,
            Operation::RecommendGroups => api::recommend_groups(body, limits)?,
            _ => api::query_groups(body, limits)?,
        };
        self.parsed();
        self.check_lookups(std::slice::from_ref(&parsed.query))?;
        if let (Some(lookup), Some(access)) = (&parsed.lookup, &self.request.access) {
            access.check(&lookup.collection, Right::Read)?;
        }
        let held = self.enter()?;
        let snapshot = Arc::new(match PlantedFault::GroupsHaveExpired.is_on() {
            true => held.collection()?.read_snapshot(),
            false => held.collection()?.snapshot(),
        });
        if !self.is_wanted(held.collection()?, &snapshot.view.state, |strict| {
            strict.check_groups("group_by", &parsed.by)?;
            strict.check_grouped_limit(parsed.query.node.limit, parsed.size)?;
            strict.check_queries(std::slice::from_ref(&parsed.query), false)
        })? {
            return Ok(());
        }
        if !PlantedFault::GroupsOutsideToken.is_on() {
            self.limit(&mut parsed.query);
        }
        let lookup = parsed.lookup.as_ref().map(|lookup| self.look_up(lookup)).transpose()?;
        let access = self.request.access.as_ref();
        let within = access.and_then(|access| access.filter());
        let within = within.filter(|_| !PlantedFault::GroupLookupOutsideToken.is_on());
        let groups = timed(self.profile(), Part::Search, || {
            search::groups(self.core, self.request, &snapshot, &parsed, self.deadline)
        })?;
        let mut shown = Shown::new(within.map(|within| &**within), self.deadline);
        let mut looked_up = Vec::with_capacity(groups.len());
        for group in &groups {
            looked_up.push(match &lookup {
                Some((view, _)) => shown_of_group(view, &group.id, &mut shown)?,
                None => None,
            });
        }
        let mut result = ObjectWriter::start(self.out);
        let groups = groups.iter().zip(looked_up);
        response::write_list(result.key("groups"), groups, |out, (group, looked_up)| {
            let mut object = ObjectWriter::start(out);
            let with = &parsed.query.with;
            let mut writer = PointWriter::new(&snapshot.view, with, &mut self.points, group.hits.len());
            write_hits(object.key("hits"), &mut writer, &group.hits, true);
            summaries::write_group_id(object.key("id"), &group.id);
            if let (Some((view, with)), Some(offset)) = (&lookup, looked_up) {
                let mut writer = PointWriter::new(view, with, &mut self.points, 1);
                writer.record(object.key("lookup"), Hit::unscored(offset));
            }
            object.end();
        });
        result.end();
        Ok(())
    }

    /// The collection of which points are shown beside groups, and what is shown of them.
    fn look_up<'l>(&self, lookup: &'l GroupLookup) -> Result<(Arc<View>, &'l Selectors), Error> {
        let find = || -> Result<Arc<View>, Error> {
            let held = self.core.catalog.enter(&lookup.collection)?.until(self.deadline);
            if let Some(access) = &self.request.access {
                access.check(&held.entry().name, Right::Read)?;
            }
            let view = held.collection()?.current_view();
            check_names(&view, &lookup.with.vector)?;
            Ok(view)
        };
        let view = find().map_err(|error| error.within("with_lookup".to_string()))?;
        Ok((view, &lookup.with))
    }

    fn facet(&mut self) -> Result<(), Error> {
        let mut parsed = api::facet(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let collection = held.collection()?;
        let is_late = PlantedFault::ExpiredCounted.is_on();
        let view = if is_late { collection.view() } else { collection.current_view() };
        if !self.is_wanted(collection, &view.state, |strict| {
            strict.check_groups("key", &parsed.key)?;
            strict.check_read(Some(parsed.limit), parsed.filter.as_ref())
        })? {
            return Ok(());
        }
        if !PlantedFault::FacetOutsideToken.is_on() {
            parsed.filter = self.within(parsed.filter);
        }
        let hits = query::facet(&view, &parsed, self.deadline)?;
        summaries::write_facet(self.out, &hits);
        Ok(())
    }

    fn matrix(&mut self) -> Result<(), Error> {
        let mut parsed = api::matrix(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let snapshot = held.collection()?.snapshot();
        if !self.is_wanted(held.collection()?, &snapshot.view.state, |strict| {
            strict.check_read(Some(parsed.limit.saturating_mul(parsed.sample)), parsed.filter.as_ref())
        })? {
            return Ok(());
        }
        if !PlantedFault::MatrixOutsideToken.is_on() {
            parsed.filter = self.within(parsed.filter);
        }
        let rows = query::matrix(&snapshot, &parsed, self.deadline)?;
        let id = |offset| snapshot.view.state.at(offset).id();
        if self.request.operation == Operation::MatrixPairs {
            summaries::write_matrix_pairs(self.out, &rows, id);
        } else {
            summaries::write_matrix_offsets(self.out, &rows, id);
        }
        Ok(())
    }
}

impl Read<'_> {
    fn project(&mut self) -> Result<(), Error> {
        let mut parsed = api::projection(self.body, &self.core.limits)?;
        let held = self.enter()?;
        let collection = held.collection()?;
        let is_late = PlantedFault::ProjectionHasExpired.is_on();
        let snapshot = if is_late { collection.read_snapshot() } else { collection.snapshot() };
        if !self.is_wanted(held.collection()?, &snapshot.view.state, |strict| {
            strict.check_read(Some(parsed.sample), parsed.filter.as_ref())
        })? {
            return Ok(());
        }
        if !PlantedFault::ProjectionOutsideToken.is_on() {
            parsed.filter = self.within(parsed.filter);
        }
        let _underway = self.core.projections.begin()?;
        let projection = query::project(&snapshot, &parsed, self.deadline)?;
        summaries::write_projection(self.out, &projection, |offset| snapshot.view.state.at(offset).id());
        self.points.budget.admits(self.out.len(), 0);
        Ok(())
    }
}

/// Names in `with_vector` must be declared.
pub(super) fn check_names(view: &View, selector: &VectorSelector) -> Result<(), Error> {
    let VectorSelector::Named(names) = selector else { return Ok(()) };
    match names.iter().find(|name| view.state.config.vector_position(name).is_none()) {
        Some(name) => Err(Error::VectorNotFound(name.to_string())),
        None => Ok(()),
    }
}

/// The point that the id of a group names, if the caller may see it.
fn shown_of_group(
    view: &View,
    id: &GroupId<'_>,
    shown: &mut Shown<'_>,
) -> Result<Option<PointOffset>, Error> {
    let named = id.as_point(view.state.config.ids).and_then(|id| view.state.offset(&id));
    match named {
        Some(offset) if shown.has(&view.state, offset)? => Ok(Some(offset)),
        _ => Ok(None),
    }
}
