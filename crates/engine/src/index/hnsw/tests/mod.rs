mod clusters;
mod compared;
mod duplicates;
mod exploring;
mod rewriting;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering as Memory};

use proptest::prelude::*;

use super::*;
use crate::arena::{RowArena, RowTable};
use crate::index::{Distance, Originals, Stopped, TopK, flat};
use crate::types::{Metric, Node, Row, RowRange};
use crate::vectors::RowFormat;

const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];

/// A small generator of our own, so that a test is the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 16
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    /// Roughly normal, mean 0, deviation 1.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 6.0
    }
}

fn random_rows(random: &mut Random, count: usize, dim: usize) -> Vec<Vec<f32>> {
    (0..count).map(|_| (0..dim).map(|_| random.normal()).collect()).collect()
}

/// Rows around `clusters` centres that lie far apart.
fn clustered_rows(random: &mut Random, count: usize, dim: usize, clusters: usize) -> Vec<Vec<f32>> {
    let centres = random_rows(random, clusters, dim);
    (0..count)
        .map(|_| {
            let centre = &centres[random.below(clusters as u32) as usize];
            centre.iter().map(|c| c * 10.0 + random.normal()).collect()
        })
        .collect()
}

/// Queries near to rows, but not on them.
fn clustered_queries(rows: &RowTable, count: u32) -> Vec<Vec<f32>> {
    (0..count)
        .map(|n| vector(rows, n * (rows.len() / count)).iter().map(|x| x * 0.95 + 0.3).collect())
        .collect()
}

fn arena(rows: &[Vec<f32>], metric: Metric) -> RowArena {
    let mut arena = RowArena::new(RowFormat::F32.row_bytes(rows[0].len()));
    for row in rows {
        let mut row = row.clone();
        if metric == Metric::Cosine {
            kithdb_kernels::normalise(&mut row);
        }
        arena.push(&encoded(&row));
    }
    arena
}

/// A vector as a row.
fn encoded(vector: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    RowFormat::F32.encode(vector, &mut bytes);
    bytes
}

/// Components of a row of `f32`.
fn dim(rows: &RowTable) -> usize {
    rows.row_bytes() / 4
}

/// A row as a vector.
fn vector(rows: &RowTable, row: u32) -> Vec<f32> {
    let mut vector = Vec::new();
    RowFormat::F32.decode(rows.row(row), dim(rows), &mut vector);
    vector
}

/// A graph with the distance that it is built for.
struct Built {
    hnsw: Hnsw,
    metric: Metric,
}

impl Built {
    fn empty(params: HnswParams, metric: Metric) -> Built {
        Built { hnsw: Hnsw::new(params), metric }
    }

    fn space<'a>(&'a self, rows: &'a RowTable) -> Originals<'a> {
        Originals::new(rows, Distance::of(self.metric, RowFormat::F32), dim(rows), &self.hnsw)
    }

    fn insert(&self, rows: &RowTable, row: u32, scratch: &mut BuildScratch) {
        let slot = self.hnsw.allocate(Row::new(row));
        self.hnsw.insert(&self.space(rows), slot, &vector(rows, row), scratch);
    }

    /// The rows in the graph.
    fn rows(&self) -> HashSet<u32> {
        self.hnsw.all_nodes().map(|node| self.hnsw.row_of(node).get()).collect()
    }

    fn repair(&self, rows: &RowTable) -> usize {
        self.hnsw.repair(&self.space(rows), &mut BuildScratch::new())
    }

