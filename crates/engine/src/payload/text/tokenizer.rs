//! Splitting a text into tokens.

use super::fold::{to_ascii, to_lower};
use super::options::{TextOptions, Tokenization};
use super::segment;
use super::stop_words::StopWords;
use crate::limits::{MAX_PREFIX_LEN, MAX_STEMMED_LEN};
use snowball_stemmers_rs::Stemmer;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

/// Splits texts into tokens. A clone takes a reference count.
///
/// A text is split into words. Each word passes the same steps: ASCII folding, lower case, stop words, stemming, and
/// finally the check of its length. Equality is that of the options.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    pipeline: Arc<Pipeline>,
}

#[derive(Debug)]
struct Pipeline {
    options: TextOptions,
    tokenization: Tokenization,
    lowercase: bool,
    ascii_folding: bool,
    stop_words: StopWords,
    /// The least and the greatest number of characters of a token.
    token_len: (usize, usize),
}

impl PartialEq for Tokenizer {
    fn eq(&self, other: &Tokenizer) -> bool {
        Arc::ptr_eq(&self.pipeline, &other.pipeline) || self.pipeline.options == other.pipeline.options
    }
}

impl Tokenizer {
    /// The tokenizer of an index with these options.
    pub fn new(options: &TextOptions) -> Tokenizer {
        let (mut min, mut max) = options.token_len();
        if options.tokenization() == Tokenization::Prefix {
            min = min.max(1);
            max = max.min(MAX_PREFIX_LEN.max(min));
        }
        let pipeline = Pipeline {
            tokenization: options.tokenization(),
            lowercase: options.lowercase(),
            ascii_folding: options.ascii_folding(),
            stop_words: options.stop_words(),
            token_len: (min, max),
            options: options.clone(),
        };
        Tokenizer { pipeline: Arc::new(pipeline) }
    }

    /// Words in lower case: the tokenizer of fields without a text index.
    pub fn plain() -> &'static Tokenizer {
        static PLAIN: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new(&TextOptions::default()));
        &PLAIN
    }

    /// Whether the tokens of a text have no more bytes than a small multiple of the text. Prefixes have more.
    pub fn is_linear(&self) -> bool {
        self.pipeline.tokenization != Tokenization::Prefix
    }

    /// The address of what clones share: equal for clones, and for others only if they do not live at the same time.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.pipeline).addr()
    }

    /// Calls `take` with the tokens of a stored text in order, until it breaks.
    pub fn document(&self, text: &str, mut take: impl FnMut(&str) -> ControlFlow<()>) {
        let pipeline = &*self.pipeline;
        // The caller knows whether `take` broke.
        let _ = if pipeline.tokenization == Tokenization::Prefix {
            self.words(text, |word| match pipeline.form(word, true) {
                Some(token) => pipeline.beginnings(&token, &mut take),
                None => ControlFlow::Continue(()),
            })
        } else {
            self.words(text, |word| match pipeline.form(word, true).filter(|token| pipeline.fits(token)) {
                Some(token) => take(&token),
                None => ControlFlow::Continue(()),
            })
        };
    }

    /// Calls `take` with the tokens that a text must have to match a query. They are those of [`Self::document`], except
    /// with prefixes: then each word of the query is one token, its longest prefix, stop words included.
    pub fn query(&self, text: &str, mut take: impl FnMut(&str)) {
        let pipeline = &*self.pipeline;
        if pipeline.tokenization != Tokenization::Prefix {
            return self.document(text, |token| {
                take(token);
                ControlFlow::Continue(())
            });
        }
        let _ = self.words(text, |word| {
            if let Some(token) = pipeline.form(word, false) {
                let (min, max) = pipeline.token_len;
                let end = token.char_indices().nth(max).map_or(token.len(), |(end, _)| end);
                if token.chars().take(min).count() == min {
                    take(&token[..end]);
                }
            }
            ControlFlow::Continue(())
        });
    }

    fn words(&self, text: &str, mut take: impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
        match self.pipeline.tokenization {
            Tokenization::Word | Tokenization::Prefix => text
                .split(|character: char| !character.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .try_for_each(take),
            Tokenization::Whitespace => text.split_whitespace().try_for_each(take),
            Tokenization::Multilingual => segment::words(text, &mut take),
        }
    }
}

impl Pipeline {
    /// The token of a word, of any length; `None` for a stop word, if these are removed.
    fn form<'w>(&self, word: &'w str, stop_words: bool) -> Option<Cow<'w, str>> {
        let mut token = if self.ascii_folding { to_ascii(word) } else { Cow::Borrowed(word) };
        if self.lowercase {
            token = match token {
                Cow::Borrowed(token) => to_lower(token),
                Cow::Owned(token) => Cow::Owned(to_lower(&token).into_owned()),
            };
        }
        if stop_words && self.stop_words.contains(&token) {
            return None;
        }
        if let Some(algorithm) = self.options.stemmer().and_then(|language| language.stemmer)
            && token.len() <= MAX_STEMMED_LEN
        {
            token = Cow::Owned(Stemmer::create(algorithm).stem(&token).into_owned());
        }
        (!token.is_empty()).then_some(token)
    }

    fn fits(&self, token: &str) -> bool {
        let (min, max) = self.token_len;
        if min == 0 && max >= token.len() {
            return true;
        }
        let len = token.chars().count();
        min <= len && len <= max
    }

    /// The prefixes of a token, from the shortest to the longest that is allowed.
    fn beginnings(&self, token: &str, take: &mut impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
        let (min, max) = self.token_len;
        let ends = token.char_indices().map(|(at, character)| at + character.len_utf8());
        for end in ends.take(max).skip(min - 1) {
            take(&token[..end])?;
        }
        ControlFlow::Continue(())
    }
}
