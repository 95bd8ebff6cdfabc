use super::*;
use crate::collection::update::{NamedVectors, PointInput, UpdateMode};
use crate::config::VectorModels;
use crate::types::PointId;

fn upsert(points: u64) -> Write {
    let point = |id| PointInput {
        id: PointId::Num(id),
        vectors: NamedVectors::new(),
        payload: b"{}".as_slice().into(),
        if_version: None,
    };
    let update = Update::Upsert {
        points: (0..points).map(point).collect(),
        mode: UpdateMode::Upsert,
        update_filter: None,
        models: VectorModels::default(),
    };
    Write::Points { updates: vec![update], batch: None, within: None }
}

#[test]
fn each_point_of_a_write_takes_memory_beside_the_body_and_in_every_field_index() {
    assert_eq!(upsert(0).growth(100, 5), 100);
    // 512 bytes, and 64 in each index.
    assert_eq!(upsert(3).growth(100, 0), 100 + 1_536);
    assert_eq!(upsert(3).growth(100, 2), 100 + 1_536 + 384);
}

#[test]
fn only_what_adds_or_removes_a_vector_field_changes_the_fields() {
    let name = || -> Box<str> { "v".into() };
    let changing =
        [Write::RemoveField { name: name() }, Write::EndReembedding { name: name(), ending: Ending::Abort }];
    assert!(changing.iter().all(Write::changes_fields));
    let others = [
        upsert(1),
        Write::DropIndex(JsonPath::parse("k").expect("a path")),
        Write::RemoveExpired { until: None },
        Write::MoveRows(Place { fields: OpNumber::NONE, field: 0, chunk: 0 }),
    ];
    assert!(!others.iter().any(Write::changes_fields));
}
