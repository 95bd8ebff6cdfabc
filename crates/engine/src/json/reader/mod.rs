//! A pull parser over the bytes of a request.

mod containers;
mod ids;
mod numbers;
mod strings;
#[cfg(test)]
mod tests;

pub use ids::{IdRules, KindOf};

use containers::Failure;

use super::packed::MARK;
use crate::error::Error;
use crate::faults::PlantedFault;
use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

/// The kind of a value.
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
    /// The name for messages, with its article.
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
pub(super) enum Step<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

/// The greatest nesting of a body. Payloads and filters have lower limits.
const MAX_DEPTH: usize = 160;

/// Bytes of a body between two looks at whether it is still to be read: with a text in each condition two hundred
/// microseconds, which is the most that counts as work between two calls of `yield_to_reads`.
const BYTES_BETWEEN_LOOKS: usize = 2 << 10;

/// Asked again and again while a body is read; its error ends the reading.
#[derive(Clone, Copy)]
pub struct Watch<'a>(pub &'a dyn Fn() -> std::result::Result<(), Error>);

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// Characters of a key that a path in a message shows: a body may have a key of a million characters.
const KEY_SHOWN: usize = 100;

/// Pull parser over a UTF-8 body. It is strict about RFC 8259 and keeps the path of the value being read for error messages.
///
/// A clone can read ahead without affecting the original: it has neither its warnings nor its marks.
pub struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) path: Vec<Step<'a>>,
    /// Depth of [`Reader::in_filter`] calls; errors inside are filter parse errors (C1.4).
    filter_depth: usize,
    /// What was passed over; `None` where nothing is.
    warnings: Option<Vec<String>>,
    /// Values that were marked; `None` where none can be.
    marks: Option<Vec<Mark>>,
    /// The packed vectors of the body, where it has any.
    pub(super) floats: Option<&'a [u8]>,
    /// Whether the body is still to be read; always where there is none.
    watch: Option<Watch<'a>>,
    /// The byte from which on it is asked next.
    look_at: usize,
    /// Where the reading stands after an error.
    failure: Failure,
    /// Bytes that were read to see whether the keys of invalid values come again.
    looked_for_keys: usize,
    /// How ids are read.
    pub ids: IdRules<'a>,
}

/// A value that the caller has marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its path.
    pub place: String,
    /// Its first byte in the body.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Clone for Reader<'_> {
    fn clone(&self) -> Self {
        Reader {
            text: self.text,
            at: self.at,
            path: self.path.clone(),
            filter_depth: self.filter_depth,
            warnings: self.warnings.as_ref().map(|_| Vec::new()),
            marks: self.marks.as_ref().map(|_| Vec::new()),
            floats: self.floats,
            watch: self.watch,
            look_at: self.look_at,
            failure: self.failure,
            looked_for_keys: self.looked_for_keys,
            ids: self.ids,
        }
    }
}

/// Warnings of one body that are kept.
const MAX_WARNINGS: usize = 64;

pub(super) type Result<T> = std::result::Result<T, Error>;

