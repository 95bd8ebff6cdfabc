//! Maximal marginal relevance: the candidates of all shards with their vectors, of which the engine's own choice is made.

use super::hits::Found;
use super::members::Members;
use super::questions::broken;
use super::read::Context;
use super::request::unavailable;
use super::search::{List, Tree, Within, nearest};
use super::similarity::{Comparable, Comparison, is_too_much, vector_of};
use crate::api::read_vector;
use crate::api::response::write_list;
use crate::error::Error;
use crate::json::{Reader, write_string};
use crate::query::tree::{Example, Mmr};
use crate::query::{Hit, Redundancy, choose_by};
use crate::types::PointOffset;
use crate::vectors::VectorValue;

impl Tree {
    /// What a query by maximal marginal relevance is to be near to.
    pub(super) fn nearest_of_mmr(&self) -> Result<String, Error> {
        let query = Members::parse(self.members.get("query").unwrap_or_default().as_bytes())?;
        query.get("nearest").map(str::to_string).ok_or_else(broken)
    }
}

/// `with_vector` for one vector.
pub(super) fn with_vector(name: &str) -> Members<'static> {
    let (mut text, mut shown) = (Vec::new(), Members::default());
    write_list(&mut text, [name], write_string);
    shown.set("with_vector", String::from_utf8(text).unwrap_or_default());
    shown
}

/// The first `window` of the candidates.
pub(super) async fn choose(
    context: &Context,
    tree: &Tree,
    mmr: &Mmr,
    within: &Within<'_>,
    lists: &[List],
    window: usize,
) -> Result<Vec<Found>, Error> {
    let mut asked = tree.asked();
    asked.set("query", tree.nearest_of_mmr()?);
    let (name, most) = (&*tree.node.using, mmr.candidates.unwrap_or(window));
    let comparison = context.layout.comparison(name, "Maximal marginal relevance")?;
    let shown = with_vector(name);
    let candidates = nearest(context, tree, asked, within, lists, (most, &shown)).await?;
    let mut found: Vec<Found> = Vec::with_capacity(candidates.len());
    let mut vectors = Vec::with_capacity(candidates.len());
    for point in candidates {
        if let Some(vector) = vector_of(&point, name)? {
            vectors.push(Comparable::of(vector, comparison));
            found.push(Found { vector: None, ..point });
        }
    }
    if is_too_much(&vectors, window.min(vectors.len())) {
        return Err(unavailable("Maximal marginal relevance of so many candidates"));
    }
    let place = |at: usize| PointOffset::new(u32::try_from(at).unwrap_or(u32::MAX));
    let target = target_of(tree, mmr)?.map(|target| Comparable::of(target, comparison));
    let relevance = |(at, point): (usize, &Found)| {
        // The score of a sparse vector is its similarity, with the weights of its indices.
        let similarity = target.as_ref().map_or(point.score, |target| {
            0.0 - target.distance(&vectors[at], comparison).unwrap_or(f32::MAX)
        });
        (Hit::scored(place(at), point.score), similarity)
    };
    let mut chosen = Chosen { comparison, vectors: &vectors, places: Vec::new() };
    let hits = choose_by(found.iter().enumerate().map(relevance), mmr.diversity, window, &mut chosen)?;
    Ok(hits.into_iter().filter_map(|hit| found.get(hit.offset.index()).cloned()).collect())
}

/// What the candidates are near to; nothing where it is sparse.
fn target_of(tree: &Tree, mmr: &Mmr) -> Result<Option<VectorValue>, Error> {
    let vector = match &mmr.nearest {
        Example::Vector(vector, _) => vector.clone(),
        Example::Id(_) => read_vector(&mut Reader::new(tree.nearest_of_mmr()?.as_bytes())?)?,
    };
    Ok(Some(vector).filter(|vector| !matches!(vector, VectorValue::Sparse(_))))
}

/// The candidates that were chosen, by their places.
struct Chosen<'v> {
    comparison: Comparison,
    vectors: &'v [Comparable],
    places: Vec<usize>,
}

impl Redundancy for Chosen<'_> {
    fn add(&mut self, hit: Hit) -> Result<(), Error> {
        self.places.push(hit.offset.index());
        Ok(())
    }

    fn of(&mut self, hit: Hit, from: usize) -> Result<f32, Error> {
        let of = &self.vectors[hit.offset.index()];
        let similarity = |place: &usize| {
            let chosen = &self.vectors[*place];
            // Of multi-vectors the candidate asks, of others what was chosen.
            let is_multi = matches!(of, Comparable::Rows { is_multi: true, .. });
            let (query, other) = if is_multi { (of, chosen) } else { (chosen, of) };
            0.0 - query.distance(other, self.comparison).unwrap_or(0.0)
        };
        Ok(self.places[from..].iter().map(similarity).fold(f32::NEG_INFINITY, f32::max))
    }
}
