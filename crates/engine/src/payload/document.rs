//! Reading a payload in place.
//!
//! The bytes are normalised JSON as [`crate::json::read_payload`] writes it: no white space, no repeated keys, one
//! spelling of each string. If they are malformed (they may come from a damaged disk), the malformed part and all behind
//! it count as absent. Nothing here panics.

use super::path::{JsonPath, Key, Step};
use super::scan::{find, first_item, next_item, skip_scalar, skip_string, skip_value};
use std::borrow::Cow;

/// A JSON value inside a document.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as the client wrote it.
    Number(&'a str),
    /// A string.
    String(JsonStr<'a>),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

impl<'a> Value<'a> {
    /// The number as a float, correctly rounded. `None` for another kind of value.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The number as an integer. `None` for another kind of value, for a number with a fraction or an exponent (`1.0` is not
    /// an integer), and for one beyond 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Whether the value or, if it is an array, one of its elements satisfies `test`. An array inside an array counts as
    /// one element.
    pub fn any(self, mut test: impl FnMut(Value<'a>) -> bool) -> bool {
        match self {
            Value::Array(array) => array.elements().any(test),
            other => test(other),
        }
    }
}

/// A string inside a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonStr<'a> {
    raw: &'a [u8],
}

impl<'a> JsonStr<'a> {
    /// The bytes between the quotes, with escapes. Equal strings have equal bytes.
    pub fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// The text; borrowed unless the string has escapes.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.raw.contains(&b'\\') {
            return String::from_utf8_lossy(self.raw);
        }
        let mut out = Vec::with_capacity(self.raw.len());
        let mut bytes = self.raw.iter().copied();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            match bytes.next() {
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(b'r') => out.push(b'\r'),
                Some(b'b') => out.push(8),
                Some(b'f') => out.push(12),
                // Only control characters are escaped so in the normal form. They have one byte.
                Some(b'u') => {
                    let code = bytes
                        .by_ref()
                        .take(4)
                        .fold(0u32, |code, digit| code * 16 + (digit as char).to_digit(16).unwrap_or(0));
                    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(escaped) => out.push(escaped),
                None => {}
            }
        }
        Cow::Owned(match String::from_utf8(out) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// An array inside a document.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    /// The bytes from the opening bracket on, to the end of the document.
    bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// The elements, in order.
    pub fn elements(self) -> impl Iterator<Item = Value<'a>> {
        self.raw_elements().filter_map(|raw| value_at(raw, 0).map(|(value, _)| value))
    }

    /// The bytes of each element, in order.
    pub fn raw_elements(self) -> impl Iterator<Item = &'a [u8]> {
        let bytes = self.bytes;
        let mut at = first_item(bytes, 0, b']');
        std::iter::from_fn(move || {
            let from = at?;
            let Some(end) = skip_value(bytes, from) else {
                at = None;
                return None;
            };
            at = next_item(bytes, end);
            Some(&bytes[from..end])
        })
    }

    /// The array's bytes, brackets included.
    pub fn raw(self) -> &'a [u8] {
        raw_value(self.bytes, b"[]")
    }
}

/// An object inside a document.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// The bytes from the opening brace on, to the end of the document.
    bytes: &'a [u8],
}

/// One key of an object with its value, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key, quotes included.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> Object<'a> {
    /// The object as a document of its own.
    pub fn document(self) -> Document<'a> {
        Document { bytes: self.bytes }
    }

    /// The value of a key.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let at = find(self.bytes, 0, &Key::new(key))?;
        value_at(self.bytes, at).map(|(value, _)| value)
    }

    /// The keys with their values, in order.
    pub fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        let bytes = self.bytes;
        let mut at = first_item(bytes, 0, b'}');
        std::iter::from_fn(move || {
            let from = at.take()?;
            let colon = skip_string(bytes, from)?;
            if bytes.get(colon) != Some(&b':') {
                return None;
            }
            let end = skip_value(bytes, colon + 1)?;
            at = next_item(bytes, end);
            Some(Entry { key: &bytes[from..colon], value: &bytes[colon + 1..end] })
        })
    }

    /// The object's bytes, braces included.
    pub fn raw(self) -> &'a [u8] {
        raw_value(self.bytes, b"{}")
    }
}

/// A JSON document to look values up in: a payload, or an object inside one.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    bytes: &'a [u8],
}

impl<'a> Document<'a> {
    /// A document over normalised bytes.
    pub fn new(bytes: &'a [u8]) -> Document<'a> {
        Document { bytes }
    }

    /// How many bytes it has.
    pub fn size(self) -> usize {
        self.bytes.len()
    }

    /// The document's root.
    pub fn root(self) -> Option<Value<'a>> {
        value_at(self.bytes, 0).map(|(value, _)| value)
    }

