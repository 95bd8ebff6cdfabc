//! The settings that a graph of a vector field is built with. A graph with other settings is rebuilt.

use super::{CollectionConfig, EffectiveHnsw, Quantization};
use crate::types::Metric;
use crate::vectors::CodeParams;

/// The settings that cannot change once the graph has nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphParams {
    /// Links per node on the upper layers; at least 2.
    pub m: usize,
    /// Candidates kept while a node is inserted; at least `m`.
    pub ef_construct: usize,
    /// Codes of its nodes; `None` if nodes are compared by their original vectors.
    pub codes: Option<Coding>,
}

/// What decides the codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    /// The vectors: as few bits as distinguish neighbours.
    Fitting,
    /// The configuration.
    Asked(CodeParams),
}

impl CollectionConfig {
    /// The parameters of the graph of the field at this position; `None` if it has no graph (`m: 0` without `payload_m`).
    pub fn graph_params(&self, field: usize) -> Option<GraphParams> {
        let (_, params) = &self.vectors[field];
        let hnsw = EffectiveHnsw::of(&self.hnsw.with(&params.hnsw));
        // Errors of the estimates of rows add up in those of multi-vectors.
        let usual = match params.multivector {
            Some(_) => Coding::Asked(CodeParams::plain(8)),
            None => Coding::Fitting,
        };
        // A rotation does not preserve sums of absolute differences.
        let codes = (params.metric != Metric::Manhattan)
            .then(|| self.asked_codes(field).map_or(usual, |asked| Coding::Asked(asked.codes())));
        (hnsw.m > 0).then_some(GraphParams { m: hnsw.m, ef_construct: hnsw.ef_construct, codes })
    }

    /// The configured quantisation of the field at this position, if there is one.
    pub fn asked_codes(&self, field: usize) -> Option<&Quantization> {
        self.vectors[field].1.quantization.as_ref().or(self.quantization.as_ref())
    }
}

impl Quantization {
    /// The codes that it requests. Rotated codes of the same size serve for product codes.
    fn codes(&self) -> CodeParams {
        let plain = CodeParams::plain;
        match self {
            Quantization::Scalar { quantile, .. } => {
                // A range without half of the values has no bounds that could be found.
                CodeParams { quantile: quantile.map(|share| (share as f32).max(0.501)), ..plain(8) }
            }
            Quantization::Product { compression, .. } => match *compression {
                "x4" => plain(8),
                "x8" => plain(4),
                "x16" => plain(2),
                "x32" => plain(1),
                _ => CodeParams { half: true, ..plain(1) },
            },
            Quantization::Binary { encoding, .. } => match encoding {
                None | Some("one_bit") => plain(1),
                Some(_) => plain(2),
            },
            // Rotated codes too; those of one and a half bits get two.
            Quantization::Turbo { bits, .. } => match bits {
                Some("bits1") => plain(1),
                Some("bits1_5" | "bits2") => plain(2),
                _ => plain(4),
            },
        }
    }
}
