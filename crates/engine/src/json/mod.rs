//! Reading and writing JSON without a generic tree.
//!
//! [`Reader`] is a pull parser over the bytes of a request: typed parsers call it for the values that they expect, and
//! every error names the place (C1.11). The writers append to a byte buffer.

mod packed;
mod payload;
mod reader;
mod two_names;

pub use crate::json_writer::{write_f32, write_f64, write_key, write_string, write_u64};
pub use packed::{JsonBody, PackedVectors};
pub use payload::{MAX_PAYLOAD_DEPTH, read_payload, read_value};
pub use reader::{IdRules, Kind, KindOf, Mark, Reader, Watch};
pub use two_names::TwoNames;
