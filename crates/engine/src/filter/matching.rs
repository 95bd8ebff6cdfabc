//! `match` clauses.

use super::text::TextQuery;
use super::text_memo::TextMemo;
use crate::json;
use crate::payload::{JsonStr, Tokenizer, Value};
use crate::types::PointId;

/// A string to compare with. All spellings of a UUID are equal (C7), unless it is said that they are not.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    text: Box<str>,
    /// The string in a normalised document, without quotes.
    encoded: Box<[u8]>,
    uuid: Option<u128>,
}

impl Keyword {
    /// The keyword of a text.
    pub fn new(text: &str) -> Keyword {
        let encoded = encode(text);
        Keyword { text: text.into(), encoded, uuid: PointId::parse_uuid(text) }
    }

    /// A keyword that is equal to no other spelling, also of a UUID.
    pub fn as_spelled(text: &str) -> Keyword {
        Keyword { uuid: None, ..Keyword::new(text) }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value, if it is a UUID.
    pub fn uuid(&self) -> Option<u128> {
        self.uuid
    }

    fn is(&self, string: JsonStr<'_>) -> bool {
        match self.uuid {
            // Only a string that is a UUID, too, can be equal.
            Some(uuid) => uuid_of(string) == Some(uuid),
            None => *self.encoded == *string.raw(),
        }
    }
}

fn encode(text: &str) -> Box<[u8]> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    json::write_string(&mut quoted, text);
    quoted[1..quoted.len() - 1].into()
}

/// The UUID of a stored string, if it is one. The length is checked first, because most strings are not UUIDs.
fn uuid_of(string: JsonStr<'_>) -> Option<u128> {
    match string.raw().len() {
        32 | 36 | 45 => PointId::parse_uuid(&string.decode()),
        _ => None,
    }
}

/// A `match` clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// This string.
    Keyword(Keyword),
    /// This integer; `1.0` is not `1`.
    Integer(i64),
    /// This boolean.
    Bool(bool),
    /// One of these strings.
    AnyKeyword(KeywordList),
    /// One of these integers, ascending.
    AnyInteger(Box<[i64]>),
    /// Not null and none of these strings.
    ExceptKeyword(KeywordList),
    /// Not null and none of these integers, ascending.
    ExceptInteger(Box<[i64]>),
    /// A string that begins with these bytes.
    Prefix(Box<str>),
    /// A string that contains these bytes.
    Substring(Box<str>),
    /// A string with these words.
    Text(TextQuery),
}

impl Match {
    /// Whether a value satisfies the clause; an array as a whole does not. `tokenizer` is that of the field's text index, if it
    /// has one, and `texts` are those of the value's document.
    pub fn holds(&self, value: Value<'_>, tokenizer: Option<&Tokenizer>, texts: &TextMemo) -> bool {
        match (self, value) {
            (Match::Keyword(keyword), Value::String(string)) => keyword.is(string),
            (Match::Integer(number), value) => value.as_i64() == Some(*number),
            (Match::Bool(wanted), Value::Bool(value)) => value == *wanted,
            (Match::AnyKeyword(list), Value::String(string)) => list.contains(string),
            (Match::AnyInteger(list), value) => is_in(list, value),
            (Match::ExceptKeyword(_) | Match::ExceptInteger(_), Value::Null) => false,
            (Match::ExceptKeyword(list), Value::String(string)) => !list.contains(string),
            (Match::ExceptKeyword(_), _) => true,
            (Match::ExceptInteger(list), value) => !is_in(list, value),
            (Match::Prefix(prefix), Value::String(string)) => string.decode().starts_with(&**prefix),
            (Match::Substring(part), Value::String(string)) => string.decode().contains(&**part),
            (Match::Text(query), Value::String(string)) => texts.matches(query, string, tokenizer),
            _ => false,
        }
    }
}

fn is_in(list: &[i64], value: Value<'_>) -> bool {
    value.as_i64().is_some_and(|number| list.binary_search(&number).is_ok())
}

/// A set of [`Keyword`]s.
#[derive(Clone, Debug, PartialEq)]
pub struct KeywordList {
    /// Keywords that are not UUIDs, ascending by their encoded form.
    texts: Box<[Keyword]>,
    /// Keywords that are UUIDs, ascending by value.
    uuids: Box<[Keyword]>,
}

impl KeywordList {
    /// The set of these keywords.
    pub fn new(keywords: Vec<Keyword>) -> KeywordList {
        let (mut uuids, mut texts): (Vec<_>, Vec<_>) =
            keywords.into_iter().partition(|keyword| keyword.uuid.is_some());
        texts.sort_unstable_by(|a, b| a.encoded.cmp(&b.encoded));
        texts.dedup_by(|a, b| a.encoded == b.encoded);
        uuids.sort_unstable_by_key(|keyword| keyword.uuid);
        uuids.dedup_by_key(|keyword| keyword.uuid);
        KeywordList { texts: texts.into(), uuids: uuids.into() }
    }

    /// The keywords, none twice.
    pub fn iter(&self) -> impl Iterator<Item = &Keyword> {
        self.texts.iter().chain(&self.uuids)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len() + self.uuids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.uuids.is_empty()
    }

    fn contains(&self, string: JsonStr<'_>) -> bool {
        if !self.uuids.is_empty()
            && let Some(uuid) = uuid_of(string)
        {
            return self.uuids.binary_search_by_key(&Some(uuid), |keyword| keyword.uuid).is_ok();
        }
        self.texts.binary_search_by(|keyword| (*keyword.encoded).cmp(string.raw())).is_ok()
    }
}
