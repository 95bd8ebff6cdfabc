//! Which points of a snapshot match a filter.

use super::estimate;
use super::excluded::Excluded;
use crate::collection::{ScanMeter, State};
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::{Filter, Plan, PointView};
use crate::point_set::{Bits, PointSet};
use crate::scheduling::lane;
use crate::types::PointOffset;

/// A filter on a state: the result of the field indexes, and the conditions that are left to check on documents.
pub struct Matching<'a> {
    state: &'a State,
    filter: Option<&'a Filter>,
    /// That of the request, which is given up within a long document too.
    deadline: Option<&'a Deadline>,
    plan: Plan,
    /// The candidates as bits, if enough lookups are expected.
    bits: Option<Bits>,
    /// Documents that the filter is checked on.
    meter: Option<ScanMeter<'a>>,
    /// The [work](Filter::work) of the filter for each byte of a document.
    work: usize,
    /// The request runs on the thread of its caller.
    is_here: bool,
}

/// Lookups for each 64 points of the collection from which on [`Bits`] are made. A word of bits takes one or two nanoseconds to
/// make, and a lookup in a list takes about five nanoseconds more than one in the bits.
const LOOKUPS_PER_WORD: u64 = 3;

/// Odd, and near the golden section of the usual sample sizes.
const SPREADING: u64 = 159;

/// The live points where some others have rows that are alive: only these are candidates then.
fn hidden_from(state: &State) -> Option<PointSet> {
    state.hides_points.then(|| state.live.clone())
}

impl<'a> Matching<'a> {
    /// Plans a filter. No filter matches every live point. Where the deadline has passed within a document, the document does
    /// not match and the request is given up: what was found is to pass through [`Deadline::whole`] on this thread.
    pub fn new(state: &'a State, filter: Option<&'a Filter>, deadline: &'a Deadline) -> Matching<'a> {
        match filter {
            None => Matching::all(state),
            Some(filter) => {
                let mut plan = state.plan(filter);
                plan.candidates = plan.candidates.or_else(|| hidden_from(state));
                let meter = (!plan.exact).then(|| ScanMeter::new(state, filter));
                Matching {
                    state,
                    filter: Some(filter),
                    deadline: Some(deadline),
                    plan,
                    bits: None,
                    meter,
                    work: filter.work(),
                    is_here: lane::is_here(),
                }
            }
        }
    }

    /// Every live point.
    pub fn all(state: &'a State) -> Matching<'a> {
        Matching::exactly(state, hidden_from(state))
    }

    /// Exactly some live points.
    pub fn among(state: &'a State, offsets: PointSet) -> Matching<'a> {
        Matching::exactly(state, Some(offsets))
    }

    fn exactly(state: &'a State, candidates: Option<PointSet>) -> Matching<'a> {
        let plan = Plan { candidates, exact: true, certain: PointSet::new() };
        let (filter, deadline, bits, meter) = (None, None, None, None);
        Matching { state, filter, deadline, plan, bits, meter, work: 0, is_here: false }
    }

    /// The same filter on some of the points.
    pub fn narrowed(&self, points: PointSet) -> Matching<'a> {
        let plan = Plan { candidates: Some(&points & self.candidates()), ..self.plan.clone() };
        let meter = self.meter.as_ref().map(ScanMeter::another);
        let Matching { state, filter, deadline, work, is_here, .. } = *self;
        Matching { state, filter, deadline, plan, bits: None, meter, work, is_here }
    }

    /// Leaves some points out.
    pub fn exclude(&mut self, excluded: &Excluded) {
        if !excluded.is_empty() {
            let candidates = self.plan.candidates.get_or_insert_with(|| self.state.live.clone());
            excluded.remove_from(candidates);
            self.bits = None;
        }
    }

    /// Whether every live point matches without a check.
    pub fn is_everything(&self) -> bool {
        self.plan.candidates.is_none() && self.plan.exact
    }

    /// The most points that can match; exact when [`Matching::is_exact`].
    pub fn at_most(&self) -> u64 {
        self.plan.cardinality(self.state.live.len())
    }

    /// Whether every candidate matches.
    pub fn is_exact(&self) -> bool {
        self.plan.exact
    }

    /// Prepares for about so many calls of [`Matching::accepts`].
    pub fn expect(&mut self, looks: u64) {
        if let Some(candidates) = &self.plan.candidates
            && self.bits.is_none()
            && looks.saturating_mul(LOOKUPS_PER_WORD) > self.state.points.len() as u64 / 64
        {
            self.bits = Some(candidates.bits());
        }
    }

    /// Whether the live point at an offset matches.
    #[inline]
    pub fn accepts(&self, offset: PointOffset) -> bool {
        if let Some(bits) = &self.bits {
            return bits.contains(offset) && (self.plan.exact || self.passes(offset));
        }
        self.plan.candidates.as_ref().is_none_or(|candidates| candidates.contains(offset))
            && self.passes(offset)
    }

    fn passes(&self, offset: PointOffset) -> bool {
        let look = || {
            self.meter.as_ref().inspect(|meter| meter.count());
            self.filter.map_or(Ok(true), |filter| {
                let subject = self.state.subject(offset);
                let may_look = self.may_look_at(&subject);
                if may_look { filter.matches_until(&subject, self.work, self.deadline) } else { Ok(false) }
            })
        };
        self.plan.admits(offset, look).unwrap_or(false)
    }

    /// False where the request is given up: nobody sees what comes of it.
    fn may_look_at(&self, subject: &impl PointView) -> bool {
        !self.is_here || lane::may_look_at(subject.document().len(), self.work)
    }

    /// The pace of a loop over points that are checked one by one.
    pub fn pace<'d>(&self, deadline: &'d Deadline) -> Pace<'d> {
        Pace::new(deadline, self.work)
    }

    /// Offsets of the points that match, ascending, each checked.
    pub fn offsets(&self, deadline: &Deadline) -> Result<PointSet, Error> {
        let candidates = self.candidates();
        if self.plan.exact {
            return Ok(candidates.clone());
        }
        deadline.expect(estimate::documents(candidates.len(), self.work))?;
        let mut matching = Vec::new();
        let mut pace = self.pace(deadline);
        for offset in self.state.reading(candidates.iter()) {
            pace.step(self.state.at(offset).document().len())?;
            if self.passes(offset) {
                matching.push(offset);
            }
        }
        Ok(PointSet::from_sorted(&matching))
    }

    /// Every point that can match, ascending.
    pub fn candidates(&self) -> &PointSet {
        self.plan.candidates.as_ref().unwrap_or(&self.state.live)
    }

    /// `COUNT` candidates, evenly spread over all of them; fewer where there are no more. One may come twice.
    pub fn spread<const COUNT: usize>(&self) -> impl Iterator<Item = PointOffset> + use<COUNT> {
        const { assert!(COUNT.is_power_of_two(), "a factor without a divisor in common with it meets each place") };
        let offsets = self.candidates().sample(COUNT as u32);
        // Not in their order, so that the first few are spread as well.
        let places = (0..COUNT as u64).map(|at| (at * SPREADING) as usize % COUNT);
        places.filter_map(move |place| offsets.get(place).copied())
    }

    /// Turns the answer into an exact set, so that nothing is checked twice.
    pub fn settle(&mut self, deadline: &Deadline) -> Result<(), Error> {
        if !self.plan.exact {
            self.plan.candidates = Some(self.offsets(deadline)?);
            self.plan.exact = true;
            self.bits = None;
        }
        Ok(())
    }
}
