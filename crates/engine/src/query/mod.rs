//! Reading: nearest neighbours, pages by id or by a field, samples, counts.
//!
//! Every read runs on one [`Snapshot`](crate::collection::Snapshot): a search is a pure function of the snapshot
//! and the request, and takes no lock.

mod average;
mod batch;
mod bound_search;
mod calculated;
pub mod calibrating;
mod count;
mod custom;
mod custom_scan;
mod digest_points;
mod estimate;
mod excluded;
mod explain;
mod facet;
pub mod formula;
mod fusion;
pub mod groups;
mod matching;
mod matrix;
mod mmr;
mod multi;
mod multi_scorer;
mod nearest;
mod order;
mod plan_runner;
mod planner;
mod prepared;
mod projection;
mod ranking;
pub mod request;
mod resolve;
mod retrieve;
mod rows;
mod run;
mod sample;
mod scorer;
mod scroll;
mod shown;
mod sparse;
mod tally;
#[cfg(test)]
mod tests;
mod trace;
pub mod tree;
mod vector_search;
mod why;

pub use batch::{groups, query_group};
pub use count::count;
pub use digest_points::digest_points;
pub use explain::{Explanation, ScoreDetail, StepFigures, compared, explain};
pub use facet::{FacetHit, FacetValue, facet};
pub use fusion::fuse;
pub use matrix::{MatrixRow, matrix};
pub use mmr::{Redundancy, choose_by};
pub use order::compare_values;
pub use planner::CostModel;
#[cfg(feature = "testing")]
pub use planner::{Plan, forced};
pub use prepared::Prepared;
pub use projection::{Projection, project};
pub use retrieve::retrieve;
pub use run::{List, Lookup, finish, leaf, query, run};
pub use sample::RandomNumbers;
pub use scroll::{Page, scroll};
pub use shown::Shown;
pub use tally::{Tally, Totals, take_tally, take_work};
pub use vector_search::Width;
pub use why::{Loss, Why};

use crate::types::PointOffset;

/// Value of an ordering, as it is answered (C6.7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OrderValue {
    /// An integer, or a date-time in microseconds since the epoch.
    Integer(i64),
    /// A float.
    Float(f64),
}

/// One hit of a read: a point of the snapshot and how it got there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Offset of the point in the snapshot's state.
    pub offset: PointOffset,
    /// Its score; 1.0 where nothing is scored (C6.7).
    pub score: f32,
    /// The value it was ordered by.
    pub order_value: Option<OrderValue>,
}

impl Hit {
    /// A hit with a score.
    pub fn scored(offset: PointOffset, score: f32) -> Hit {
        Hit { offset, score, order_value: None }
    }

    /// A hit without a score of its own.
    pub fn unscored(offset: PointOffset) -> Hit {
        Hit { offset, score: 1.0, order_value: None }
    }
}
