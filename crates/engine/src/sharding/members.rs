//! JSON objects as the texts of their members, so that values are copied and never written anew.

use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::Reader;
use std::borrow::Cow;
use std::collections::HashMap;

/// The members of an object: each with the text of its value. Of a repeated key the last counts, and has its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// `BadRequest` for anything else.
    pub fn read(reader: &mut Reader<'a>) -> Result<Members<'a>, Error> {
        let mut members = Vec::new();
        reader.object(|r, key| {
            members.push((Cow::Owned(key.to_string()), Cow::Borrowed(r.raw()?)));
            Ok(())
        })?;
        let last: HashMap<String, usize> = members
            .iter()
            .enumerate()
            .map(|(at, (key, _)): (_, &(Cow<'a, str>, _))| (key.to_string(), at))
            .collect();
        if last.len() < members.len() {
            let mut at = 0..;
            members.retain(|(key, _)| last.get(&**key).copied() == at.next());
        }
        Ok(Members(members))
    }

    /// Reads a text that is an object; one without any is an empty object.
    ///
    /// # Errors
    /// `BadRequest` for anything else.
    pub fn parse(text: &'a [u8]) -> Result<Members<'a>, Error> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Members::default());
        }
        let mut reader = Reader::new(text)?;
        let members = Members::read(&mut reader)?;
        reader.finish()?;
        Ok(members)
    }

    /// The same members without a borrow.
    pub fn into_owned(self) -> Members<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Members(self.0.into_iter().map(|(key, value)| (owned(key), owned(value))).collect())
    }

    /// The text of a member; none where it is absent or `null`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| &**value)
            .filter(|value| *value != "null")
    }

    /// As [`get`](Self::get), of a member that has several names: the last of them counts that is not `null`.
    pub fn get_any(&self, names: &[&'static str]) -> Option<&str> {
        self.get(self.last_of(names)?)
    }

    /// Which of these names the last member has that has one of them and is not `null`.
    pub fn last_of(&self, names: &[&'static str]) -> Option<&'static str> {
        let mut there = self.0.iter().rev().filter(|(_, value)| value != "null");
        there.find_map(|(key, _)| names.iter().find(|name| *key == **name)).copied()
    }

    /// The members whose names are so.
    pub fn matching(&self, is_so: impl Fn(&str) -> bool) -> Members<'a> {
        Members(self.0.iter().filter(|(key, _)| is_so(key)).cloned().collect())
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(known, _)| known != key);
    }

    /// Puts a member in the place of one of that name, or behind the others.
    pub fn set(&mut self, key: &str, value: impl Into<Cow<'a, str>>) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = value.into(),
            None => self.0.push((Cow::Owned(key.to_string()), value.into())),
        }
    }

    /// Adds a member behind the others.
    pub fn add(&mut self, key: &str, value: &str) {
        self.0.push((Cow::Owned(key.to_string()), Cow::Owned(value.to_string())));
    }

    /// Adds the members of another object behind the others.
    pub fn extend(&mut self, other: &Members<'_>) {
        other.iter().for_each(|(key, value)| self.add(key, value));
    }

    /// Each key with the text of its value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Appends the object. `value` appends the value of a member in the place of its text, and is false where it has not.
    pub fn write_with(&self, out: &mut Vec<u8>, mut value: impl FnMut(&mut Vec<u8>, &str) -> bool) {
        let mut object = ObjectWriter::start(out);
        for (key, text) in self.iter() {
            let out = object.key(key);
            if !value(out, key) {
                out.extend_from_slice(text.as_bytes());
            }
        }
        object.end();
    }

    /// The text of the object.
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        self.write_with(&mut out, |_, _| false);
        // Keys and values are texts, and so is what stands between them.
        String::from_utf8(out).unwrap_or_default()
    }
}

/// The texts of the elements of an array.
///
/// # Errors
/// `BadRequest` for anything else.
pub(super) fn elements(text: &str) -> Result<Vec<&str>, Error> {
    let mut found = Vec::new();
    Reader::new(text.as_bytes())?.array(|r, _| {
        found.push(r.raw()?);
        Ok(())
    })?;
    Ok(found)
}
