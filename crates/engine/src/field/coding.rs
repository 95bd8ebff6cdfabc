//! Which codes suit the vectors of a field.

use crate::config::Coding;
use crate::field::table::FieldTable;
use crate::index::{Distance, TopK, flat};
use crate::scheduling::yield_to_reads;
use crate::types::{Metric, OpNumber};
use crate::vectors::{CodeParams, Encoder, Neighbourhood};
use std::collections::HashSet;

/// Live rows whose vectors decide where codes are centred.
const SAMPLE_ROWS: u64 = 1_000;

/// Live rows whose neighbours are looked at, …
const CENTRES: u64 = 128;
/// … fewer of vectors so long that these had more components …
const CENTRE_COMPONENTS: u64 = 1 << 21;
/// … and how many neighbours of each, …
const NEIGHBOURS: usize = 10;
/// … found among so many nearest: equal ones count once.
const NEAREST: usize = 4 * NEIGHBOURS;

/// Live rows among which neighbours are looked for, at most, …
const LOOKED_AT: u64 = 1 << 16;
/// … fewer of vectors so long that these had more components, …
const LOOKED_AT_COMPONENTS: u64 = 1 << 24;
/// … in runs of so many, because what was written together may belong together.
const RUN: u64 = 64;

/// What is tried where nobody asks for anything else, and how far each may scatter neighbours
/// ([`Encoder::scatter`]): the first that scatters them no more is taken, and the originals if none does. Where four
/// bits scatter by a quarter nothing is lost by them, at 0.8 a fifth of the hits of a narrow walk.
const FITTING: [(CodeParams, f64); 2] = [(CodeParams::plain(4), 0.3), EIGHT_BITS];
/// Who asks for eight bits wants what they are good for. Who asks for fewer wants their size. What is left instead of
/// eight is several times as slow.
const EIGHT_BITS: (CodeParams, f64) = (CodeParams::plain(8), 0.45);

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
    pub fn of(table: &FieldTable, op: OpNumber, metric: Metric, coding: Coding) -> Sample {
        let is_judged = coding.trials().any(|(_, most)| most.is_finite());
        let live = Live::of(table, op);
        Sample {
            coding,
            metric,
            dim: table.dim,
            vectors: live.spread(SAMPLE_ROWS).map(|(_, row)| vector(table, row)).collect(),
            neighbourhoods: if is_judged { neighbourhoods(&live, metric) } else { Vec::new() },
        }
    }

    /// The codes for vectors like these; none where the originals are better. Vectors that tell nothing, as where all are
    /// equal, are no reason to do with fewer than eight bits.
    pub fn encoder(&self, seed: u64) -> Option<Encoder> {
        self.coding.trials().find_map(|(params, most)| {
            let encoder = self.train(params, seed);
            let is_good = match self.compared(&encoder, most) {
                Some(scatter) => scatter <= 1.0,
                None => params.bits >= EIGHT_BITS.0.bits,
            };
            is_good.then_some(encoder)
        })
    }

    /// Whether what a graph has is still what it should have. A graph of more than it needs is left in peace until what it
    /// needs is clear, and any where vectors tell nothing, so that a sample that is a little different does not build
    /// everything anew each time.
    pub fn suits(&self, encoder: Option<&Encoder>, seed: u64) -> bool {
        for (params, most) in self.coding.trials() {
            if let Some(encoder) = encoder.filter(|encoder| encoder.params() == params) {
                let is_good = self.compared(encoder, most).is_none_or(|scatter| scatter <= 1.0);
                return encoder.is_centred(&self.vectors) && is_good;
            }
            if self.compared(&self.train(params, seed), most).is_some_and(|scatter| scatter <= 0.5) {
                return false;
            }
        }
        encoder.is_none()
    }

    fn train(&self, params: CodeParams, seed: u64) -> Encoder {
        Encoder::train(self.metric, self.dim, params, &self.vectors, seed)
    }

    /// The scatter of codes in units of what they may have; none where vectors tell nothing.
    fn compared(&self, encoder: &Encoder, most: f64) -> Option<f64> {
        if most.is_infinite() {
            return Some(0.0);
        }
        encoder.scatter(&self.neighbourhoods).map(|scatter| scatter / most)
    }
}

/// The live rows of a table, counted: rows are never numbered anew, so where points are replaced all the time most of what
/// a table ever had is dead.
struct Live<'a> {
    table: &'a FieldTable,
    op: OpNumber,
    count: u64,
}

impl<'a> Live<'a> {
    fn of(table: &'a FieldTable, op: OpNumber) -> Live<'a> {
        let mut live = Live { table, op, count: 0 };
        live.count = live.rows().count() as u64;
        live
    }

    /// Each with its place among them.
    fn rows(&self) -> impl Iterator<Item = (u64, u32)> {
        (0..).zip((0..self.table.len()).filter(|&row| self.table.alive(row, self.op)))
    }

    /// At most so many of them, evenly spread.
    fn spread(&self, most: u64) -> impl Iterator<Item = (u64, u32)> {
        let step = self.count.div_ceil(most.max(1)).max(1);
        self.rows().filter(move |(place, _)| place.is_multiple_of(step))
    }
}

fn vector(table: &FieldTable, row: u32) -> Vec<f32> {
    let mut vector = Vec::with_capacity(table.dim);
    table.vector(row, &mut vector);
    vector
}

/// Some live rows with those nearest to them.
fn neighbourhoods(live: &Live<'_>, metric: Metric) -> Vec<Neighbourhood> {
    let table = live.table;
    let dim = table.dim as u64;
    let (places, rows): (Vec<u64>, Vec<u32>) =
        live.spread(CENTRES.min(CENTRE_COMPONENTS.div_ceil(dim))).unzip();
    let centres: Vec<Vec<f32>> = rows.iter().map(|&row| vector(table, row)).collect();
    let queries: Vec<&[f32]> = centres.iter().map(Vec::as_slice).collect();
    let mut tops: Vec<_> = rows.iter().map(|_| TopK::new(NEAREST, |a: u32, b: u32| a.cmp(&b))).collect();
    // Evenly spread runs, and those around the centres.
    let every = live.count.div_ceil(LOOKED_AT.min(LOOKED_AT_COMPONENTS.div_ceil(dim))).max(1);
    let around: HashSet<u64> =
        places.iter().map(|place| place / RUN).flat_map(|run| run.saturating_sub(1)..=run + 1).collect();
    let is_looked_at = |place: u64| (place / RUN).is_multiple_of(every) || around.contains(&(place / RUN));
    let looked_at: Vec<u32> =
        live.rows().filter(|&(place, _)| is_looked_at(place)).map(|(_, row)| row).collect();
    let stop = || {
        yield_to_reads();
        false
    };
    let (distance, is_among) =
        (Distance::of(metric, table.format), |row: u32| looked_at.binary_search(&row).is_ok());
    flat::scan_many(&table.rows, distance, &queries, 0..table.len(), &is_among, &mut tops, &stop)
        .expect("nothing stops it");
    let nearest = |centre: u32, top: TopK<_>| {
        let is_same = |a: u32, b: u32| table.rows.row(a) == table.rows.row(b);
        let mut different = vec![centre];
        for (_, row) in top.into_sorted() {
            if different.len() <= NEIGHBOURS && !different.iter().any(|&other| is_same(row, other)) {
                different.push(row);
            }
        }
        different[1..].iter().map(|&row| vector(table, row)).collect()
    };
    centres
        .into_iter()
        .zip(rows)
        .zip(tops)
        .map(|((centre, row), top)| Neighbourhood { nearest: nearest(row, top), centre })
        .collect()
}
