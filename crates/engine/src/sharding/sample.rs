//! Random samples.

use super::hits::Found;
use super::members::Members;
use super::questions::Ask;
use super::read::Context;
use super::search::{List, Numbered, Tree, Within, lists_of};
use super::values::count_of;
use crate::api::Operation;
use crate::error::Error;
use crate::query::RandomNumbers;
use std::collections::VecDeque;

/// A uniform random sample of the points that match, or of those that the prefetches have found.
pub(super) async fn draw(
    context: &Context,
    tree: &Tree,
    within: &Within<'_>,
    lists: &[List],
    window: usize,
    shown: &Members<'static>,
) -> Result<Vec<Found>, Error> {
    if tree.prefetch.is_empty() {
        let mut body = tree.asked();
        body.extend(shown);
        return of_collection(context, body, within.filter(context, Vec::new()), window).await;
    }
    let mut points: Vec<Found> = Numbered::of(lists)
        .points()
        .iter()
        .map(|point| Found { score: 1.0, order_value: None, payload: None, vector: None, ..(*point).clone() })
        .collect();
    let mut random = RandomNumbers::default();
    for first in 0..window.min(points.len()) {
        let other = random.below((points.len() - first) as u64)? as usize;
        points.swap(first, first + other);
    }
    points.truncate(window);
    Ok(points)
}

/// A uniform random sample of the points that match a filter, by a query `body` for a sample. Each shard answers a sample of its
/// own, and how many of its points match. So the next point is one of a shard with the probability of its share of the points
/// that are left.
pub(super) async fn of_collection(
    context: &Context,
    mut body: Members<'static>,
    filter: Option<String>,
    window: usize,
) -> Result<Vec<Found>, Error> {
    let mut count = Members::default();
    if let Some(filter) = filter {
        count.set("filter", filter.clone());
        body.set("filter", filter);
    }
    body.set("limit", window.to_string());
    let (count, body) = (count.text().into_bytes(), body.text().into_bytes());
    let ask = |operation, body: &[u8]| -> Vec<Ask> {
        context.shards().map(|shard| context.question(shard, operation, body.to_vec())).collect()
    };
    let asks = [ask(Operation::Count, &count), ask(Operation::Query, &body)].concat();
    let mut counts = context.desk.ask(asks).await;
    let samples = counts.split_off(counts.len() / 2);
    let mut shards: Vec<(u64, VecDeque<Found>)> = Vec::new();
    for (count, sample) in counts.into_iter().zip(samples) {
        let (Some(count), Some(sample)) = (count, sample) else { continue };
        let sample = VecDeque::from(lists_of(context, [sample])?.remove(0));
        shards.push((count_of(&count)?.max(sample.len() as u64), sample));
    }
    let mut random = RandomNumbers::default();
    let mut chosen = Vec::new();
    while chosen.len() < window {
        let left: u64 = shards.iter().map(|(left, _)| left).sum();
        if left == 0 {
            break;
        }
        let mut place = random.below(left)?;
        let Some((left, sample)) = shards.iter_mut().find(|(left, _)| {
            let is_here = place < *left;
            place = place.saturating_sub(*left);
            is_here
        }) else {
            break;
        };
        match sample.pop_front() {
            Some(point) => {
                *left -= 1;
                chosen.push(point);
            }
            // Points went between the count and the sample.
            None => *left = 0,
        }
    }
    Ok(chosen)
}