    /// Calls `visit` with each value that the path selects, in document order. A key selects from an object only
    /// (`a.b` does not look into an array at `a`), `[]` every element of an array, `[n]` one.
    pub fn values_at(self, path: &JsonPath, mut visit: impl FnMut(Value<'a>)) {
        self.any_at(path, |value| {
            visit(value);
            false
        });
    }

    /// Whether any value that the path selects satisfies `test`; stops at the first.
    pub fn any_at(self, path: &JsonPath, mut test: impl FnMut(Value<'a>) -> bool) -> bool {
        walk(self.bytes, 0, path.steps(), &mut test).unwrap_or(false)
    }
}

/// Whether a value at the end of the steps satisfies `test`. `None` if the path is absent or the bytes are malformed.
fn walk<'a>(
    bytes: &'a [u8],
    mut at: usize,
    steps: &[Step],
    test: &mut impl FnMut(Value<'a>) -> bool,
) -> Option<bool> {
    for (done, step) in steps.iter().enumerate() {
        match step {
            Step::Key(key) => at = find(bytes, at, key)?,
            Step::Index(index) => {
                let mut element = first_item(bytes, at, b']')?;
                for _ in 0..*index {
                    element = next_item(bytes, skip_value(bytes, element)?)?;
                }
                at = element;
            }
            Step::Every => {
                let rest = &steps[done + 1..];
                let mut element = first_item(bytes, at, b']');
                while let Some(from) = element {
                    let end = skip_value(bytes, from)?;
                    if walk(bytes, from, rest, test) == Some(true) {
                        return Some(true);
                    }
                    element = next_item(bytes, end);
                }
                return Some(false);
            }
        }
    }
    value_at(bytes, at).map(|(value, _)| test(value))
}

fn raw_value<'a>(bytes: &'a [u8], otherwise: &'static [u8]) -> &'a [u8] {
    match skip_value(bytes, 0) {
        Some(end) => &bytes[..end],
        None => otherwise,
    }
}

/// The value at `at`, and its end if it is a scalar.
fn value_at(bytes: &[u8], at: usize) -> Option<(Value<'_>, usize)> {
    let rest = bytes.get(at..)?;
    Some(match *rest.first()? {
        b'"' => {
            let end = skip_string(bytes, at)?;
            (Value::String(JsonStr { raw: &bytes[at + 1..end - 1] }), end)
        }
        b'[' => (Value::Array(Array { bytes: rest }), at),
        b'{' => (Value::Object(Object { bytes: rest }), at),
        b't' if rest.starts_with(b"true") => (Value::Bool(true), at + 4),
        b'f' if rest.starts_with(b"false") => (Value::Bool(false), at + 5),
        b'n' if rest.starts_with(b"null") => (Value::Null, at + 4),
        b'-' | b'0'..=b'9' => {
            let end = skip_scalar(bytes, at);
            (Value::Number(std::str::from_utf8(&bytes[at..end]).ok()?), end)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(value: Value<'_>) -> String {
        match value {
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(text) => text.into(),
            Value::String(text) => format!("{:?}", text.decode()),
            Value::Array(array) => String::from_utf8(array.raw().to_vec()).unwrap(),
            Value::Object(object) => String::from_utf8(object.raw().to_vec()).unwrap(),
        }
    }

    fn at(document: &str, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        Document::new(document.as_bytes())
            .values_at(&JsonPath::parse(path).unwrap(), |value| found.push(show(value)));
        found
    }

    #[test]
    fn paths_read_as_the_dialect_says_c7() {
        let doc =
            r#"{"a":{"b":1},"l":[{"b":2},{"c":3},{"b":[4,5]},6],"x.y":{"z":[[7],8]},"":null,"q\"":true}"#;
        assert_eq!(at(doc, "a.b"), ["1"]);
        assert_eq!(at(doc, "a"), [r#"{"b":1}"#]);
        assert_eq!(at(doc, "l.b"), Vec::<String>::new());
        assert_eq!(at(doc, "l[].b"), ["2", "[4,5]"]);
        assert_eq!(at(doc, "l[].b[]"), ["4", "5"]);
        assert_eq!(at(doc, "l[2].b[1]"), ["5"]);
        assert_eq!(at(doc, "l[3]"), ["6"]);
        assert_eq!(at(doc, "l[4]"), Vec::<String>::new());
        assert_eq!(at(doc, "a[]"), Vec::<String>::new());
        assert_eq!(at(doc, "\"x.y\".z[0]"), ["[7]"]);
        assert_eq!(at(doc, "\"x.y\".z[][]"), ["7"]);
        assert_eq!(at(doc, "\"\""), ["null"]);
        assert_eq!(at(doc, "nothing"), Vec::<String>::new());
        assert_eq!(at("{}", "a"), Vec::<String>::new());
        assert_eq!(at(r#"{"a":[]}"#, "a[]"), Vec::<String>::new());
    }

    #[test]
    fn strings_decode_to_what_was_written() {
        for text in
            ["", "plain", "quo\"te \\ and\nnew\u{1}lines", "ünï 🦀 \u{8}\u{c}\r\t", "eight by\"te steps \\"]
        {
            let mut doc = b"{\"k\":".to_vec();
            crate::json::write_string(&mut doc, text);
            doc.extend_from_slice(b",\"z\":0}");
            let mut seen = None;
            Document::new(&doc).values_at(&JsonPath::parse("k").unwrap(), |value| {
                if let Value::String(string) = value {
                    seen = Some(string.decode().into_owned());
                }
            });
            assert_eq!(seen.as_deref(), Some(text));
            assert_eq!(at(std::str::from_utf8(&doc).unwrap(), "z"), ["0"]);
        }
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_absent_and_never_a_panic(
            mut bytes in "[{}\\[\\]:,\"\\\\a0-9etrufalsn.\\-é]{0,40}".prop_map(String::into_bytes),
            flip in any::<u8>(), place in any::<prop::sample::Index>(),
        ) {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = flip;
            }
            let document = Document::new(&bytes);
            for path in ["a", "a.a", "a[]", "a[1].a", "a[].a[]", "\"\""] {
                document.values_at(&JsonPath::parse(path).unwrap(), |value| match value {
                    Value::Object(object) => {
                        let _ = object.entries().map(|entry| entry.key.len() + entry.value.len()).sum::<usize>();
                        let _ = (object.get("a").is_some(), object.raw().len());
                    }
                    Value::Array(array) => {
                        let _ = (array.elements().count(), array.raw().len());
                    }
                    Value::String(text) => drop(text.decode()),
                    Value::Number(_) => drop((value.as_f64(), value.as_i64())),
                    Value::Null | Value::Bool(_) => {}
                });
            }
        }
    }
}
