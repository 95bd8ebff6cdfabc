//! The groups that a point belongs to.

use crate::payload::{CountedValue, Document, JsonPath, Value};
use crate::types::{IdKind, PointId};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Integers that JSON values of 64 bits can be.
const INTEGERS: RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;

/// A value of the field that points are grouped by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupId<'v> {
    /// An integer of 64 bits, with or without a sign.
    Integer(i128),
    /// A string, as it is stored.
    Text(Cow<'v, str>),
}

impl<'v> GroupId<'v> {
    fn of(value: Value<'v>) -> Option<GroupId<'v>> {
        match value {
            Value::Number(text) => {
                text.parse().ok().filter(|integer| INTEGERS.contains(integer)).map(GroupId::Integer)
            }
            Value::String(text) => Some(GroupId::Text(text.decode())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The id of the point that a group is looked up as in a collection with ids of that kind, if it can be one.
    pub fn as_point(&self, kind: IdKind) -> Option<PointId> {
        match self {
            GroupId::Integer(integer) => u64::try_from(*integer).ok().map(PointId::Num),
            GroupId::Text(text) => PointId::of_string(text, kind),
        }
    }

    /// The id with an owned text.
    pub fn into_owned(self) -> GroupId<'static> {
        match self {
            GroupId::Integer(integer) => GroupId::Integer(integer),
            GroupId::Text(text) => GroupId::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// The value as an index has it; `None` for an integer beyond those that match conditions.
    pub fn indexed(&self) -> Option<CountedValue<'_>> {
        match self {
            GroupId::Integer(integer) => i64::try_from(*integer).ok().map(CountedValue::Integer),
            GroupId::Text(text) => Some(CountedValue::Text(text)),
        }
    }
}

/// The groups of a payload: each different value at the path, of arrays each element. None where one of the values is
/// neither an integer nor a string, as in Qdrant.
pub fn groups_of<'v>(payload: &'v [u8], by: &JsonPath, ids: &mut Vec<GroupId<'v>>) {
    ids.clear();
    let mut is_whole = true;
    let mut add = |value: Value<'v>| match GroupId::of(value) {
        Some(id) if ids.contains(&id) => {}
        Some(id) => ids.push(id),
        None => is_whole = false,
    };
    Document::new(payload).values_at(by, |value| match value {
        Value::Array(array) => array.elements().for_each(&mut add),
        value => add(value),
    });
    if !is_whole {
        ids.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Reader;

    fn groups(payload: &'static str, by: &str) -> Vec<GroupId<'static>> {
        let by = Reader::new(format!("{by:?}").as_bytes()).and_then(|mut r| JsonPath::read(&mut r)).unwrap();
        let mut ids = Vec::new();
        groups_of(payload.as_bytes(), &by, &mut ids);
        ids
    }

    fn text(text: &str) -> GroupId<'_> {
        GroupId::Text(text.into())
    }

    #[test]
    fn integers_and_strings_are_groups_and_other_values_leave_the_point_out_c12() {
        assert_eq!(groups(r#"{"a":7}"#, "a"), [GroupId::Integer(7)]);
        assert_eq!(groups(r#"{"a":["x","y","x",-3]}"#, "a"), [text("x"), text("y"), GroupId::Integer(-3)]);
        assert_eq!(groups(r#"{"a":["x","y"]}"#, "a[]"), [text("x"), text("y")]);
        assert_eq!(groups(r#"{"a":[{"b":"x"},{"b":1}]}"#, "a[].b"), [text("x"), GroupId::Integer(1)]);
        assert_eq!(groups(r#"{"a":18446744073709551615}"#, "a"), [GroupId::Integer(u64::MAX.into())]);
        for left_out in
            ["1.5", "1.0", "true", "null", "[]", r#"{"b":1}"#, r#"["x",null]"#, r#"["x",2.5]"#, r#"[["x"]]"#]
        {
            let payload = format!(r#"{{"a":{left_out}}}"#).leak();
            assert_eq!(groups(payload, "a"), [], "{left_out}");
        }
        assert_eq!(groups("{}", "a"), []);
    }

    #[test]
    fn a_group_is_looked_up_as_the_point_of_its_id_c12() {
        for kind in [IdKind::Default, IdKind::String] {
            assert_eq!(GroupId::Integer(7).as_point(kind), Some(PointId::Num(7)));
            assert_eq!(GroupId::Integer(-7).as_point(kind), None);
        }
        assert_eq!(text("7").as_point(IdKind::Default), None);
        assert_eq!(text("7").as_point(IdKind::String), PointId::of_string("7", IdKind::String));
        let uuid = "0b2e7a52-96d6-4a5a-8d1e-0c3d3a2b1c0f";
        assert_eq!(text(uuid).as_point(IdKind::Default).map(|id| id.to_string()), Some(uuid.to_string()));
    }
}