    /// What a search finds, as distances and rows, equal distances by row.
    fn search(
        &self,
        rows: &RowTable,
        query: &[f32],
        walk: &WalkParams,
        accept: impl Fn(u32) -> bool,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<Vec<(f32, u32)>, Stopped> {
        let accept = |node| accept(self.hnsw.row_of(node).get());
        let found = self.hnsw.walk(&self.space(rows), &query.to_vec(), walk, &accept, scratch, stop)?;
        let mut found: Vec<(f32, u32)> =
            found.iter().map(|c| (c.distance(), self.hnsw.row_of(c.node()).get())).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(found)
    }
}

fn build(rows: &RowTable, m: usize, metric: Metric) -> Built {
    let graph = Built::empty(HnswParams { m, ef_construct: 100, seed: 42 }, metric);
    let mut scratch = BuildScratch::new();
    for row in 0..rows.len() {
        graph.insert(rows, row, &mut scratch);
    }
    graph
}

fn read(bytes: &[u8], rows: u32, metric: Metric) -> Result<Built, GraphError> {
    Hnsw::read_from(bytes, rows, 2).map(|read| Built { hnsw: read.hnsw, metric })
}

fn search(
    graph: &Built,
    rows: &RowTable,
    query: &[f32],
    ef: usize,
    accept: impl Fn(u32) -> bool,
) -> Vec<(f32, u32)> {
    graph.search(rows, query, &WalkParams::wide(ef), accept, &mut WalkScratch::new(), &|| false).unwrap()
}

fn exact(
    rows: &RowTable,
    metric: Metric,
    query: &[f32],
    k: usize,
    accept: impl Fn(u32) -> bool,
) -> Vec<(f32, u32)> {
    let mut top = TopK::new(k, |a: Row, b: Row| a.cmp(&b));
    flat::scan_range(
        rows,
        Distance::of(metric, RowFormat::F32),
        query,
        RowRange::of_len(Row::FIRST, rows.len()),
        &|row: Row| accept(row.get()),
        &mut top,
        &|| false,
    )
    .unwrap();
    top.into_sorted().into_iter().map(|(distance, row)| (distance, row.get())).collect()
}

/// Share of the true k nearest, by distance, that searches with each row of `queries` find.
fn recall(
    graph: &Built,
    rows: &RowTable,
    queries: &[Vec<f32>],
    ef: usize,
    accept: impl Fn(u32) -> bool,
) -> f64 {
    let k = 10;
    let (mut hits, mut wanted) = (0, 0);
    for query in queries {
        let truth = exact(rows, graph.metric, query, k, &accept);
        let found = search(graph, rows, query, ef, &accept);
        assert!(found.iter().all(|&(_, row)| accept(row)), "a row that was not accepted");
        assert!(found.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)), "not best first, or twice the same");
        let kth = truth.last().map_or(f32::MIN, |last| last.0);
        hits += found.iter().take(k).filter(|found| found.0 <= kth).count();
        wanted += truth.len();
    }
    hits as f64 / wanted as f64
}

#[test]
fn recall_on_random_and_clustered_rows_under_every_metric() {
    for metric in METRICS {
        let mut random = Random(1);
        for (name, rows) in [
            ("random", random_rows(&mut random, 3000, 16)),
            ("clustered", clustered_rows(&mut random, 3000, 24, 30)),
        ] {
            let rows = arena(&rows, metric).table();
            let graph = build(&rows, 16, metric);
            assert!(graph.hnsw.unreachable().is_empty());
            let queries: Vec<Vec<f32>> =
                (0..60).map(|n| vector(&rows, n * 50).iter().map(|x| x * 0.9 + 0.05).collect()).collect();
            let recall = recall(&graph, &rows, &queries, 100, |_| true);
            assert!(recall >= 0.95, "{metric:?} {name}: recall {recall}");
        }
    }
}

#[test]
fn every_m_from_2_to_512_keeps_every_row_within_reach() {
    let mut random = Random(2);
    let rows = arena(&random_rows(&mut random, 1500, 12), Metric::Euclid).table();
    for m in [2, 3, 4, 5, 8, 17, 32, 64, 512] {
        let graph = build(&rows, m, Metric::Euclid);
        assert_eq!(graph.hnsw.len(), 1500);
        assert!(graph.hnsw.unreachable().is_empty(), "m {m}");
        let queries: Vec<Vec<f32>> = (0..30).map(|n| vector(&rows, n * 50)).collect();
        let recall = recall(&graph, &rows, &queries, 400, |_| true);
        // Two or three links are few: the tree alone needs two.
        assert!(recall >= if m < 4 { 0.7 } else { 0.95 }, "m {m}: recall {recall}");
    }
}

