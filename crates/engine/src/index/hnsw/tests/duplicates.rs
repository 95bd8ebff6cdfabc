//! Duplicates: thousands of equal vectors.

use super::*;
use crate::index::Space;

/// Two vectors with thousands of duplicates each, and other rows between and around them.
fn many_duplicates(random: &mut Random, metric: Metric) -> RowTable {
    let mut rows = vec![vec![1.0; 8]; 3000];
    rows.extend(random_rows(random, 500, 8));
    rows.extend(vec![vec![1.5; 8]; 3000]);
    arena(&rows, metric).table()
}

#[test]
fn thousands_of_duplicates_hide_no_row() {
    let mut random = Random(4);
    for metric in METRICS {
        let rows = many_duplicates(&mut random, metric);
        let graph = build(&rows, 8, metric);
        for row in [0, 1500, 2999, 3500, 6499] {
            let query = &vector(&rows, row);
            let best = exact(&rows, metric, query, 10, |_| true);
            let found = search(&graph, &rows, query, 50, |_| true);
            assert!(found.len() >= 50);
            let distances =
                |rows: &[(f32, u32)]| rows.iter().take(10).map(|found| found.0).collect::<Vec<f32>>();
            assert_eq!(distances(&found), distances(&best), "{metric:?} row {row}");
        }
        if metric != Metric::Dot {
            let is_missed = |&row: &u32| {
                let query = vector(&rows, row);
                search(&graph, &rows, &query, 20, |_| true)[0] != exact(&rows, metric, &query, 1, |_| true)[0]
            };
            let missed: Vec<u32> = (3000..3500).filter(is_missed).collect();
            assert!(missed.len() <= 2, "{metric:?}: {missed:?} missed between two sets of duplicates");
        }
    }
}

#[test]
fn a_walk_that_ends_among_duplicates_returns_all_of_them() {
    let mut random = Random(30);
    let rows = many_duplicates(&mut random, Metric::Euclid);
    let graph = build(&rows, 8, Metric::Euclid);
    let found = search(&graph, &rows, &[1.0; 8], 10, |_| true);
    // The nodes behind them keep their places too.
    assert!(found[..3000].iter().all(|&(distance, _)| distance == 0.0));
    assert!((3009..=4105).contains(&found.len()) && found[3000].0 > 0.0, "{}", found.len());
    let found = search(&graph, &rows, &[1.0; 8], 10, |row| row % 100 == 7 && row < 3000);
    assert_eq!(found.len(), 30);
    assert!(found.iter().all(|&(distance, row)| distance == 0.0 && row % 100 == 7));
    let walk = WalkParams { ef: 10, traversal: Traversal::TwoHop, starts: &[], avoided: None };
    let mut scratch = WalkScratch::new();
    let found = graph.search(&rows, &[1.0; 8], &walk, |row| row == 2222, &mut scratch, &|| false).unwrap();
    assert!(found.is_empty() || found == [(0.0, 2222)]);
}

#[test]
fn all_equal_rows_are_found_written_rewritten_and_joined_by_more() {
    for value in [0.0, 7.0] {
        let rows = arena(&vec![vec![value; 6]; 3000], Metric::Cosine).table();
        let graph = Built::empty(HnswParams { m: 4, ef_construct: 30, seed: 1 }, Metric::Cosine);
        let mut scratch = BuildScratch::new();
        (0..2000).for_each(|row| graph.insert(&rows, row, &mut scratch));
        assert_eq!(graph.hnsw.unreachable(), []);
        let all = |graph: &Built| search(graph, &rows, &[1.0; 6], 10, |_| true).len();
        assert_eq!(all(&graph), 2000);
        let mut bytes = Vec::new();
        assert_eq!(graph.hnsw.write_to(&mut bytes, Row::new(1500)).len(), 1500);
        let ReadGraph { hnsw, is_connected } = Hnsw::read_from(&bytes, 1500, 2).unwrap();
        let cut = Built { hnsw, metric: Metric::Cosine };
        assert_eq!((is_connected, cut.repair(&rows), all(&cut)), (true, 0, 1500));
        let mut again = Vec::new();
        cut.hnsw.write_to(&mut again, Row::new(u32::MAX));
        assert_eq!(bytes, again);
        // The node that all others are duplicates of is among the dead.
        let keep = |node| cut.hnsw.row_of(node).get() % 3 == 2;
        let (hnsw, old) = cut.hnsw.rewrite(&cut.space(&rows), &keep, 1, &|| false).unwrap();
        let left = Built { hnsw, metric: Metric::Cosine };
        assert_eq!((left.repair(&rows), left.hnsw.unreachable(), old.len()), (0, vec![], 500));
        assert!(
            left.hnsw.all_nodes().zip(old).all(|(new, old)| left.hnsw.row_of(new) == cut.hnsw.row_of(old))
        );
        assert_eq!(left.rows(), (0..1500).filter(|row| row % 3 == 2).collect());
        (2000..3000).for_each(|row| left.insert(&rows, row, &mut scratch));
        assert_eq!((left.hnsw.unreachable(), all(&left)), (vec![], 1500));
    }
}

