//! Typed requests for points, parsed and checked as far as that goes without the collection. Queries are in [`tree`](super::tree).

use super::tree::QueryRequest;
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
    /// Vectors of these names; `""` is the unnamed vector.
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

/// `cursor` of a read whose further pages are asked for by it (C22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorRequest {
    /// How long it lives after a page.
    pub seconds: u64,
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
    /// Whether there are to be further pages of the same view.
    pub cursor: Option<CursorRequest>,
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
    /// Absent ids are left out of the answer, not refused (C12).
    pub leaves_out_absent: bool,
}

/// The values of a field, counted.
#[derive(Clone, Debug)]
pub struct FacetRequest {
    /// The field.
    pub key: JsonPath,
    /// Values of the answer, at least 1.
    pub limit: usize,
    /// Which points are counted.
    pub filter: Option<Filter>,
}

/// A distance matrix over a sample.
#[derive(Clone, Debug)]
pub struct MatrixRequest {
    /// Which points may be in the sample.
    pub filter: Option<Filter>,
    /// Points of the sample, at least 2.
    pub sample: usize,
    /// Others that each of them is paired with, at least 1.
    pub limit: usize,
    /// Name of the vector; `""` for the unnamed one.
    pub using: Box<str>,
}

/// How vectors become points of a plane (C6.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionMethod {
    /// By their principal components.
    Pca,
    /// By the layout of UMAP, which begins at those.
    Umap,
}

/// The places of a sample of points in a plane (C6.10).
#[derive(Clone, Debug)]
pub struct ProjectionRequest {
    /// Which points may be in the sample.
    pub filter: Option<Filter>,
    /// Points of the sample, at least 1.
    pub sample: usize,
    /// Name of the vector; `""` for the unnamed one.
    pub using: Box<str>,
    /// How they are projected.
    pub method: ProjectionMethod,
    /// Neighbours of a point that UMAP keeps near it, at least 2.
    pub neighbors: usize,
    /// What the sample and the layout follow from.
    pub seed: u64,
}

/// A search or a query whose hits are grouped by a field (C12).
#[derive(Clone, Debug)]
pub struct GroupsRequest {
    /// What is asked for. Its limit is that of groups, its offset 0.
    pub query: QueryRequest,
    /// The field.
    pub by: JsonPath,
    /// Hits of a group, at least 1.
    pub size: usize,
    /// What is shown of the points whose ids are those of the groups.
    pub lookup: Option<GroupLookup>,
}

/// Points that are shown beside groups.
#[derive(Clone, Debug)]
pub struct GroupLookup {
    /// Their collection.
    pub collection: String,
    /// What each of them shows.
    pub with: Selectors,
}