impl<'a> Reader<'a> {
    /// A reader over a body.
    ///
    /// # Errors
    /// `BadRequest` when the body is not UTF-8.
    pub fn new(body: &'a [u8]) -> Result<Reader<'a>> {
        match std::str::from_utf8(body) {
            Ok(text) => {
                let (path, filter_depth, look_at) = (Vec::new(), 0, BYTES_BETWEEN_LOOKS);
                let (warnings, marks, floats, watch) = (None, None, None, None);
                let (failure, ids) = (Failure::None, IdRules::default());
                Ok(Reader {
                    text,
                    at: 0,
                    path,
                    filter_depth,
                    warnings,
                    marks,
                    floats,
                    watch,
                    look_at,
                    failure,
                    looked_for_keys: 0,
                    ids,
                })
            }
            Err(error) => Err(Error::bad(format!(
                "Body is not valid JSON: invalid UTF-8 at byte {}",
                error.valid_up_to()
            ))),
        }
    }

    /// The path of the value being read, in the form of C1.11; empty at the root. Long keys are cut.
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

    /// An error at the current place: `<path>: <why>`. Inside a filter it is a filter parse error.
    pub fn error(&self, why: impl AsRef<str>) -> Error {
        let mut path = self.path();
        if path.is_empty() {
            path.push_str("body");
        }
        let message = format!("{path}: {}", why.as_ref());
        if self.filter_depth > 0 { Error::FilterParse(message) } else { Error::BadRequest(message) }
    }

    /// The error for a required field that the current object does not have.
    pub fn missing(&self, field: &str) -> Error {
        let path = self.path();
        let full = if path.is_empty() { field.to_string() } else { format!("{path}.{field}") };
        if self.filter_depth > 0 {
            Error::FilterParse(format!("{full}: required field is missing"))
        } else {
            Error::MissingField(full)
        }
    }

    /// The error for an unknown field, to be called by the callback of [`Reader::object`]. A `null` is not an error
    /// (C1.10).
    pub fn unknown(&mut self) -> Result<()> {
        if self.take_null()? { Ok(()) } else { Err(self.error("unknown field")) }
    }

    /// From now on passes over what [`Reader::unknown_in_body`] is called for, with a warning.
    pub fn pass_over_unknown(&mut self) {
        self.warnings.get_or_insert_default();
    }

    /// Whether it does.
    pub fn is_lenient(&self) -> bool {
        self.warnings.is_some()
    }

    /// Keeps a sentence about the current place, of a lenient reader.
    pub fn warn(&mut self, place: &str, why: &str) {
        if let Some(warnings) = &mut self.warnings
            && warnings.len() < MAX_WARNINGS
        {
            warnings.push(format!("{place}: {why}"));
        }
    }

    /// The warnings so far.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.warnings.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// From now on asks `watch` every few kilobytes whether to go on.
    pub fn be_watched(&mut self, watch: Option<Watch<'a>>) {
        self.watch = watch.filter(|_| !PlantedFault::ParsingNotWatched.is_on());
    }

    /// Asks whether to go on, if it is time for that.
    fn look(&mut self) -> Result<()> {
        match self.watch {
            Some(Watch(may_go_on)) if self.at >= self.look_at => {
                self.look_at = self.at + BYTES_BETWEEN_LOOKS;
                may_go_on()
            }
            _ => Ok(()),
        }
    }

    /// From now on values can be marked.
    pub fn take_marks_from_now(&mut self) {
        self.marks.get_or_insert_default();
    }

    /// How many values are marked; `None` where none can be.
    pub fn marked(&self) -> Option<usize> {
        self.marks.as_ref().map(Vec::len)
    }

    /// Marks the value that began at `start` and has just been read.
    pub fn mark(&mut self, start: usize) {
        let mark = Mark { place: self.path(), start, end: self.at };
        if let Some(marks) = &mut self.marks {
            marks.push(mark);
        }
    }

    /// The marked values so far, in the order of the body.
    pub fn take_marks(&mut self) -> Vec<Mark> {
        self.marks.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The byte at which the next value begins.
    pub fn position(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// As [`Reader::unknown`], where a lenient reader may skip the value (C12): in a body itself or its `params`. Never in a
    /// filter, a selector or a point.
    pub fn unknown_in_body(&mut self) -> Result<()> {
        if !self.is_lenient() || self.filter_depth > 0 || self.peek()? == Kind::Null {
            return self.unknown();
        }
        let place = self.path();
        self.warn(&place, "unknown field, ignored");
        self.skip()
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

    /// The kind of the next value.
    pub fn peek(&mut self) -> Result<Kind> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(MARK) if self.floats.is_some() => Ok(Kind::Array),
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

    /// Reads an optional field (C1.10): `None` for `null`, otherwise the result of `read`.
    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.take_null()? { Ok(None) } else { read(self).map(Some) }
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

    /// The kind of the first element of the next value, an array; `None` if it is empty.
    pub fn peek_first(&mut self) -> Result<Option<Kind>> {
        self.expect(Kind::Array)?;
        if self.is_at_packed() {
            let mut ahead = self.clone();
            return Ok((!ahead.packed_list()?.is_empty()).then_some(Kind::Number));
        }
        let array = self.at;
        self.at += 1;
        self.skip_space();
        let first = if self.byte() == Some(b']') { Ok(None) } else { self.peek().map(Some) };
        self.at = array;
        first
    }

    /// The first key of the next value, an object; `None` if it is empty.
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
            Kind::Array if self.is_at_packed() => self.packed_list().map(drop),
            Kind::Array => self.array(|r, _| r.skip()),
            Kind::String => self.string_token().map(drop),
            Kind::Number => self.number_text().map(drop),
            Kind::Bool => self.bool().map(drop),
            Kind::Null => self.literal("null"),
        }
    }

    /// Skips a value of any kind, checking its syntax, and answers its text.
    pub fn raw(&mut self) -> Result<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
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

    /// A syntax error at the current byte. Where vectors are packed the byte is not that of the body in JSON.
    pub(super) fn syntax(&self, why: &str) -> Error {
        if self.floats.is_some() {
            return Error::NeedsJson;
        }
        let path = self.path();
        let place = if path.is_empty() { String::new() } else { format!(" ({path})") };
        Error::bad(format!("Body is not valid JSON: {why} at byte {}{place}", self.at))
    }

    pub(super) fn enter(&mut self, step: Step<'a>) -> Result<()> {
        if self.path.len() >= MAX_DEPTH {
            if self.floats.is_some() {
                return Err(Error::NeedsJson);
            }
            return Err(Error::bad(format!(
                "Body is nested deeper than {MAX_DEPTH} levels at byte {}",
                self.at
            )));
        }
        self.path.push(step);
        Ok(())
    }

    pub(super) fn byte(&self) -> Option<u8> {
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
}