#[test]
fn nodes_of_upper_layers_have_as_many_links_in_the_base_layer_as_others() {
    let mut random = Random(15);
    let rows = arena(&random_rows(&mut random, 4000, 12), Metric::Euclid).table();
    let graph = build(&rows, 4, Metric::Euclid).hnsw;
    let mean_degree = |nodes: Vec<Node>| {
        let mut links = 0;
        nodes.iter().for_each(|&node| graph.nodes.for_each_link(node, 0, |_| links += 1));
        f64::from(links) / nodes.len() as f64
    };
    let (upper, others) = graph.all_nodes().partition(|&node| graph.nodes.level_of(node) > 0);
    let (upper, others) = (mean_degree(upper), mean_degree(others));
    assert!(upper > 0.9 * others, "{upper} links on average, {others} elsewhere");
}

#[test]
fn filtered_searches_find_the_accepted_rows_only() {
    let mut random = Random(3);
    let rows = arena(&random_rows(&mut random, 4000, 16), Metric::Euclid).table();
    let graph = build(&rows, 16, Metric::Euclid);
    let queries = random_rows(&mut random, 40, 16);
    for percent in [50, 10, 1] {
        let accept = |row: u32| row.wrapping_mul(2_654_435_761) >> 16 < percent * 655;
        let recall = recall(&graph, &rows, &queries, 64, accept);
        assert!(recall >= 0.95, "{percent} %: recall {recall}");
    }
    assert!(search(&graph, &rows, &queries[0], 64, |_| false).is_empty());
    assert_eq!(search(&graph, &rows, &queries[0], 64, |row| row == 1234).len(), 1);
}

#[test]
fn zero_vectors_and_overflowing_distances_are_found() {
    for metric in METRICS {
        for value in [0.0, 3e38, -3e38] {
            let mut rows = vec![vec![value; 5]; 600];
            rows.extend((0..600).map(|n| vec![if n % 2 == 0 { 3e38 } else { -3e38 }; 5]));
            let rows = arena(&rows, metric).table();
            let graph = build(&rows, 4, metric);
            assert!(graph.hnsw.unreachable().is_empty());
            for row in [0, 599, 600, 601, 1199] {
                let found = search(&graph, &rows, &vector(&rows, row), 20, |_| true);
                assert!(found.len() >= 20, "{metric:?} {value} row {row}");
                assert!(found.iter().all(|found| found.0.is_finite()));
                let best = exact(&rows, metric, &vector(&rows, row), 1, |_| true)[0].0;
                assert_eq!(found[0].0, best, "{metric:?} {value} row {row}");
            }
        }
    }
}

#[test]
fn an_empty_graph_and_a_graph_of_one_row_answer() {
    let rows = arena(&[vec![1.0, 2.0]], Metric::Dot).table();
    let graph = Built::empty(HnswParams { m: 2, ef_construct: 1, seed: 0 }, Metric::Dot);
    assert!(search(&graph, &rows, &[1.0, 1.0], 5, |_| true).is_empty());
    assert!(graph.hnsw.is_empty() && graph.hnsw.unreachable().is_empty());
    graph.insert(&rows, 0, &mut BuildScratch::new());
    assert_eq!(graph.hnsw.len(), 1);
    assert_eq!(search(&graph, &rows, &[1.0, 1.0], 0, |_| true), [(-3.0, 0)]);
}

