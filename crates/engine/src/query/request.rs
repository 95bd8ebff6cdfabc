//! Typed read requests, parsed and checked as far as that goes without the collection.

use crate::filter::Filter;
use crate::payload::{JsonPath, PayloadSelector};
use crate::types::PointId;

/// Which vectors a read answers (C6.1).
#[derive(Clone, Debug, PartialEq)]
pub enum VectorSelector {
    /// None.
    None,
    /// All that the point has.
    All,
    /// Those of these names; `""` is the unnamed vector.
    Named(Vec<Box<str>>),
}

/// What a read answers beside id and score.
#[derive(Clone, Debug)]
pub struct Selectors {
    /// `with_payload`
    pub payload: PayloadSelector,
    /// `with_vector`
    pub vector: VectorSelector,
}

/// `params` of a search (C6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchParams {
    /// Width of the graph search, at least 1; the collection's `ef_search` when absent.
    pub hnsw_ef: Option<usize>,
    /// Exact scan.
    pub exact: bool,
    /// Leave out what is not yet in the graph.
    pub indexed_only: bool,
    /// What the codes are used for.
    pub quantization: QuantizationParams,
}

/// `params.quantization` of a search: how codes stand in for the originals. Without effect on exact scans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantizationParams {
    /// Walk over the originals instead of the codes.
    pub ignore: bool,
    /// Re-rank what the codes have found by the originals; without it the answer holds the codes' estimates.
    pub rescore: bool,
    /// Candidates that are re-ranked for each hit asked for, at least 1.
    pub oversampling: Option<f32>,
}

impl Default for QuantizationParams {
    fn default() -> Self {
        QuantizationParams { ignore: false, rescore: true, oversampling: None }
    }
}

/// The vector to search with.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryVector {
    /// As sent.
    Dense(Vec<f32>),
    /// That of a point, which is left out of the result.
    Id(PointId),
}

/// Direction of an ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// Where an ordering starts, inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartFrom {
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// A date-time, microseconds since the epoch.
    Datetime(i64),
}

/// `order_by` (C6.4, C6.7).
#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    /// The field.
    pub key: JsonPath,
    /// Ascending unless asked otherwise.
    pub direction: Direction,
    /// First value of the page.
    pub start_from: Option<StartFrom>,
}

/// What a query asks for.
#[derive(Clone, Debug)]
pub enum Query {
    /// The nearest to a vector.
    Nearest(QueryVector),
    /// By the value of a field.
    OrderBy(OrderBy),
    /// A uniform random sample.
    Sample,
    /// By id, ascending: no `query` at all.
    ById,
}

/// Where the vector of an example id is looked up (C6.3).
#[derive(Clone, Debug, PartialEq)]
pub struct LookupFrom {
    /// The collection.
    pub collection: String,
    /// The vector's name there; that of `using` when absent.
    pub vector: Option<Box<str>>,
}

/// A search or a query.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked for.
    pub query: Query,
    /// Name of the vector; `""` for the unnamed one.
    pub using: Box<str>,
    /// Which points take part.
    pub filter: Option<Filter>,
    /// How to search.
    pub params: SearchParams,
    /// Scores worse than this are left out. Only with [`Query::Nearest`].
    pub score_threshold: Option<f32>,
    /// Hits to answer, at least 1.
    pub limit: usize,
    /// Hits to leave out at the front.
    pub offset: usize,
    /// What each hit shows.
    pub with: Selectors,
    /// Where an example id is looked up; the collection itself when absent.
    pub lookup_from: Option<LookupFrom>,
}

/// A page of points (C6.4).
#[derive(Clone, Debug)]
pub struct ScrollRequest {
    /// Which points.
    pub filter: Option<Filter>,
    /// Points of a page, at least 1.
    pub limit: usize,
    /// First id of the page. Never together with `order_by`.
    pub offset: Option<PointId>,
    /// By a field instead of by id.
    pub order_by: Option<OrderBy>,
    /// What each point shows.
    pub with: Selectors,
}

/// A count (C6.5).
#[derive(Clone, Debug)]
pub struct CountRequest {
    /// Which points.
    pub filter: Option<Filter>,
    /// False allows an estimate.
    pub exact: bool,
}

/// Points by id (C5.2, C5.3).
#[derive(Clone, Debug)]
pub struct RetrieveRequest {
    /// In the order of the answer.
    pub ids: Vec<PointId>,
    /// What each point shows.
    pub with: Selectors,
}
