//! Stop words: words that an index omits because they are in nearly every text.

use super::fold::to_lower;
use super::language::Language;
use std::collections::HashSet;

/// Particles, pronouns and forms of auxiliaries, as the dictionary segments them. The library has no list of
/// about the length of those of other languages.
const JAPANESE: [&str; 48] = [
    "の",
    "に",
    "は",
    "を",
    "た",
    "が",
    "で",
    "て",
    "と",
    "し",
    "れ",
    "さ",
    "ある",
    "いる",
    "も",
    "する",
    "から",
    "な",
    "こと",
    "として",
    "い",
    "や",
    "れる",
    "など",
    "なっ",
    "ない",
    "この",
    "ため",
    "その",
    "あっ",
    "よう",
    "また",
    "もの",
    "という",
    "あり",
    "まで",
    "られ",
    "なる",
    "へ",
    "か",
    "だ",
    "これ",
    "によって",
    "により",
    "です",
    "ます",
    "それ",
    "ここ",
];

/// A set of stop words, empty by default.
#[derive(Clone, Debug, Default)]
pub struct StopWords {
    words: HashSet<Box<str>>,
}

impl StopWords {
    /// The words of these languages and custom words, in lower case if tokens are.
    pub fn new(languages: &[Language], custom: &[Box<str>], lowercase: bool) -> StopWords {
        let listed = languages.iter().flat_map(|language| list(*language)).copied();
        let all = listed.chain(custom.iter().map(|word| &**word));
        let words = all.map(|word| if lowercase { Box::from(&*to_lower(word)) } else { Box::from(word) });
        StopWords { words: words.collect() }
    }

    /// Whether the set has a token.
    pub fn contains(&self, token: &str) -> bool {
        !self.words.is_empty() && self.words.contains(token)
    }
}

/// The stop words of a language; empty for one that has only a stemmer.
fn list(language: Language) -> &'static [&'static str] {
    match language.name {
        _ if !language.has_stop_words => &[],
        "japanese" => &JAPANESE,
        "hinglish" => stop_words::get("hinglish"),
        _ => stop_words::get(language.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: &str) -> StopWords {
        StopWords::new(&[Language::find(language).unwrap()], &[], true)
    }

    #[test]
    fn every_language_that_says_so_has_stop_words() {
        for language in Language::all().filter(|language| language.has_stop_words) {
            assert!(list(language).len() > 40, "{}", language.name);
        }
    }

    #[test]
    fn lists_have_the_usual_words() {
        for (language, word) in [
            ("english", "the"),
            ("german", "und"),
            ("french", "le"),
            ("russian", "не"),
            ("hi-en", "hai"),
            ("japanese", "は"),
            ("chinese", "的"),
            ("slovene", "in"),
            ("norwegian", "og"),
            ("greek", "και"),
        ] {
            assert!(of(language).contains(word), "{word} of {language}");
            assert!(!of(language).contains("kubernetes"));
        }
    }

    #[test]
    fn custom_words_are_compared_in_the_case_of_the_tokens() {
        let custom = [Box::from("KithDB")];
        assert!(StopWords::new(&[], &custom, true).contains("kithdb"));
        let as_given = StopWords::new(&[], &custom, false);
        assert!(as_given.contains("KithDB") && !as_given.contains("kithdb"));
    }
}
