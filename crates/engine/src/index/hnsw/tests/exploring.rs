//! Walks that their caller prolongs.

use super::*;

/// What an exploration has met: rows with their distances, best first.
fn explored(
    graph: &Built,
    rows: &RowTable,
    query: &[f32],
    ef: usize,
    wanted: impl Fn(u32) -> bool,
    mut next: impl FnMut(usize, Option<f32>, &[(f32, u32)]) -> Option<usize>,
) -> Vec<(f32, u32)> {
    let mut all: Vec<(f32, u32)> = Vec::new();
    let mut call = 0;
    let mut pause = |radius: Option<f32>, met: &[Candidate]| {
        let met: Vec<(f32, u32)> =
            met.iter().map(|one| (one.distance(), graph.hnsw.row_of(one.node()).get())).collect();
        all.extend(&met);
        call += 1;
        next(call, radius, &met).map(|width| Further { width, only_wanted: true })
    };
    let wanted = |node| wanted(graph.hnsw.row_of(node).get());
    let (space, query) = (graph.space(rows), query.to_vec());
    let params = WalkParams::wide(ef);
    let mut scratch = WalkScratch::new();
    graph.hnsw.explore((&space, &query), &params, &wanted, &mut pause, &mut scratch, &|| false).unwrap();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all
}

#[test]
fn an_exploration_begins_as_a_walk_and_keeps_what_it_meets() {
    let mut random = Random(21);
    let rows = arena(&random_rows(&mut random, 3000, 12), Metric::Euclid).table();
    let graph = build(&rows, 12, Metric::Euclid);
    for query in random_rows(&mut random, 20, 12) {
        let mut worst = None;
        let all = explored(
            &graph,
            &rows,
            &query,
            40,
            |_| true,
            |_, radius, _| {
                worst = radius;
                None
            },
        );
        let walked = search(&graph, &rows, &query, 40, |_| true);
        assert_eq!(all[..40], walked[..]);
        assert_eq!(worst, walked.last().map(|last| last.0));
        assert!(all.len() > 80, "a walk compares far more than it keeps: {}", all.len());
        assert!(all.is_sorted_by(|a, b| a < b), "nothing is met twice");
    }
}

#[test]
fn an_exploration_that_is_made_wider_finds_what_a_wide_walk_finds() {
    let mut random = Random(22);
    let rows = arena(&random_rows(&mut random, 3000, 12), Metric::Euclid).table();
    let graph = build(&rows, 12, Metric::Euclid);
    let (mut missed, mut wanted) = (0, 0);
    for query in random_rows(&mut random, 30, 12) {
        let prolonged =
            explored(&graph, &rows, &query, 10, |_| true, |call, _, _| [80, 200].get(call - 1).copied());
        let walked = search(&graph, &rows, &query, 200, |_| true);
        wanted += walked.len();
        missed += walked.iter().filter(|one| !prolonged.contains(one)).count();
    }
    assert!(missed * 200 < wanted, "{missed} of {wanted} are missing");
}

#[test]
fn an_exploration_goes_on_for_the_wanted_rows_only_and_meets_all_when_it_is_wide_enough() {
    let mut random = Random(23);
    let rows = arena(&random_rows(&mut random, 2000, 8), Metric::Euclid).table();
    let graph = build(&rows, 12, Metric::Euclid);
    let is_wanted = |row: u32| row.is_multiple_of(3);
    for query in random_rows(&mut random, 10, 8) {
        let mut later = Vec::new();
        explored(&graph, &rows, &query, 20, is_wanted, |call, _, met| {
            if call > 1 {
                later.extend(met.iter().map(|&(_, row)| row));
            }
            (call == 1).then_some(400)
        });
        assert!(!later.is_empty() && later.iter().all(|&row| is_wanted(row)));
        let all = explored(&graph, &rows, &query, 20, |_| true, |call, _, _| (call == 1).then_some(5000));
        assert_eq!(all.len(), 2000);
    }
}

#[test]
fn an_exploration_of_an_empty_graph_meets_nothing_and_stops_when_it_is_told_to() {
    let rows = arena(&random_rows(&mut Random(24), 50, 8), Metric::Euclid).table();
    let empty = Built::empty(HnswParams { m: 8, ef_construct: 20, seed: 1 }, Metric::Euclid);
    assert!(
        explored(
            &empty,
            &rows,
            &[0.0; 8],
            5,
            |_| true,
            |_, radius, met| {
                assert!(radius.is_none() && met.is_empty());
                None
            }
        )
        .is_empty()
    );
    let graph = build(&rows, 8, Metric::Euclid);
    let (space, mut scratch) = (graph.space(&rows), WalkScratch::new());
    let stopped = graph.hnsw.explore(
        (&space, &vec![0.0; 8]),
        &WalkParams::wide(5),
        &|_| true,
        &mut |_, _| None,
        &mut scratch,
        &|| true,
    );
    assert!(stopped.is_err());
}
