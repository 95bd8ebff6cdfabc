//! Links that are not compared again when their list is chosen anew.

use super::*;
use crate::index::Space;
use crate::index::distance::stretched;
use crate::index::hnsw::nodes::Link;
use crate::index::hnsw::select::{Selection, UNKNOWN};

/// Checks of every list that a compared link is nearer to the node than to every nearer one that is compared too, or is one
/// of the tree, and answers how many pairs of links that saves from being compared, and how many pairs there are.
fn check_compared(graph: &Built, rows: &RowTable) -> (usize, usize) {
    let space = graph.space(rows);
    let (mut compared, mut all) = (0, 0);
    for node in graph.hnsw.all_nodes() {
        for layer in 0..=graph.hnsw.nodes.level_of(node) {
            let mut links = Vec::new();
            let centre = vector(rows, graph.hnsw.row_of(node).get());
            graph.hnsw.nodes.for_each_link(node, layer, |link| {
                links.push((space.one(&centre, link.node()), link));
            });
            links.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (at, &(distance, link)) in links.iter().enumerate() {
                all += at;
                if !link.is_compared() || link.in_tree() {
                    continue;
                }
                let probe = vector(rows, graph.hnsw.row_of(link.node()).get());
                for &(nearer, other) in links[..at].iter().filter(|(_, other)| other.is_compared()) {
                    compared += 1;
                    let between = stretched(graph.metric, space.one(&probe, other.node()));
                    // Which is the nearer of two that are as far may depend on the kernel.
                    let slack = 1e-5 * (distance.abs() + between.abs());
                    assert!(
                        between > distance - slack || distance - nearer < slack,
                        "{:?}: {node:?} at layer {layer}: {distance} far, {between} from its rival",
                        graph.metric
                    );
                }
            }
        }
    }
    (compared, all)
}

#[test]
fn compared_links_need_no_further_comparison() {
    for metric in METRICS {
        let mut random = Random(30);
        let rows = arena(&clustered_rows(&mut random, 3000, 16, 20), metric).table();
        let graph = build(&rows, 8, metric);
        // Inner products have few links that are nearer to the node than to each other.
        let many = if metric == Metric::Dot { 40 } else { 4 };
        let (compared, all) = check_compared(&graph, &rows);
        assert!(compared > all / many, "{metric:?}: {compared} of {all} pairs");
        // Marks are kept by a rewrite, where they may be, and not by a file.
        for keep_every in [1, 2, 3] {
            let keep = |node| graph.hnsw.row_of(node).get().is_multiple_of(keep_every);
            let (hnsw, _) = graph.hnsw.rewrite(&graph.space(&rows), &keep, 2, &|| false).unwrap();
            let new = Built { hnsw, metric };
            let (compared, all) = check_compared(&new, &rows);
            assert!(
                compared > all / (2 * many),
                "{metric:?}: {compared} of {all} pairs of a graph written anew"
            );
            let mut bytes = Vec::new();
            new.hnsw.write_to(&mut bytes, Row::new(rows.len()));
            assert_eq!(check_compared(&read(&bytes, rows.len(), metric).unwrap(), &rows).0, 0);
        }
    }
}

#[test]
fn what_a_view_cannot_read_is_not_marked_as_compared() {
    let mut random = Random(31);
    let all = random_rows(&mut random, 4000, 8);
    let mut growing = arena(&all[..1], Metric::Euclid);
    let mut views = vec![growing.table()];
    for row in &all[1..] {
        growing.push(&encoded(row));
        views.push(growing.table());
    }
    let rows = views.last().unwrap();
    // Each hundred comes backwards, each row by a view that lacks those of the hundred that came before it.
    let graph = Built::empty(HnswParams { m: 4, ef_construct: 40, seed: 1 }, Metric::Euclid);
    let mut scratch = BuildScratch::new();
    for from in (0..4000).step_by(100) {
        for row in (from..from + 100).rev() {
            graph.insert(&views[row as usize], row, &mut scratch);
        }
    }
    let (compared, all) = check_compared(&graph, rows);
    assert!(compared > all / 8, "{compared} of {all} pairs");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// A list that grows link by link ends the same, marks or not.
    #[test]
    fn marks_change_no_choice(
        seed in any::<u64>(),
        (capacity, fill) in (3usize..20).prop_flat_map(|capacity| (Just(capacity), 0..=capacity)),
        metric in prop::sample::select(METRICS.to_vec()),
    ) {
        let mut random = Random(seed);
        let rows = arena(&clustered_rows(&mut random, 80, 4, 8), metric).table();
        let graph = build(&rows, 8, metric);
        let space = graph.space(&rows);
        let centre = vector(&rows, graph.hnsw.row_of(Node::new(0)).get());
        let mut selection = Selection::default();
        let mut lists = [Vec::<Link>::new(), Vec::new()];
        // Duplicates have no links, but may be chosen like others here.
        for node in graph.hnsw.all_nodes().skip(1) {
            let in_tree = random.below(8) == 0 && lists[0].iter().filter(|link| link.in_tree()).count() < capacity;
            let unknown = random.below(12) == 0;
            for (has_marks, list) in [true, false].into_iter().zip(&mut lists) {
                list.push(Link::new(node, in_tree));
                if list.len() <= capacity {
                    continue;
                }
                let in_tree = list.iter().filter(|link| link.in_tree()).count();
                // One link may be to a node that cannot be read this time.
                let hidden = unknown && in_tree < capacity;
                selection.candidates.clear();
                selection.candidates.extend(list.iter().enumerate().map(|(at, link)| {
                    let link = link.compared(has_marks && link.is_compared());
                    match hidden && at == 0 {
                        true => (UNKNOWN, link, true),
                        false => (space.one(&centre, link.node()), link, link.in_tree()),
                    }
                }));
                selection.choose(&space, capacity, fill);
                list.clear();
                list.extend(selection.chosen.iter().map(|&(_, link)| link));
            }
            let [marked, plain] = lists.each_ref().map(|list| {
                list.iter().map(|link| (link.node(), link.in_tree())).collect::<Vec<_>>()
            });
            prop_assert_eq!(marked, plain);
        }
    }
}
