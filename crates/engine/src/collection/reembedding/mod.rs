//! Embedding a vector field anew (C19), beside searches and writes: which texts come next, how far it is, and its end.
//! `docs/reembedding.md` has the design.
//!
//! What is done is in the state of the collection, and so in the log and in checkpoints: the vectors of a shadow. Nothing
//! else has to outlive a restart.

mod filling;
mod progress;

pub use filling::{Ending, Filling, NewVector};
pub(super) use filling::{check_complete, filled};
pub(super) use progress::Progresses;
pub use progress::{NextTexts, ReembeddingReport, ReembeddingState, TextOfPoint};
