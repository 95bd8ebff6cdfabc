//! Graphs written anew.

use std::sync::atomic::{AtomicBool, Ordering as Memory};

use super::*;

fn rewrite(graph: &Built, rows: &RowTable, keep: impl Fn(u32) -> bool, threads: usize) -> (Built, Vec<Node>) {
    let keep = |node| keep(graph.hnsw.row_of(node).get());
    let (hnsw, old) = graph.hnsw.rewrite(&graph.space(rows), &keep, threads, &|| false).unwrap();
    assert_eq!(hnsw.unreachable(), []);
    assert_eq!(hnsw.len() as usize, old.len());
    let same = |(new, &old): (Node, &Node)| {
        hnsw.row_of(new) == graph.hnsw.row_of(old)
            && hnsw.nodes.level_of(new) == graph.hnsw.nodes.level_of(old)
    };
    assert!(hnsw.all_nodes().zip(&old).all(same));
    (Built { hnsw, metric: graph.metric }, old)
}

#[test]
fn a_rewrite_without_deaths_keeps_every_link_and_puts_the_entry_first() {
    let mut random = Random(20);
    let rows = arena(&random_rows(&mut random, 3000, 12), Metric::Euclid).table();
    let graph = build(&rows, 8, Metric::Euclid);
    for threads in [1, 3] {
        let (new, old) = rewrite(&graph, &rows, |_| true, threads);
        assert_eq!((new.hnsw.len(), old[0]), (3000, graph.hnsw.entry().unwrap().0));
        for (node, &before) in new.hnsw.all_nodes().zip(&old) {
            for layer in 0..=new.hnsw.nodes.level_of(node) {
                let links = |graph: &Hnsw, node| {
                    let mut links = Vec::new();
                    graph.nodes.for_each_link(node, layer, |link| {
                        links.push((graph.row_of(link.node()), link.in_tree()));
                    });
                    links
                };
                assert_eq!(links(&new.hnsw, node), links(&graph.hnsw, before));
            }
        }
        let query = &vector(&rows, 5);
        let find = |graph: &Built| search(graph, &rows, query, 100, |_| true);
        assert_eq!(find(&new), find(&graph));
    }
}

#[test]
fn after_half_of_the_rows_died_recall_is_that_of_a_fresh_graph() {
    let mut random = Random(21);
    for metric in [Metric::Euclid, Metric::Cosine, Metric::Dot] {
        let rows = arena(&clustered_rows(&mut random, 6000, 24, 40), metric).table();
        let queries: Vec<Vec<f32>> = clustered_queries(&rows, 100);
        let is_live = |row: u32| row.wrapping_mul(2_654_435_761) >> 31 == 0;
        let (new, _) = rewrite(&build(&rows, 8, metric), &rows, is_live, 2);
        let fresh = Built::empty(new.hnsw.params(), metric);
        let mut scratch = BuildScratch::new();
        (0..6000).filter(|&row| is_live(row)).for_each(|row| fresh.insert(&rows, row, &mut scratch));
        assert_eq!(new.rows(), fresh.rows());
        for ef in [20, 60] {
            let [new, fresh] = [&new, &fresh].map(|graph| recall(graph, &rows, &queries, ef, is_live));
            assert!(new >= fresh - 0.01, "{metric:?} ef {ef}: {new} after a rewrite, {fresh} built afresh");
        }
    }
}

