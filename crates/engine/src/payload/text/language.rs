//! Languages of stop words and stemmers.

use snowball_stemmers_rs::Algorithm;

/// A language that has stop words, a stemmer, or both.
///
/// Languages are equal if their names are.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// The English name in lower case. Answers have it.
    pub name: &'static str,
    /// The code that requests may use, too: ISO 639-1, or `hi-en`.
    pub code: &'static str,
    /// Whether there are stop words.
    pub has_stop_words: bool,
    /// Stemming algorithm.
    pub stemmer: Option<Algorithm>,
}

impl PartialEq for Language {
    fn eq(&self, other: &Language) -> bool {
        self.name == other.name
    }
}

impl Language {
    /// The language of that name or code.
    pub fn find(name: &str) -> Option<Language> {
        ALL.iter().find(|language| language.name == name || language.code == name).copied()
    }

    /// Every language.
    pub fn all() -> impl Iterator<Item = Language> {
        ALL.iter().copied()
    }
}

const fn both(name: &'static str, code: &'static str, stemmer: Algorithm) -> Language {
    Language { name, code, has_stop_words: true, stemmer: Some(stemmer) }
}

const fn stop_words(name: &'static str, code: &'static str) -> Language {
    Language { name, code, has_stop_words: true, stemmer: None }
}

const fn stemmer(name: &'static str, code: &'static str, stemmer: Algorithm) -> Language {
    Language { name, code, has_stop_words: false, stemmer: Some(stemmer) }
}

/// The languages of Qdrant's API: 30 with stop words, 19 with a stemmer.
const ALL: [Language; 32] = [
    both("arabic", "ar", Algorithm::Arabic),
    stemmer("armenian", "hy", Algorithm::Armenian),
    stop_words("azerbaijani", "az"),
    stop_words("basque", "eu"),
    stop_words("bengali", "bn"),
    stop_words("catalan", "ca"),
    stop_words("chinese", "zh"),
    both("danish", "da", Algorithm::Danish),
    both("dutch", "nl", Algorithm::Dutch),
    both("english", "en", Algorithm::English),
    both("finnish", "fi", Algorithm::Finnish),
    both("french", "fr", Algorithm::French),
    both("german", "de", Algorithm::German),
    both("greek", "el", Algorithm::Greek),
    stop_words("hebrew", "he"),
    stop_words("hinglish", "hi-en"),
    both("hungarian", "hu", Algorithm::Hungarian),
    stop_words("indonesian", "id"),
    both("italian", "it", Algorithm::Italian),
    stop_words("japanese", "ja"),
    stop_words("kazakh", "kk"),
    stop_words("nepali", "ne"),
    both("norwegian", "no", Algorithm::Norwegian),
    both("portuguese", "pt", Algorithm::Portuguese),
    both("romanian", "ro", Algorithm::Romanian),
    both("russian", "ru", Algorithm::Russian),
    stop_words("slovene", "sl"),
    both("spanish", "es", Algorithm::Spanish),
    both("swedish", "sv", Algorithm::Swedish),
    stop_words("tajik", "tg"),
    stemmer("tamil", "ta", Algorithm::Tamil),
    both("turkish", "tr", Algorithm::Turkish),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_languages_have_stop_words_and_nineteen_a_stemmer() {
        assert_eq!(Language::all().filter(|language| language.has_stop_words).count(), 30);
        assert_eq!(Language::all().filter(|language| language.stemmer.is_some()).count(), 19);
    }

    #[test]
    fn names_and_codes_find_the_same_language() {
        for language in Language::all() {
            assert_eq!(Language::find(language.name), Some(language));
            assert_eq!(Language::find(language.code), Some(language));
        }
        assert!(Language::find("English").is_none() && Language::find("").is_none());
    }
}
