use super::murmur3::murmur3_32;
use super::{Bm25, EmbeddingPurpose, insert_vectors, read_endpoint_answer};
use crate::error::Error;
use crate::json::Reader;
use crate::vectors::SparseVector;

const TEXT: &str = "The quick brown foxes jumped over the lazy dogs, and the DOGS barked.";

fn with(options: &str) -> Result<Bm25, Error> {
    let mut reader = Reader::new(options.as_bytes())?;
    Bm25::read_options(&mut reader)
}

fn document(model: &Bm25, text: &str) -> SparseVector {
    model.embed(text, EmbeddingPurpose::Document)
}

#[test]
fn the_hash_is_that_of_the_reference_implementation() {
    // By `mmh3.hash(text, signed=False)` of PyPI, which compiles the original.
    for (text, hash) in [
        ("", 0),
        ("a", 0x3c25_69b2),
        ("ab", 0x9bbf_d75f),
        ("abc", 0xb3dd_93fa),
        ("abcd", 0x43ed_676a),
        ("hello, world", 0x149b_bb7f),
        ("The quick brown fox jumps over the lazy dog", 0x2e4f_f723),
        ("größe", 0xe3d3_963f),
    ] {
        assert_eq!(murmur3_32(text.as_bytes()), hash, "{text}");
    }
}

/// `k (1 - b + b len / avg_len)` of the eight terms of [`TEXT`] with the default options.
const SATURATION: f64 = 1.2 * (0.25 + 0.75 * 8.0 / 256.0);

/// The indices are `abs(mmh3.hash(stem))` of the stems quick, brown, fox, jump, lazi, dog and bark.
#[test]
fn a_document_has_the_weights_of_its_stems_without_stop_words_c16() {
    let vector = document(Bm25::with_defaults(), TEXT);
    assert_eq!(
        vector.indices,
        [226_376_294, 741_580_288, 771_291_085, 1_312_749_093, 1_621_867_415, 1_676_498_397, 1_913_189_942]
    );
    let (once, twice) = (2.2 / (1.0 + SATURATION), 2.0 * 2.2 / (2.0 + SATURATION));
    assert_eq!(vector.values, [once, once, once, twice, once, once, once].map(|weight| weight as f32));
}

#[test]
fn a_query_has_each_term_once_with_the_weight_one_c16() {
    let model = Bm25::with_defaults();
    let query = model.embed(TEXT, EmbeddingPurpose::Query);
    assert_eq!(query.indices, document(model, TEXT).indices);
    assert_eq!(query.values, [1.0; 7]);
}

#[test]
fn a_text_without_terms_is_an_empty_vector_c16() {
    for text in ["", "  ", "the and of", "…!"] {
        assert!(document(Bm25::with_defaults(), text).is_empty(), "{text}");
    }
}

#[test]
fn options_that_are_the_defaults_change_nothing_c16() {
    let spelt = r#"{"k":1.2,"b":0.75,"avg_len":256,"language":"english","tokenizer":"word","lowercase":true,
        "ascii_folding":false,"stopwords":"en","stemmer":{"type":"snowball","language":"english"},
        "min_token_len":null,"max_token_len":null}"#;
    for options in ["{}", spelt] {
        let model = with(options).expect("valid options");
        assert_eq!(document(&model, TEXT), document(Bm25::with_defaults(), TEXT), "{options}");
    }
}

