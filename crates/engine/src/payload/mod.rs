//! Payloads: reading, editing and indexing JSON documents.
//!
//! A payload is kept as the normalised JSON that [`crate::json::read_payload`] writes, and this module works on those bytes:
//! [`Document`] finds the values of a [`JsonPath`] without building a tree, [`edit`] and [`Removal`] write changed
//! payloads, [`PayloadSelector`] writes the part of a payload that an answer shows, and [`FieldIndex`] maps the values of
//! a path to the points that hold them. [`Tokenizer`] splits texts into tokens.

mod datetime;
mod document;
pub mod edit;
mod geo;
mod index;
mod interval;
mod path;
mod removal;
mod scan;
mod select;
mod text;

pub use datetime::{parse_datetime, write_datetime};
pub use document::{Array, Document, Entry, JsonStr, Object, Value};
pub use geo::{GeoPoint, GeoShape};
pub use index::{
    Bounds, CountedValue, FieldIndex, FieldKind, FieldSchema, OrderKey, Ordered, PlanWork, Postings,
    ordered_map_bytes,
};
pub use interval::Interval;
pub use path::{JsonPath, Key, PathError, Step};
pub use removal::Removal;
pub use select::PayloadSelector;
pub use text::{Pattern, TextMatch, TextOptions, Tokenizer, Tokens};
