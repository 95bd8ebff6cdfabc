//! Text conditions: words in lower case.
//!
//! A word is a run of letters and digits of any script. Lower case is taken letter by letter.

/// The words of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    words: Vec<Box<str>>,
}

impl Words {
    /// The words of a text.
    pub fn new(text: &str) -> Words {
        Words { words: split(text).map(|word| lower(word).collect::<String>().into_boxed_str()).collect() }
    }

    /// Whether `text` has all the words, in any order. False when there are none.
    pub fn all_in(&self, text: &str) -> bool {
        !self.words.is_empty()
            && self.words.iter().all(|wanted| split(text).any(|word| is_same(word, wanted)))
    }

    /// Whether `text` has at least one of the words.
    pub fn any_in(&self, text: &str) -> bool {
        split(text).any(|word| self.words.iter().any(|wanted| is_same(word, wanted)))
    }

    /// Whether `text` has the words next to each other and in this order. False when there are none.
    pub fn in_order_in(&self, text: &str) -> bool {
        let words: Vec<&str> = split(text).collect();
        !self.words.is_empty()
            && words
                .windows(self.words.len())
                .any(|window| window.iter().zip(&self.words).all(|(word, wanted)| is_same(word, wanted)))
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn lower(word: &str) -> impl Iterator<Item = char> + '_ {
    word.chars().flat_map(char::to_lowercase)
}

fn is_same(word: &str, lower_word: &str) -> bool {
    if word.is_ascii() { word.eq_ignore_ascii_case(lower_word) } else { lower(word).eq(lower_word.chars()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_lower_case_c7() {
        let text = "The quick-brown Fox (ÄPFEL 42) jumps; the End";
        assert!(Words::new("FOX quick").all_in(text));
        assert!(Words::new("äpfel").all_in(text));
        assert!(!Words::new("fox cat").all_in(text));
        assert!(Words::new("fox cat").any_in(text));
        assert!(!Words::new("ump").any_in(text));
        assert!(Words::new("quick brown fox").in_order_in(text));
        assert!(Words::new("Äpfel, 42").in_order_in(text));
        assert!(!Words::new("brown quick").in_order_in(text));
        assert!(!Words::new("end the").in_order_in(text));
    }

    #[test]
    fn a_query_without_words_matches_nothing_c7() {
        let none = Words::new(" -- !");
        assert!(!none.all_in("a") && !none.any_in("a") && !none.in_order_in("a") && !none.in_order_in(""));
    }
}
