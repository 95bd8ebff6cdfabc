//! A text of a request that a model outside the engine makes the vector of (C16).

/// One text in a request's body, which is read again when its vector is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextInput {
    /// Where it stands, as messages name it.
    pub place: String,
    /// The name of the model, as sent.
    pub model: String,
    /// The text.
    pub text: String,
    /// The byte of the body before which the vector is to be inserted: the end of the input's object.
    pub at: usize,
}