#[test]
fn replacing_every_row_once_costs_no_recall() {
    let mut random = Random(22);
    let count = 4000;
    let rows = arena(&random_rows(&mut random, 2 * count, 16), Metric::Euclid).table();
    let count = count as u32;
    let mut graph = Built::empty(HnswParams { m: 8, ef_construct: 60, seed: 1 }, Metric::Euclid);
    let mut scratch = BuildScratch::new();
    (0..count).for_each(|row| graph.insert(&rows, row, &mut scratch));
    let mut order: Vec<u32> = (0..count).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u32 + 1) as usize);
    }
    let mut is_dead = vec![false; 2 * count as usize];
    let mut dead = 0;
    for (at, row) in order.into_iter().enumerate() {
        is_dead[row as usize] = true;
        dead += 1;
        graph.insert(&rows, count + at as u32, &mut scratch);
        if dead * 5 >= graph.hnsw.len() {
            graph = rewrite(&graph, &rows, |row| !is_dead[row as usize], 1).0;
            dead = 0;
        }
    }
    graph = rewrite(&graph, &rows, |row| row >= count, 1).0;
    let fresh = Built::empty(graph.hnsw.params(), Metric::Euclid);
    (count..2 * count).for_each(|row| fresh.insert(&rows, row, &mut scratch));
    let queries = random_rows(&mut random, 500, 16);
    for ef in [20, 60] {
        let [new, fresh] =
            [&graph, &fresh].map(|graph| recall(graph, &rows, &queries, ef, |row| row >= count));
        assert!(new >= fresh - 0.01, "ef {ef}: {new} after replacing everything, {fresh} built afresh");
    }
}

#[test]
fn whole_regions_may_die_and_all_that_lives_stays_within_reach() {
    let mut random = Random(23);
    let rows = arena(&clustered_rows(&mut random, 2000, 8, 10), Metric::Euclid).table();
    for m in [2, 8] {
        let graph = build(&rows, m, Metric::Euclid);
        let near = |row: u32, centre: u32| {
            Distance::of(Metric::Euclid, RowFormat::F32).one(&vector(&rows, row), rows.row(centre)) < 60.0
        };
        for keep in [
            Box::new(|row: u32| near(row, 0) || near(row, 1)) as Box<dyn Fn(u32) -> bool>,
            Box::new(|row| row % 50 == 7),
            Box::new(|row| row == 1234),
            Box::new(|_| false),
        ] {
            let (new, _) = rewrite(&graph, &rows, &keep, 1);
            let live = (0..2000).filter(|&row| keep(row)).count();
            assert_eq!(new.hnsw.len() as usize, live);
            assert_eq!(search(&new, &rows, &vector(&rows, 3), 2000, |_| true).len(), live);
            // And it grows on.
            new.insert(&rows, 0, &mut BuildScratch::new());
            assert_eq!(new.hnsw.unreachable(), []);
        }
    }
}

#[test]
fn a_graph_is_rewritten_while_it_grows_and_is_searched() {
    let mut random = Random(24);
    let rows = arena(&random_rows(&mut random, 6000, 8), Metric::Euclid).table();
    let graph = Built::empty(HnswParams { m: 6, ef_construct: 40, seed: 5 }, Metric::Euclid);
    let mut scratch = BuildScratch::new();
    (0..2000).for_each(|row| graph.insert(&rows, row, &mut scratch));
    let is_done = AtomicBool::new(false);
    let keep = |row: u32| row % 4 != 1;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut scratch = BuildScratch::new();
            (2000..6000).for_each(|row| graph.insert(&rows, row, &mut scratch));
            is_done.store(true, Memory::Relaxed);
        });
        while !is_done.load(Memory::Relaxed) {
            let (new, _) = rewrite(&graph, &rows, keep, 2);
            let present = new.rows();
            assert!(present.iter().all(|&row| keep(row)) && present.contains(&1998));
            let mut scratch = BuildScratch::new();
            let missing = (0..4000).filter(|row| keep(*row) && !present.contains(row));
            missing.take(50).for_each(|row| new.insert(&rows, row, &mut scratch));
            assert_eq!(new.hnsw.unreachable(), []);
        }
    });
}

#[test]
fn a_rewrite_stops_when_it_is_told_to() {
    let mut random = Random(25);
    let rows = arena(&random_rows(&mut random, 2000, 8), Metric::Euclid).table();
    let graph = build(&rows, 4, Metric::Euclid);
    for most in [0, 1, 8, 12] {
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Memory::Relaxed) >= most;
        let result = graph.hnsw.rewrite(&graph.space(&rows), &|node| node.get() % 3 > 0, 2, &stop);
        assert!(matches!(result, Err(Stopped)), "after {most}");
    }
}
