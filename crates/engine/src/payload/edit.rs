//! Changing a payload: the bytes before and a change give the bytes after.
//!
//! All bytes are normalised JSON, and so is the result: keys keep their place, new ones go to the end.

use super::document::{Array, Document, Object, Value};
use super::path::{JsonPath, Key, Step};
use crate::deadline::Pace;
use crate::error::Error;
use crate::json::MAX_PAYLOAD_DEPTH;
use std::fmt;

/// Bytes of an edited payload. `[]` writes a patch into every element, so a small request could otherwise make a
/// payload that no memory holds.
const MAX_RESULT_BYTES: usize = 64 << 20;

/// Why a change is not made.
#[derive(Clone, Debug, PartialEq)]
pub enum EditError {
    /// The result would nest deeper than a payload may (C2.5): the request is at fault.
    TooDeep,
    /// The result would be larger than any request could send: the request is at fault.
    TooLarge,
    /// The request was given up on the way.
    GivenUp(Error),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::TooDeep => write!(f, "set payload would nest deeper than {MAX_PAYLOAD_DEPTH} levels"),
            EditError::TooLarge => {
                write!(f, "set payload would make a payload larger than {MAX_RESULT_BYTES} bytes")
            }
            EditError::GivenUp(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for EditError {}

impl From<Error> for EditError {
    fn from(error: Error) -> EditError {
        EditError::GivenUp(error)
    }
}

type Result<T> = std::result::Result<T, EditError>;

/// Merges the keys of `patch` into the top level of `doc`: values are replaced whole, a `null` removes its key.
///
/// # Errors
/// [`EditError::TooLarge`].
pub fn merge(doc: &[u8], patch: &[u8]) -> Result<Vec<u8>> {
    let mut writer = Writer::new(doc.len() + patch.len());
    writer.merge(Some(doc), patch)?;
    Ok(writer.out)
}

/// Merges `patch` by the rule of [`merge`] into each place that `path` selects. Missing objects are created on the
/// way and what is no object gives way to one; `[n]` past the end does nothing; `[n]` or `[]` on what is no array
/// puts an empty array in its place.
///
/// # Errors
/// [`EditError`]: the result would be too deep or too large, or the pace says that the request is given up.
pub fn merge_at(doc: &[u8], path: &JsonPath, patch: &[u8], pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    set(doc, path, patch, Writer::merge, pace)
}

/// Puts `patch` in each place that `path` selects; the way there is made as in [`merge_at`]. A `null` is stored.
///
/// # Errors
/// As of [`merge_at`].
pub fn overwrite_at(doc: &[u8], path: &JsonPath, patch: &[u8], pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    set(doc, path, patch, |writer, _, patch| writer.put(patch), pace)
}

/// What happens at the end of a path: the value there, if any, and the patch.
type Last = fn(&mut Writer, Option<&[u8]>, &[u8]) -> Result<()>;

fn set(doc: &[u8], path: &JsonPath, patch: &[u8], last: Last, pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    let mut writer = Writer::new(doc.len() + patch.len());
    writer.set(Some(doc), path.steps(), &mut Patch { bytes: patch, last, pace })?;
    if depth(&writer.out) > MAX_PAYLOAD_DEPTH { Err(EditError::TooDeep) } else { Ok(writer.out) }
}

/// What is put in each place that a path selects.
struct Patch<'p, 'd> {
    bytes: &'p [u8],
    last: Last,
    pace: &'p mut Pace<'d>,
}

/// The result, bounded in size.
struct Writer {
    out: Vec<u8>,
}

impl Writer {
    fn new(capacity: usize) -> Writer {
        Writer { out: Vec::with_capacity(capacity + 16) }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.out.len() + bytes.len() > MAX_RESULT_BYTES {
            return Err(EditError::TooLarge);
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// A comma unless the item is the first of its array or object.
    fn separate(&mut self) -> Result<()> {
        match self.out.last() {
            Some(b'{' | b'[') => Ok(()),
            _ => self.put(b","),
        }
    }

    fn merge(&mut self, target: Option<&[u8]>, patch: &[u8]) -> Result<()> {
        let added: Vec<_> = object(Some(patch)).into_iter().flat_map(Object::entries).collect();
        let mut used = vec![false; added.len()];
        // Both lists are short as a rule; a long patch is found through its sorted keys.
        let mut by_key: Vec<usize> = (0..added.len()).collect();
        by_key.sort_unstable_by_key(|&at| added[at].key);
        self.put(b"{")?;
        for entry in object(target).into_iter().flat_map(Object::entries) {
            let value = match by_key.binary_search_by_key(&entry.key, |&at| added[at].key) {
                Ok(found) => {
                    used[by_key[found]] = true;
                    added[by_key[found]].value
                }
                Err(_) => {
                    self.entry(entry.key, entry.value)?;
                    continue;
                }
            };
            if value != b"null" {
                self.entry(entry.key, value)?;
            }
        }
        for (entry, used) in added.iter().zip(used) {
            if !used && entry.value != b"null" {
                self.entry(entry.key, entry.value)?;
            }
        }
        self.put(b"}")
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.separate()?;
        self.put(key)?;
        self.put(b":")?;
        self.put(value)
    }

    fn set(&mut self, target: Option<&[u8]>, steps: &[Step], patch: &mut Patch<'_, '_>) -> Result<()> {
        // Each level of the path reads what is below it once more.
        patch.pace.work(target.map_or(0, <[u8]>::len) + patch.bytes.len())?;
        let Some((step, rest)) = steps.split_first() else {
            return (patch.last)(self, target, patch.bytes);
        };
        match step {
            Step::Key(key) => self.set_key(target, key, rest, patch),
            Step::Index(_) | Step::Every => {
                self.put(b"[")?;
                for (index, element) in array(target).into_iter().flat_map(Array::raw_elements).enumerate() {
                    self.separate()?;
                    if is_selected(step, index) {
                        self.set(Some(element), rest, patch)?;
                    } else {
                        self.put(element)?;
                    }
                }
                self.put(b"]")
            }
        }
    }

    fn set_key(
        &mut self,
        target: Option<&[u8]>,
        key: &Key,
        rest: &[Step],
        patch: &mut Patch<'_, '_>,
    ) -> Result<()> {
        let mut present = false;
        self.put(b"{")?;
        for entry in object(target).into_iter().flat_map(Object::entries) {
            if entry.key == key.encoded() {
                present = true;
                self.separate()?;
                self.put(entry.key)?;
                self.put(b":")?;
                self.set(Some(entry.value), rest, patch)?;
            } else {
                self.entry(entry.key, entry.value)?;
            }
        }
        if !present {
            self.separate()?;
            self.put(key.encoded())?;
            self.put(b":")?;
            self.set(None, rest, patch)?;
        }
        self.put(b"}")
    }
}

fn is_selected(step: &Step, index: usize) -> bool {
    match step {
        Step::Every => true,
        Step::Index(wanted) => *wanted as usize == index,
        Step::Key(_) => false,
    }
}

fn object(value: Option<&[u8]>) -> Option<Object<'_>> {
    match Document::new(value?).root()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn array(value: Option<&[u8]>) -> Option<Array<'_>> {
    match Document::new(value?).root()? {
        Value::Array(array) => Some(array),
        _ => None,
    }
}

/// Levels of arrays and objects.
fn depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
pub(crate) mod tests {
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
        edit(doc.as_bytes(), &path(key), patch.as_bytes(), &mut Pace::unhurried())
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
        assert_eq!(
            merged(r#"{"x":9}"#, Some("k.list[0].a")),
            r#"{"k":{"s":1,"list":[{"a":{"x":9}},{"b":2}]}}"#
        );
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
}
