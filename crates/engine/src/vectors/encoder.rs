//! From vectors to codes.

use kithdb_kernels::{CodeWidth, CodingKernels, Quantised, QueryLine, coding_kernels};

use super::code_query::CodeQuery;
use super::layout::{CodeParams, Layout};
use super::rotation;
use crate::types::Metric;

/// Residuals shorter than this count as zero, because their scale could not be inverted.
const LEAST_COMPONENT: f32 = 1e-30;

/// Components are cut to this, so that no sum on the way overflows.
const GREATEST_COMPONENT: f64 = 1e30;

/// Squared lengths between these are exact enough in `f32`; others are computed again in `f64`.
const PLAIN_SQUARES: std::ops::Range<f32> = 1e-25..1e35;

/// Distances between the levels of a uniform quantiser that is best for a normal distribution, in standard
/// deviations (Max: Quantizing for minimum distortion, 1960).
const STEP_OF_4_BITS: f32 = 0.335;
/// See [`STEP_OF_4_BITS`].
const STEP_OF_2_BITS: f32 = 0.996;

/// A vector whose length is more than this multiple of the median of a sample does not count for its mean.
const MAX_MEDIAN_LENGTHS: f64 = 8.0;

/// The distance of vectors from the mean of their codes may be at most this multiple of their distance from their own mean.
/// At this distance, the part that all residuals have in common costs a bit of precision in every component.
const MAX_OFF_CENTRE: f64 = 2.0;

/// Vectors of the sample that the range of a quantile is taken from.
const QUANTILE_SAMPLE: usize = 256;

/// Everything that codes of one graph have in common: mean, rotation, width.
///
/// A vector x becomes x′ = R(x − μ) with the mean μ of a sample and a random rotation R, and each component of x′ is
/// rounded. With v the integers that a code stands for, the row's scale is s = ‖x′‖² / ⟨x′, v⟩: then s·⟨v, y′⟩ is an
/// unbiased estimate of ⟨x′, y′⟩ over random rotations (RaBitQ, arXiv 2405.12497 and 2409.09913). Distances follow as
/// d(x, y) = bₓ + b_y − κ·⟨x′, y′⟩, with κ = 2 and b = ‖x′‖² for squared Euclidean distances and κ = 1 and
/// b = ‖μ‖²/2 − ⟨μ, x⟩ for the negated inner product.
pub struct Encoder {
    pub(super) metric: Metric,
    pub(super) dim: usize,
    pub(super) params: CodeParams,
    layout: Layout,
    pub(super) seed: u64,
    pub(super) mean: Vec<f32>,
    /// ‖μ‖² / 2.
    half_mean_squared: f32,
    signs: Vec<u8>,
    /// Greatest component that is not clipped, in standard deviations of its vector; infinite without a quantile.
    pub(super) range: f32,
    kernels: &'static CodingKernels,
}

/// A vector after rotation, but for the components.
struct Rotated {
    /// ‖x′‖².
    norm_squared: f64,
    bias: f32,
    /// What the bias of a row counts in a distance to it.
    row_bias: f32,
}

impl Encoder {
    /// Prepares codes for vectors of `dim` components, 1 to 65,536.
    ///
    /// The sample gives the mean, and the range where there is a quantile; it may be empty. The seed gives the
    /// rotation. Panics for [`Metric::Manhattan`], which no rotation keeps, for parameters outside their ranges, and
    /// when a vector of the sample has another length.
    pub fn train<V: AsRef<[f32]>>(
        metric: Metric,
        dim: usize,
        params: CodeParams,
        sample: &[V],
        seed: u64,
    ) -> Encoder {
        let mean = mean_of(dim, sample);
        let mut encoder = Encoder::with(metric, dim, params, seed, mean, f32::INFINITY);
        if let Some(quantile) = params.quantile {
            encoder.range = encoder.range_of(quantile, sample);
        }
        encoder
    }

