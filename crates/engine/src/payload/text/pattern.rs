//! The tokens of a condition, prepared for matching texts.

use super::tokenizer::Tokenizer;
use super::tokens::Tokens;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// How the tokens of a condition must occur in one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMatch {
    /// All of them, in any order.
    All,
    /// At least one.
    Any,
    /// All of them, adjacent and in this order.
    Phrase,
}

/// Distinct tokens, numbered in the order in which they came.
#[derive(Default)]
struct Numbered(HashMap<Box<str>, u32>);

impl Numbered {
    fn number(&mut self, token: &str) -> u32 {
        if let Some(known) = self.0.get(token) {
            return *known;
        }
        let number = self.0.len() as u32;
        self.0.insert(token.into(), number);
        number
    }

    /// The tokens, ascending, and the place there of each number.
    fn sorted(self) -> (Vec<Box<str>>, Vec<u32>) {
        let mut numbered: Vec<(Box<str>, u32)> = self.0.into_iter().collect();
        numbered.sort_unstable();
        let mut places = vec![0; numbered.len()];
        for (place, (_, number)) in (0..).zip(&numbered) {
            places[*number as usize] = place;
        }
        (numbered.into_iter().map(|(token, _)| token).collect(), places)
    }
}

/// The tokens of one condition. Without tokens it matches nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    how: TextMatch,
    /// The distinct tokens, ascending.
    tokens: Vec<Box<str>>,
    /// For a phrase, the tokens in order, by their position in `tokens`.
    sequence: Vec<u32>,
    /// For a phrase, its failure function (Knuth, Morris, Pratt): the length of the longest proper suffix of the first n + 1
    /// tokens that is also a prefix.
    borders: Vec<u32>,
}

impl Pattern {
    /// The pattern of a query. A phrase is tokenised as a stored text is.
    pub fn new(how: TextMatch, text: &str, tokenizer: &Tokenizer) -> Pattern {
        // Each distinct token is kept once: a text may have many more of them.
        let (mut seen, mut sequence) = (Numbered::default(), Vec::new());
        if how == TextMatch::Phrase {
            tokenizer.document(text, |token| {
                sequence.push(seen.number(token));
                ControlFlow::Continue(())
            });
        } else {
            tokenizer.query(text, |token| {
                seen.number(token);
            });
        }
        let (tokens, places) = seen.sorted();
        sequence.iter_mut().for_each(|number| *number = places[*number as usize]);
        let borders = borders(&sequence);
        Pattern { how, tokens, sequence, borders }
    }

    /// How the tokens must occur.
    pub fn how(&self) -> TextMatch {
        self.how
    }

    /// The distinct tokens, ascending.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tokens.iter().map(|token| &**token)
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether there is one token only.
    pub fn is_single(&self) -> bool {
        self.tokens.len() == 1 && self.sequence.len() <= 1
    }

    /// Whether a text matches. The tokenizer is that of the pattern.
    pub fn is_in(&self, text: &str, tokenizer: &Tokenizer) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut search = self.search();
        let mut found = false;
        tokenizer.document(text, |token| {
            found = search.step(place(&self.tokens, token));
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found
    }

    /// Whether a text matches that is split already, by the pattern's tokenizer. As of [`Pattern::is_in`].
    pub fn is_among(&self, text: &Tokens) -> bool {
        let mut numbers = self.tokens.iter().map(|token| text.number(token));
        match self.how {
            _ if self.is_empty() => false,
            TextMatch::Any => numbers.any(|number| number.is_some()),
            TextMatch::All => numbers.all(|number| number.is_some()),
            TextMatch::Phrase => {
                let Some(numbers) = numbers.collect::<Option<Vec<u32>>>() else {
                    return false;
                };
                let mut places: Vec<(u32, u32)> = numbers.into_iter().zip(0..).collect();
                places.sort_unstable();
                let place = |number: &u32| {
                    let at = places.binary_search_by_key(number, |(number, _)| *number).ok()?;
                    Some(places[at].1)
                };
                let mut search = self.search();
                text.sequence().iter().any(|number| search.step(place(number)))
            }
        }
    }

    /// A search through one text, token by token.
    pub fn search(&self) -> Search<'_> {
        let seen = if self.how == TextMatch::All { vec![false; self.tokens.len()] } else { Vec::new() };
        Search { pattern: self, seen, matched: 0 }
    }
}

/// The state of a search through one text.
pub struct Search<'p> {
    pattern: &'p Pattern,
    /// For `All`: which tokens were found.
    seen: Vec<bool>,
    /// For `All`: how many tokens were found. For a phrase: how many of its first tokens end here.
    matched: usize,
}

impl Search<'_> {
    /// Processes the next token of the text: its position in the pattern's tokens, if it is one. True if the text is
    /// now known to match.
    pub fn step(&mut self, token: Option<u32>) -> bool {
        match self.pattern.how {
            TextMatch::Any => token.is_some(),
            TextMatch::All => {
                if let Some(at) = token {
                    let seen = &mut self.seen[at as usize];
                    self.matched += usize::from(!*seen);
                    *seen = true;
                }
                self.matched == self.seen.len()
            }
            TextMatch::Phrase => {
                let Some(token) = token else {
                    self.matched = 0;
                    return false;
                };
                let (sequence, borders) = (&self.pattern.sequence, &self.pattern.borders);
                while self.matched > 0 && sequence[self.matched] != token {
                    self.matched = borders[self.matched - 1] as usize;
                }
                self.matched += usize::from(sequence[self.matched] == token);
                self.matched == sequence.len()
            }
        }
    }
}

fn place(tokens: &[Box<str>], token: &str) -> Option<u32> {
    tokens.binary_search_by(|one| (**one).cmp(token)).ok().map(|at| at as u32)
}

fn borders(sequence: &[u32]) -> Vec<u32> {
    let mut borders = vec![0u32; sequence.len()];
    let mut border = 0;
    for at in 1..sequence.len() {
        while border > 0 && sequence[border] != sequence[at] {
            border = borders[border - 1] as usize;
        }
        border += usize::from(sequence[border] == sequence[at]);
        borders[at] = border as u32;
    }
    borders
}
