//! The tokens of one text, for many conditions.

use super::tokenizer::Tokenizer;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// A text that is split once and then matched with many patterns of its tokenizer.
#[derive(Debug, Default)]
pub struct Tokens {
    /// The distinct tokens, numbered.
    numbers: HashMap<Box<str>, u32>,
    /// The numbers of all tokens in order.
    sequence: Vec<u32>,
}

impl Tokens {
    /// The tokens of a stored text.
    pub fn of(text: &str, tokenizer: &Tokenizer) -> Tokens {
        let mut tokens = Tokens::default();
        tokenizer.document(text, |token| {
            let next = tokens.numbers.len() as u32;
            let number = match tokens.numbers.get(token) {
                Some(&number) => number,
                None => *tokens.numbers.entry(token.into()).or_insert(next),
            };
            tokens.sequence.push(number);
            ControlFlow::Continue(())
        });
        tokens
    }

    /// The number of a token, if the text has it.
    pub(super) fn number(&self, token: &str) -> Option<u32> {
        self.numbers.get(token).copied()
    }

    /// The numbers of all tokens in order.
    pub(super) fn sequence(&self) -> &[u32] {
        &self.sequence
    }
}
