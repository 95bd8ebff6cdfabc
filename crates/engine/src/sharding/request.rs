//! A request of a collection of several shards.

use super::similarity::Comparison;
use crate::api::{BodyForm, BodyWithWarnings, Operation, Strictness};
use crate::error::Error;
use crate::json::{IdRules, JsonBody, KindOf};
use crate::limits::Limits;
use crate::types::{Datatype, IdKind, Metric};
use std::collections::{HashMap, HashSet};

/// What splitting and merging need to know of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// How many shards it has, at least 1.
    pub shards: u32,
    /// Which ids its points have.
    pub ids: IdKind,
    /// The metrics of its dense and multi-vectors by name, `""` for the unnamed one. Vectors that are not here are sparse.
    pub metrics: HashMap<Box<str>, Metric>,
    /// Those of them that are of bytes (`uint8`).
    pub byte_vectors: HashSet<Box<str>>,
    /// Whether a sparse vector may have the modifier `idf`.
    pub may_weigh: bool,
}

impl Layout {
    /// Whether scores of a vector are distances.
    pub(super) fn smaller_is_better(&self, vector: &str) -> bool {
        !self.metric(vector).higher_is_better()
    }

    /// The metric of a vector.
    pub(super) fn metric(&self, vector: &str) -> Metric {
        self.metrics.get(vector).copied().unwrap_or(Metric::Dot)
    }

    /// How vectors of that name are compared with each other here.
    ///
    /// # Errors
    /// `BadRequest` where the shards compare them by weights that are not known here.
    pub(super) fn comparison(&self, vector: &str, what: &str) -> Result<Comparison, Error> {
        if self.may_weigh && !self.metrics.contains_key(vector) {
            return Err(unavailable(&format!(
                "{what} of a sparse vector, where one of the collection has, or had, the modifier idf,"
            )));
        }
        let datatype = if self.byte_vectors.contains(vector) { Datatype::Uint8 } else { Datatype::Float32 };
        Ok(Comparison::of(self.metric(vector), datatype))
    }
}

/// A request as its client sent it.
#[derive(Clone, Copy, Debug)]
pub struct ShardedRequest<'a> {
    /// What to do.
    pub operation: Operation,
    /// The collection's name, or an alias of it.
    pub collection: &'a str,
    /// Its other names: a body may name it by them as well.
    pub other_names: &'a [String],
    /// Point id or field name from the path.
    pub target: Option<&'a str>,
    /// The body; empty where there was none.
    pub body: &'a [u8],
    /// Its form.
    pub form: BodyForm,
    /// How strictly it is taken.
    pub strictness: Strictness,
    /// Whether it may fail with [`Error::VectorsWanted`], for its caller to send it again with the vectors in it.
    pub gives_out_texts: bool,
    /// The limits on requests.
    pub limits: &'a Limits,
}

impl ShardedRequest<'_> {
    /// Whether a name is one of the collection.
    pub(super) fn names(&self, name: &str) -> bool {
        name == self.collection || self.other_names.iter().any(|other| other == name)
    }

    /// Whether its body is text: the forms that can be split.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.form, BodyForm::Json | BodyForm::Lines)
    }

    /// Refuses a form of body that is not split.
    pub(super) fn check_form(&self) -> Result<(), Error> {
        match self.form {
            BodyForm::Json | BodyForm::Lines => Ok(()),
            BodyForm::Packed => Err(Error::NeedsJson),
            BodyForm::Arrow => Err(unavailable("A body that is an Arrow IPC stream")),
        }
    }

    /// The body for the parsers of the engine. `kind_of` says which ids other collections have.
    pub(super) fn parsed_body<'b>(
        &'b self,
        layout: &Layout,
        kind_of: &'b dyn Fn(&str) -> IdKind,
    ) -> Result<BodyWithWarnings<'b>, Error> {
        let ids = IdRules { kind: layout.ids, of_others: Some(KindOf(kind_of)), ..IdRules::default() };
        let json = JsonBody::from(self.body).with_ids(ids);
        Ok(BodyWithWarnings::new(json, self.strictness).giving_out_texts(self.gives_out_texts))
    }
}

/// The error for what a collection of several shards does not have.
pub(super) fn unavailable(what: &str) -> Error {
    Error::bad(format!("{what} is not available for a collection of several shards in a cluster"))
}
