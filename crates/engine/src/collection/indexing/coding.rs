//! Which codes suit the vectors of a field.

use crate::collection::config::Coding;
use crate::collection::field::FieldTable;
use crate::index::{Distance, TopK, flat};
use crate::types::Metric;
use crate::vectors::{CodeParams, Encoder, Neighbourhood};

/// Rows whose vectors decide where codes are centred.
const SAMPLE_ROWS: u32 = 1_000;

/// Vectors whose neighbours are looked at, ...
const NEIGHBOURHOODS: u32 = 64;
/// ... how many of each, beside the vector itself, ...
const NEIGHBOURS: usize = 10;
/// ... and the rows among which they are looked for, at most, ...
const LOOKED_AT: u32 = 1 << 16;
/// ... so many in a row.
const BLOCK: u32 = 1 << 12;

/// What is tried where nobody asks for anything else, and how far each may scatter neighbours
/// ([`Encoder::scatter`]): the first that scatters them no more is taken, and the originals if none does. Where four
/// bits scatter by 0.13 nothing is lost by them, at 0.36 a fifth of the hits of a narrow walk.
const FITTING: [(CodeParams, f64); 2] = [(CodeParams::plain(4), 0.15), EIGHT_BITS];
/// Who asks for eight bits wants what they are good for. Who asks for fewer wants their size. What is left instead of
/// eight is several times as slow.
const EIGHT_BITS: (CodeParams, f64) = (CodeParams::plain(8), 0.2);

impl Coding {
    /// What is tried, best first, each with the scatter that it may have.
    fn trials(self) -> impl Iterator<Item = (CodeParams, f64)> {
        let (fitting, asked) = match self {
            Coding::Fitting => (FITTING.as_slice(), None),
            Coding::Asked(params) if params == EIGHT_BITS.0 => (&FITTING[1..], None),
            Coding::Asked(params) => (&[] as &[_], Some((params, f64::INFINITY))),
        };
        fitting.iter().copied().chain(asked)
    }
}

/// Vectors of a field by which codes are made and judged.
pub(super) struct Sample {
    coding: Coding,
    metric: Metric,
    dim: usize,
    vectors: Vec<Vec<f32>>,
    neighbourhoods: Vec<Neighbourhood>,
}

impl Sample {
    /// Of the rows of a table that are alive at operation `op`.
    pub fn of(table: &FieldTable, op: u64, metric: Metric, coding: Coding) -> Sample {
        let is_judged = coding.trials().any(|(_, most)| most.is_finite());
        Sample {
            coding,
            metric,
            dim: table.dim,
            vectors: spread(table, SAMPLE_ROWS, op).map(|row| vector(table, row)).collect(),
            neighbourhoods: if is_judged { neighbourhoods(table, metric, op) } else { Vec::new() },
        }
    }

    /// The codes for vectors like these; none where the originals are better.
    pub fn encoder(&self, seed: u64) -> Option<Encoder> {
        self.coding.trials().find_map(|(params, most)| {
            let encoder = self.train(params, seed);
            self.is_within(&encoder, most).then_some(encoder)
        })
    }

    /// Whether what a graph has is still what it should have. A graph of more than it needs is left in peace until what it
    /// needs is clear, so that a sample that is a little different does not build everything anew each time.
    pub fn suits(&self, encoder: Option<&Encoder>, seed: u64) -> bool {
        for (params, most) in self.coding.trials() {
            if let Some(encoder) = encoder.filter(|encoder| encoder.params() == params) {
                return encoder.is_centred(&self.vectors) && self.is_within(encoder, most);
            }
            if self.is_within(&self.train(params, seed), most / 2.0) {
                return false;
            }
        }
        encoder.is_none()
    }

    fn train(&self, params: CodeParams, seed: u64) -> Encoder {
        Encoder::train(self.metric, self.dim, params, &self.vectors, seed)
    }

    /// Vectors that tell nothing, as where all are equal, are no reason to do with fewer than eight bits.
    fn is_within(&self, encoder: &Encoder, most: f64) -> bool {
        most.is_infinite()
            || match encoder.scatter(&self.neighbourhoods) {
                Some(scatter) => scatter <= most,
                None => encoder.params().bits >= EIGHT_BITS.0.bits,
            }
    }
}

/// Live rows, evenly spread over the table.
fn spread(table: &FieldTable, rows: u32, op: u64) -> impl Iterator<Item = u32> {
    let step = (table.len() / rows).max(1);
    (0..table.len()).step_by(step as usize).filter(move |&row| table.alive(row, op))
}

fn vector(table: &FieldTable, row: u32) -> Vec<f32> {
    let mut vector = Vec::with_capacity(table.dim);
    table.vector(row, &mut vector);
    vector
}

/// Some live rows with those nearest to them.
fn neighbourhoods(table: &FieldTable, metric: Metric, op: u64) -> Vec<Neighbourhood> {
    let rows: Vec<u32> = spread(table, NEIGHBOURHOODS, op).collect();
    let centres: Vec<Vec<f32>> = rows.iter().map(|&row| vector(table, row)).collect();
    let queries: Vec<&[f32]> = centres.iter().map(Vec::as_slice).collect();
    // Each row is found itself, and does not count: it is much nearer than all others.
    let mut tops: Vec<_> =
        rows.iter().map(|_| TopK::new(NEIGHBOURS + 1, |a: u32, b: u32| a.cmp(&b))).collect();
    let (distance, is_alive) = (Distance::of(metric, table.format), |row| table.alive(row, op));
    let blocks = table.len().div_ceil(BLOCK);
    let every = table.len().div_ceil(LOOKED_AT).max(1);
    for block in (0..blocks).step_by(every as usize) {
        let range = block * BLOCK..table.len().min((block + 1) * BLOCK);
        flat::scan_many(&table.rows, distance, &queries, range, &is_alive, &mut tops, &|| false)
            .expect("nothing stops it");
    }
    let around = |((centre, row), top): ((Vec<f32>, u32), TopK<_>)| {
        let others = top.into_sorted().into_iter().map(|(_, other)| other).filter(|&other| other != row);
        Neighbourhood { centre, nearest: others.take(NEIGHBOURS).map(|other| vector(table, other)).collect() }
    };
    centres.into_iter().zip(rows).zip(tops).map(around).collect()
}
