//! What the ids of a body are (C21): that depends on the collections that they are ids of.

use crate::types::IdKind;
use std::fmt;

/// Which ids the points of a collection have, by its name.
#[derive(Clone, Copy)]
pub struct KindOf<'a>(pub &'a dyn Fn(&str) -> IdKind);

impl fmt::Debug for KindOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KindOf")
    }
}

/// How the ids of a body are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdRules<'a> {
    /// The kind of ids of the request's collection.
    pub kind: IdKind,
    /// The kind of ids of examples that are looked up in another collection.
    pub of_examples: Option<IdKind>,
    /// The kinds of ids of other collections; `None` where all are of the same kind.
    pub of_others: Option<KindOf<'a>>,
    /// The ids may be of any collection: a string is each id that it can be.
    pub are_of_any: bool,
}
