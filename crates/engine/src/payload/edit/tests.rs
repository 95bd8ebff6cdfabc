use super::*;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

const DOC: &str = r#"{"k":{"s":1,"list":[{"a":{"x":1}},{"b":2}]}}"#;

fn path(text: &str) -> JsonPath {
    JsonPath::parse(text).unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

type EditAt = fn(&[u8], &JsonPath, &[u8], &mut Pace<'_>) -> Result<Vec<u8>>;

fn at(edit: EditAt, doc: &str, key: &str, patch: &str) -> Result<Vec<u8>> {
    edit(doc.as_bytes(), &path(key), patch.as_bytes(), &mut Pace::without_deadline())
}

fn merged(patch: &str, key: Option<&str>) -> String {
    text(match key {
        Some(key) => at(merge_at, DOC, key, patch).unwrap(),
        None => merge(DOC.as_bytes(), patch.as_bytes()).unwrap(),
    })
}

#[test]
fn set_merges_where_it_is_asked_to_c5_6() {
    let list = r#""list":[{"a":{"x":1}},{"b":2}]"#;
    assert_eq!(merged(r#"{"s":2}"#, Some("k")), format!(r#"{{"k":{{"s":2,{list}}}}}"#));
    assert_eq!(merged(r#"{"s":2}"#, None), format!(r#"{},"s":2}}"#, &DOC[..DOC.len() - 1]));
    assert_eq!(merged(r#"{"x":9}"#, Some("k.list[0].a")), r#"{"k":{"s":1,"list":[{"a":{"x":9}},{"b":2}]}}"#);
    assert_eq!(
        merged(r#"{"y":1}"#, Some("k.list[].a")),
        r#"{"k":{"s":1,"list":[{"a":{"x":1,"y":1}},{"b":2,"a":{"y":1}}]}}"#
    );
    assert_eq!(merged(r#"{"y":1}"#, Some("k.list[7].a")), DOC);
    assert_eq!(merged(r#"{"y":1}"#, Some("k.s")), format!(r#"{{"k":{{"s":{{"y":1}},{list}}}}}"#));
    assert_eq!(merged(r#"{"s":null}"#, Some("k")), format!(r#"{{"k":{{{list}}}}}"#));
    assert_eq!(merged(r#"{"k":{"t":1}}"#, None), r#"{"k":{"t":1}}"#);
}

#[test]
fn set_makes_its_way_and_replaces_what_is_in_it_c5_6() {
    assert_eq!(
        merged(r#"{"y":1}"#, Some("n.m")),
        format!(r#"{},"n":{{"m":{{"y":1}}}}}}"#, &DOC[..DOC.len() - 1])
    );
    assert_eq!(merged(r#"{"y":1}"#, Some("n[].m")), format!(r#"{},"n":[]}}"#, &DOC[..DOC.len() - 1]));
    assert_eq!(merged(r#"{"y":1}"#, Some("k.s[0]")), r#"{"k":{"s":[],"list":[{"a":{"x":1}},{"b":2}]}}"#);
    assert_eq!(merged(r#"{"k":null}"#, None), "{}");
    assert_eq!(merged(r#"{"absent":null}"#, None), DOC);
    assert_eq!(
        merged(r#"{"s":{"n":null}}"#, Some("k.list[1]")),
        DOC.replace(r#""b":2"#, r#""b":2,"s":{"n":null}"#)
    );
}

#[test]
fn overwrite_replaces_what_is_at_the_key_and_keeps_nulls_c5_7() {
    let done = |key: &str| text(at(overwrite_at, DOC, key, r#"{"n":null}"#).unwrap());
    assert_eq!(done("k"), r#"{"k":{"n":null}}"#);
    assert_eq!(done("k.list[]"), r#"{"k":{"s":1,"list":[{"n":null},{"n":null}]}}"#);
    assert_eq!(done("k.list[2]"), DOC);
}

#[test]
fn a_result_nests_no_deeper_than_a_payload_may_c2_5() {
    let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    assert!(at(merge_at, "{}", "a", &nested(63)).is_ok());
    let error = at(merge_at, "{}", "a", &nested(64)).unwrap_err();
    assert_eq!(error.to_string(), "set payload would nest deeper than 64 levels");
    assert_eq!(at(overwrite_at, "{}", "a.b", &nested(63)), Err(EditError::TooDeep));
    let braces_in_strings = format!(r#"{{"s":"{}\\\"{}"}}"#, "[{".repeat(60), "{".repeat(60));
    assert!(at(merge_at, &braces_in_strings, "a", "{}").is_ok());
}

#[test]
fn a_patch_of_many_elements_cannot_grow_without_bound() {
    let doc = format!(r#"{{"a":[0{}]}}"#, ",0".repeat(100_000));
    let patch = format!(r#"{{"p":"{}"}}"#, "x".repeat(10_000));
    assert_eq!(at(merge_at, &doc, "a[]", &patch), Err(EditError::TooLarge));
}

fn model_set(target: &mut Json, steps: &[Step], patch: &Map<String, Json>, merge: bool) {
    match steps.split_first() {
        None if merge => model_merge(target, patch),
        None => *target = Json::Object(patch.clone()),
        Some((Step::Key(key), rest)) => {
            if !target.is_object() {
                *target = json!({});
            }
            let place = target.as_object_mut().unwrap().entry(key.text()).or_insert(Json::Null);
            model_set(place, rest, patch, merge);
        }
        Some((step, rest)) => {
            if !target.is_array() {
                *target = json!([]);
            }
            for (index, element) in target.as_array_mut().unwrap().iter_mut().enumerate() {
                if *step == Step::Every || *step == Step::Index(index as u32) {
                    model_set(element, rest, patch, merge);
                }
            }
        }
    }
}

fn model_merge(target: &mut Json, patch: &Map<String, Json>) {
    if !target.is_object() {
        *target = json!({});
    }
    let object = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            object.shift_remove(key);
        } else {
            object.insert(key.clone(), value.clone());
        }
    }
}

/// Any value of few keys.
pub fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("s\"\\")), Just(json!(true))];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array), any_object(inner)]
    })
}

/// Any object of few keys.
pub fn any_object(inner: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    prop::collection::vec(("[a-c]|k\"", inner), 0..4)
        .prop_map(|entries| Json::Object(entries.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn edits_do_what_a_tree_would(
        doc in any_object(any_json()), patch in any_object(any_json()),
        key in "[a-c](\\.[a-c]|\\[\\]|\\[[0-2]\\]){0,4}",
    ) {
        let (bytes, patch_bytes) = (doc.to_string(), patch.to_string());
        let (steps, patch) = (path(&key), patch.as_object().unwrap());

        let mut model = doc.clone();
        model_merge(&mut model, patch);
        prop_assert_eq!(text(merge(bytes.as_bytes(), patch_bytes.as_bytes()).unwrap()), model.to_string());

        let mut model = doc.clone();
        model_set(&mut model, steps.steps(), patch, true);
        prop_assert_eq!(text(at(merge_at, &bytes, &key, &patch_bytes).unwrap()), model.to_string());

        let mut model = doc.clone();
        model_set(&mut model, steps.steps(), patch, false);
        prop_assert_eq!(text(at(overwrite_at, &bytes, &key, &patch_bytes).unwrap()), model.to_string());
    }
}