    pub(super) fn with(
        metric: Metric,
        dim: usize,
        params: CodeParams,
        seed: u64,
        mean: Vec<f32>,
        range: f32,
    ) -> Encoder {
        assert!(metric != Metric::Manhattan, "a rotation does not keep Manhattan distances");
        assert!((1..=65_536).contains(&dim), "vectors of {dim} components");
        assert!(params.quantile.is_none_or(|q| q > 0.5 && q <= 1.0), "a quantile of {:?}", params.quantile);
        let mean_squared: f64 = mean.iter().map(|&m| f64::from(m) * f64::from(m)).sum();
        Encoder {
            metric,
            dim,
            params,
            layout: Layout::of(dim, params),
            seed,
            mean,
            half_mean_squared: finite(mean_squared / 2.0),
            signs: rotation::signs(dim, seed),
            range,
            kernels: coding_kernels(),
        }
    }

    /// Whether the mean is still one of vectors like these, of which there may be none. Where what is written has moved
    /// away from the first sample, codes have lost precision, and only new ones have it again.
    ///
    /// Panics when a vector of the sample has another length.
    pub fn is_centred<V: AsRef<[f32]>>(&self, sample: &[V]) -> bool {
        let distance = |mean: &[f32]| {
            let squares = sample.iter().map(|vector| distance_squared(vector.as_ref(), mean));
            median(squares.collect()).sqrt()
        };
        let least = distance(&mean_of(self.dim, sample));
        least == 0.0 || distance(&self.mean) <= MAX_OFF_CENTRE * least
    }

    /// The metric whose distances the codes estimate.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Components of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// What a code keeps.
    pub fn params(&self) -> CodeParams {
        self.params
    }

