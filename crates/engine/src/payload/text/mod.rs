//! Tokens of texts, for text indexes and text conditions (C7).
//!
//! [`TextOptions`] are the options of a text index, [`Tokenizer`] splits a text into tokens accordingly, and [`Pattern`] has
//! the tokens of a condition. Conditions on fields without a text index use [`Tokenizer::plain`].

mod fold;
mod language;
mod options;
mod pattern;
mod segment;
mod stop_words;
#[cfg(test)]
mod tests;
mod tokenizer;
mod tokens;

pub use options::TextOptions;
pub use pattern::{Pattern, TextMatch};
pub use tokenizer::Tokenizer;
pub use tokens::Tokens;
