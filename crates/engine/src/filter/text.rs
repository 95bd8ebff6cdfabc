//! Text conditions. The tokens of a query depend on the field's text index (C7).

use crate::payload::{Pattern, TextMatch, Tokenizer};
use std::borrow::Cow;
use std::sync::OnceLock;

/// A text to search for. It is tokenised as the field's text index does, or into words in lower case without one.
///
/// Equality ignores the cached pattern.
#[derive(Clone, Debug)]
pub struct TextQuery {
    how: TextMatch,
    text: Box<str>,
    plain: Pattern,
    /// The cached pattern of the first other tokenizer. A filter is mostly evaluated on thousands of points of one state.
    tokenized: OnceLock<(Tokenizer, Pattern)>,
}

impl PartialEq for TextQuery {
    fn eq(&self, other: &TextQuery) -> bool {
        (self.how, &self.text) == (other.how, &other.text)
    }
}

impl TextQuery {
    /// A query for a text.
    pub fn new(how: TextMatch, text: &str) -> TextQuery {
        let plain = Pattern::new(how, text, Tokenizer::plain());
        TextQuery { how, text: text.into(), plain, tokenized: OnceLock::new() }
    }

    /// The pattern for a field with this tokenizer, or without a text index.
    pub fn pattern(&self, tokenizer: Option<&Tokenizer>) -> Cow<'_, Pattern> {
        let Some(tokenizer) = tokenizer else { return Cow::Borrowed(&self.plain) };
        let pattern = || Pattern::new(self.how, &self.text, tokenizer);
        match self.tokenized.get_or_init(|| (tokenizer.clone(), pattern())) {
            (known, pattern) if known == tokenizer => Cow::Borrowed(pattern),
            _ => Cow::Owned(pattern()),
        }
    }

    /// Whether a value of a field with this tokenizer, or without a text index, matches.
    pub fn is_in(&self, text: &str, tokenizer: Option<&Tokenizer>) -> bool {
        self.pattern(tokenizer).is_in(text, tokenizer.unwrap_or(Tokenizer::plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(how: TextMatch, text: &str) -> impl Fn(&str) -> bool {
        let query = TextQuery::new(how, text);
        move |value| query.is_in(value, None)
    }

    #[test]
    fn words_are_found_in_lower_case_c7() {
        use TextMatch::{All, Any, Phrase};
        let text = "The quick-brown Fox (ÄPFEL 42) jumps; the End";
        assert!(query(All, "FOX quick")(text));
        assert!(query(All, "äpfel")(text));
        assert!(!query(All, "fox cat")(text));
        assert!(query(Any, "fox cat")(text));
        assert!(!query(Any, "ump")(text));
        assert!(query(Phrase, "quick brown fox")(text));
        assert!(query(Phrase, "Äpfel, 42")(text));
        assert!(!query(Phrase, "brown quick")(text));
        assert!(!query(Phrase, "end the")(text));
        assert!(query(Phrase, "a a b")("a a a b") && !query(Phrase, "a a b")("a b a b"));
    }

    #[test]
    fn a_query_without_words_matches_nothing_c7() {
        for how in [TextMatch::All, TextMatch::Any, TextMatch::Phrase] {
            let none = query(how, " -- !");
            assert!(!none("a") && !none("") && !none("-- !"));
        }
    }
}
