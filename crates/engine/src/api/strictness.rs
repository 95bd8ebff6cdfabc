//! How strictly a body is read.

use crate::json::{IdRules, JsonBody, Watch};
use std::cell::RefCell;

/// How strictly a request is taken (C12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// What is unknown, absent or beyond the window is refused.
    #[default]
    Strict,
    /// What is harmless is passed over: unknown fields of the body of a read or of a change of a collection, and of its
    /// `params`; what a `limit` has beyond the window; absent ids of a retrieve. An update of points is read as
    /// strictly as otherwise: its body says which points it changes.
    Lenient,
}

/// A body and how it is to be read. Plain bytes are read strictly.
pub trait RequestBody {
    /// The JSON; no bytes where there was no body.
    fn bytes(&self) -> &[u8];

    /// The packed vectors, where it has any.
    fn floats(&self) -> Option<&[u8]> {
        None
    }

    /// What is asked while it is read, whether to go on.
    fn watch(&self) -> Option<Watch<'_>> {
        None
    }

    /// How its ids are read.
    fn ids(&self) -> IdRules<'_> {
        IdRules::default()
    }

    /// How strictly.
    fn strictness(&self) -> Strictness {
        Strictness::Strict
    }

    /// Whether its reading may end with [`Error::VectorsWanted`](crate::error::Error::VectorsWanted); otherwise a model that is
    /// not built in is unknown.
    fn gives_out_texts(&self) -> bool {
        false
    }

    /// Takes the warnings about what was passed over.
    fn warn(&self, _warnings: Vec<String>) {}
}

impl RequestBody for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> RequestBody for [u8; N] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl RequestBody for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl RequestBody for JsonBody<'_> {
    fn bytes(&self) -> &[u8] {
        self.text()
    }

    fn floats(&self) -> Option<&[u8]> {
        JsonBody::floats(self)
    }

    fn watch(&self) -> Option<Watch<'_>> {
        JsonBody::watch(self)
    }

    fn ids(&self) -> IdRules<'_> {
        JsonBody::ids(self)
    }
}

/// A body that is read as strictly as its request says, and what was passed over in it.
pub struct BodyWithWarnings<'b> {
    body: JsonBody<'b>,
    strictness: Strictness,
    gives_out_texts: bool,
    warnings: RefCell<Vec<String>>,
}

impl<'b> BodyWithWarnings<'b> {
    /// A body that has not been read.
    pub fn new(body: JsonBody<'b>, strictness: Strictness) -> BodyWithWarnings<'b> {
        BodyWithWarnings { body, strictness, gives_out_texts: false, warnings: RefCell::default() }
    }

    /// Sets whether texts may be given out to be embedded outside the engine.
    pub fn giving_out_texts(self, gives_out_texts: bool) -> BodyWithWarnings<'b> {
        BodyWithWarnings { gives_out_texts, ..self }
    }

    /// The body read strictly, whatever its request says.
    pub fn strictly(&self) -> BodyWithWarnings<'b> {
        BodyWithWarnings::new(self.body, Strictness::Strict).giving_out_texts(self.gives_out_texts)
    }

    /// What was passed over, a sentence each.
    pub fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

impl RequestBody for BodyWithWarnings<'_> {
    fn bytes(&self) -> &[u8] {
        self.body.text()
    }

    fn floats(&self) -> Option<&[u8]> {
        self.body.floats()
    }

    fn watch(&self) -> Option<Watch<'_>> {
        self.body.watch()
    }

    fn ids(&self) -> IdRules<'_> {
        self.body.ids()
    }

    fn strictness(&self) -> Strictness {
        self.strictness
    }

    fn gives_out_texts(&self) -> bool {
        self.gives_out_texts
    }

    fn warn(&self, warnings: Vec<String>) {
        self.warnings.borrow_mut().extend(warnings);
    }
}
