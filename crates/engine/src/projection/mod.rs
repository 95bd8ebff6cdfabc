//! Vectors as points of a plane, for people to look at: by principal components ([`principal`]), or by the layout of
//! UMAP ([`layout`]) over lists of neighbours ([`neighbours`]). This module does not depend on where vectors and neighbours come from.
//!
//! Everything is a function of its input and a seed: on one machine the same vectors get the same places.

pub mod layout;
pub mod neighbours;
pub mod principal;
mod random;

/// Where a vector is in the plane.
pub type Place = [f32; 2];

pub use random::Random;
