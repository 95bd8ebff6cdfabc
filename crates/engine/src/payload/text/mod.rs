//! Words of texts: how a text index and text conditions cut strings into tokens (C7).
//!
//! [`TextOptions`] is what a text index asks for, [`Tokenizer`] turns a text into tokens by them, and [`Pattern`] is
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

pub use options::TextOptions;
pub use pattern::{Pattern, TextMatch};
pub use tokenizer::Tokenizer;