#[test]
fn two_hop_walks_find_the_accepted_and_score_nothing_else() {
    let mut random = Random(16);
    let rows = arena(&clustered_rows(&mut random, 6000, 16, 12), Metric::Euclid).table();
    let graph = build(&rows, 16, Metric::Euclid);
    let queries = clustered_queries(&rows, 60);
    for percent in [50, 20, 5] {
        let accept = |row: u32| row.wrapping_mul(2_654_435_761) >> 16 < percent * 655;
        // Some accepted nodes anywhere, as a planner that knows the filter gives.
        let accepted = (0..6000).filter(|&row| accept(row));
        let starts: Vec<Node> = accepted.step_by(40 * percent as usize / 5).map(Node::new).collect();
        let walk = WalkParams { ef: 64, traversal: Traversal::TwoHop, starts: &starts, avoided: None };
        let (mut hits, mut scratch) = (0, WalkScratch::new());
        for query in &queries {
            let asked = std::cell::RefCell::new(HashSet::new());
            let accept_once = |row: u32| {
                assert!(asked.borrow_mut().insert(row), "asked twice about row {row}");
                accept(row)
            };
            let found = graph.search(&rows, query, &walk, accept_once, &mut scratch, &|| false).unwrap();
            assert!(found.iter().all(|&(_, row)| accept(row)));
            assert!(found.len() <= 64);
            let truth = exact(&rows, Metric::Euclid, query, 10, accept);
            hits += found.iter().take(10).filter(|found| found.0 <= truth[9].0).count();
        }
        let recall = hits as f64 / (10 * queries.len()) as f64;
        assert!(recall >= 0.95, "{percent} %: recall {recall}");
    }
    // As wide as the graph, it misses none, however far apart they are.
    let all = WalkParams { ef: 6000, traversal: Traversal::TwoHop, starts: &[], avoided: None };
    for every in [7, 500, 3001] {
        let mut scratch = WalkScratch::new();
        let found = graph.search(&rows, &queries[1], &all, |row| row % every == 5, &mut scratch, &|| false);
        assert_eq!(found, Ok(exact(&rows, Metric::Euclid, &queries[1], 6000, |row| row % every == 5)));
    }
    let none = WalkParams { ef: 8, traversal: Traversal::TwoHop, starts: &[], avoided: None };
    let mut scratch = WalkScratch::new();
    let found = graph.search(&rows, &queries[0], &none, |_| false, &mut scratch, &|| false);
    assert_eq!(found, Ok(vec![]));
    let starts = [6000, u32::MAX, 17, 17].map(Node::new);
    let beyond = WalkParams { ef: 8, traversal: Traversal::Check, starts: &starts, avoided: None };
    let found = graph.search(&rows, &vector(&rows, 17), &beyond, |_| true, &mut scratch, &|| false).unwrap();
    assert_eq!(found[0], (0.0, 17));
}

#[test]
fn a_search_stops_when_it_is_told_to() {
    let mut random = Random(5);
    let rows = arena(&random_rows(&mut random, 2000, 8), Metric::Euclid).table();
    let graph = build(&rows, 8, Metric::Euclid);
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let mut scratch = WalkScratch::new();
    let result =
        graph.search(&rows, &vector(&rows, 0), &WalkParams::wide(500), |_| true, &mut scratch, &stop);
    assert_eq!(result, Err(Stopped));
    // The scratch of a stopped search serves the next one.
    let found = graph
        .search(&rows, &vector(&rows, 7), &WalkParams::wide(50), |_| true, &mut scratch, &|| false)
        .unwrap();
    assert_eq!(found[0], (0.0, 7));
}