#[test]
fn options_decide_tokens_and_weights_c16() {
    let tokens = |options: &str, text: &str| document(&with(options).expect("valid options"), text).len();
    assert_eq!(tokens(r#"{"language":"none"}"#, "the dogs and the dog"), 4);
    assert_eq!(tokens(r#"{"language":"none","lowercase":false}"#, "Dog dog"), 2);
    assert_eq!(tokens(r#"{"stopwords":{"custom":["dog"]}}"#, "the dog"), 1);
    assert_eq!(tokens(r#"{"min_token_len":4}"#, "dog bark"), 1);
    assert_eq!(tokens(r#"{"language":"none","tokenizer":"whitespace"}"#, "a-b c"), 2);
    // The stem and `mmh3` of the German words Häuser and gesehen.
    let german = document(&with(r#"{"language":"de"}"#).expect("valid options"), "Häuser gesehen");
    assert_eq!(german.indices, [18_554_856, 811_077_208]);

    // Without saturation by length and with k = 0 a term weighs 1, however often it comes.
    let flat = with(r#"{"k":0,"b":0}"#).expect("valid options");
    assert_eq!(document(&flat, "dog dog cat").values, [1.0, 1.0]);
    // A document of the average length, one of three terms twice: 2 · 2.2 / (2 + 1.2).
    let usual = with(r#"{"avg_len":3}"#).expect("valid options");
    assert!(document(&usual, "dog dog cat").values.contains(&1.375));
}

#[test]
fn invalid_options_are_refused_with_their_place_c16() {
    for (options, why) in [
        (r#"{"k":-1}"#, "k: value -1 invalid, must be 0 or larger"),
        (r#"{"b":1.5}"#, "b: value 1.5 invalid, must be from 0 to 1"),
        (r#"{"avg_len":0}"#, "avg_len: value 0 invalid, must be larger than 0"),
        (r#"{"language":"klingon"}"#, "language: expected a language: none, or one of arabic, "),
        (r#"{"tokenizer":"words"}"#, "tokenizer: expected one of word"),
        (r#"{"phrase_matching":true}"#, "phrase_matching: unknown field"),
        (r#"{"avgdl":5}"#, "avgdl: unknown field"),
        (r#"{"min_token_len":9,"max_token_len":3}"#, "min_token_len 9 is larger than max_token_len 3"),
    ] {
        match with(options) {
            Err(Error::BadRequest(message)) => assert!(message.contains(why), "{message}"),
            other => panic!("{options}: {other:?}"),
        }
    }
}

#[test]
fn vectors_are_inserted_where_the_inputs_end_c16() {
    let body = br#"{"a":{"text":"x","model":"m"},"b":[{"model":"m","text":"}"}]}"#;
    let first = body.iter().position(|byte| *byte == b'}').unwrap();
    let second = body.len() - 3;
    let with = insert_vectors(body, false, &[(first, &[1.0, -0.5]), (second, &[1e-7])]).unwrap();
    let expected = r#"{"a":{"text":"x","model":"m","vector":[1.0,-0.5]},"b":[{"model":"m","text":"}","vector":[1e-7]}]}"#;
    let as_json = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    assert_eq!(as_json(&with), as_json(expected.as_bytes()));
    assert_eq!(insert_vectors(body, false, &[]).unwrap(), body);
    // Not an end, out of order, and beyond the body.
    for places in [vec![0], vec![second, first], vec![body.len()], vec![usize::MAX]] {
        let vectors: Vec<(usize, &[f32])> = places.iter().map(|at| (*at, &[1.0_f32][..])).collect();
        assert!(insert_vectors(body, false, &vectors).is_err(), "{places:?}");
    }
}

#[test]
fn the_answer_of_an_endpoint_is_in_the_order_of_the_texts_c16() {
    let answer = br#"{"data":[{"index":1,"embedding":[3,4]},{"object":"e","index":0,"embedding":[1,2]}],"usage":{"x":[{}]}}"#;
    assert_eq!(read_endpoint_answer(answer, 2), Ok((2, vec![1.0, 2.0, 3.0, 4.0])));
    assert_eq!(
        read_endpoint_answer(br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, 2),
        Ok((1, vec![1.0, 2.0]))
    );
    for wrong in [
        &b""[..],
        b"{}",
        b"[]",
        b"{\"data\":null}",
        br#"{"data":[{"embedding":[1]}]}"#,
        br#"{"data":[{"embedding":[1]},{"embedding":[2]},{"embedding":[3]}]}"#,
        br#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
        br#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
        br#"{"data":[{"index":-1,"embedding":[1]},{"embedding":[1]}]}"#,
        br#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
        br#"{"data":[{"embedding":[1e40]},{"embedding":[1]}]}"#,
        br#"{"data":[{"embedding":"AAAA"},{"embedding":[1]}]}"#,
        b"\xff",
    ] {
        assert!(read_endpoint_answer(wrong, 2).is_err(), "{}", String::from_utf8_lossy(wrong));
    }
}
