//! The nearest rows by looking at all of them.

use crate::data::{Data, prepared};
use kithdb_engine::index::{TopK, flat};

/// Answers to some queries, one after the other.
pub fn one_by_one(data: &Data, queries: &[Vec<f32>]) -> Vec<Vec<(f32, u32)>> {
    let scan = |query: &Vec<f32>| {
        let mut top = TopK::new(data.k, |a: u32, b: u32| a.cmp(&b));
        let query = prepared(data.metric, query);
        let all = 0..data.table.len();
        flat::scan_range(&data.table.rows, data.distance(), &query, all, &|_| true, &mut top, &|| false)
            .expect("nothing stops it");
        top.into_sorted()
    };
    queries.iter().map(scan).collect()
}
