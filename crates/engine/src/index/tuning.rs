//! Measures which way of prefetching rows is fastest on this CPU: gathers in the pattern of a walk, timed.
//!
//! The effect of a prefetch hint differs between CPUs, and the best distance depends on the size of the rows and on how
//! many cache misses a core can have in flight. So both are measured, with the loop and the kernels that walks use, over
//! memory that the caches do not have and over some that the last of them may have. [`fetch`](super::fetch) applies the
//! result.

use super::fetch::{Fetch, FetchTable, Kind, MAX_BYTES, SIZES};
use super::hnsw::DistanceComputer;
use super::space::Space;
use crate::arena::{RowArena, RowTable};
use crate::types::{Metric, Node};
use kithdb_kernels::{CODE_LINE_BYTES, CodeDot, CodeWidth, Hint, QueryLine, code_kernels, prefetch_range};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is compared: hints and distances for whole rows, and for the first lines of long ones. Some CPUs prefetch the lines
/// behind these by themselves, and faster without an instruction.
const CANDIDATES: [Fetch; 11] = {
    const fn whole(hint: Hint, rows: u8) -> Fetch {
        Fetch { hint, rows, lines: Fetch::EVERY }
    }
    const fn begun(rows: u8) -> Fetch {
        Fetch { hint: Hint::L2, rows, lines: 4 }
    }
    [
        whole(Hint::L1, 4),
        whole(Hint::L1, 8),
        whole(Hint::L1, Fetch::EVERY),
        whole(Hint::L2, 4),
        whole(Hint::L2, 8),
        whole(Hint::L2, Fetch::EVERY),
        whole(Hint::L3, 8),
        whole(Hint::L3, Fetch::EVERY),
        begun(8),
        begun(Fetch::EVERY),
        whole(Hint::None, Fetch::EVERY),
    ]
};

/// Bytes of a piece of the memory that is gathered from; as many as the longest rows have.
const PIECE_BYTES: usize = SIZES[SIZES.len() - 1];
/// Number of pieces, a power of two: 48 MiB, more than most caches keep until the next round.
const PIECES: u32 = 1 << 14;
/// Rows of a hop: about as many of a node's neighbours are met for the first time.
const HOP_ROWS: usize = 16;
/// Hops that are timed together: so many that long rows of a round are not the rows of the round before.
const HOPS: usize = 26;
/// Fewer rounds give no table.
const LEAST_ROUNDS: usize = 5;
/// More rounds would not make the result better.
const MAX_ROUNDS: usize = 40;
/// A candidate replaces the usual one when the median of its times is at most this share of the usual one's…
const GOOD_MEDIAN: f64 = 0.95;
/// … and when it was no slower in three rounds of four.
const GOOD_QUARTILE: f64 = 1.0;

/// Seconds of each candidate, measured shortly after one another: the geometric mean of a pass over rows that were not
/// visited for long and of one over rows that just were.
type Round = [f64; CANDIDATES.len()];

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// By size.
    rounds: [Vec<Round>; SIZES.len()],
}

impl Measurement {
    /// Time after which a measurement ends. The last step may exceed it, up to 200 ms in all.
    pub const BUDGET: Duration = Duration::from_millis(190);

    /// Measures on the calling thread until the budget is used up or `stop` is set; what is left of a round is dropped.
    /// Holds 48 MiB meanwhile.
    pub fn take(budget: Duration, stop: &AtomicBool) -> Measurement {
        let start = Instant::now();
        let goes_on = || start.elapsed() < budget && !stop.load(Ordering::Relaxed);
        let mut measurement = Measurement::default();
        let mut pieces = RowArena::new(PIECE_BYTES);
        for _ in 0..PIECES {
            if pieces.len().is_multiple_of(256) && !goes_on() {
                return measurement;
            }
            pieces.push(&[1; PIECE_BYTES]);
        }
        let table = pieces.table();
        let mut gather = Gather::new(&table);
        for round in 0..MAX_ROUNDS {
            for (&row_bytes, rounds) in SIZES.iter().zip(&mut measurement.rounds) {
                gather.turn_to(row_bytes, round);
                let from = gather.visits;
                let mut times = [1.0; CANDIDATES.len()];
                // Every row once, then once more in the same order: some collections fit the last cache, others do not.
                for again in 0..2 {
                    gather.visits = from;
                    for turn in 0..CANDIDATES.len() {
                        if !goes_on() {
                            return measurement;
                        }
                        // Each candidate comes first and last in its turn, and to rows that it has not visited.
                        let candidate = (turn + round + again) % CANDIDATES.len();
                        gather.fetch = CANDIDATES[candidate];
                        times[candidate] *= gather.seconds();
                    }
                }
                rounds.push(times.map(f64::sqrt));
            }
        }
        measurement
    }

