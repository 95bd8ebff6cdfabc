//! Objects and arrays, and of a repeated key the last value (C1.8): also where an earlier one is not valid.

use super::{Kind, Reader, Result, Step};
use crate::error::Error;
use std::borrow::Cow;

/// Bytes that are read to see whether the keys of invalid values come again, for each byte of the body. Beyond that an invalid
/// value counts.
const LOOKS_PER_BYTE: usize = 16;
/// So many of a short body beyond that.
const FREE_LOOKS: usize = 1 << 16;

/// Where the reading stands after an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failure {
    /// There was no error, or the end of the value that has it is not known.
    None,
    /// The object or array that has the error was read to its end: the nesting of its values, and the byte after it.
    Passed { depth: usize, end: usize },
    /// An invalid value is being passed over: an error in it is one of syntax.
    Passing,
    /// The rest of the body cannot be read.
    Broken,
}

impl<'a> Reader<'a> {
    /// Reads an object. `field` is called once for each key and must consume its value. Its error counts unless the key comes
    /// again.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.expect(Kind::Object)?;
        let Some(depth) = self.open(b'}')? else { return Ok(()) };
        loop {
            let key = self.key()?;
            self.look()?;
            let start = self.at;
            if let Err(error) = field(self, &key) {
                self.pass_if_repeated(&key, depth, start, error)?;
            }
            if self.ends(b'}', "expected ',' or '}'")? {
                return Ok(());
            }
        }
    }

    /// Enters an object or array, which is next, and answers the nesting of its values; `None` where it is empty: then it is left
    /// again.
    fn open(&mut self, end: u8) -> Result<Option<usize>> {
        self.at += 1;
        self.enter(Step::Index(0))?;
        self.skip_space();
        if self.byte() == Some(end) {
            self.at += 1;
            self.path.pop();
            return Ok(None);
        }
        Ok(Some(self.path.len()))
    }

    /// Reads a key and its colon, and makes it the last step of the path.
    fn key(&mut self) -> Result<Cow<'a, str>> {
        self.skip_space();
        if self.byte() != Some(b'"') {
            self.path.pop();
            return Err(self.syntax("expected a key in double quotes"));
        }
        let key = self.string_token()?;
        *self.path.last_mut().expect("an object was entered") = Step::Key(key.clone());
        self.skip_space();
        if self.byte() != Some(b':') {
            return Err(self.syntax("expected ':'"));
        }
        self.at += 1;
        Ok(key)
    }

    /// Reads what follows a value of an object or array: a comma, or its end, which is left then.
    fn ends(&mut self, end: u8, otherwise: &str) -> Result<bool> {
        self.skip_space();
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                self.path.pop();
                Ok(true)
            }
            _ => Err(self.syntax(otherwise)),
        }
    }

    /// Reads an array. `element` is called with the index of each element and must consume it.
    ///
    /// # Errors
    /// `NeedsJson` for a packed list: only vectors are read as such.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expect(Kind::Array)?;
        if self.is_at_packed() {
            return Err(Error::NeedsJson);
        }
        let Some(depth) = self.open(b']')? else { return Ok(()) };
        for index in 0.. {
            *self.path.last_mut().expect("entered above") = Step::Index(index);
            self.look()?;
            let start = self.at;
            if let Err(error) = element(self, index) {
                return Err(self.pass_rest_of_array(depth, start, error));
            }
            if self.ends(b']', "expected ',' or ']'")? {
                break;
            }
        }
        Ok(())
    }

    /// Reads a body of lines, each with one value, as the array that is called `name` in messages. `value` is called with the
    /// index of each and must consume it. Blank lines are passed over. A value cannot go on in the next line, so no two
    /// broken lines make a whole.
    pub fn lines(
        &mut self,
        name: &'static str,
        mut value: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let text = self.text;
        self.enter(Step::Key(Cow::Borrowed(name)))?;
        self.enter(Step::Index(0))?;
        let mut index = 0;
        while self.at < text.len() {
            let end = text[self.at..].find('\n').map_or(text.len(), |length| self.at + length);
            self.text = &text[..end];
            self.skip_space();
            if self.at < end {
                *self.path.last_mut().expect("entered above") = Step::Index(index);
                self.look()?;
                value(self, index)?;
                self.skip_space();
                if self.at < end {
                    return Err(self.syntax("expected the end of the line"));
                }
                index += 1;
            }
            self.text = text;
            self.at = (end + 1).min(text.len());
        }
        self.path.clear();
        Ok(())
    }

    /// Reads an array into a list, or another value into a list of one: the dialect accepts a single value where a list is
    /// expected.
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

    /// After an error in the value of a key that begins at `start`, in an object whose values have that nesting: passes over the
    /// value if the key comes again in the object, because then the last one counts. Otherwise the object has been read to its
    /// end.
    #[cold]
    fn pass_if_repeated(&mut self, key: &str, depth: usize, start: usize, error: Error) -> Result<()> {
        if !self.pass_value(depth, start, &error) {
            return Err(error);
        }
        let end = self.at;
        // Each of many invalid values would be followed by a look at all that come behind it.
        if self.looked_for_keys > LOOKS_PER_BYTE * self.text.len() + FREE_LOOKS {
            self.failure = Failure::Broken;
            return Err(error);
        }
        let comes_again = self.passing(|r| r.comes_again(key));
        self.looked_for_keys += self.at - end;
        match comes_again {
            Some(true) => {
                self.at = end;
                self.path.truncate(depth);
                return Ok(());
            }
            Some(false) => self.failure = Failure::Passed { depth, end: self.at },
            None => {}
        }
        Err(error)
    }

    /// After an error in the element of an array that begins at `start`: reads the array to its end, so that what follows it in
    /// an object can be looked at. Returns the error.
    #[cold]
    fn pass_rest_of_array(&mut self, depth: usize, start: usize, error: Error) -> Error {
        let read_rest = |r: &mut Self| {
            while !r.ends(b']', "expected ',' or ']'")? {
                r.look()?;
                r.skip()?;
            }
            Ok(())
        };
        if self.pass_value(depth, start, &error) && self.passing(read_rest).is_some() {
            self.failure = Failure::Passed { depth, end: self.at };
        }
        error
    }

    /// Moves to the end of an invalid value, which begins at `start` in an object or array whose values have that nesting. False
    /// where the error is not about a value, or the value cannot be read to its end. What an inner object or array has passed
    /// over is not read again.
    fn pass_value(&mut self, depth: usize, start: usize, error: &Error) -> bool {
        let is_about_value =
            matches!(error, Error::BadRequest(_) | Error::MissingField(_) | Error::FilterParse(_));
        if !is_about_value || matches!(self.failure, Failure::Passing | Failure::Broken) {
            return false;
        }
        self.path.truncate(depth);
        if let Failure::Passed { depth: inner, end } = self.failure
            && inner == depth + 1
            && end > start
        {
            self.at = end;
            return true;
        }
        self.at = start;
        self.passing(Self::skip).is_some()
    }

    /// Reads the rest of an object up to the next value of that key. False at its end.
    fn comes_again(&mut self, key: &str) -> Result<bool> {
        while !self.ends(b'}', "expected ',' or '}'")? {
            let next = self.key()?;
            if next == key {
                return Ok(true);
            }
            self.look()?;
            self.skip()?;
        }
        Ok(false)
    }

    /// Reads over a part of the body of which only the syntax counts. `None` where that is wrong, or reading is given up.
    fn passing<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Option<T> {
        self.failure = Failure::Passing;
        let read = read(self).ok();
        self.failure = if read.is_some() { Failure::None } else { Failure::Broken };
        read
    }
}
