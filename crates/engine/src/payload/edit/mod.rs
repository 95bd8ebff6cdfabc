//! Editing a payload: from the bytes before and a patch to the bytes after.
//!
//! All bytes are normalised JSON. Keys keep their order, and new keys are appended.

use super::document::{Array, Document, Object, Value};
use super::path::{JsonPath, Key, Step};
use crate::deadline::Pace;
use crate::error::Error;
use crate::json::MAX_PAYLOAD_DEPTH;
use std::fmt;

#[cfg(test)]
pub(crate) mod tests;

/// The greatest size of an edited payload. `[]` writes a patch into every element, so a small request could otherwise exhaust
/// the memory.
const MAX_RESULT_BYTES: usize = 64 << 20;

/// Why an edit is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum EditError {
    /// The result would nest deeper than a payload may (C2.5). An error of the request.
    TooDeep,
    /// The result would be larger than any request. An error of the request.
    TooLarge,
    /// The request was cancelled meanwhile.
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

/// Merges `patch` as [`merge`] does into each value that `path` selects. Missing objects on the way are created, and values
/// of other kinds are replaced by an object. `[n]` past the end does nothing. `[n]` or `[]` on a value that is not an array
/// replaces it by an empty array.
///
/// # Errors
/// [`EditError`]: the result would be too deep or too large, or the request's deadline has passed.
pub fn merge_at(doc: &[u8], path: &JsonPath, patch: &[u8], pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    set(doc, path, patch, Writer::merge, pace)
}

/// Replaces each value that `path` selects by `patch`. The way there is created as in [`merge_at`]. A `null` is stored.
///
/// # Errors
/// The errors of [`merge_at`].
pub fn overwrite_at(doc: &[u8], path: &JsonPath, patch: &[u8], pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    set(doc, path, patch, |writer, _, patch| writer.put(patch), pace)
}

/// Writes the new value at the end of a path, from the value there, if any, and the patch.
type Last = fn(&mut Writer, Option<&[u8]>, &[u8]) -> Result<()>;

fn set(doc: &[u8], path: &JsonPath, patch: &[u8], last: Last, pace: &mut Pace<'_>) -> Result<Vec<u8>> {
    let mut writer = Writer::new(doc.len() + patch.len());
    writer.set(Some(doc), path.steps(), &mut Patch { bytes: patch, last, pace })?;
    if depth(&writer.out) > MAX_PAYLOAD_DEPTH { Err(EditError::TooDeep) } else { Ok(writer.out) }
}

/// The new value, or a part of it, for each value that a path selects.
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
        // Sorted keys keep a merge of many keys fast.
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
        // Each level of the path reads the levels below it once more.
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

/// The greatest nesting of arrays and objects.
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