    /// For each size in bytes the candidates, and the medians of their nanoseconds a row; empty without a round.
    pub fn medians(&self) -> impl Iterator<Item = (usize, Vec<(Fetch, f64)>)> {
        SIZES.into_iter().zip(&self.rounds).map(|(row_bytes, rounds)| {
            let median = |candidate: usize| {
                let mut times: Vec<f64> = rounds.iter().map(|times| times[candidate]).collect();
                times.sort_unstable_by(f64::total_cmp);
                let nanos = times.get(times.len() / 2)? * 1e9 / (HOPS * HOP_ROWS) as f64;
                Some((CANDIDATES[candidate], nanos))
            };
            (row_bytes, (0..CANDIDATES.len()).filter_map(median).collect())
        })
    }

    /// The best entry for every size; none if there were too few rounds.
    pub fn table(&self) -> Option<FetchTable> {
        let is_enough = self.rounds.iter().all(|rounds| rounds.len() >= LEAST_ROUNDS);
        is_enough.then(|| {
            FetchTable::of(|kind, size| {
                // Left out if originals would not be prefetched that far ahead in the end.
                let is_possible = |fetch: Fetch| {
                    let bytes = HOP_ROWS.min(usize::from(fetch.rows)) * fetch.bytes(SIZES[size]);
                    let differs = fetch.lines == Fetch::EVERY || fetch.bytes(SIZES[size]) < SIZES[size];
                    differs && (kind == Kind::Codes || fetch.hint == Hint::None || bytes <= MAX_BYTES)
                };
                // Another distance first, then another hint if that is clearly better still: between hints that are
                // equal here the usual one is the safer choice.
                let (rounds, usual) = (&self.rounds[size], Fetch::usual(kind));
                let near = best(rounds, usual, |fetch| fetch.hint == usual.hint && is_possible(fetch));
                best(rounds, near, is_possible)
            })
        })
    }
}

/// The possible candidate that is clearly faster than the usual one and has the least median of ratios to it within
/// rounds; else the usual one. A round is disturbed as a whole more often than in parts, so ratios are steadier than
/// times.
fn best(rounds: &[Round], usual: Fetch, is_possible: impl Fn(Fetch) -> bool) -> Fetch {
    let Some(base) = CANDIDATES.iter().position(|&fetch| fetch == usual) else { return usual };
    let clearly_faster = |candidate: usize| {
        let mut ratios: Vec<f64> = rounds.iter().map(|times| times[candidate] / times[base]).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let median = *ratios.get(ratios.len() / 2)?;
        let quartile = *ratios.get(ratios.len() * 3 / 4)?;
        (median <= GOOD_MEDIAN && quartile <= GOOD_QUARTILE).then_some((candidate, median))
    };
    (0..CANDIDATES.len())
        .filter(|&candidate| is_possible(CANDIDATES[candidate]))
        .filter_map(clearly_faster)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(usual, |(candidate, _)| CANDIDATES[candidate])
}

/// Rows of one size, one in each piece of memory, and the position of the walk over them.
struct Gather<'a> {
    pieces: &'a RowTable,
    dot: CodeDot,
    query: Vec<QueryLine>,
    row_bytes: usize,
    /// Where rows begin in their pieces.
    offset: usize,
    fetch: Fetch,
    /// Rows that were visited so far.
    visits: u32,
}

