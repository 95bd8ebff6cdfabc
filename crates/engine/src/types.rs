//! Types that every layer shares: point ids and offsets, rows of fields, nodes of graphs, numbers of records and operations, distances,
//! element types.

mod lsn;
mod node;
mod op_number;
mod operation_id;
mod point_id;
mod point_offset;
mod row;
mod text_id;
mod text_input;

pub use lsn::Lsn;
pub use node::Node;
pub use op_number::OpNumber;
pub use operation_id::OperationId;
pub use point_id::{IdKind, PointId};
pub use point_offset::PointOffset;
pub use row::{Row, RowRange};
pub use text_id::TextId;
pub use text_input::TextInput;

/// Distance of a vector field (C2.4).
///
/// Inside the engine every metric is a *distance*, smaller is better: minus the dot product for
/// [`Metric::Cosine`] (rows and queries are normalised first) and [`Metric::Dot`], the squared distance for
/// [`Metric::Euclid`], the sum of absolute differences for [`Metric::Manhattan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Dot product of normalised vectors; higher is better.
    Cosine,
    /// Root of the sum of squared differences; lower is better.
    Euclid,
    /// Dot product; higher is better.
    Dot,
    /// Sum of absolute differences; lower is better.
    Manhattan,
}

impl Metric {
    /// The score that clients see for an internal distance.
    pub fn score(self, distance: f32) -> f32 {
        match self {
            // `0.0 - x` and not `-x`: a product of zero is answered as 0, never as -0.
            Metric::Cosine | Metric::Dot => 0.0 - distance,
            Metric::Euclid => distance.max(0.0).sqrt(),
            Metric::Manhattan => distance,
        }
    }

    /// Whether a higher public score is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Metric::Cosine | Metric::Dot)
    }

    /// Whether one public score is worse than another.
    pub fn is_worse(self, score: f32, than: f32) -> bool {
        if self.higher_is_better() { score < than } else { score > than }
    }

    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cosine => "Cosine",
            Metric::Euclid => "Euclid",
            Metric::Dot => "Dot",
            Metric::Manhattan => "Manhattan",
        }
    }

    /// The metric of that name.
    pub fn parse(name: &str) -> Option<Metric> {
        Some(match name {
            "Cosine" => Metric::Cosine,
            "Euclid" => Metric::Euclid,
            "Dot" => Metric::Dot,
            "Manhattan" => Metric::Manhattan,
            _ => return None,
        })
    }
}

/// Element type that a vector field keeps (C2.6, C4.3). Values are rounded to it when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// 32-bit floats.
    Float32,
    /// Rounded to 16-bit floats.
    Float16,
    /// Whole numbers from 0 to 255.
    Uint8,
    /// Kept as [`Datatype::Float16`]: four bits a component were asked for, and originals are kept finer here.
    Turbo4,
}

impl Datatype {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Datatype::Float32 => "float32",
            Datatype::Float16 => "float16",
            Datatype::Uint8 => "uint8",
            Datatype::Turbo4 => "turbo4",
        }
    }
}
