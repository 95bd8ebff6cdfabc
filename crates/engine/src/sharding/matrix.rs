//! Distance matrices: a sample of all shards, whose vectors are compared here.

use super::chosen::with_vector;
use super::members::Members;
use super::read::Context;
use super::request::unavailable;
use super::sample;
use super::similarity::{Comparable, Comparison, is_too_much, vector_of};
use crate::api::summaries::{write_matrix_offsets, write_matrix_pairs};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::write_string;
use crate::query::request::MatrixRequest;
use crate::query::{Hit, MatrixRow};
use crate::types::{PointId, PointOffset};
use std::borrow::Cow;

/// A random sample of the points that have the vector, and of each its nearest others.
pub(super) async fn matrix(
    context: &Context,
    out: &mut Vec<u8>,
    request: &MatrixRequest,
    members: &Members<'static>,
    is_pairs: bool,
) -> Result<(), Error> {
    let name = &*request.using;
    let comparison = context.layout.comparison(name, "A distance matrix")?;
    let (mut has_vector, filter) = (Vec::new(), members.get("filter"));
    let mut condition = ObjectWriter::start(&mut has_vector);
    write_string(condition.key("has_vector"), name);
    condition.end();
    let conditions: Vec<String> =
        filter.map(str::to_string).into_iter().chain(String::from_utf8(has_vector)).collect();
    let mut body = with_vector(name);
    body.set("query", "{\"sample\":\"random\"}");
    let filter = format!("{{\"must\":[{}]}}", conditions.join(","));
    let mut drawn = sample::of_collection(context, body, Some(filter), request.sample).await?;
    drawn.sort_by(|a, b| a.id.cmp(&b.id));
    let (mut ids, mut vectors): (Vec<PointId>, Vec<Comparable>) = (Vec::new(), Vec::new());
    for point in drawn {
        if let Some(vector) = vector_of(&point, name)? {
            ids.push(point.id);
            vectors.push(Comparable::of(vector, comparison));
        }
    }
    if is_too_much(&vectors, vectors.len()) {
        return Err(unavailable("A distance matrix of so large a sample"));
    }
    let rows = if vectors.len() < 2 { Vec::new() } else { rows(&vectors, comparison, request.limit) };
    let id = |offset: PointOffset| Cow::Borrowed(&ids[offset.index()]);
    if is_pairs {
        write_matrix_pairs(out, &rows, id)
    } else {
        write_matrix_offsets(out, &rows, id)
    }
    Ok(())
}

/// The rows of points in the order of their ids.
fn rows(vectors: &[Comparable], comparison: Comparison, limit: usize) -> Vec<MatrixRow> {
    let places = || (0u32..).map(PointOffset::new).zip(vectors);
    let row = |(own, query): (PointOffset, &Comparable)| {
        let others = places().filter(|(other, _)| *other != own);
        let mut near: Vec<(f32, PointOffset)> =
            others.filter_map(|(other, vector)| Some((query.distance(vector, comparison)?, other))).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(limit);
        let scored = |(distance, other)| Hit::scored(other, comparison.score(distance));
        let mut hits: Vec<Hit> = near.into_iter().map(scored).collect();
        // Different distances may have one score.
        for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
            equal.sort_unstable_by_key(|hit| hit.offset);
        }
        (own, hits)
    };
    places().map(row).collect()
}