impl<'a> Gather<'a> {
    fn new(pieces: &'a RowTable) -> Gather<'a> {
        let dot = code_kernels().dot(CodeWidth::Eight);
        let fetch = Fetch::usual(Kind::Codes);
        Gather { pieces, dot, query: Vec::new(), row_bytes: 0, offset: 0, fetch, visits: 0 }
    }

    /// Goes on with rows of another size, elsewhere in the pieces in every round.
    fn turn_to(&mut self, row_bytes: usize, round: usize) {
        self.row_bytes = row_bytes;
        self.offset = round % (PIECE_BYTES / row_bytes) * row_bytes;
        self.query = vec![QueryLine([1; CODE_LINE_BYTES]); row_bytes / CODE_LINE_BYTES];
    }

    /// Seconds of some hops.
    fn seconds(&mut self) -> f64 {
        let start = Instant::now();
        for _ in 0..HOPS {
            let nodes: [Node; HOP_ROWS] =
                std::array::from_fn(|at| Node::new(piece(self.visits.wrapping_add(at as u32))));
            let mut signs = 0;
            let computer = DistanceComputer::new(self, &self.query);
            computer.score(&nodes, |found| signs |= found.distance().to_bits());
            // No distance is negative, but that is known only when all have been computed: as in a walk, where the
            // next hop follows from the distances of this one.
            self.visits = self.visits.wrapping_add(HOP_ROWS as u32 + (black_box(signs) >> 31));
        }
        start.elapsed().as_secs_f64()
    }

    #[inline(always)]
    fn row(&self, piece: u32) -> &[u8] {
        &self.pieces.row(piece)[self.offset..][..self.row_bytes]
    }
}

/// The piece of the n-th visit: all pieces once before one is repeated, in an order that hardware cannot predict.
#[inline(always)]
fn piece(visit: u32) -> u32 {
    const MASK: u32 = PIECES - 1;
    // Products with odd numbers and shifts to the right are one-to-one.
    let mixed = visit.wrapping_mul(0x9e37_79b1) & MASK;
    let mixed = (mixed ^ mixed >> 7).wrapping_mul(0x85eb_ca6b) & MASK;
    mixed ^ mixed >> 5
}

impl Space for Gather<'_> {
    type Query = Vec<QueryLine>;

    #[inline(always)]
    fn one(&self, query: &Vec<QueryLine>, node: Node) -> f32 {
        (self.dot.one)(query, self.row(node.get())) as f32
    }

    #[inline(always)]
    fn four(&self, query: &Vec<QueryLine>, nodes: [Node; 4]) -> [f32; 4] {
        (self.dot.four)(query, nodes.map(|node| self.row(node.get()))).map(|sum| sum as f32)
    }

    #[inline(always)]
    fn prefetch(&self, node: Node) {
        prefetch_range(self.fetch.hint, self.row(node.get()).as_ptr(), self.fetch.bytes(self.row_bytes));
    }

    #[inline(always)]
    fn look_ahead(&self) -> usize {
        usize::from(self.fetch.rows)
    }

    fn metric(&self) -> Metric {
        Metric::Dot
    }

    fn load(&self, node: Node, query: &mut Vec<QueryLine>) {
        query.resize(self.row_bytes / CODE_LINE_BYTES, QueryLine::ZERO);
        for (to, &from) in QueryLine::components_mut(query).iter_mut().zip(self.row(node.get())) {
            *to = from as i8;
        }
    }

