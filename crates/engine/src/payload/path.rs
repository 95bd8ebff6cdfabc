//! Paths into a payload: `a.b`, `a[].b`, `a[0].b`, `"quo.ted".b`.

use crate::error::Error;
use crate::json::{self, Reader};
use std::fmt;

/// The greatest length of a path's text, in bytes.
const MAX_PATH_BYTES: usize = 4_096;
/// The greatest number of steps of a path. A longer path would select nothing, because a payload has at most 64 levels.
const MAX_PATH_STEPS: usize = 128;
/// Characters of an invalid path that its error shows.
const SHOWN_CHARACTERS: usize = 100;

/// A path into a payload: a key, then any number of `.key`, `[n]` and `[]`.
///
/// A key is bare (letters and digits of any script, `_`, `-`) or in double quotes (any characters but `"` and
/// `\`). `Display` writes the canonical form, in which only keys that need quotes have them. Paths are equal if their
/// canonical forms are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsonPath {
    /// Never empty; the first is a key.
    steps: Vec<Step>,
}

/// One step of a [`JsonPath`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The value of a key of an object.
    Key(Key),
    /// One element of an array.
    Index(u32),
    /// Every element of an array.
    Every,
}

/// A key of an object, as text and as its bytes in a normalised document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    text: Box<str>,
    /// The bytes with quotes. The normal form of a string is unique, so equal keys have equal bytes.
    encoded: Box<[u8]>,
}

impl Key {
    /// The key of that text.
    pub fn new(text: &str) -> Key {
        let mut encoded = Vec::with_capacity(text.len() + 2);
        json::write_string(&mut encoded, text);
        Key { text: text.into(), encoded: encoded.into_boxed_slice() }
    }

    /// The key's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The JSON string, quotes included.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}

/// The error for a text that is not a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    shown: String,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid json path: '{}'", self.shown)
    }
}

impl std::error::Error for PathError {}

impl JsonPath {
    /// Reads a path from its text.
    ///
    /// # Errors
    /// The text is empty, too long, or does not follow the grammar above.
    pub fn parse(text: &str) -> Result<JsonPath, PathError> {
        let steps = if text.len() > MAX_PATH_BYTES { None } else { parse_steps(text) };
        match steps {
            Some(steps) => Ok(JsonPath { steps }),
            None => {
                let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
                if shown.len() < text.len() {
                    shown.push('…');
                }
                Err(PathError { shown })
            }
        }
    }

    /// Reads a path from a JSON string.
    ///
    /// # Errors
    /// `BadRequest` (or, inside a filter, a filter parse error) that names the place.
    pub fn read(reader: &mut Reader<'_>) -> Result<JsonPath, Error> {
        let text = reader.string()?;
        JsonPath::parse(&text).map_err(|error| reader.error(error.to_string()))
    }

    /// Whether it selects at most one value: no `[]` is in it.
    pub fn names_one_value(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, Step::Every))
    }

    /// The steps. The first is a key.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// This path with `[]` at its end: the elements of the array of a nested condition.
    pub fn opened(mut self) -> JsonPath {
        if self.steps.last() != Some(&Step::Every) {
            self.steps.push(Step::Every);
        }
        self
    }

    /// The path of `inner` relative to this path.
    pub fn join(&self, inner: &JsonPath) -> JsonPath {
        JsonPath { steps: self.steps.iter().chain(&inner.steps).cloned().collect() }
    }
}

fn parse_steps(text: &str) -> Option<Vec<Step>> {
    let (key, mut rest) = parse_key(text)?;
    let mut steps = vec![Step::Key(key)];
    while !rest.is_empty() {
        if steps.len() == MAX_PATH_STEPS {
            return None;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (key, tail) = parse_key(after)?;
            steps.push(Step::Key(key));
            rest = tail;
        } else {
            let (inside, tail) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(if inside.is_empty() {
                Step::Every
            } else if inside.bytes().all(|byte| byte.is_ascii_digit()) {
                Step::Index(inside.parse().ok()?)
            } else {
                return None;
            });
            rest = tail;
        }
    }
    Some(steps)
}

/// The key at the front of `text`, and what follows it.
fn parse_key(text: &str) -> Option<(Key, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (key, rest) = quoted.split_once('"')?;
        return if key.contains('\\') { None } else { Some((Key::new(key), rest)) };
    }
    let end = text.find(|c| !is_bare(c)).unwrap_or(text.len());
    if end == 0 { None } else { Some((Key::new(&text[..end]), &text[end..])) }
}

fn is_bare(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    if at > 0 {
                        f.write_str(".")?;
                    }
                    if !key.text.is_empty() && key.text.chars().all(is_bare) {
                        f.write_str(&key.text)?;
                    } else {
                        write!(f, "\"{}\"", key.text)?;
                    }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Every => f.write_str("[]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_print_in_their_canonical_form() {
        for (text, canonical) in [
            ("a", "a"),
            ("a.b", "a.b"),
            ("a[].b", "a[].b"),
            ("a[0].b", "a[0].b"),
            ("a[007]", "a[7]"),
            ("a[][1][]", "a[][1][]"),
            ("\"x.y\".z[0]", "\"x.y\".z[0]"),
            ("\"quo ted\"", "\"quo ted\""),
            ("\"plain\".b", "plain.b"),
            ("1.2", "1.2"),
            ("größe.年", "größe.年"),
            ("a-b_c", "a-b_c"),
            ("\"\"", "\"\""),
        ] {
            let path = JsonPath::parse(text).unwrap();
            assert_eq!(path.to_string(), canonical);
            assert_eq!(JsonPath::parse(canonical).unwrap(), path);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let long = format!("a{}", "[]".repeat(200));
        for text in [
            "",
            "[0]",
            "[]",
            "a.[0]",
            "a[-1]",
            "a.",
            ".a",
            "a..b",
            "a b",
            " a",
            "a[",
            "a]",
            "a[0",
            "a[x]",
            "a[1]b",
            "\"a",
            "a\"b\"",
            "\"a\\b\"",
            "a[99999999999]",
            &long,
            &"k".repeat(5_000),
        ] {
            assert!(JsonPath::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(JsonPath::parse("a.").unwrap_err().to_string(), "Invalid json path: 'a.'");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_prints_what_it_means(text in "[ab0\\[\\]\\.\"\\\\ é]{0,12}") {
            if let Ok(path) = JsonPath::parse(&text) {
                prop_assert_eq!(JsonPath::parse(&path.to_string()).unwrap(), path);
            }
        }
    }
}
