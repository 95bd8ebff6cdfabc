//! Choosing the codes for the vectors of a field.

use crate::config::Coding;
use crate::field::table::FieldTable;
use crate::index::{Distance, TopK, flat};
use crate::scheduling::yield_to_reads;
use crate::types::{Metric, OpNumber, Row};
use crate::vectors::{CodeParams, Encoder, Neighbourhood};
use std::collections::HashSet;

/// Live rows whose mean the codes are centred on.
const SAMPLE_ROWS: u64 = 1_000;

/// Most live rows whose neighbours codes are tested on.
const CENTRES: u64 = 128;
/// Most components of these rows together.
const CENTRE_COMPONENTS: u64 = 1 << 21;
/// Neighbours of each of these rows that codes are tested on. Equal ones count once.
const NEIGHBOURS: usize = 10;
/// Nearest rows that these neighbours are taken from.
const NEAREST: usize = 4 * NEIGHBOURS;

/// Most live rows among which neighbours are searched for.
const SEARCHED: u64 = 1 << 16;
/// Most components of these rows together.
const SEARCHED_COMPONENTS: u64 = 1 << 24;
/// They are taken in runs of this many consecutive rows, because rows that were written together may be similar.
const RUN: u64 = 64;

/// The codes that are tried if the configuration names none, each with the greatest [scatter](Encoder::scatter) that it
/// may have. The first that keeps within it is taken, and the originals if none does. With a scatter of 0.25, four bits
/// lose nothing; with 0.8, they lose a fifth of the hits of a narrow walk.
const FITTING: [(CodeParams, f64); 2] = [(CodeParams::plain(4), 0.3), EIGHT_BITS];
/// A configuration that asks for eight bits asks for precision, so the limit holds for it too. One that asks for fewer bits asks
/// for a small size, so its codes are not tested. The alternative to eight bits is the originals, which are several times as
/// slow.
const EIGHT_BITS: (CodeParams, f64) = (CodeParams::plain(8), 0.45);

impl Coding {
    /// The codes to try, best first, each with the greatest scatter that it may have.
    fn trials(self) -> impl Iterator<Item = (CodeParams, f64)> {
        let (fitting, asked) = match self {
            Coding::Fitting => (FITTING.as_slice(), None),
            Coding::Asked(params) if params == EIGHT_BITS.0 => (&FITTING[1..], None),
            Coding::Asked(params) => (&[] as &[_], Some((params, f64::INFINITY))),
        };
        fitting.iter().copied().chain(asked)
    }
}

/// Vectors of a field that codes are trained with and tested on.
pub(super) struct Sample {
    coding: Coding,
    metric: Metric,
    dim: usize,
    vectors: Vec<Vec<f32>>,
    neighbourhoods: Vec<Neighbourhood>,
}

impl Sample {
    /// A sample of the rows of a table that are alive at operation `op`.
    pub fn of(table: &FieldTable, op: OpNumber, metric: Metric, coding: Coding) -> Sample {
        let is_tested = coding.trials().any(|(_, most)| most.is_finite());
        let live = Live::of(table, op);
        Sample {
            coding,
            metric,
            dim: table.dim,
            vectors: live.spread(SAMPLE_ROWS).map(|(_, row)| vector(table, row)).collect(),
            neighbourhoods: if is_tested { neighbourhoods(&live, metric) } else { Vec::new() },
        }
    }

    /// The codes for vectors like these; none if the originals are better. If the test has no result, because all vectors are
    /// equal, for example, codes of fewer than eight bits are not taken.
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

    /// Whether the codes of a graph still suit the vectors. Codes of more bits than necessary are kept until fewer bits are
    /// clearly enough, and any codes are kept if the test has no result. Otherwise small differences between samples would
    /// cause the graph to be built again each time.
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

    /// The scatter of codes as a multiple of the greatest that they may have; none if the test has no result.
    fn compared(&self, encoder: &Encoder, most: f64) -> Option<f64> {
        if most.is_infinite() {
            return Some(0.0);
        }
        encoder.scatter(&self.neighbourhoods).map(|scatter| scatter / most)
    }
}

/// The live rows of a table and their number. Row numbers are not used again, so most rows of a table are dead if its points
/// are often replaced.
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

    /// The live rows, each with its position among them.
    fn rows(&self) -> impl Iterator<Item = (u64, Row)> {
        (0..).zip(self.table.all_rows().iter().filter(|&row| self.table.alive(row, self.op)))
    }

    /// At most `most` of them, evenly spread.
    fn spread(&self, most: u64) -> impl Iterator<Item = (u64, Row)> {
        let step = self.count.div_ceil(most.max(1)).max(1);
        self.rows().filter(move |(place, _)| place.is_multiple_of(step))
    }
}

fn vector(table: &FieldTable, row: Row) -> Vec<f32> {
    let mut vector = Vec::with_capacity(table.dim);
    table.vector(row, &mut vector);
    vector
}

/// Some live rows with those nearest to them.
fn neighbourhoods(live: &Live<'_>, metric: Metric) -> Vec<Neighbourhood> {
    let table = live.table;
    let dim = table.dim as u64;
    let (places, rows): (Vec<u64>, Vec<Row>) =
        live.spread(CENTRES.min(CENTRE_COMPONENTS.div_ceil(dim))).unzip();
    let centres: Vec<Vec<f32>> = rows.iter().map(|&row| vector(table, row)).collect();
    let queries: Vec<&[f32]> = centres.iter().map(Vec::as_slice).collect();
    let mut tops: Vec<_> = rows.iter().map(|_| TopK::new(NEAREST, |a: Row, b: Row| a.cmp(&b))).collect();
    // Evenly spread runs, and those around the centres.
    let every = live.count.div_ceil(SEARCHED.min(SEARCHED_COMPONENTS.div_ceil(dim))).max(1);
    let around: HashSet<u64> =
        places.iter().map(|place| place / RUN).flat_map(|run| run.saturating_sub(1)..=run + 1).collect();
    let is_searched = |place: u64| (place / RUN).is_multiple_of(every) || around.contains(&(place / RUN));
    let mut searched = vec![false; table.len() as usize];
    for (_, row) in live.rows().filter(|&(place, _)| is_searched(place)) {
        searched[row.index()] = true;
    }
    let stop = || {
        yield_to_reads();
        false
    };
    let (distance, is_among) = (Distance::of(metric, table.format), |row: Row| searched[row.index()]);
    flat::scan_many(&table.rows, distance, &queries, table.all_rows(), &is_among, &mut tops, &stop)
        .expect("nothing stops it");
    let nearest = |centre: Row, top: TopK<Row, _>| {
        let is_same = |a: Row, b: Row| table.row(a) == table.row(b);
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