#[test]
fn rows_of_low_rank_and_whole_numbers_are_found_by_their_own_vector() {
    let mut random = Random(31);
    let lines = random_rows(&mut random, 2, 32);
    let low_rank: Vec<Vec<f32>> = (0..3000)
        .map(|_| {
            let (a, b) = (random.normal(), random.normal());
            lines[0].iter().zip(&lines[1]).map(|(x, y)| a * x + b * y).collect()
        })
        .collect();
    let whole: Vec<Vec<f32>> = (0..3000).map(|_| (0..4).map(|_| random.below(6) as f32).collect()).collect();
    let bits: Vec<Vec<f32>> = (0..3000).map(|_| (0..16).map(|_| random.below(2) as f32).collect()).collect();
    for (name, rows) in [("low rank", low_rank), ("whole", whole), ("bits", bits)] {
        for metric in [Metric::Euclid, Metric::Cosine, Metric::Manhattan] {
            let rows = arena(&rows, metric).table();
            let graph = build(&rows, 8, metric);
            assert_eq!(graph.hnsw.unreachable(), []);
            let missed = (0..3000).filter(|&row| {
                let query = vector(&rows, row);
                let best = exact(&rows, metric, &query, 1, |_| true)[0].0;
                search(&graph, &rows, &query, 40, |_| true)[0].0 > best
            });
            let missed = missed.count();
            assert!(missed <= 6, "{name} {metric:?}: {missed} of 3000 missed");
        }
    }
}

/// Counts distances to single nodes.
struct Counting<'a> {
    inner: Originals<'a>,
    ones: AtomicU32,
}

impl<'a> Space for Counting<'a> {
    type Query = <Originals<'a> as Space>::Query;

    fn one(&self, query: &Self::Query, node: Node) -> f32 {
        self.ones.fetch_add(1, Memory::Relaxed);
        self.inner.one(query, node)
    }

    fn four(&self, query: &Self::Query, nodes: [Node; 4]) -> [f32; 4] {
        self.inner.four(query, nodes)
    }

    fn prefetch(&self, node: Node) {
        self.inner.prefetch(node);
    }

    fn look_ahead(&self) -> usize {
        self.inner.look_ahead()
    }

    fn can_read(&self, node: Node) -> bool {
        self.inner.can_read(node)
    }

    fn metric(&self) -> Metric {
        self.inner.metric()
    }

    fn load(&self, node: Node, query: &mut Self::Query) {
        self.inner.load(node, query);
    }

    fn is_same(&self, a: Node, b: Node) -> bool {
        self.inner.is_same(a, b)
    }
}

/// Under products, equal short vectors are not nearest to each other, so they are no duplicates of one another.
#[test]
fn equal_vectors_that_are_far_from_themselves_take_no_more_work_each_the_more_there_are() {
    let mut random = Random(32);
    let mut rows = random_rows(&mut random, 300, 8);
    rows.extend(vec![vec![0.0; 8]; 4000]);
    let rows = arena(&rows, Metric::Dot).table();
    let graph = Built::empty(HnswParams { m: 4, ef_construct: 20, seed: 1 }, Metric::Dot);
    let space = Counting { inner: graph.space(&rows), ones: AtomicU32::new(0) };
    let mut scratch = BuildScratch::new();
    let mut insert = |row: u32| {
        let slot = graph.hnsw.allocate(Row::new(row));
        graph.hnsw.insert(&space, slot, &vector(&rows, row), &mut scratch);
    };
    (0..1300).for_each(&mut insert);
    let first = space.ones.swap(0, Memory::Relaxed);
    (1300..4300).for_each(&mut insert);
    let rest = space.ones.swap(0, Memory::Relaxed);
    assert!(rest <= 3 * 3 * first, "{first} for the first thousand, {rest} for the next three");
    assert_eq!(graph.hnsw.unreachable(), []);
}

/// A caller that accepts all nodes alike says which of a chain it wants.
#[test]
fn thousands_of_unwanted_duplicates_hide_no_wanted_one() {
    let mut rows = vec![vec![1.0; 8]; 5000];
    rows.extend((0..300).map(|n| vec![3.0 + n as f32; 8]));
    let rows = arena(&rows, Metric::Euclid).table();
    let graph = build(&rows, 8, Metric::Euclid);
    let chosen = |is_chosen: &dyn Fn(u32) -> bool| -> Vec<u32> {
        let row = |node| graph.hnsw.row_of(node).get();
        let choose = |node| is_chosen(row(node));
        let (params, mut scratch) = (WalkParams::wide(10), WalkScratch::new());
        let (space, query) = (graph.space(&rows), vec![1.0; 8]);
        let predicates = (&|_: Node| true, &choose);
        let found = graph.hnsw.walk_choosing(&space, &query, &params, predicates, &mut scratch, &|| false);
        let mut found: Vec<u32> = found.unwrap().iter().map(|c| row(c.node())).collect();
        found.retain(|&row| row < 5000);
        found.sort_unstable();
        found
    };
    // The chain begins with the first row, and goes on with the newest.
    assert_eq!(chosen(&|row| row < 900), (0..900).collect::<Vec<u32>>());
    assert_eq!(chosen(&|row| (1..900).contains(&row)), (1..900).collect::<Vec<u32>>());
    assert_eq!(chosen(&|_| true).len(), 4096);
}

/// A chain that is as long as all that is found hides no node behind it.
#[test]
fn a_chain_of_all_that_is_found_hides_no_other_chain() {
    let mut rows = vec![vec![1.0; 8]; 6000];
    rows.extend(vec![vec![2.0; 8]; 3]);
    rows.extend((0..300).map(|n| vec![3.0 + n as f32; 8]));
    let rows = arena(&rows, Metric::Euclid).table();
    let graph = build(&rows, 8, Metric::Euclid);
    let found = search(&graph, &rows, &[1.0; 8], 20, |_| true);
    let others: Vec<u32> =
        found.iter().map(|&(_, row)| row).filter(|row| (6000..6003).contains(row)).collect();
    assert_eq!(others, [6000, 6001, 6002]);
}
