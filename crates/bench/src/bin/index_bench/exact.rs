//! The nearest rows by comparing all of them.

use crate::data::{Data, prepared};
use kithdb_engine::index::{TopK, flat};
use kithdb_engine::types::Row;

/// Distances and rows, best first, of one query.
type Answer = Vec<(f32, Row)>;

/// Answers to some queries, one after the other.
pub fn one_by_one(data: &Data, queries: &[Vec<f32>]) -> Vec<Answer> {
    let scan = |query: &Vec<f32>| {
        let mut top = TopK::new(data.k, by_number);
        let query = prepared(data.metric, query);
        let all = data.table.all_rows();
        flat::scan_range(&data.table.rows, data.distance(), &query, all, &|_| true, &mut top, &|| false)
            .expect("nothing stops it");
        top.into_sorted()
    };
    queries.iter().map(scan).collect()
}

/// The same answers, found in one pass over the rows.
pub fn all_at_once(data: &Data, queries: &[Vec<f32>]) -> Vec<Answer> {
    let mut tops: Vec<_> = queries.iter().map(|_| TopK::new(data.k, by_number)).collect();
    let queries: Vec<Vec<f32>> = queries.iter().map(|query| prepared(data.metric, query)).collect();
    let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
    let all = data.table.all_rows();
    flat::scan_many(&data.table.rows, data.distance(), &queries, all, &|_| true, &mut tops, &|| false)
        .expect("nothing stops it");
    tops.into_iter().map(TopK::into_sorted).collect()
}

fn by_number(a: Row, b: Row) -> std::cmp::Ordering {
    a.cmp(&b)
}
