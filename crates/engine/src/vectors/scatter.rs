//! How well codes tell neighbours apart.

use super::code_query::CodeQuery;
use super::code_table::CodeTable;
use super::encoder::{Encoder, distance_squared, median};
use crate::types::Metric;

/// A vector and those nearest to it, by which codes are judged.
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// The vector.
    pub centre: Vec<f32>,
    /// The nearest of the others, in any order.
    pub nearest: Vec<Vec<f32>>,
}

impl Encoder {
    /// How far codes throw neighbours about: the deviation of their errors among the nearest of a vector, in units of
    /// the room between the first and the last of these. The median over the neighbourhoods, or none where these tell
    /// nothing, as where all vectors are equal.
    ///
    /// Among the ten nearest it is some ten-thousandths with 8 bits for images and embeddings, a hundredth with 4, and
    /// with 8 above a tenth in clusters that are a hundredth as wide as they are apart, since the steps of a code are
    /// those of the whole: a walk over codes then loses its way.
    ///
    /// Panics when a vector has another length.
    pub fn scatter(&self, neighbourhoods: &[Neighbourhood]) -> Option<f64> {
        let (table, mut query) = (CodeTable::new(self), CodeQuery::new());
        let mut scatter = Vec::new();
        let mut node = 0;
        for Neighbourhood { centre, nearest } in neighbourhoods {
            let first = node;
            for vector in nearest {
                table.fill(node, self, vector, &mut query);
                node += 1;
            }
            self.query(centre, &mut query);
            let (mut sum, mut squares) = (0.0, 0.0);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for (node, vector) in (first..node).zip(nearest) {
                let distance = self.exact(centre, vector);
                let error = f64::from(table.one(&query, node)) - distance;
                (sum, squares) = (sum + error, squares + error * error);
                (least, most) = (least.min(distance), most.max(distance));
            }
            let count = nearest.len() as f64;
            let deviation = (squares / count - (sum / count).powi(2)).max(0.0).sqrt();
            if most > least && deviation.is_finite() {
                scatter.push(deviation / (most - least));
            }
        }
        (!scatter.is_empty()).then(|| median(scatter))
    }

    /// The distance that codes estimate.
    fn exact(&self, a: &[f32], b: &[f32]) -> f64 {
        match self.metric() {
            Metric::Euclid => distance_squared(a, b),
            _ => -a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>(),
        }
    }
}
