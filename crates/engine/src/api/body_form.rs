//! The forms that a body comes in.

/// The form of a request's body, and of the vectors of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// The form of the body.
    pub body: BodyForm,
    /// Whether the vectors of the answer to a read of points are 32-bit floats beside the JSON (`json/packed.rs`).
    pub answer: bool,
}

/// The form of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyForm {
    /// JSON.
    #[default]
    Json,
    /// JSON whose vectors are 32-bit floats beside it.
    Packed,
    /// An Arrow IPC stream, of an upsert only (C5.13).
    Arrow,
    /// Lines of JSON, each with a point of an upsert (C5.14). Other operations take it for JSON.
    Lines,
}
