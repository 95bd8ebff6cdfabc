//! Lists of neighbours, and how strongly they hold together: the fuzzy simplicial set of UMAP (McInnes, Healy & Melville,
//! *UMAP: Uniform Manifold Approximation and Projection*, arXiv 1802.03426, §3.1).

use crate::index::Stopped;

/// No neighbour.
const NONE: u32 = u32::MAX;
/// Halvings of the search for the width of a point's neighbourhood.
const MAX_HALVINGS: usize = 48;
/// The sum of the memberships that is near enough to the one wanted.
const TOLERANCE: f64 = 1e-4;
/// The least width of a neighbourhood, as a share of the mean length in it: equal lengths have no width of their own.
const LEAST_WIDTH: f64 = 1e-3;
/// Points between two stop checks.
const STOP_INTERVAL: usize = 512;

/// For each of some points at most `width` others, nearest first.
pub struct Neighbours {
    width: usize,
    points: Vec<u32>,
    /// At first lengths, then memberships.
    values: Vec<f32>,
}

/// Two points that hold together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The numbers of the points.
    pub ends: [u32; 2],
    /// How strongly: above 0, at most 1.
    pub weight: f32,
}

impl Neighbours {
    /// Empty lists for `count` points.
    pub fn new(count: usize, width: usize) -> Neighbours {
        Neighbours { width, points: vec![NONE; count * width], values: vec![0.0; count * width] }
    }

    /// How many neighbours a list holds at most.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Sets the list of a point: lengths to other points, ascending. Lengths may lack a constant, since only their
    /// differences count. What is beyond the width is left out.
    pub fn set(&mut self, point: u32, found: impl IntoIterator<Item = (f32, u32)>) {
        let from = point as usize * self.width;
        for (at, (length, other)) in found.into_iter().take(self.width).enumerate() {
            self.points[from + at] = other;
            self.values[from + at] = length;
        }
    }

    fn list(&self, point: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = point * self.width..(point + 1) * self.width;
        let pairs = self.points[range.clone()].iter().zip(&self.values[range]);
        pairs.take_while(|(other, _)| **other != NONE).map(|(other, value)| (*other, *value))
    }

    fn len(&self) -> usize {
        self.points.len() / self.width.max(1)
    }

    /// The edges between neighbours, by their first point. A pair of which each has the other in its list has one edge.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn edges(mut self, stop: &impl Fn() -> bool) -> Result<Vec<Edge>, Stopped> {
        for point in 0..self.len() {
            if point % STOP_INTERVAL == STOP_INTERVAL - 1 && stop() {
                return Err(Stopped);
            }
            let from = point * self.width;
            let count = self.list(point).count();
            become_memberships(&mut self.values[from..from + count]);
        }
        let mut edges = Vec::with_capacity(self.points.len());
        for point in 0..self.len() {
            if point % STOP_INTERVAL == STOP_INTERVAL - 1 && stop() {
                return Err(Stopped);
            }
            for (other, own) in self.list(point) {
                let back = self.list(other as usize).find(|(back, _)| *back as usize == point);
                if back.is_some() && (other as usize) < point {
                    continue;
                }
                // The probabilistic union of both views.
                let back = back.map_or(0.0, |(_, back)| back);
                let weight = own + back - own * back;
                if weight > 0.0 {
                    edges.push(Edge { ends: [point as u32, other], weight });
                }
            }
        }
        Ok(edges)
    }
}

/// Turns ascending lengths into memberships: 1 for the nearest, less with the length beyond it, log₂ of their number
/// together.
fn become_memberships(lengths: &mut [f32]) {
    let Some(&nearest) = lengths.first() else { return };
    let beyond: Vec<f64> =
        lengths.iter().map(|length| (f64::from(*length) - f64::from(nearest)).max(0.0)).collect();
    let width = width_of(&beyond);
    for (value, beyond) in lengths.iter_mut().zip(beyond) {
        *value = if beyond > 0.0 { (-beyond / width).exp() as f32 } else { 1.0 };
    }
}

/// The width at which the memberships add up to log₂ of their number, by bisection.
fn width_of(beyond: &[f64]) -> f64 {
    let wanted = (beyond.len() as f64).log2();
    let mean = beyond.iter().sum::<f64>() / beyond.len() as f64;
    let (mut low, mut high, mut width) = (0.0, f64::INFINITY, mean.max(f64::MIN_POSITIVE));
    for _ in 0..MAX_HALVINGS {
        let sum: f64 =
            beyond.iter().map(|beyond| if *beyond > 0.0 { (-beyond / width).exp() } else { 1.0 }).sum();
        if (sum - wanted).abs() < TOLERANCE {
            break;
        }
        if sum > wanted {
            high = width;
            width = f64::midpoint(low, high);
        } else {
            low = width;
            width = if high.is_finite() { f64::midpoint(low, high) } else { width * 2.0 };
        }
    }
    width.max(LEAST_WIDTH * mean).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_belongs_wholly_and_all_together_are_as_wide_as_their_number_asks() {
        let mut values = [2.0, 2.5, 3.0, 4.0, 6.0, 7.0, 7.5, 9.0];
        become_memberships(&mut values);
        assert_eq!(values[0], 1.0);
        assert!(values.windows(2).all(|pair| pair[0] > pair[1]), "{values:?}");
        assert!((values.iter().sum::<f32>() - 3.0).abs() < 1e-3, "{values:?}");
        let mut shifted = [-5.0, -4.5, -4.0, -3.0, -1.0, 0.0, 0.5, 2.0];
        become_memberships(&mut shifted);
        assert!(values.iter().zip(shifted).all(|(a, b)| (a - b).abs() < 1e-5), "only differences count");
    }

    #[test]
    fn equal_lengths_one_length_and_none_have_memberships() {
        for lengths in [vec![], vec![1.0], vec![0.0; 5], vec![3.0; 9], vec![0.0, 0.0, 0.0, 1e-30]] {
            let mut values = lengths.clone();
            become_memberships(&mut values);
            assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "{lengths:?} {values:?}");
        }
    }

    #[test]
    fn a_pair_has_one_edge_which_is_the_union_of_both_views() {
        let mut lists = Neighbours::new(3, 2);
        lists.set(0, [(1.0, 1), (2.0, 2)]);
        lists.set(1, [(1.0, 0)]);
        // The third has no list of its own, and is in that of the first.
        let edges = lists.edges(&|| false).unwrap();
        assert_eq!(edges.len(), 2);
        assert_eq!(edges[0], Edge { ends: [0, 1], weight: 1.0 });
        assert_eq!(edges[1].ends, [0, 2]);
        assert!(edges[1].weight < 0.1, "the sum of two is to be 1, and the nearest has that: {edges:?}");
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        assert_eq!(Neighbours::new(1_000, 2).edges(&|| true).err(), Some(Stopped));
    }
}
