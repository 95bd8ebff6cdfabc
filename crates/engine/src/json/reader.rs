//! A pull parser over the bytes of a request.

use crate::error::Error;
use kithdb_kernels::{read_f32, read_list};
use std::borrow::Cow;
use std::fmt::Write as _;

/// What the next value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The word for messages, with its article.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

/// One step of the path from the root of the body to the value being read.
#[derive(Clone, Debug)]
enum Step<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

/// Nesting that the reader follows anywhere in a body. Payloads and filters have lower limits of their own.
const MAX_DEPTH: usize = 160;

/// Characters of a key that a path shows: a body may hold a key of a million.
const KEY_SHOWN: usize = 100;

/// Pull parser over a UTF-8 body. Strict RFC 8259; keeps the path of the value being read for error messages.
///
/// A clone is for looking ahead: it stands at the same place and goes its own way.
#[derive(Clone)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: Vec<Step<'a>>,
    /// Depth of [`Reader::in_filter`] calls; errors inside are filter parse errors (C1.4).
    filter_depth: usize,
}

type Result<T> = std::result::Result<T, Error>;

impl<'a> Reader<'a> {
    /// A reader over a body.
    ///
    /// # Errors
    /// `BadRequest` when the body is not UTF-8.
    pub fn new(body: &'a [u8]) -> Result<Reader<'a>> {
        match std::str::from_utf8(body) {
            Ok(text) => Ok(Reader { text, at: 0, path: Vec::new(), filter_depth: 0 }),
            Err(error) => Err(Error::bad(format!(
                "Body is not valid JSON: invalid UTF-8 at byte {}",
                error.valid_up_to()
            ))),
        }
    }

    /// The path of the value being read, as C1.11 writes it; empty at the root. Of a long key only its beginning.
    pub fn path(&self) -> String {
        let mut out = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    match key.char_indices().nth(KEY_SHOWN) {
                        Some((end, _)) => {
                            out.push_str(&key[..end]);
                            out.push('…');
                        }
                        None => out.push_str(key),
                    }
                }
                Step::Index(index) => {
                    let _ = write!(out, "[{index}]");
                }
            }
        }
        out
    }

    /// An error at the current place: `<path>: <why>`, as a filter parse error inside a filter.
    pub fn error(&self, why: impl AsRef<str>) -> Error {
        let mut path = self.path();
        if path.is_empty() {
            path.push_str("body");
        }
        let message = format!("{path}: {}", why.as_ref());
        if self.filter_depth > 0 { Error::FilterParse(message) } else { Error::BadRequest(message) }
    }

    /// The error for a field of the current object that is required and absent.
    pub fn missing(&self, field: &str) -> Error {
        let path = self.path();
        let full = if path.is_empty() { field.to_string() } else { format!("{path}.{field}") };
        if self.filter_depth > 0 {
            Error::FilterParse(format!("{full}: required field is missing"))
        } else {
            Error::MissingField(full)
        }
    }

    /// The error for a field that the current object does not have, read by the callback of [`Reader::object`].
    /// A `null` is forgiven (C1.10).
    pub fn unknown(&mut self) -> Result<()> {
        if self.take_null()? { Ok(()) } else { Err(self.error("unknown field")) }
    }

    /// Runs `read` so that its errors are filter parse errors.
    pub fn in_filter<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.filter_depth += 1;
        let result = read(self);
        self.filter_depth -= 1;
        result
    }

    /// Nesting of the value being read.
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// What the next value is.
    pub fn peek(&mut self) -> Result<Kind> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(_) => Err(self.syntax("expected a value")),
            None => Err(self.syntax("unexpected end")),
        }
    }

    /// Consumes a `null` if that is the next value.
    pub fn take_null(&mut self) -> Result<bool> {
        if self.peek()? != Kind::Null {
            return Ok(false);
        }
        self.literal("null")?;
        Ok(true)
    }

    /// `None` for `null`, else what `read` makes of the value: an optional field (C1.10).
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.take_null()? { Ok(None) } else { read(self).map(Some) }
    }

    /// Reads an object; `field` is called once for each key and must consume its value.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.expect(Kind::Object)?;
        self.at += 1;
        self.enter(Step::Index(0))?;
        self.skip_space();
        if self.byte() == Some(b'}') {
            self.at += 1;
            self.path.pop();
            return Ok(());
        }
        loop {
            self.skip_space();
            if self.byte() != Some(b'"') {
                self.path.pop();
                return Err(self.syntax("expected a key in double quotes"));
            }
            let key = self.string_token()?;
            *self.path.last_mut().expect("entered above") = Step::Key(key.clone());
            self.skip_space();
            if self.byte() != Some(b':') {
                return Err(self.syntax("expected ':'"));
            }
            self.at += 1;
            field(self, &key)?;
            self.skip_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    self.path.pop();
                    return Ok(());
                }
                _ => return Err(self.syntax("expected ',' or '}'")),
            }
        }
    }

    /// Reads an array; `element` is called with the index of each element and must consume it.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expect(Kind::Array)?;
        self.at += 1;
        self.enter(Step::Index(0))?;
        self.skip_space();
        if self.byte() == Some(b']') {
            self.at += 1;
            self.path.pop();
            return Ok(());
        }
        for index in 0.. {
            *self.path.last_mut().expect("entered above") = Step::Index(index);
            element(self, index)?;
            self.skip_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    self.path.pop();
                    break;
                }
                _ => return Err(self.syntax("expected ',' or ']'")),
            }
        }
        Ok(())
    }

    /// Reads an array into a list of at most `limit` elements, or, where the value is no array, a list of one:
    /// the dialect accepts a single object where a list is expected.
    pub fn one_or_many<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut list = Vec::new();
        if self.peek()? == Kind::Array {
            self.array(|r, _| {
                list.push(read(r)?);
                Ok(())
            })?;
        } else {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Reads a boolean.
    pub fn bool(&mut self) -> Result<bool> {
        self.expect(Kind::Bool)?;
        if self.byte() == Some(b't') {
            self.literal("true")?;
            Ok(true)
        } else {
            self.literal("false")?;
            Ok(false)
        }
    }

    /// Reads a string.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        self.expect(Kind::String)?;
        self.string_token()
    }

    /// Reads a number and answers its text, which is valid JSON.
    pub fn number_text(&mut self) -> Result<&'a str> {
        self.expect(Kind::Number)?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + usize::from(bytes[start] == b'-');
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = digits(bytes, at),
            _ => return Err(self.syntax("malformed number")),
        }
        if bytes.get(at) == Some(&b'.') {
            let from = at + 1;
            at = digits(bytes, from);
            if at == from {
                return Err(self.syntax("malformed number"));
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            let from = at;
            at = digits(bytes, from);
            if at == from {
                return Err(self.syntax("malformed number"));
            }
        }
        self.at = at;
        Ok(&self.text[start..at])
    }

    /// Reads an unsigned integer. `1.0` is not one.
    pub fn u64(&mut self) -> Result<u64> {
        self.expect(Kind::Number)?;
        let text = self.number_text()?;
        text.parse()
            .map_err(|_| self.error(format!("expected an unsigned 64-bit integer, got {}", shorten(text))))
    }

    /// Reads an unsigned integer from `min` to `max`.
    pub fn integer_in(&mut self, min: u64, max: u64) -> Result<u64> {
        let value = self.u64()?;
        if value < min {
            return Err(self.error(format!("value {value} invalid, must be {min} or larger")));
        }
        if value > max {
            return Err(self.error(format!("value {value} invalid, must be {max} or smaller")));
        }
        Ok(value)
    }

    /// Reads a finite number.
    pub fn f64(&mut self) -> Result<f64> {
        let text = self.number_text()?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!("expected a finite number, got {}", shorten(text)))),
        }
    }

    /// Reads a number that is finite as `f32`, correctly rounded.
    pub fn f32(&mut self) -> Result<f32> {
        self.expect(Kind::Number)?;
        if let Some((value, end)) = read_f32(self.text.as_bytes(), self.at) {
            self.at = end;
            return Ok(value);
        }
        let text = self.number_text()?;
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!(
                "expected a number within the range of 32-bit floats, got {}",
                shorten(text)
            ))),
        }
    }

    /// Appends the numbers of an array to `out`: a dense vector. What is usual is read without keeping the path,
    /// which only an error needs.
    pub fn f32_array(&mut self, out: &mut Vec<f32>) -> Result<()> {
        let first = out.len();
        self.array(|r, _| {
            r.skip_space();
            r.at = read_list(r.text.as_bytes(), r.at, out);
            r.skip_space();
            *r.path.last_mut().expect("an array is entered") = Step::Index(out.len() - first);
            out.push(r.f32()?);
            Ok(())
        })
    }

    /// What the first element of the array that comes next is; `None` when it has none.
    pub fn peek_first(&mut self) -> Result<Option<Kind>> {
        self.expect(Kind::Array)?;
        let array = self.at;
        self.at += 1;
        self.skip_space();
        let first = if self.byte() == Some(b']') { Ok(None) } else { self.peek().map(Some) };
        self.at = array;
        first
    }

    /// The first key of the object that comes next; `None` when it has none.
    pub fn peek_key(&mut self) -> Result<Option<Cow<'a, str>>> {
        self.expect(Kind::Object)?;
        let object = self.at;
        self.at += 1;
        self.skip_space();
        let first = if self.byte() == Some(b'"') { self.string_token().map(Some) } else { Ok(None) };
        self.at = object;
        first
    }

    /// Bytes of the body that are not read yet.
    pub fn remaining(&self) -> usize {
        self.text.len() - self.at
    }

    /// Skips a value of any kind, checking its syntax.
    pub fn skip(&mut self) -> Result<()> {
        match self.peek()? {
            Kind::Object => self.object(|r, _| r.skip()),
            Kind::Array => self.array(|r, _| r.skip()),
            Kind::String => self.string_token().map(drop),
            Kind::Number => self.number_text().map(drop),
            Kind::Bool => self.bool().map(drop),
            Kind::Null => self.literal("null"),
        }
    }

    /// Checks that nothing but white space follows the root value.
    pub fn finish(&mut self) -> Result<()> {
        self.skip_space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.syntax("unexpected text after the body's value"))
        }
    }

    /// An error unless the next value is of that kind.
    pub fn expect(&mut self, kind: Kind) -> Result<()> {
        let found = self.peek()?;
        if found == kind {
            Ok(())
        } else {
            Err(self.error(format!("expected {}, got {}", kind.word(), found.word())))
        }
    }

    /// A syntax error at the current byte.
    pub(super) fn syntax(&self, why: &str) -> Error {
        let path = self.path();
        let place = if path.is_empty() { String::new() } else { format!(" ({path})") };
        Error::bad(format!("Body is not valid JSON: {why} at byte {}{place}", self.at))
    }

    fn enter(&mut self, step: Step<'a>) -> Result<()> {
        if self.path.len() >= MAX_DEPTH {
            return Err(Error::bad(format!(
                "Body is nested deeper than {MAX_DEPTH} levels at byte {}",
                self.at
            )));
        }
        self.path.push(step);
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Result<()> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax("expected a value"))
        }
    }

    /// The string whose opening quote is the next byte.
    fn string_token(&mut self) -> Result<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let at = plain_end(bytes, start);
        match bytes.get(at) {
            Some(b'"') => {
                self.at = at + 1;
                return Ok(Cow::Borrowed(&self.text[start..at]));
            }
            Some(b'\\') => {}
            Some(_) => {
                self.at = at;
                return Err(self.syntax("control character in a string"));
            }
            None => {
                self.at = at;
                return Err(self.syntax("unterminated string"));
            }
        }
        let mut out = String::from(&self.text[start..at]);
        self.at = at;
        self.escaped_rest(&mut out)?;
        Ok(Cow::Owned(out))
    }

    /// The rest of a string from its first escape on.
    fn escaped_rest(&mut self, out: &mut String) -> Result<()> {
        let bytes = self.text.as_bytes();
        loop {
            let from = self.at;
            self.at = plain_end(bytes, from);
            out.push_str(&self.text[from..self.at]);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let escape = bytes.get(self.at + 1).copied();
                    let simple = match escape {
                        Some(byte @ (b'"' | b'\\' | b'/')) => byte as char,
                        Some(b'n') => '\n',
                        Some(b't') => '\t',
                        Some(b'r') => '\r',
                        Some(b'b') => '\u{8}',
                        Some(b'f') => '\u{c}',
                        Some(b'u') => {
                            out.push(self.unicode_escape()?);
                            continue;
                        }
                        _ => return Err(self.syntax("unknown escape in a string")),
                    };
                    out.push(simple);
                    self.at += 2;
                }
                Some(_) => return Err(self.syntax("control character in a string")),
                None => return Err(self.syntax("unterminated string")),
            }
        }
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let high = self.hex4(self.at + 2)?;
        if let Some(character) = char::from_u32(high) {
            self.at += 6;
            return Ok(character);
        }
        let low =
            if (0xd800..0xdc00).contains(&high) && self.text.as_bytes()[self.at + 6..].starts_with(b"\\u") {
                self.hex4(self.at + 8)?
            } else {
                0
            };
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.syntax("unpaired surrogate in a string"));
        }
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        self.at += 12;
        char::from_u32(code).ok_or_else(|| self.syntax("unpaired surrogate in a string"))
    }

    fn hex4(&self, from: usize) -> Result<u32> {
        let digits = self.text.as_bytes().get(from..from + 4);
        let mut value = 0;
        for &byte in digits.ok_or_else(|| self.syntax("unterminated string"))? {
            let digit = (byte as char).to_digit(16).ok_or_else(|| self.syntax("malformed \\u escape"))?;
            value = value * 16 + digit;
        }
        Ok(value)
    }
}

