//! New vectors that come back from the model, and the end of a re-embedding.

use crate::change::Change;
use crate::config::Reembedding;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::table as field;
use crate::point_set::PointSet;
use crate::state::State;
use crate::types::{OpNumber, PointOffset};
use crate::vectors::VectorValue;

/// Points whose texts a refused commit looks for, at most: it holds the writer up.
const LOOKED_THROUGH: u64 = 10_000;

/// Vectors of texts that were given out.
#[derive(Clone, Debug)]
pub struct Filling {
    /// Name of the field.
    pub name: Box<str>,
    /// The operation that began the re-embedding that they are of.
    pub begun: OpNumber,
    /// The vectors.
    pub vectors: Vec<NewVector>,
}

/// The vector of the text of a point.
#[derive(Clone, Debug)]
pub struct NewVector {
    /// Where the point was when its text was given out.
    pub at: PointOffset,
    /// The text.
    pub text: Box<str>,
    /// What the model made of it.
    pub vector: VectorValue,
}

/// How a re-embedding ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The new vectors take the place of the old ones.
    Commit {
        /// Also where points are left without a vector.
        allow_missing: bool,
    },
    /// The new vectors are dropped.
    Abort,
}

/// The points of a re-embedding that have no new vector.
pub(super) fn lacking(state: &State, reembedding: &Reembedding) -> PointSet {
    let config = &state.config;
    let field = config.field_index(&reembedding.field);
    let due = field.map_or_else(PointSet::new, |field| state.with_vector_at(field));
    &due - &state.with_vector_at(config.shadow_of(reembedding))
}

/// The change that the new vectors make. Those of points whose text is another one by now are left out.
///
/// # Errors
/// `ReembeddingNotFound` when it has ended; `DimensionMismatch`, or `BadRequest` for a vector that the field cannot keep.
pub(in crate::collection) fn filled(state: &State, filling: Filling) -> Result<Option<Change>, Error> {
    let config = &state.config;
    let reembedding = config.reembedding_of(&filling.name)?;
    if reembedding.begun != filling.begun && !PlantedFault::BegunNotCompared.is_on() {
        return Err(Error::ReembeddingNotFound(filling.name.to_string()));
    }
    let shadow = config.shadow_of(reembedding);
    let params = &config.fields()[shadow].1;
    let wanted = lacking(state, reembedding);
    let mut vectors = Vec::with_capacity(filling.vectors.len());
    for (place, NewVector { at, text, vector }) in filling.vectors.into_iter().enumerate() {
        let VectorValue::Dense(mut components) = vector else {
            return Err(Error::bad(format!("points[{place}].input: expected a dense vector")));
        };
        if components.len() != params.size {
            let (name, expected, got) = (filling.name.to_string(), params.size, components.len());
            return Err(Error::DimensionMismatch { name, expected, got });
        }
        field::prepare(params, &mut components)
            .map_err(|why| Error::bad(format!("points[{place}].input: {why}")))?;
        if wanted.contains(at) {
            let point = state.at(at);
            let is_current = reembedding.text(point.document()).as_deref() == Some(&*text);
            if is_current || PlantedFault::StaleVectorsTaken.is_on() {
                vectors.push((point.id().into_owned(), components));
            }
        }
    }
    let field = shadow as u16;
    Ok((!vectors.is_empty()).then_some(Change::FillVectors { field, vectors }))
}

/// Checks that a commit leaves no point without a vector that has one.
///
/// # Errors
/// `ReembeddingConflict` that says how many points would be left so, and why.
pub(in crate::collection) fn check_complete(state: &State, name: &str) -> Result<(), Error> {
    let reembedding = state.config.reembedding_of(name)?;
    let lacking = lacking(state, reembedding);
    if lacking.is_empty() {
        return Ok(());
    }
    let what = if lacking.len() > LOOKED_THROUGH {
        format!("{} points have no new vector yet", lacking.len())
    } else {
        let has_text = |at: &PointOffset| reembedding.text(state.at(*at).document()).is_some();
        let waiting = lacking.iter().filter(has_text).count() as u64;
        let missing = lacking.len() - waiting;
        let key = &reembedding.text_key;
        format!("{missing} points have no text at '{key}', and {waiting} texts are not embedded yet")
    };
    Err(Error::ReembeddingConflict(format!(
        "vector '{name}': {what}: with allow_missing these points are left without the vector"
    )))
}
