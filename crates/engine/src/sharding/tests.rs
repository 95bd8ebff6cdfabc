//! Values that are fixed for ever.

use super::*;
use crate::types::{IdKind, PointId};

#[test]
fn where_a_point_is_never_changes() {
    let uuid = PointId::Uuid(PointId::parse_uuid("550e8400-e29b-41d4-a716-446655440000").unwrap());
    let text = |text: &str| PointId::of_string(text, IdKind::String).unwrap();
    let ids = [
        PointId::Num(0),
        PointId::Num(1),
        PointId::Num(u64::MAX),
        uuid,
        text("7"),
        text("é"),
        text(&"x".repeat(256)),
    ];
    let places: Vec<[u32; 3]> =
        ids.iter().map(|id| [2, 7, u32::MAX].map(|shards| shard_of(id, shards))).collect();
    assert_eq!(places, [[0; 3]; 7]);
    assert!(ids.iter().all(|id| shard_of(id, 1) == 0));
}