#[test]
fn rows_beyond_the_view_are_stepped_over_even_at_the_entry_point() {
    let mut random = Random(6);
    let mut arena = arena(&random_rows(&mut random, 400, 8), Metric::Euclid);
    let views: Vec<RowTable> = [1u32, 10, 399]
        .map(|len| {
            arena.truncate(400);
            let mut short = RowArena::new(32);
            (0..len).for_each(|row| {
                short.push(arena.table().row(row));
            });
            short.table()
        })
        .into();
    for row in random_rows(&mut random, 4000, 8) {
        arena.push(&encoded(&row));
    }
    let graph = build(&arena.table(), 4, Metric::Euclid);
    for view in views {
        for row in 0..view.len() {
            let found = search(&graph, &view, &vector(&view, row), 20, |_| true);
            assert!(!found.is_empty() && found.iter().all(|found| found.1 < view.len()));
        }
    }
}

#[test]
fn threads_insert_while_others_search_their_own_views() {
    let mut random = Random(7);
    let all = clustered_rows(&mut random, 3000, 16, 20);
    let rows = arena(&all, Metric::Euclid).table();
    // Views grow: a thread inserts over a table that ends with its row, so tables are older than nodes it meets.
    let mut growing = RowArena::new(64);
    let tables: Vec<RowTable> = all
        .iter()
        .map(|row| {
            growing.push(&encoded(row));
            growing.table()
        })
        .collect();
    for m in [2, 8] {
        let graph = Built::empty(HnswParams { m, ef_construct: 64, seed: 9 }, Metric::Euclid);
        let (next, is_done) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let builders: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut scratch = BuildScratch::new();
                        let mut search_scratch = WalkScratch::new();
                        loop {
                            let row = next.fetch_add(1, Memory::Relaxed);
                            if row >= rows.len() {
                                return;
                            }
                            let table = &tables[row as usize];
                            graph.insert(table, row, &mut scratch);
                            let found = graph
                                .search(
                                    table,
                                    &vector(table, row),
                                    &WalkParams::wide(64),
                                    |_| true,
                                    &mut search_scratch,
                                    &|| false,
                                )
                                .unwrap();
                            // The first rows may be overtaken by both other threads: then their table has none of the nodes
                            // that there are links from.
                            assert!(!found.is_empty() || row < 2, "row {row}");
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                let mut scratch = WalkScratch::new();
                while !is_done.load(Memory::Relaxed) {
                    let end = graph.hnsw.len();
                    for row in (0..end.saturating_sub(8)).step_by(97) {
                        let accept = |other: u32| !other.is_multiple_of(3) || other == row;
                        let found = graph
                            .search(
                                &rows,
                                &vector(&rows, row),
                                &WalkParams::wide(64),
                                accept,
                                &mut scratch,
                                &|| false,
                            )
                            .unwrap();
                        assert!(found.iter().all(|&(_, other)| accept(other)));
                    }
                }
            });
            let built: Vec<_> = builders.into_iter().map(|builder| builder.join()).collect();
            // Before a builder's panic goes on, or the other thread would search for ever.
            is_done.store(true, Memory::Relaxed);
            built.into_iter().for_each(|result| result.expect("a builder"));
        });
        assert_eq!(graph.hnsw.len(), 3000);
        assert_eq!(graph.hnsw.unreachable(), [], "m {m}");
        assert_eq!(graph.repair(&rows), 0, "the tree is whole");
        let queries: Vec<Vec<f32>> = all.iter().step_by(60).cloned().collect();
        let recall = recall(&graph, &rows, &queries, 256, |_| true);
        assert!(recall >= if m == 2 { 0.6 } else { 0.95 }, "m {m}: recall {recall}");
    }
}

#[test]
fn the_same_rows_in_the_same_order_give_the_same_graph() {
    let mut random = Random(8);
    let rows = arena(&random_rows(&mut random, 800, 8), Metric::Cosine).table();
    let bytes = |graph: &Built| {
        let mut out = Vec::new();
        graph.hnsw.write_to(&mut out, Row::new(u32::MAX));
        out
    };
    assert_eq!(bytes(&build(&rows, 6, Metric::Cosine)), bytes(&build(&rows, 6, Metric::Cosine)));
}

