//! What is kept of the groups beside what the documents say.

use super::{GroupId, GroupKeys, KeyColumn, groups_of};
use crate::config::tests::config_of;
use crate::deadline::Deadline;
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath};
use crate::state::{DeclaredIndex, NO_ROW, Payload, Point, Rows, State, View};
use crate::types::{Lsn, OpNumber, PointId, PointOffset};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Some values that are groups, and some that are none.
const VALUES: [&str; 13] = [
    r#""a""#,
    r#""b""#,
    "7",
    "-7",
    "18446744073709551615",
    r#"["b","a","b"]"#,
    "[9,7]",
    r#"["a",7,"new"]"#,
    "null",
    "1.5",
    r#"["a",null]"#,
    "[]",
    "true",
];

fn path() -> JsonPath {
    JsonPath::parse("k").unwrap()
}

fn deadline() -> Deadline {
    Deadline::new(Instant::now(), Duration::from_secs(600), "test")
}

/// A collection of payloads that is changed point by point.
struct Writer {
    state: State,
    op: u64,
    index: Option<FieldIndex>,
}

impl Writer {
    fn new(index: Option<FieldKind>) -> Writer {
        let config = config_of(r#"{"vectors": {"size": 1, "distance": "Dot"}}"#);
        let index = index.map(|kind| FieldIndex::new(path(), FieldSchema::new(kind)));
        Writer { state: State::new(config), op: 0, index }
    }

    /// Sets the value of a point, or deletes the point.
    fn write(&mut self, id: u64, value: Option<&str>) {
        self.op += 1;
        let point = |live: bool, payload: &[u8]| Point {
            id: PointId::Num(id),
            version: OpNumber::new(self.op),
            live,
            payload: Payload::new(payload),
            rows: Rows::One(NO_ROW),
        };
        let payload = value.map_or_else(|| "{}".to_string(), |value| format!("{{\"k\":{value}}}"));
        let point = point(value.is_some(), payload.as_bytes());
        let known = self.state.offset(&PointId::Num(id));
        let before = known.map(|offset| self.state.at(offset).document().to_vec());
        let offset = match (known, value) {
            (None, None) => return,
            (None, Some(_)) => {
                let blank = Point { payload: Payload::Empty, ..point.clone() };
                self.state.add(blank)
            }
            (Some(offset), None) => {
                self.state.remove(&PointId::Num(id), offset);
                offset
            }
            (Some(offset), Some(_)) => offset,
        };
        if let Some(index) = &mut self.index {
            index.replace(offset, before.as_deref(), value.map(|_| payload.as_bytes()));
        }
        self.state.set(offset, point);
    }

    fn view(&self) -> View {
        let mut state = self.state.clone();
        state.indexes = Arc::new(self.index.iter().cloned().map(DeclaredIndex::Built).collect());
        let (op, lsn) = (OpNumber::new(self.op), Lsn::NONE);
        View { op, lsn, state, fields: Arc::from([]), sparse: Arc::from([]) }
    }
}

/// The points of each group, as the documents have them.
fn documents(view: &View) -> BTreeMap<GroupId<'static>, Vec<PointOffset>> {
    let mut groups: BTreeMap<GroupId<'static>, Vec<PointOffset>> = BTreeMap::new();
    for offset in &view.state.live {
        let mut ids = Vec::new();
        groups_of(view.state.at(offset).document(), &path(), &mut ids);
        ids.into_iter().for_each(|id| groups.entry(id.into_owned()).or_default().push(offset));
    }
    groups
}

/// Compares a column with the documents in both directions.
fn check(column: &KeyColumn, view: &View) -> Result<(), TestCaseError> {
    let groups = documents(view);
    prop_assert!(column.groups() >= groups.len());
    for offset in &view.state.live {
        let mut ids = Vec::new();
        groups_of(view.state.at(offset).document(), &path(), &mut ids);
        // In the order of the document.
        let expected: Vec<u32> = ids.iter().map(|id| column.number(id).unwrap()).collect();
        prop_assert_eq!(column.keys(offset).iter().collect::<Vec<u32>>(), expected);
    }
    for (id, expected) in &groups {
        let number = column.number(id).unwrap();
        let mut found: Vec<PointOffset> = column.members(number).collect();
        found.sort_unstable();
        prop_assert_eq!(&found, expected);
        prop_assert!(column.at_most(number) >= expected.len() as u64);
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_kept_is_what_the_documents_say_while_points_change_c12(
        kind in prop::sample::select(vec![None, Some(FieldKind::Keyword), Some(FieldKind::Integer), Some(FieldKind::Bool)]),
        writes in prop::collection::vec((0u64..60, 0usize..=VALUES.len(), any::<bool>()), 0..400),
    ) {
        let (mut writer, keys) = (Writer::new(kind), GroupKeys::default());
        let mut old = None;
        for (at, (id, value, is_read)) in writes.into_iter().enumerate() {
            writer.write(id, VALUES.get(value).copied());
            if is_read || at == 100 {
                let view = writer.view();
                let column = keys.of(&view, &path(), &deadline()).unwrap();
                check(&column.expect("few groups"), &view)?;
                old.get_or_insert(view);
            }
        }
        // A reader of an old view gets what was true then, or nothing.
        if let Some(old) = old
            && let Some(column) = keys.of(&old, &path(), &deadline()).unwrap()
        {
            check(&column, &old)?;
        }
    }
}

#[test]
fn values_that_take_too_much_memory_are_not_kept() {
    let (mut writer, keys) = (Writer::new(None), GroupKeys::default());
    for id in 0..40 {
        writer.write(id, Some(&format!("\"{}{id}\"", "long ".repeat(10_000))));
    }
    assert!(keys.of(&writer.view(), &path(), &deadline()).unwrap().is_none());
    assert!(keys.of(&writer.view(), &path(), &deadline()).unwrap().is_none());
    assert_eq!(keys.memory_bytes(), 0);
}

#[test]
fn few_fields_are_kept_and_their_memory_is_counted() {
    let (mut writer, keys) = (Writer::new(None), GroupKeys::default());
    (0..2_000).for_each(|id| writer.write(id, Some(VALUES[id as usize % 3])));
    let view = writer.view();
    let mut bytes = 0;
    for field in ["k", "a", "b", "c", "d", "e"] {
        let path = JsonPath::parse(field).unwrap();
        let column = keys.of(&view, &path, &deadline()).unwrap().unwrap();
        assert!(column.memory_bytes() >= 2_000 * 4);
        bytes += column.memory_bytes();
    }
    assert!(keys.memory_bytes() < bytes, "the oldest went");
}
