//! The layout of UMAP: neighbours attract each other, points at random push each other away, by stochastic gradient descent
//! (McInnes, Healy & Melville, arXiv 1802.03426, §3.2 and algorithm 5).
//!
//! The similarity in the plane is 1 / (1 + d²), which is UMAP's with a = b = 1. With other values each step needs a power,
//! which takes as long as everything else, and they change little but how dense groups are.

use super::neighbours::Edge;
use super::{Place, Random};
use crate::index::Stopped;

/// Rounds by the number of points, at most so many. Of many points each is pushed as often by others that come to it.
const EPOCHS: [(usize, u32); 3] = [(10_000, 500), (50_000, 200), (usize::MAX, 120)];
/// Points at random that push an end of an edge away, each time that the edge attracts.
const PUSHES: usize = 5;
/// The farthest that a point is moved in each direction by one step, at the start.
const LONGEST_STEP: f32 = 4.0;
/// The extent of the places at the start, to both sides.
const EXTENT: f32 = 10.0;
/// What places are moved by at the start, so that equal ones part.
const NOISE: f32 = 1e-3;
/// Edges between two stop checks: some hundred microseconds when each of them is due.
const STOP_INTERVAL: usize = 2048;

/// Moves the places, which come from another projection, so that those of neighbours are near each other.
///
/// # Errors
/// [`Stopped`] once `stop` returns true.
pub fn lay_out(
    places: &mut [Place],
    edges: &[Edge],
    seed: u64,
    stop: &impl Fn() -> bool,
) -> Result<(), Stopped> {
    let mut random = Random::new(seed);
    begin(places, &mut random);
    let epochs = EPOCHS.into_iter().find(|(most, _)| places.len() <= *most).map_or(0, |(_, epochs)| epochs);
    let heaviest = edges.iter().fold(0.0f32, |heaviest, edge| heaviest.max(edge.weight));
    // An edge is due each time that what it has gathered reaches one.
    let mut gathered = vec![0.0f32; edges.len()];
    let mut unchecked = 0;
    for epoch in 0..epochs {
        let rate = 1.0 - epoch as f32 / epochs as f32;
        for (edge, gathered) in edges.iter().zip(&mut gathered) {
            unchecked += 1;
            if unchecked == STOP_INTERVAL {
                unchecked = 0;
                if stop() {
                    return Err(Stopped);
                }
            }
            *gathered += edge.weight / heaviest;
            if *gathered >= 1.0 {
                *gathered -= 1.0;
                let [a, b] = edge.ends.map(|end| end as usize);
                step(places, a, b, rate, &mut random);
                step(places, b, a, rate, &mut random);
            }
        }
    }
    Ok(())
}

/// Scales places to the extent at which the layout starts.
fn begin(places: &mut [Place], random: &mut Random) {
    let largest = places.as_flattened().iter().fold(0.0f32, |largest, at| largest.max(at.abs()));
    let scale = if largest > 0.0 { EXTENT / largest } else { 0.0 };
    for at in places.as_flattened_mut() {
        *at = *at * scale + NOISE * random.signed();
    }
}

/// Draws two neighbours together, and pushes the first away from points at random.
#[inline(always)]
fn step(places: &mut [Place], point: usize, neighbour: usize, rate: f32, random: &mut Random) {
    let mut own = places[point];
    let other = places[neighbour];
    let away = [own[0] - other[0], own[1] - other[1]];
    let square = away[0] * away[0] + away[1] * away[1];
    let pull = -2.0 / (1.0 + square);
    let moved = away.map(|along| limited(pull * along) * rate);
    own = [own[0] + moved[0], own[1] + moved[1]];
    places[neighbour] = [other[0] - moved[0], other[1] - moved[1]];
    // All from one place, so that the processor need not finish one to begin the next.
    let strangers: [usize; PUSHES] = std::array::from_fn(|_| random.below(places.len() as u32) as usize);
    let mut pushed = [0.0f32; 2];
    for stranger in strangers {
        let stranger = places[stranger];
        let away = [own[0] - stranger[0], own[1] - stranger[1]];
        let square = away[0] * away[0] + away[1] * away[1];
        let push = 2.0 / ((0.001 + square) * (1.0 + square));
        pushed = [pushed[0] + limited(push * away[0]), pushed[1] + limited(push * away[1])];
    }
    own = [own[0] + pushed[0] * rate, own[1] + pushed[1] * rate];
    places[point] = own;
}

#[inline(always)]
fn limited(step: f32) -> f32 {
    step.clamp(-LONGEST_STEP, LONGEST_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three groups whose points hold together, in the order of their numbers by turns.
    fn groups(count: u32) -> Vec<Edge> {
        let edge = |a, b| Edge { ends: [a, b], weight: 1.0 };
        (0..count - 3).map(|at| edge(at, at + 3)).chain((0..count - 9).map(|at| edge(at, at + 9))).collect()
    }

    fn spread(count: u32) -> Vec<Place> {
        let mut random = Random::new(5);
        (0..count).map(|_| [random.signed(), random.signed()]).collect()
    }

    #[test]
    fn points_that_hold_together_come_together() {
        let mut places = spread(90);
        lay_out(&mut places, &groups(90), 1, &|| false).unwrap();
        let distance = |a: usize, b: usize| {
            let [x, y] = [places[a][0] - places[b][0], places[a][1] - places[b][1]];
            f64::from(x.hypot(y))
        };
        let mean = |is_same: bool| {
            let pairs = (0..90).flat_map(|a| (0..a).map(move |b| (a, b)));
            let of_kind: Vec<f64> =
                pairs.filter(|(a, b)| (a % 3 == b % 3) == is_same).map(|(a, b)| distance(a, b)).collect();
            of_kind.iter().sum::<f64>() / of_kind.len() as f64
        };
        assert!(mean(true) * 2.0 < mean(false), "{} and {}", mean(true), mean(false));
    }

    #[test]
    fn a_layout_follows_from_its_seed() {
        let lay = |seed| {
            let mut places = spread(60);
            lay_out(&mut places, &groups(60), seed, &|| false).unwrap();
            places
        };
        assert_eq!(lay(1), lay(1));
        assert_ne!(lay(1), lay(2));
    }

    #[test]
    fn equal_places_part_and_stay_finite() {
        for count in [0, 1, 2, 40] {
            let mut places = vec![[0.0; 2]; count];
            let edges: Vec<Edge> =
                (1..count as u32).map(|at| Edge { ends: [at - 1, at], weight: 0.5 }).collect();
            lay_out(&mut places, &edges, 3, &|| false).unwrap();
            assert!(places.as_flattened().iter().all(|at| at.is_finite()));
            assert!(places.windows(2).all(|pair| pair[0] != pair[1]), "{places:?}");
        }
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let edges = vec![Edge { ends: [0, 1], weight: 1.0 }; 4 * STOP_INTERVAL];
        assert_eq!(lay_out(&mut [[0.0; 2], [1.0; 2]], &edges, 0, &|| true), Err(Stopped));
    }
}
