//! Which shard a point is in, which is fixed for ever.

use kithdb_engine::sharding::shard_of;
use kithdb_engine::types::{IdKind, PointId};

#[test]
fn where_a_point_is_never_changes() {
    let uuid = PointId::parse_uuid("550e8400-e29b-41d4-a716-446655440000").map(PointId::Uuid);
    let text = |text: &str| PointId::of_string(text, IdKind::String);
    // Calculated by the reference implementation of XXH3.
    let places = [
        (Some(PointId::Num(0)), [1, 3, 612_543_937]),
        (Some(PointId::Num(1)), [0, 0, 3_803_849_819]),
        (Some(PointId::Num(u64::MAX)), [1, 5, 3_396_044_252]),
        (uuid, [1, 2, 1_811_041_213]),
        (text("7"), [1, 1, 128_431_369]),
        (text("é"), [0, 6, 3_926_708_752]),
        (text(&"x".repeat(256)), [0, 2, 1_448_247_615]),
    ];
    for (id, expected) in places {
        let id = id.expect("an id");
        assert_eq!([2, 7, u32::MAX].map(|shards| shard_of(&id, shards)), expected, "{id}");
        assert_eq!(shard_of(&id, 1), 0);
    }
}

#[test]
fn points_are_spread_evenly() {
    let mut counts = [0; 12];
    (0..12_000).for_each(|number| counts[shard_of(&PointId::Num(number), 12) as usize] += 1);
    // 1000 each, with a deviation of 30.
    assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
}
