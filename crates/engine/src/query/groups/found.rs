//! The groups of the hits that were found so far.

use super::numbering::Numbering;
use crate::collection::State;
use crate::faults::PlantedFault;
use crate::group_keys::GroupId;
use crate::query::Hit;
use crate::types::PointOffset;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// The order of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// By their scores, the best first, ties by id.
    Scores {
        /// They are distances.
        smaller_is_better: bool,
    },
    /// As they were found.
    Found,
}

/// Hits whose points have one value in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Group<'v> {
    /// The value.
    pub id: GroupId<'v>,
    /// The hits, best first. There is at least one.
    pub hits: Vec<Hit>,
}

/// A group by its number.
pub(super) struct Numbered {
    /// The number.
    pub number: u32,
    /// The hits, best first once they were sorted. There is at least one.
    pub hits: Vec<Hit>,
}

/// Groups of hits.
pub(super) struct Found<'v, 'q> {
    state: &'v State,
    numbering: Numbering<'v, 'q>,
    /// The most hits of a group.
    size: usize,
    order: Order,
    /// In the order in which they were found.
    groups: Vec<Numbered>,
    places: HashMap<u32, usize>,
    /// Points of the hits, those without a group included.
    seen: Vec<PointOffset>,
    /// Groups of which no more hits are to be found.
    settled: HashSet<u32>,
}

impl<'v, 'q> Found<'v, 'q> {
    /// None yet.
    pub fn new(state: &'v State, numbering: Numbering<'v, 'q>, size: usize, order: Order) -> Found<'v, 'q> {
        Found {
            state,
            numbering,
            size,
            order,
            groups: Vec::new(),
            places: HashMap::new(),
            seen: Vec::new(),
            settled: HashSet::new(),
        }
    }

    /// How the groups are numbered.
    pub fn numbering(&self) -> &Numbering<'v, 'q> {
        &self.numbering
    }

    /// Adds hits, best first, to the groups of their points.
    pub fn add(&mut self, hits: &[Hit]) {
        let mut numbers = Vec::new();
        for hit in hits {
            self.seen.push(hit.offset);
            self.numbering.read(hit.offset, &mut numbers);
            for &number in &numbers {
                let place = self.place_of(number);
                let hits = &mut self.groups[place].hits;
                // An ordering by a field has a hit for each value of a point.
                let is_new = hits.iter().all(|known| known.offset != hit.offset);
                if hits.len() < self.size && (is_new || PlantedFault::GroupHasHitTwice.is_on()) {
                    hits.push(*hit);
                }
            }
        }
    }

    /// Adds a group with the best of its hits. If it is settled, no more are to be found.
    pub fn add_group(&mut self, number: u32, hits: &[Hit], is_settled: bool) {
        if hits.is_empty() {
            return;
        }
        self.seen.extend(hits.iter().map(|hit| hit.offset));
        if is_settled {
            self.settled.insert(number);
        }
        let place = self.place_of(number);
        self.fill(place, hits);
    }

    fn place_of(&mut self, number: u32) -> usize {
        *self.places.entry(number).or_insert_with(|| {
            self.groups.push(Numbered { number, hits: Vec::new() });
            self.groups.len() - 1
        })
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The groups that have all the hits that they may have.
    pub fn full(&self) -> impl Iterator<Item = &Numbered> {
        self.groups.iter().filter(|group| group.hits.len() >= self.size)
    }

    /// The id of a group.
    pub fn id(&self, group: &Numbered) -> Option<GroupId<'v>> {
        group.hits.first().and_then(|hit| self.numbering.id(group.number, hit.offset))
    }

    /// Places of the best `limit` groups that may get more hits.
    pub fn unfilled(&mut self, limit: usize) -> Vec<usize> {
        let mut best: Vec<usize> = (0..self.groups.len()).collect();
        self.groups.iter_mut().for_each(|group| sort_hits(self.state, self.order, &mut group.hits));
        best.sort_by(|&a, &b| self.compare(&self.groups[a], &self.groups[b]));
        best.truncate(limit);
        best.retain(|&place| {
            let group = &self.groups[place];
            group.hits.len() < self.size && !self.settled.contains(&group.number)
        });
        best
    }

    /// The group at a place.
    pub fn group(&self, place: usize) -> &Numbered {
        &self.groups[place]
    }

    /// Replaces the hits of a group by the best of all its points, best first. Hits that were found before stay where they are
    /// better: a search that is not exact may miss some.
    pub fn fill(&mut self, place: usize, hits: &[Hit]) {
        let group = &mut self.groups[place];
        let before = std::mem::take(&mut group.hits);
        for hit in hits.iter().chain(&before) {
            if group.hits.iter().all(|known| known.offset != hit.offset) {
                group.hits.push(*hit);
            }
        }
        sort_hits(self.state, self.order, &mut group.hits);
        group.hits.truncate(self.size);
    }

    /// The order of two groups: by their best hits. Where both are hits of one point, the order of the values in its payload.
    fn compare(&self, a: &Numbered, b: &Numbered) -> Ordering {
        match (self.order, a.hits.first(), b.hits.first()) {
            (Order::Scores { smaller_is_better }, Some(best), Some(other)) => {
                by_score(self.state, smaller_is_better, best, other)
                    .then_with(|| self.numbering.order(best.offset, a.number, b.number))
            }
            _ => Ordering::Equal,
        }
    }

    /// Points that need not be found again.
    pub fn seen(&self) -> &[PointOffset] {
        &self.seen
    }

    /// The best `limit` groups, best first: by their best hits.
    pub fn into_best(mut self, limit: usize) -> Vec<Group<'v>> {
        self.groups.iter_mut().for_each(|group| sort_hits(self.state, self.order, &mut group.hits));
        let mut groups = std::mem::take(&mut self.groups);
        groups.sort_by(|a, b| self.compare(a, b));
        groups.truncate(limit);
        groups
            .into_iter()
            .filter_map(|group| Some(Group { id: self.id(&group)?, hits: group.hits }))
            .collect()
    }
}

fn sort_hits(state: &State, order: Order, hits: &mut [Hit]) {
    if let Order::Scores { smaller_is_better } = order {
        hits.sort_by(|a, b| by_score(state, smaller_is_better, a, b));
    }
}

fn by_score(state: &State, smaller_is_better: bool, a: &Hit, b: &Hit) -> Ordering {
    let scores = if smaller_is_better { a.score.total_cmp(&b.score) } else { b.score.total_cmp(&a.score) };
    scores.then_with(|| state.at(a.offset).id().cmp(&state.at(b.offset).id()))
}
