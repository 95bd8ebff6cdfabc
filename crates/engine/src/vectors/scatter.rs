//! How well codes tell neighbours apart.

use super::code_query::CodeQuery;
use super::code_table::CodeTable;
use super::encoder::{Encoder, distance_squared};
use crate::types::{Metric, Node};

/// Neighbourhoods that tell something, without which nothing is said of all.
const FEWEST: usize = 8;
/// Share of the neighbourhoods in which codes scatter less than they are said to.
const QUANTILE: f64 = 0.95;

/// A vector and those nearest to it, on which codes are tested.
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// The vector.
    pub centre: Vec<f32>,
    /// The nearest of the others, all different, in any order.
    pub nearest: Vec<Vec<f32>>,
}

impl Encoder {
    /// How much codes disturb the order of neighbours: the deviation of their errors among the nearest of a vector, divided
    /// by the difference between the distances of the first and the last of these. Returns the 95th percentile over the
    /// neighbourhoods, and none if fewer than eight are usable, as when all vectors are equal.
    ///
    /// Panics when a vector has another length.
    pub fn scatter(&self, neighbourhoods: &[Neighbourhood]) -> Option<f64> {
        let (table, mut query) = (CodeTable::new(self), CodeQuery::new());
        let mut scatter = Vec::new();
        let mut node = 0;
        for Neighbourhood { centre, nearest } in neighbourhoods {
            let first = node;
            for vector in nearest {
                table.fill(Node::new(node), self, vector, &mut query);
                node += 1;
            }
            self.query(centre, &mut query);
            let (mut sum, mut squares) = (0.0, 0.0);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for (node, vector) in (first..node).zip(nearest) {
                let distance = self.exact(centre, vector);
                let error = f64::from(table.one(&query, Node::new(node))) - distance;
                (sum, squares) = (sum + error, squares + error * error);
                (least, most) = (least.min(distance), most.max(distance));
            }
            let count = nearest.len() as f64;
            let deviation = (squares / count - (sum / count).powi(2)).max(0.0).sqrt();
            if most > least && deviation.is_finite() {
                scatter.push(deviation / (most - least));
            }
        }
        if scatter.len() < FEWEST {
            return None;
        }
        let rank = (scatter.len() - 1) as f64 * QUANTILE;
        Some(*scatter.select_nth_unstable_by(rank.round() as usize, f64::total_cmp).1)
    }

    /// The distance that codes estimate.
    fn exact(&self, a: &[f32], b: &[f32]) -> f64 {
        match self.metric() {
            Metric::Euclid => distance_squared(a, b),
            _ => -a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>(),
        }
    }
}
