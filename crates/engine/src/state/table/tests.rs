use super::super::{NO_ROW, Payload, Rows, StoredPayload};
use super::*;
use crate::storage::Map;
use crate::types::{IdKind, OpNumber, PointId};
use proptest::prelude::*;

/// What a step of a test does.
#[derive(Clone, Debug)]
enum Step {
    Push(Drawn),
    /// Replaces the point at a share of the table.
    Set(usize, Drawn),
    SetRow(usize, u32),
    /// Says how many points will be appended, rightly or not.
    Expect(usize),
    /// Keeps the table as it is, as a view does.
    Keep,
}

/// A point of a test, without what its table decides.
#[derive(Clone, Debug)]
struct Drawn {
    id: u8,
    version: u64,
    live: bool,
    /// 0: empty; 1 to 3: in that file; more: in memory.
    payload: u8,
    row: u32,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    // Most blocks must have ids of one kind, and payloads of one kind, for some time.
    let kinds = (prop_oneof![8 => 0u8..100, 1 => 100u8..120, 1 => 120u8..140], 0u64..1 << 53, any::<bool>());
    let payloads = prop_oneof![6 => Just(0u8), 6 => 1u8..4, 1 => 4u8..8];
    (kinds, payloads, 0u32..1000).prop_map(|((id, version, live), payload, row)| Drawn {
        id,
        version,
        live,
        payload,
        row,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => drawn().prop_map(Step::Push),
        6 => (any::<usize>(), drawn()).prop_map(|(at, point)| Step::Set(at, point)),
        1 => (any::<usize>(), 0u32..1000).prop_map(|(at, row)| Step::SetRow(at, row)),
        1 => (0usize..200).prop_map(Step::Expect),
        1 => Just(Step::Keep),
    ];
    proptest::collection::vec(step, 1..400)
}

fn id(number: u8) -> PointId {
    match number {
        0..100 => PointId::Num(u64::from(number)),
        100..120 => PointId::Uuid(u128::from(number)),
        _ => PointId::of_string(&"long ".repeat(usize::from(number) - 110), IdKind::String).unwrap(),
    }
}

fn point(drawn: &Drawn, fields: usize, maps: &[Map]) -> Point {
    let payload = match drawn.payload {
        0 => Payload::Empty,
        file @ 1..4 => {
            let offset = u64::from(drawn.row % 50);
            Payload::Stored(StoredPayload {
                file: u32::from(file),
                map: maps[usize::from(file)].clone(),
                offset,
                len: drawn.row % 7,
            })
        }
        _ => Payload::Memory(vec![drawn.payload; drawn.row as usize % 9].into()),
    };
    let row =
        |field: usize| if drawn.row.is_multiple_of(3) { NO_ROW } else { Row::new(drawn.row + field as u32) };
    let rows: Vec<Row> = (0..fields).map(row).collect();
    let version = OpNumber::new(drawn.version);
    Point { id: id(drawn.id), version, live: drawn.live, payload, rows: Rows::of(&rows) }
}

fn maps() -> Vec<Map> {
    (0..4u8).map(|file| Map::of_bytes(vec![file; 64])).collect()
}

/// What a point has: id, version, life, the place of its payload in a data file, the payload, and rows.
type Parts = (PointId, OpNumber, bool, Option<(u32, u64)>, Vec<u8>, Rows);

fn parts(point: &Point) -> Parts {
    let place = match &point.payload {
        Payload::Stored(stored) => Some((stored.file, stored.offset)),
        Payload::Empty | Payload::Memory(_) => None,
    };
    let bytes = point.payload.bytes().to_vec();
    (point.id.clone(), point.version, point.live, place, bytes, point.rows.clone())
}

fn check(table: &PointTable, model: &[Point]) {
    assert_eq!(table.len(), model.len());
    assert!(table.get(PointOffset::new(model.len() as u32)).is_none());
    let found: Vec<_> = table.iter().map(|point| parts(&point.to_point())).collect();
    assert_eq!(found, model.iter().map(parts).collect::<Vec<_>>());
    for (at, expected) in model.iter().enumerate() {
        let point = table.at(PointOffset::new(at as u32));
        assert_eq!((&*point.id(), point.is_live()), (&expected.id, expected.live));
        assert_eq!(point.document(), expected.payload.bytes());
        assert_eq!(point.payload().memory_bytes(), expected.payload.memory_bytes());
        assert_eq!(point.row(0), expected.rows.row(0));
        let text = table.text(PointOffset::new(at as u32)).cloned().map(PointId::Text);
        assert_eq!(text, Some(&expected.id).filter(|id| matches!(id, PointId::Text(_))).cloned());
    }
    // The count of bytes that is kept is that of a walk through all blocks.
    let bytes = table.blocks.iter().map(|block| block.memory_bytes()).sum::<u64>();
    assert_eq!(table.block_bytes, bytes);
}

proptest! {
    #[test]
    fn it_is_a_list_of_points_and_a_clone_never_changes(steps in steps(), fields in 0usize..4) {
        let maps = maps();
        let (mut table, mut model) = (PointTable::default(), Vec::<Point>::new());
        let mut kept = Vec::new();
        for step in &steps {
            match step {
                Step::Push(drawn) => {
                    table.push(point(drawn, fields, &maps));
                    model.push(point(drawn, fields, &maps));
                }
                Step::Set(at, drawn) if !model.is_empty() => {
                    let at = at % model.len();
                    table.set(PointOffset::new(at as u32), point(drawn, fields, &maps));
                    model[at] = point(drawn, fields, &maps);
                }
                Step::SetRow(at, row) if !model.is_empty() && fields > 0 => {
                    let at = at % model.len();
                    table.set_row(PointOffset::new(at as u32), fields - 1, Row::new(*row));
                    model[at].rows.set(fields - 1, Row::new(*row));
                }
                Step::Set(..) | Step::SetRow(..) => {}
                Step::Expect(points) => table.expect_points(*points),
                Step::Keep => kept.push((table.clone(), model.clone())),
            }
        }
        check(&table, &model);
        kept.iter().for_each(|(table, model)| check(table, model));
    }

    #[test]
    fn fields_are_rearranged(
        points in proptest::collection::vec(drawn(), 0..150),
        fields in 0usize..4,
        from in proptest::collection::vec(proptest::option::of(0usize..4), 0..4),
    ) {
        let maps = maps();
        let mut table = PointTable::default();
        let mut model: Vec<Point> = points.iter().map(|drawn| point(drawn, fields, &maps)).collect();
        model.iter().for_each(|point| table.push(point.clone()));
        for point in &mut model {
            let row = |from: &Option<usize>| from.and_then(|old| point.rows.row(old)).unwrap_or(NO_ROW);
            point.rows = Rows::of(&from.iter().map(row).collect::<Vec<_>>());
        }
        check(&table.rearranged(&from), &model);
    }
}

/// Bytes a point of a table that was filled with a view after every 256 points.
fn bytes_a_point(point: impl Fn(u32) -> Point) -> f64 {
    let mut table = PointTable::default();
    let mut view = table.clone();
    for at in 0..64_000 {
        table.push(point(at));
        if at % 256 == 0 {
            view = table.clone();
        }
    }
    drop(view);
    table.memory_bytes() as f64 / table.len() as f64
}

#[test]
fn a_point_with_an_integer_takes_24_bytes_and_a_stored_payload_13_more() {
    let maps = maps();
    let of =
        |at: u32, payload: u8| Drawn { id: at as u8 % 100, version: at.into(), live: true, payload, row: at };
    let empty = bytes_a_point(|at| point(&of(at, 0), 1, &maps));
    assert!(empty < 24.0, "{empty}");
    let stored = bytes_a_point(|at| point(&of(at, 1), 1, &maps));
    assert!(stored - empty < 13.0, "{stored} {empty}");
}

#[test]
fn a_file_is_let_go_with_the_last_payload_in_it() {
    let maps = maps();
    let mut table = PointTable::default();
    let of = |payload| Drawn { id: 1, version: 1, live: true, payload, row: 1 };
    let count = |table: &PointTable| match table.at(PointOffset::new(0)).payload() {
        PayloadRef::Stored { file, .. } => file,
        PayloadRef::Empty | PayloadRef::Memory(_) => 0,
    };
    let bare = {
        table.push(point(&of(0), 1, &maps));
        table.push(point(&of(0), 1, &maps));
        table.memory_bytes()
    };
    for payload in [1, 2, 3, 4] {
        table.set(PointOffset::new(0), point(&of(payload), 1, &maps));
        table.set(PointOffset::new(1), point(&of(3), 1, &maps));
        assert_eq!(count(&table), if payload < 4 { u32::from(payload) } else { 0 });
    }
    for at in [0, 1] {
        table.set(PointOffset::new(at), point(&of(0), 1, &maps));
    }
    assert_eq!(table.memory_bytes(), bare);
}