    fn is_same(&self, a: Node, b: Node) -> bool {
        self.row(a.get()) == self.row(b.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(hint: Hint, rows: u8) -> Fetch {
        Fetch { hint, rows, lines: Fetch::EVERY }
    }

    fn of(hint: Hint, rows: u8) -> usize {
        CANDIDATES.iter().position(|&fetch| fetch == whole(hint, rows)).expect("a candidate")
    }

    /// Rounds in which some candidates take other times than the rest, which take one second.
    fn rounds(count: usize, others: &[(usize, f64)]) -> Vec<Round> {
        let mut times = [1.0; CANDIDATES.len()];
        others.iter().for_each(|&(candidate, seconds)| times[candidate] = seconds);
        vec![times; count]
    }

    fn table(rounds: Vec<Round>) -> Option<FetchTable> {
        Measurement { rounds: std::array::from_fn(|_| rounds.clone()) }.table()
    }

    #[test]
    fn both_usual_ways_are_candidates_and_no_candidate_comes_twice() {
        for kind in Kind::ALL {
            assert!(CANDIDATES.contains(&Fetch::usual(kind)));
        }
        for (at, fetch) in CANDIDATES.iter().enumerate() {
            assert!(!CANDIDATES[..at].contains(fetch));
        }
    }

    #[test]
    fn the_usual_way_stays_unless_another_one_is_clearly_faster() {
        assert_eq!(table(rounds(8, &[])), Some(FetchTable::default()));
        assert_eq!(table(rounds(8, &[(of(Hint::L1, 4), 0.96)])), Some(FetchTable::default()));
        let faster = table(rounds(8, &[(of(Hint::L1, 4), 0.9), (of(Hint::L3, 8), 0.85)]));
        assert_eq!(faster, Some(FetchTable::of(|_, _| whole(Hint::L3, 8))));
    }

    #[test]
    fn of_equal_hints_the_usual_one_is_taken() {
        let better = [(of(Hint::L2, 4), 0.88), (of(Hint::L1, 4), 0.86)];
        assert_eq!(table(rounds(8, &better)), Some(FetchTable::of(|_, _| whole(Hint::L2, 4))));
    }

    #[test]
    fn a_few_lucky_rounds_decide_nothing() {
        let mut some = rounds(5, &[]);
        some.extend(rounds(4, &[(of(Hint::L1, 4), 0.1)]));
        assert_eq!(table(some), Some(FetchTable::default()), "the median is that of the usual one");
        let mut most = rounds(3, &[(of(Hint::L1, 4), 1.3)]);
        most.extend(rounds(5, &[(of(Hint::L1, 4), 0.9)]));
        assert_eq!(table(most), Some(FetchTable::default()), "slower in more than a quarter of the rounds");
    }

    #[test]
    fn a_round_that_was_slow_as_a_whole_does_not_matter() {
        let mut all = rounds(8, &[(of(Hint::L2, 4), 0.9)]);
        all[1..4].iter_mut().for_each(|times| times.iter_mut().for_each(|seconds| *seconds *= 20.0));
        assert_eq!(table(all), Some(FetchTable::of(|_, _| whole(Hint::L2, 4))));
    }

    #[test]
    fn too_few_rounds_give_no_table() {
        assert_eq!(table(rounds(LEAST_ROUNDS - 1, &[])), None);
        assert_eq!(Measurement::default().table(), None);
    }

    #[test]
    fn originals_keep_within_their_share_of_the_cache() {
        let table = table(rounds(8, &[(of(Hint::L2, Fetch::EVERY), 0.5), (of(Hint::L1, 4), 0.7)]));
        let wanted = FetchTable::of(|kind, size| match (kind, SIZES[size]) {
            // Against the usual way of codes, which is the fastest one here, nothing is faster.
            (Kind::Codes, _) => Fetch::usual(kind),
            (Kind::Originals, ..=1536) => whole(Hint::L2, Fetch::EVERY),
            (Kind::Originals, _) => whole(Hint::L1, 4),
        });
        assert_eq!(table, Some(wanted));
    }

    #[test]
    fn of_short_rows_there_is_nothing_behind_the_first_lines() {
        let begun = CANDIDATES.iter().position(|fetch| fetch.lines == 4).expect("a candidate");
        let wanted = FetchTable::of(
            |kind, size| if SIZES[size] <= 256 { Fetch::usual(kind) } else { CANDIDATES[begun] },
        );
        assert_eq!(table(rounds(8, &[(begun, 0.8)])), Some(wanted));
    }

    #[test]
    fn every_piece_is_visited_before_one_is_visited_again() {
        let mut seen = vec![false; PIECES as usize];
        for visit in 0..PIECES {
            assert!(!std::mem::replace(&mut seen[piece(visit) as usize], true));
        }
    }

    #[test]
    fn measuring_ends_at_once_when_it_is_stopped_or_has_no_time() {
        let stopped = Measurement::take(Duration::from_secs(60), &AtomicBool::new(true));
        assert_eq!(stopped, Measurement::default());
        assert_eq!(Measurement::take(Duration::ZERO, &AtomicBool::new(false)), Measurement::default());
    }

    #[test]
    fn a_query_that_stands_for_a_row_has_its_components() {
        let mut pieces = RowArena::new(PIECE_BYTES);
        for component in [1, 3] {
            pieces.push(&[component; PIECE_BYTES]);
        }
        let table = pieces.table();
        let mut gather = Gather::new(&table);
        for row_bytes in SIZES {
            gather.turn_to(row_bytes, 0);
            let mut query = Vec::new();
            gather.load(Node::new(1), &mut query);
            let products = [0, 1].map(|node| gather.one(&query, Node::new(node)));
            assert_eq!(products, [(3 * row_bytes) as f32, (9 * row_bytes) as f32]);
        }
    }
}