/// The place of the first character from `at` on that does not simply stand for itself in a string: a quote, a backslash
/// or a control character. Eight at a time.
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x80 * ONES;
    // Marks the bytes that are below a limit of at most 128, and maybe some behind the first such one.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH_BITS;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    while let Some(group) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*group);
        let special = below(word, 0x20) | equal(word, b'"') | equal(word, b'\\');
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while !matches!(bytes.get(at), None | Some(b'"' | b'\\' | 0..=0x1f)) {
        at += 1;
    }
    at
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// A number's text for a message; a body may hold one of a million digits.
fn shorten(text: &str) -> String {
    if text.len() <= 40 { text.to_string() } else { format!("{}…", &text[..40]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn skip_all(body: &[u8]) -> Result<()> {
        let mut reader = Reader::new(body)?;
        reader.skip()?;
        reader.finish()
    }

    #[test]
    fn errors_name_the_place_c1_11() {
        let mut reader = Reader::new(br#"{"points":[{"id":1,"vector":[1,"x"]}]}"#).unwrap();
        let error = reader
            .object(|r, _| {
                r.array(|r, _| {
                    r.object(|r, key| if key == "vector" { r.f32_array(&mut Vec::new()) } else { r.skip() })
                })
            })
            .unwrap_err();
        assert_eq!(error, Error::bad("points[0].vector[1]: expected a number, got a string"));
    }

    #[test]
    fn deep_nesting_is_refused_without_recursion_trouble() {
        assert!(skip_all(&vec![b'['; 10 << 20]).is_err());
        let deep = [vec![b'['; 150], vec![b']'; 150]].concat();
        assert!(skip_all(&deep).is_ok());
    }

    #[test]
    fn only_strict_json_is_read() {
        for bad in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "nul",
            "tru",
            "'a'",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\udc00\\ud800\"",
            "\"a\nb\"",
            "[1 2]",
            "{\"a\" 1}",
            "{a:1}",
            "1 2",
            "\u{feff}1",
            "NaN",
            "Infinity",
            "-",
            "[",
            "\"",
            "\"\\",
            "\"\\u12",
            "{\"a\":",
            "{1:2}",
        ] {
            assert!(skip_all(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(skip_all(b"\xff").is_err());
        assert!(skip_all(b"\"\xc3\"").is_err());
    }

    #[test]
    fn numbers_beyond_f32_are_refused_c2_3() {
        for bad in ["1e39", "-1e39", "1e400", "340282366920938463463374607431768211456"] {
            assert!(Reader::new(bad.as_bytes()).unwrap().f32().is_err(), "{bad}");
        }
        assert_eq!(Reader::new(b"3.4028234663852886e38").unwrap().f32().unwrap(), f32::MAX);
    }

    proptest! {
        #[test]
        fn floats_are_correctly_rounded(text in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?") {
            let expected = text.parse::<f32>().unwrap();
            let got = Reader::new(text.as_bytes()).unwrap().f32();
            if expected.is_finite() {
                prop_assert_eq!(got.unwrap().to_bits(), expected.to_bits());
            } else {
                prop_assert!(got.is_err());
            }
        }

        #[test]
        fn shortest_forms_round_trip(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            let mut text = Vec::new();
            super::super::write_f32(&mut text, value);
            prop_assert_eq!(Reader::new(&text).unwrap().f32().unwrap().to_bits(), bits);
        }

        #[test]
        fn strings_end_at_the_first_character_that_is_special(
            bytes in prop::collection::vec(prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 1 => 0x1e..0x24u8], 0..40),
            from in 0usize..9,
        ) {
            let from = from.min(bytes.len());
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let expected = bytes[from..].iter().position(is_special).map_or(bytes.len(), |at| from + at);
            prop_assert_eq!(plain_end(&bytes, from), expected);
        }

        #[test]
        fn agrees_with_an_independent_parser(body in "[\\[\\]{}:,\"\\\\a0-9eE.+\\-tfn ulrs]{0,24}") {
            let theirs = serde_json::from_str::<serde_json::Value>(&body).is_ok();
            prop_assert_eq!(skip_all(body.as_bytes()).is_ok(), theirs, "{}", body);
        }
    }
}
