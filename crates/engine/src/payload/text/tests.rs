//! The tokens of each tokenizer and each option.

use super::language::Language;
use super::{TextOptions, Tokenizer};
use crate::json::Reader;
use proptest::prelude::*;
use std::ops::ControlFlow;

fn tokenizer(options: &str) -> Tokenizer {
    let mut read = TextOptions::default();
    let mut reader = Reader::new(options.as_bytes()).unwrap();
    reader.object(|r, key| read.read(r, key)).unwrap();
    Tokenizer::new(&read)
}

fn tokens(options: &str, text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    tokenizer(options).document(text, |token| {
        tokens.push(token.to_string());
        ControlFlow::Continue(())
    });
    tokens
}

fn query(options: &str, text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    tokenizer(options).query(text, |token| tokens.push(token.to_string()));
    tokens
}

#[test]
fn word_splits_at_everything_but_letters_and_digits_of_any_script() {
    assert_eq!(tokens("{}", "Hello, wörld! Привет_мир 42km"), ["hello", "wörld", "привет", "мир", "42km"]);
    assert_eq!(tokens(r#"{"tokenizer":"word","lowercase":false}"#, "It's ΟΔΟΣ"), ["It", "s", "ΟΔΟΣ"]);
    assert_eq!(tokens("{}", "ΟΔΟΣ οδος İ"), ["οδοσ", "οδοσ", "i\u{307}"]);
    assert!(tokens("{}", " -- !").is_empty() && tokens("{}", "").is_empty());
}

#[test]
fn whitespace_splits_at_white_space_of_any_kind() {
    assert_eq!(
        tokens(r#"{"tokenizer":"whitespace"}"#, " C++ and\u{a0}C#\u{3000}v1.2\n"),
        ["c++", "and", "c#", "v1.2"]
    );
}

#[test]
fn prefix_has_every_beginning_of_a_word() {
    let options = r#"{"tokenizer":"prefix","min_token_len":2,"max_token_len":4}"#;
    assert_eq!(tokens(options, "Hello, a Мир"), ["he", "hel", "hell", "ми", "мир"]);
    assert_eq!(query(options, "Hello, a Мир"), ["hell", "мир"]);
    assert_eq!(tokens(r#"{"tokenizer":"prefix"}"#, "abc"), ["a", "ab", "abc"]);
    let long = "x".repeat(500);
    assert_eq!(tokens(r#"{"tokenizer":"prefix"}"#, &long).len(), 64);
    assert_eq!(query(r#"{"tokenizer":"prefix"}"#, &long), ["x".repeat(64)]);
}

#[test]
fn prefix_queries_keep_stop_words() {
    let options = r#"{"tokenizer":"prefix","min_token_len":2,"stopwords":"english"}"#;
    assert_eq!(query(options, "the"), ["the"]);
    assert_eq!(tokens(options, "the theory"), ["th", "the", "theo", "theor", "theory"]);
}

#[test]
fn multilingual_knows_the_words_of_scripts_without_spaces() {
    let words = |text| tokens(r#"{"tokenizer":"multilingual"}"#, text);
    assert_eq!(words("It's Qdrant's v1.2, naïve!"), ["it", "s", "qdrant", "s", "v1", "2", "naïve"]);
    // The dictionary has a word for `today is`.
    assert_eq!(words("今天是星期一。"), ["今天是", "星期一"]);
    assert_eq!(words("これはテストです"), ["これ", "は", "テスト", "です"]);
    assert_eq!(words("ภาษาไทยง่าย"), ["ภาษา", "ไทย", "ง่าย"]);
    assert_eq!(words("한국어 문장"), ["한국어", "문장"]);
}

#[test]
fn folding_comes_before_lower_case_and_stop_words() {
    assert_eq!(tokens(r#"{"ascii_folding":true}"#, "ÀÇÃO Straße"), ["acao", "strasse"]);
    assert_eq!(tokens(r#"{"ascii_folding":true,"stopwords":{"custom":["acao"]}}"#, "Ação x"), ["x"]);
    assert_eq!(tokens("{}", "AÇÃO"), ["ação"]);
}

#[test]
fn stop_words_are_compared_in_lower_case_and_before_stemming() {
    assert_eq!(tokens(r#"{"stopwords":"english"}"#, "The fox and THE hound"), ["fox", "hound"]);
    assert_eq!(tokens(r#"{"stopwords":"de"}"#, "der Hund und die Katze"), ["hund", "katze"]);
    let both = r#"{"stopwords":{"languages":["english","german"],"custom":["Fox"]}}"#;
    assert_eq!(tokens(both, "the fox und hound"), ["hound"]);
    let stemmed = r#"{"stopwords":{"custom":["run"]},"stemmer":{"type":"snowball","language":"english"}}"#;
    assert_eq!(tokens(stemmed, "run running"), ["run"]);
    assert_eq!(tokens(r#"{"lowercase":false,"stopwords":"english"}"#, "The the"), ["The"]);
}

#[test]
fn lengths_are_checked_last_and_in_characters() {
    let options = r#"{"min_token_len":3,"max_token_len":4}"#;
    assert_eq!(tokens(options, "ab abc äöüß abcde"), ["abc", "äöüß"]);
    let stemmed = r#"{"max_token_len":3,"stemmer":{"type":"snowball","language":"english"}}"#;
    assert_eq!(tokens(stemmed, "foxes hounds"), ["fox"]);
}

#[test]
fn stemmers_bring_the_forms_of_a_word_together() {
    let mut apart = Vec::new();
    for (language, one, other) in [
        ("arabic", "الكتاب", "كتاب"),
        ("armenian", "քաղաքներ", "քաղաքներով"),
        ("danish", "hundene", "hunden"),
        ("dutch", "boeken", "boek"),
        ("english", "running", "runs"),
        ("finnish", "talossa", "talosta"),
        ("french", "continuer", "continuait"),
        ("german", "Häuser", "Hauses"),
        ("greek", "άνθρωπος", "άνθρωποι"),
        ("hungarian", "házakat", "házak"),
        ("italian", "libri", "libro"),
        ("norwegian", "hundene", "hunden"),
        ("portuguese", "meninas", "menina"),
        ("romanian", "copiilor", "copii"),
        ("russian", "книги", "книга"),
        ("spanish", "corriendo", "corrió"),
        ("swedish", "husen", "huset"),
        ("tamil", "புத்தகங்கள்", "புத்தகம்"),
        ("turkish", "kitaplar", "kitap"),
    ] {
        for name in [language, Language::find(language).unwrap().code] {
            let options = format!(
                r#"{{"tokenizer":"whitespace","stemmer":{{"type":"snowball","language":"{name}"}}}}"#
            );
            let (one, other) = (tokens(&options, one), tokens(&options, other));
            if one != other {
                apart.push((name, one, other));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:?}");
}

#[test]
fn words_beyond_every_language_are_not_stemmed() {
    let stemmed = r#"{"stemmer":{"type":"snowball","language":"english"}}"#;
    let long = format!("{}running", "x".repeat(200));
    assert_eq!(tokens(stemmed, &long), [long]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]
    #[test]
    fn any_text_has_tokens_under_any_options(
        cut in prop::sample::select(vec!["word", "whitespace", "prefix", "multilingual"]),
        at in any::<prop::sample::Index>(),
        folding in any::<bool>(),
        lowercase in any::<bool>(),
        text in prop_oneof!["\\PC{0,40}", "[a-zäößéèçñşğıİ']{0,30}", "[а-яё]{0,20}", "[α-ωάέΑ-Ω]{0,20}",
                            "[ء-ي]{0,20}", "[ա-ֆ]{0,20}", "[\u{b80}-\u{bff}]{0,20}", "[ก-๙一-丏ぁ-ヿ가-갸]{0,30}"],
    ) {
        let stemmers: Vec<Language> = Language::all().filter(|language| language.stemmer.is_some()).collect();
        let language = stemmers[at.index(stemmers.len())].name;
        let options = format!(
            r#"{{"tokenizer":"{cut}","lowercase":{lowercase},"ascii_folding":{folding},"stemmer":{{"type":"snowball","language":"{language}"}}}}"#
        );
        prop_assert!(tokens(&options, &text).iter().all(|token| !token.is_empty()));
        prop_assert_eq!(query(&options, &text).is_empty(), tokens(&options, &text).is_empty());
    }
}