#[test]
fn a_graph_reads_back_as_it_was_written() {
    let mut random = Random(10);
    let rows = arena(&random_rows(&mut random, 1200, 8), Metric::Manhattan).table();
    for m in [2, 16] {
        let graph = build(&rows, m, Metric::Manhattan);
        let mut bytes = vec![7; 3];
        graph.hnsw.write_to(&mut bytes, Row::new(rows.len()));
        let ReadGraph { hnsw, is_connected } = Hnsw::read_from(&bytes[3..], rows.len(), 2).unwrap();
        assert!(is_connected);
        let again = Built { hnsw, metric: Metric::Manhattan };
        assert_eq!((again.hnsw.params(), again.hnsw.len()), (graph.hnsw.params(), 1200));
        assert_eq!(again.repair(&rows), 0);
        let mut second = vec![7; 3];
        again.hnsw.write_to(&mut second, Row::new(rows.len()));
        assert_eq!(bytes, second);
        let query = random_rows(&mut random, 1, 8).remove(0);
        assert_eq!(
            search(&graph, &rows, &query, 200, |_| true),
            search(&again, &rows, &query, 200, |_| true)
        );
        assert_eq!(
            Hnsw::read_from(&bytes[3..], 1199, 2).err(),
            Some(GraphError::Invalid("more nodes than there are vectors"))
        );
    }
}

#[test]
fn a_graph_cut_to_fewer_rows_is_repaired_and_grows_on() {
    let mut random = Random(11);
    let rows = arena(&clustered_rows(&mut random, 1500, 8, 50), Metric::Euclid).table();
    for m in [2, 8] {
        let graph = build(&rows, m, Metric::Euclid);
        for upto in [0, 1, 7, 700, 1499] {
            let mut bytes = Vec::new();
            graph.hnsw.write_to(&mut bytes, Row::new(upto));
            let ReadGraph { hnsw, is_connected } = Hnsw::read_from(&bytes, upto, 2).unwrap();
            let cut = Built { hnsw, metric: Metric::Euclid };
            assert_eq!(cut.hnsw.len(), upto);
            let mut scratch = BuildScratch::new();
            assert_eq!(cut.repair(&rows) == 0, is_connected);
            assert_eq!(cut.hnsw.unreachable(), [], "m {m} upto {upto}");
            assert_eq!(cut.repair(&rows), 0);
            for row in upto..rows.len() {
                cut.insert(&rows, row, &mut scratch);
            }
            assert_eq!(cut.hnsw.unreachable(), []);
            let queries: Vec<Vec<f32>> = (0..20).map(|n| vector(&rows, n * 75)).collect();
            let recall = recall(&cut, &rows, &queries, 400, |_| true);
            assert!(recall >= if m == 2 { 0.6 } else { 0.95 }, "m {m} upto {upto}: recall {recall}");
        }
    }
}

