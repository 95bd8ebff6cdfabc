//! What is found to be mostly dead, and when the vacuum gives a chunk up.

use super::rows::{ChunkedRows, chunk_range, mostly_dead_chunks, thinned_blocks};
use crate::change::Change;
use crate::collection::indexing::tests::{call, open};
use crate::config::tests::config_of;
use crate::limits::Thresholds;
use crate::state::Head;
use crate::types::{Lsn, OpNumber, PointId, Row};
use crate::vectors::{SparseVector, VectorValue};
use std::cell::Cell;
use std::sync::Arc;

/// 32 rows in chunks of 8, the first ones dead, with a count of the looks at a row.
struct Watched {
    dead: u32,
    looks: Cell<u32>,
}

impl ChunkedRows for Watched {
    fn len(&self) -> u32 {
        32
    }

    fn live(&self) -> u64 {
        u64::from(32 - self.dead)
    }

    fn alive(&self, row: Row, _: OpNumber) -> bool {
        self.looks.set(self.looks.get() + 1);
        row.get() >= self.dead
    }

    fn chunk_rows(&self) -> u32 {
        8
    }

    fn holds(&self, _: Row) -> bool {
        true
    }
}

#[test]
fn no_row_is_looked_at_while_fewer_are_dead_than_make_a_chunk_due() {
    let found = |dead: u32| {
        let table = Watched { dead, looks: Cell::new(0) };
        let due = mostly_dead_chunks(&table, OpNumber::FIRST);
        (due.iter().map(|due| (due.chunk, due.live)).collect::<Vec<_>>(), table.looks.get())
    };
    assert_eq!(found(3), (vec![], 0));
    assert_eq!(found(4), (vec![(0, 4)], 32));
}

fn apply(head: &mut Head, change: &Change) {
    head.op = head.op.next();
    head.apply(head.op, change).expect("it can be applied");
}

#[test]
fn a_block_is_thinned_once_half_of_its_rows_are_dead() {
    // Chunks of 8 rows; 8 rows are one block.
    let mut head = Head::new(config_of(r#"{"sparse_vectors":{"s":{}}}"#), 16 << 10);
    for id in 0..8 {
        let vector = VectorValue::Sparse(SparseVector { indices: vec![1], values: vec![1.0] });
        let (vectors, payload) = (vec![(0, vector)], b"{}".as_slice().into());
        apply(&mut head, &Change::Put { id: PointId::Num(id), vectors, payload });
    }
    apply(&mut head, &Change::Delete((0..3).map(PointId::Num).collect()));
    assert!(thinned_blocks(&head.view(Lsn::NONE)).is_empty());
    apply(&mut head, &Change::Delete(vec![PointId::Num(3)]));
    let thinned = thinned_blocks(&head.view(Lsn::NONE));
    let rows: Vec<_> = thinned.iter().map(|block| (block.old.held(), block.new.held())).collect();
    assert_eq!(rows, [(8, 4)]);
}

#[test]
fn a_chunk_is_emptied_to_its_end_unless_the_engine_stops() {
    for (stops, left) in [(false, 0), (true, 244)] {
        let thresholds = Thresholds { row_chunk_bytes: 64 << 10, ..Thresholds::default() };
        let engine = open(thresholds);
        call(&engine, "create_collection", r#"{"vectors":{"size":1,"distance":"Dot"}}"#);
        let point = |id: u32| format!(r#"{{"id":{id},"vector":[1]}}"#);
        let points: Vec<String> = (0..1024).map(point).collect();
        call(&engine, "upsert_points", &format!(r#"{{"points":[{}]}}"#, points.join(",")));
        let dead: Vec<String> = (0..524).map(|id: u32| id.to_string()).collect();
        call(&engine, "delete_points", &format!(r#"{{"points":[{}]}}"#, dead.join(",")));
        let collection = Arc::clone(&engine.catalog().collections()[0]);
        if stops {
            engine.catalog().shared().indexer.close();
        }
        assert_eq!(collection.vacuum_rows(), !stops);
        let view = collection.view();
        let table = &view.fields[0];
        let live = chunk_range(table, 0).iter().filter(|&row| table.alive(row, view.op)).count();
        // Of the 500 live rows one operation moves 256.
        assert_eq!((table.rows.chunk_rows(), live), (1024, left));
    }
}
