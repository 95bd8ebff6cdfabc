//! Words of scripts that put no spaces between them.

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use std::ops::ControlFlow;

/// Calls `take` with every word, in order: by Unicode's rules (UAX #29), and by dictionaries for scripts that need them
/// (Chinese, Japanese, Khmer, Lao, Burmese, Thai). Punctuation inside a word separates words, as for the tokenizer
/// `word`: `it's` is two words.
pub fn words(text: &str, mut take: impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let mut start = 0;
    for end in segmenter.segment_str(text) {
        for word in text[start..end].split(is_separator) {
            if word.contains(char::is_alphanumeric) {
                take(word)?;
            }
        }
        start = end;
    }
    ControlFlow::Continue(())
}

fn is_separator(character: char) -> bool {
    character.is_ascii_punctuation() || matches!(character, '’' | '‘' | '·' | '．' | '＇')
}