    /// Bytes of a code, without scale and bias.
    pub fn code_bytes(&self) -> usize {
        self.layout.payload_bytes
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// κ of the distance.
    pub(super) fn kappa(&self) -> f32 {
        if self.metric == Metric::Euclid { 2.0 } else { 1.0 }
    }

    /// Makes `query` stand for a vector. Panics when the vector has another length.
    ///
    /// The inner product ⟨x, μ⟩ of every row is stored, so any multiple t·μ may be subtracted from the query instead of
    /// μ itself: −⟨x, q⟩ = t·bₓ + t·‖μ‖²/2 − ⟨μ, q⟩ − ⟨x′, R(q − tμ)⟩. The remainder q − tμ is shortest for
    /// t = ⟨q, μ⟩ / ‖μ‖². With t = 1 and a query much shorter than μ, the eight bits of q − μ would hold almost nothing of q.
    pub fn query(&self, vector: &[f32], query: &mut CodeQuery) {
        let rotated = match self.metric {
            Metric::Euclid => self.rotate(vector, query),
            _ => self.rotate_direction(vector, query),
        };
        self.quantise(&rotated, query);
    }

    /// Makes `query` stand for a node with that vector, and writes its code to `query.payload`. Returns its scale and bias.
    pub(super) fn encode(&self, vector: &[f32], query: &mut CodeQuery) -> (f32, f32) {
        let rotated = self.rotate(vector, query);
        self.quantise(&rotated, query);
        (self.round(&rotated, query), rotated.bias)
    }

    /// Writes x′ to `query.rotated`.
    fn rotate(&self, vector: &[f32], query: &mut CodeQuery) -> Rotated {
        assert_eq!(vector.len(), self.dim, "a vector of a wrong length");
        query.fit(&self.layout);
        query.rotated.resize(self.dim, 0.0);
        let sums = (self.kernels.residual)(vector, &self.mean, &mut query.rotated);
        let mut norm_squared = f64::from(sums.norm_squared);
        let mut mean_dot = f64::from(sums.mean_dot);
        if !PLAIN_SQUARES.contains(&sums.norm_squared) || !sums.mean_dot.is_finite() {
            (norm_squared, mean_dot) = self.careful_residual(vector, 1.0, &mut query.rotated);
        }
        (self.kernels.rotate)(&mut query.rotated, &self.signs);
        let bias = match self.metric {
            Metric::Euclid => norm_squared,
            _ => f64::from(self.half_mean_squared) - mean_dot,
        };
        Rotated { norm_squared, bias: finite(bias), row_bias: 1.0 }
    }

    /// Writes R(q − tμ) to `query.rotated`, see [`Encoder::query`].
    fn rotate_direction(&self, vector: &[f32], query: &mut CodeQuery) -> Rotated {
        assert_eq!(vector.len(), self.dim, "a vector of a wrong length");
        query.rotated.resize(self.dim, 0.0);
        let half = f64::from(self.half_mean_squared);
        let mean_dot = f64::from((self.kernels.residual)(vector, &self.mean, &mut query.rotated).mean_dot);
        let share = (mean_dot / (2.0 * half)) as f32;
        let part = &mut query.part_of_mean;
        part.clear();
        part.extend(self.mean.iter().map(|mean| share * mean));
        let sums = (self.kernels.residual)(vector, part, &mut query.rotated);
        let is_plain =
            PLAIN_SQUARES.contains(&sums.norm_squared) && PLAIN_SQUARES.contains(&self.half_mean_squared);
        if !is_plain || !share.is_finite() || !mean_dot.is_finite() {
            return self.rotate_direction_carefully(vector, query);
        }
        query.fit(&self.layout);
        (self.kernels.rotate)(&mut query.rotated, &self.signs);
        let bias = finite(f64::from(share) * half - mean_dot);
        Rotated { norm_squared: f64::from(sums.norm_squared), bias, row_bias: share }
    }

    /// The same where `f32` would overflow or lose small numbers.
    #[cold]
    fn rotate_direction_carefully(&self, vector: &[f32], query: &mut CodeQuery) -> Rotated {
        query.fit(&self.layout);
        query.rotated.resize(self.dim, 0.0);
        let dot =
            |a: &[f32]| a.iter().zip(&self.mean).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        let (mean_dot, mean_squared) = (dot(vector), dot(&self.mean));
        let share = if mean_squared > 0.0 { (mean_dot / mean_squared) as f32 } else { 0.0 };
        if !share.is_finite() {
            return self.rotate(vector, query);
        }
        let (norm_squared, _) = self.careful_residual(vector, share, &mut query.rotated);
        (self.kernels.rotate)(&mut query.rotated, &self.signs);
        let bias = finite(f64::from(share) * mean_squared / 2.0 - mean_dot);
        Rotated { norm_squared, bias, row_bias: share }
    }

    /// What is left of a vector without that share of the mean, and its sums, where `f32` would overflow or lose small
    /// numbers.
    #[cold]
    fn careful_residual(&self, vector: &[f32], share: f32, out: &mut [f32]) -> (f64, f64) {
        let (mut norm_squared, mut mean_dot) = (0.0, 0.0);
        for ((&x, &mean), out) in vector.iter().zip(&self.mean).zip(out) {
            let r = f64::from(x) - f64::from(share) * f64::from(mean);
            norm_squared += r * r;
            mean_dot += f64::from(x) * f64::from(mean);
            *out = r.clamp(-GREATEST_COMPONENT, GREATEST_COMPONENT) as f32;
        }
        (norm_squared, mean_dot)
    }

    /// Rounds `query.rotated` to the components of a query.
    fn quantise(&self, rotated: &Rotated, query: &mut CodeQuery) {
        let kept = &query.rotated[..self.layout.components];
        let max = (self.kernels.max_abs)(kept);
        (query.bias, query.row_bias) = (rotated.bias, rotated.row_bias);
        if max < LEAST_COMPONENT {
            query.lines.fill(QueryLine::ZERO);
            (query.factor, query.excess) = (0.0, 0);
            return;
        }
        let steps = 127.0 / max;
        let lines = QueryLine::components_mut(&mut query.lines);
        let mut sums = Quantised { dot: 0.0, sum: 0 };
        for (components, places) in self.layout.planes() {
            let part = (self.kernels.quantise)(&kept[components], steps, &mut lines[places]);
            sums = Quantised { dot: sums.dot + part.dot, sum: sums.sum + part.sum };
        }
        let scale = match self.params.half {
            true => 1.0 / steps,
            false => scale(rotated.norm_squared, sums.dot),
        };
        query.factor = finite(f64::from(self.kappa()) * f64::from(scale));
        query.excess = self.layout.origin() * sums.sum;
    }

    /// Rounds `query.rotated` to a code in `query.payload` and returns its scale.
    fn round(&self, rotated: &Rotated, query: &mut CodeQuery) -> f32 {
        let kept = &query.rotated[..self.layout.components];
        let deviation = (rotated.norm_squared / self.dim as f64).sqrt() as f32;
        let max = (self.kernels.max_abs)(kept);
        if max < LEAST_COMPONENT || deviation < LEAST_COMPONENT {
            query.payload.fill(0);
            return 0.0;
        }
        let steps = match self.layout.width {
            CodeWidth::Eight => 127.0 / max.min(self.range * deviation),
            CodeWidth::Four => 1.0 / (STEP_OF_4_BITS * deviation),
            CodeWidth::Two => 1.0 / (STEP_OF_2_BITS * deviation),
            CodeWidth::One => 1.0 / deviation,
        };
        let sums = if self.layout.width == CodeWidth::Eight {
            (self.kernels.encode)(kept, steps, CodeWidth::Eight, &mut query.payload)
        } else {
            let sums = (self.kernels.encode)(kept, steps, self.layout.width, &mut query.codes);
            self.layout.pack(&query.codes, &mut query.payload);
            sums
        };
        scale(rotated.norm_squared, sums.dot)
    }

    /// The absolute component, in standard deviations, that a share of `quantile` of the sample's components is below.
    fn range_of<V: AsRef<[f32]>>(&self, quantile: f32, sample: &[V]) -> f32 {
        let mut query = CodeQuery::new();
        let mut sizes = Vec::new();
        let stride = sample.len().div_ceil(QUANTILE_SAMPLE).max(1);
        for vector in sample.iter().step_by(stride) {
            let rotated = self.rotate(vector.as_ref(), &mut query);
            let deviation = (rotated.norm_squared / self.dim as f64).sqrt() as f32;
            if deviation >= LEAST_COMPONENT {
                sizes.extend(query.rotated.iter().map(|x| x.abs() / deviation));
            }
        }
        if sizes.is_empty() {
            return f32::INFINITY;
        }
        let rank = ((sizes.len() - 1) as f64 * f64::from(quantile)).round() as usize;
        let (_, size, _) = sizes.select_nth_unstable_by(rank, f32::total_cmp);
        // A quantile of vectors that are nearly zero everywhere would clip what matters.
        size.max(1.0)
    }
}

/// The mean of a sample without its longest vectors. One that is a million times as long as all others would move the mean
/// so far from these that their residuals are alike, and their codes keep nothing of what tells them apart.
fn mean_of<V: AsRef<[f32]>>(dim: usize, sample: &[V]) -> Vec<f32> {
    let origin = vec![0.0; dim];
    let lengths: Vec<f64> = sample.iter().map(|vector| distance_squared(vector.as_ref(), &origin)).collect();
    let most = median(lengths.clone()) * MAX_MEDIAN_LENGTHS.powi(2);
    let (mut sums, mut count) = (vec![0.0f64; dim], 0);
    for (vector, _) in sample.iter().zip(lengths).filter(|(_, length)| *length <= most) {
        count += 1;
        for (sum, &x) in sums.iter_mut().zip(vector.as_ref()) {
            *sum += f64::from(x);
        }
    }
    sums.into_iter().map(|sum| finite(sum / f64::from(count.max(1)))).collect()
}

/// Squared Euclidean distance in double precision, in which no vectors are too long.
pub(super) fn distance_squared(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "a vector of a wrong length in the sample");
    a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
}

/// The upper median; 0 of nothing.
fn median(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let middle = numbers.len() / 2;
    *numbers.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// ‖x′‖² / ⟨x′, v⟩, or zero where the code has nothing of the vector.
fn scale(norm_squared: f64, dot: f32) -> f32 {
    if dot > 0.0 { finite(norm_squared / f64::from(dot)) } else { 0.0 }
}

/// The nearest finite `f32`.
fn finite(x: f64) -> f32 {
    (x as f32).clamp(f32::MIN, f32::MAX)
}