#[test]
fn rows_may_be_left_out_and_come_in_any_order() {
    let mut random = Random(12);
    let rows = arena(&random_rows(&mut random, 2000, 8), Metric::Euclid).table();
    let graph = Built::empty(HnswParams { m: 8, ef_construct: 50, seed: 3 }, Metric::Euclid);
    let mut scratch = BuildScratch::new();
    for row in (0..rows.len()).rev().filter(|row| row % 3 != 0) {
        graph.insert(&rows, row, &mut scratch);
    }
    assert!(graph.hnsw.unreachable().is_empty());
    let mut bytes = Vec::new();
    graph.hnsw.write_to(&mut bytes, Row::new(rows.len()));
    let again = read(&bytes, rows.len(), Metric::Euclid).unwrap();
    assert_eq!(again.hnsw.len(), graph.hnsw.len());
    let found = search(&again, &rows, &vector(&rows, 0), 50, |_| true);
    assert!(found.len() == 50 && found.iter().all(|found| found.1 % 3 != 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_bytes_are_refused_or_give_a_graph_that_is_safe_to_use(
        m in 2usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut random = Random(13);
        let rows = arena(&random_rows(&mut random, 60, 4), Metric::Euclid).table();
        let mut bytes = Vec::new();
        build(&rows, m, Metric::Euclid).hnsw.write_to(&mut bytes, Row::new(60));
        for (place, value, kind) in changes {
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = value,
                1 => bytes[place] ^= 1 << (value % 8),
                2 => drop(bytes.remove(place)),
                _ => bytes.insert(place, value),
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(ReadGraph { hnsw, is_connected }) = Hnsw::read_from(&bytes, 60, 2) {
            let graph = Built { hnsw, metric: Metric::Euclid };
            let mut scratch = BuildScratch::new();
            prop_assert_eq!(is_connected, graph.repair(&rows) == 0);
            prop_assert_eq!(graph.hnsw.unreachable(), vec![]);
            for row in (0..60).filter(|row| !graph.rows().contains(row)).collect::<Vec<u32>>() {
                graph.insert(&rows, row, &mut scratch);
            }
            prop_assert_eq!(graph.hnsw.unreachable(), vec![]);
            search(&graph, &rows, &vector(&rows, 5), 10, |row| row % 2 == 0);
        }
    }

    #[test]
    fn any_small_set_of_rows_is_wholly_within_reach(
        values in prop::collection::vec(-3i8..3, 3..240), m in 2usize..6, seed in any::<u64>(), metric in 0usize..4,
    ) {
        let metric = METRICS[metric];
        let rows: Vec<Vec<f32>> = values.chunks_exact(3).map(|row| row.iter().map(|&v| f32::from(v)).collect()).collect();
        let rows = arena(&rows, metric).table();
        let graph = Built::empty(HnswParams { m, ef_construct: 8, seed }, metric);
        let mut scratch = BuildScratch::new();
        for row in 0..rows.len() {
            graph.insert(&rows, row, &mut scratch);
        }
        prop_assert_eq!(graph.hnsw.unreachable(), vec![]);
        let found = search(&graph, &rows, &vector(&rows, 0), rows.len() as usize, |_| true);
        prop_assert_eq!(found, exact(&rows, metric, &vector(&rows, 0), rows.len() as usize, |_| true));
    }
}

#[test]
fn a_node_that_is_still_on_its_way_is_left_out_of_a_file() {
    let mut random = Random(21);
    let rows = arena(&random_rows(&mut random, 300, 8), Metric::Euclid).table();
    let graph = Built::empty(HnswParams { m: 4, ef_construct: 30, seed: 3 }, Metric::Euclid);
    let mut scratch = BuildScratch::new();
    (0..100).for_each(|row| graph.insert(&rows, row, &mut scratch));
    // As an inserting thread has counted it, with no row and no memory for it; far enough that there is none by chance.
    for _ in 0..5_000 {
        graph.hnsw.nodes.next_number();
    }
    (100..300).for_each(|row| graph.insert(&rows, row, &mut scratch));
    let mut bytes = Vec::new();
    assert_eq!(graph.hnsw.write_to(&mut bytes, Row::new(200)).len(), 200);
    let again = read(&bytes, 200, Metric::Euclid).expect("no row stands in it twice");
    again.repair(&rows);
    assert_eq!(again.hnsw.unreachable(), []);
    assert_eq!(
        (0..300).map(|node| graph.hnsw.placed_row(Node::new(node))).filter(Option::is_some).count(),
        100
    );
}

#[test]
fn the_memory_of_a_graph_has_room_for_the_row_and_the_links_of_each_node() {
    let m = 8;
    for count in [100, 2_000] {
        let rows = arena(&random_rows(&mut Random(22), count, 8), Metric::Euclid).table();
        let bytes = build(&rows, m, Metric::Euclid).hnsw.memory_bytes();
        assert!(bytes >= count * (1 + 2 * m) * size_of::<u32>(), "{count} nodes take {bytes}");
    }
}
