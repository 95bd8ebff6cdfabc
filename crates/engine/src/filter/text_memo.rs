//! Texts of one document that several conditions look into.

use super::text::TextQuery;
use crate::payload::{JsonStr, Tokenizer, Tokens};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Longer texts are split for each condition: the tokens of a text take several times its bytes.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// Bytes of the texts of one document whose tokens are kept.
const MAX_BYTES: usize = 1 << 20;

/// The tokens of the texts of one document. The first condition of a filter splits a text only as far as it needs it, and
/// the tokens are kept from the second one on: a filter with one text condition costs no more than without this, and one
/// with a hundred splits each text twice instead of a hundred times.
#[derive(Default)]
pub struct TextMemo {
    /// The address of the first query, which is only compared.
    first: Cell<Option<usize>>,
    texts: RefCell<Option<Texts>>,
}

#[derive(Default)]
struct Texts {
    bytes: usize,
    /// By the address of the text and of its tokenizer, which outlive the document's evaluation.
    tokens: HashMap<(usize, usize), Tokens>,
}

impl TextMemo {
    /// Whether a text of the document has what the query asks for. `tokenizer` is that of the field's text index, if it has
    /// one.
    pub fn matches(&self, query: &TextQuery, text: JsonStr<'_>, tokenizer: Option<&Tokenizer>) -> bool {
        let address = std::ptr::from_ref(query).addr();
        let first = self.first.get().unwrap_or(address);
        self.first.set(Some(first));
        let used = tokenizer.unwrap_or(Tokenizer::plain());
        if address == first || text.raw().len() > MAX_TEXT_BYTES || !used.is_linear() {
            return query.is_in(&text.decode(), tokenizer);
        }
        let mut texts = self.texts.borrow_mut();
        let texts = texts.get_or_insert_default();
        let key = (text.raw().as_ptr().addr(), used.address());
        if !texts.tokens.contains_key(&key) {
            if texts.bytes + text.raw().len() > MAX_BYTES {
                return query.is_in(&text.decode(), tokenizer);
            }
            texts.bytes += text.raw().len();
            texts.tokens.insert(key, Tokens::of(&text.decode(), used));
        }
        query.pattern(tokenizer).is_among(&texts.tokens[&key])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{Document, TextMatch, Value};

    const HOWS: [TextMatch; 3] = [TextMatch::All, TextMatch::Any, TextMatch::Phrase];

    fn texts(document: &[u8]) -> Vec<JsonStr<'_>> {
        let key = crate::payload::JsonPath::parse("t[]").expect("a path");
        let mut found = Vec::new();
        Document::new(document).any_at(&key, |value| {
            if let Value::String(text) = value {
                found.push(text);
            }
            false
        });
        found
    }

    #[test]
    fn a_text_that_is_split_once_matches_what_it_matches_when_split_for_each_condition_c7() {
        let document =
            r#"{"t":["The quick-brown Fox","a a a b","","\u0001 tab\tbed","the end the fox"]}"#.as_bytes();
        let asked =
            ["fox", "FOX quick", "the cat", "quick brown", "a a b", "the fox", "end the", "tab bed", " - "];
        let queries: Vec<TextQuery> =
            asked.iter().flat_map(|text| HOWS.map(|how| TextQuery::new(how, text))).collect();
        let memo = TextMemo::default();
        for query in &queries {
            for text in texts(document) {
                assert_eq!(
                    memo.matches(query, text, None),
                    query.is_in(&text.decode(), None),
                    "{query:?} {text:?}"
                );
            }
        }
        assert_eq!(memo.texts.borrow().as_ref().map(|texts| texts.tokens.len()), Some(5));
    }

    #[test]
    fn texts_beyond_the_limit_are_split_for_each_condition_c7() {
        let document = format!("{{\"t\":[\"{} fox\",\"dog\"]}}", "a ".repeat(MAX_TEXT_BYTES / 2));
        let queries = ["fox", "cat", "dog"].map(|text| TextQuery::new(TextMatch::All, text));
        let memo = TextMemo::default();
        let found: Vec<Vec<bool>> = queries
            .iter()
            .map(|query| {
                texts(document.as_bytes()).into_iter().map(|text| memo.matches(query, text, None)).collect()
            })
            .collect();
        assert_eq!(found, [[true, false], [false, false], [false, true]]);
        assert_eq!(memo.texts.borrow().as_ref().map(|texts| texts.tokens.len()), Some(1));
    }
}
