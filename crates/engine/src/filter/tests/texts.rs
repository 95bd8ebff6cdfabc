//! Text conditions with all options of a text index: a naive implementation, the evaluator and the index agree.

use super::parse;
use super::state::{Change, State};
use crate::json::Reader;
use crate::payload::FieldSchema;
use crate::point_set::PointSet;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Words that differ in case, accent, ending and length, and stop words among them.
const WORDS: [&str; 12] =
    ["fox", "Fox", "foxes", "FOXES", "the", "The", "a", "ünder", "Under", "un", "under", "x1"];
const SEPARATORS: [&str; 5] = [" ", ", ", "-", "\t", " ... "];

/// The options of an index that the naive implementation knows.
#[derive(Clone, Debug)]
struct Options {
    tokenizer: &'static str,
    len: (Option<usize>, Option<usize>),
    lowercase: bool,
    folding: bool,
    stop: bool,
    stem: bool,
    phrase_matching: bool,
}

impl Options {
    fn schema(&self) -> FieldSchema {
        let mut options = json!({
            "type": "text",
            "tokenizer": self.tokenizer,
            "min_token_len": self.len.0,
            "max_token_len": self.len.1,
            "lowercase": self.lowercase,
            "ascii_folding": self.folding,
            "phrase_matching": self.phrase_matching,
        });
        if self.stop {
            options["stopwords"] = json!({"custom": ["the", "A"]});
        }
        if self.stem {
            options["stemmer"] = json!({"type": "snowball", "language": "english"});
        }
        FieldSchema::parse(&mut Reader::new(options.to_string().as_bytes()).unwrap()).unwrap()
    }

    /// The tokens of a text, or of a query for single tokens.
    fn tokens(&self, text: &str, of_query: bool) -> Vec<String> {
        let is_prefix = self.tokenizer == "prefix";
        let splits =
            |c: char| if self.tokenizer == "whitespace" { c.is_whitespace() } else { !c.is_alphanumeric() };
        let mut tokens = Vec::new();
        for word in text.split(splits).filter(|word| !word.is_empty()) {
            let mut word = word.to_string();
            if self.folding {
                word = word.replace('ü', "u").replace('Ü', "U");
            }
            if self.lowercase {
                word = word.to_lowercase();
            }
            let stop_words = if self.lowercase { ["the", "a"] } else { ["the", "A"] };
            if self.stop && stop_words.contains(&&*word) && !(is_prefix && of_query) {
                continue;
            }
            if self.stem && word.ends_with("oxes") {
                word.truncate(word.len() - 2);
            }
            let characters: Vec<char> = word.chars().collect();
            let (min, max) = (self.len.0.unwrap_or(0), self.len.1.unwrap_or(1_000));
            if !is_prefix {
                if (min..=max).contains(&characters.len()) {
                    tokens.push(word);
                }
            } else if of_query {
                if characters.len() >= min {
                    tokens.push(characters[..characters.len().min(max)].iter().collect());
                }
            } else {
                for len in min.max(1)..=characters.len().min(max) {
                    tokens.push(characters[..len].iter().collect());
                }
            }
        }
        tokens
    }

    fn is_in(&self, kind: &str, query: &str, text: &str) -> bool {
        let wanted = self.tokens(query, kind != "phrase");
        let found = self.tokens(text, false);
        match kind {
            "text" => !wanted.is_empty() && wanted.iter().all(|token| found.contains(token)),
            "text_any" => wanted.iter().any(|token| found.contains(token)),
            "phrase" => !wanted.is_empty() && found.windows(wanted.len()).any(|window| *window == *wanted),
            other => panic!("{other}"),
        }
    }
}

fn options() -> impl Strategy<Value = Options> {
    let tokenizers = prop::sample::select(vec!["word", "whitespace", "prefix", "multilingual"]);
    let len = prop::sample::select(vec![
        (None, None),
        (Some(2), None),
        (None, Some(3)),
        (Some(2), Some(4)),
        (Some(0), Some(1)),
    ]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (tokenizers, len, flags).prop_map(
        |(tokenizer, len, (lowercase, folding, stop, stem, phrase_matching))| Options {
            tokenizer,
            len,
            lowercase,
            folding,
            stop,
            // The naive implementation knows only one ending, in lower case, and words without punctuation.
            stem: stem && lowercase && tokenizer != "whitespace",
            phrase_matching,
        },
    )
}

fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec((prop::sample::select(&WORDS[..]), prop::sample::select(&SEPARATORS[..])), 0..most)
        .prop_map(|words| words.into_iter().flat_map(|(word, separator)| [word, separator]).collect())
}

fn value() -> impl Strategy<Value = Value> {
    let text = || text(7).prop_map(Value::String);
    prop_oneof![
        4 => text(),
        3 => prop::collection::vec(prop_oneof![5 => text(), 1 => Just(json!(1)), 1 => Just(json!(["fox"]))], 0..4)
            .prop_map(Value::Array),
        1 => prop::sample::select(vec![json!(null), json!(7), json!({"fox": "fox"})]),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let doc = (value(), prop::collection::vec(value(), 0..3));
    prop_oneof![
        5 => (0u32..8, doc).prop_map(|(at, (k, n))| {
            let n: Vec<Value> = n.into_iter().map(|k| json!({"k": k})).collect();
            Change::Put(at, json!({"k": k, "n": n, "plain": k}))
        }),
        1 => (0u32..8).prop_map(Change::Delete),
    ]
}

/// The strings of a value, arrays opened one level.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn a_text_index_decides_what_a_naive_reading_decides_c7(
        options in options(),
        changes in prop::collection::vec(change(), 1..16),
        queries in prop::collection::vec((prop::sample::select(vec!["text", "text_any", "phrase"]), text(4)), 2..8),
    ) {
        let plain = Options { tokenizer: "word", len: (None, None), lowercase: true, folding: false, stop: false, stem: false, phrase_matching: false };
        let mut state = State::with([("k", options.schema()), ("n[].k", options.schema())].into_iter());
        let mut snapshots = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            if at % 5 == 4 {
                snapshots.push(state.clone());
            }
            state.apply(change);
        }
        snapshots.push(state);
        for (kind, query) in &queries {
            let on = |key: &str| json!({"key": key, "match": {*kind: query}});
            let any_of = |value: &Value, how: &Options| strings(value).into_iter().any(|text| how.is_in(kind, query, text));
            for state in &snapshots {
                let json = json!({"must": on("k")});
                state.compare(&parse(&json.to_string()).unwrap(), &json, |_, doc| any_of(&doc["k"], &options))?;
                let json = json!({"must_not": on("k")});
                state.compare(&parse(&json.to_string()).unwrap(), &json, |_, doc| !any_of(&doc["k"], &options))?;
                let json = json!({"must": on("plain")});
                state.compare(&parse(&json.to_string()).unwrap(), &json, |_, doc| any_of(&doc["plain"], &plain))?;
                let json = json!({"must": {"nested": {"key": "n", "filter": {"must": on("k")}}}});
                state.compare(&parse(&json.to_string()).unwrap(), &json, |_, doc| {
                    doc["n"].as_array().unwrap().iter().any(|element| any_of(&element["k"], &options))
                })?;
                let json = json!({"should": [{"key": "k", "match": {"value": query}}, {"key": "k", "match": {"any": ["Fox ", query]}}]});
                state.compare(&parse(&json.to_string()).unwrap(), &json, |_, doc| {
                    strings(&doc["k"]).into_iter().any(|text| text == query || text == "Fox ")
                })?;
            }
        }
    }
}

/// The candidates of a condition on `k` and whether they are the answer.
fn planned(state: &State, kind: &str, query: &str) -> (Vec<u32>, bool) {
    let filter = json!({"must": {"key": "k", "match": {kind: query}}});
    let plan = parse(&filter.to_string()).unwrap().plan(state, &PointSet::of(0..10));
    (plan.candidates.unwrap().numbers(), plan.exact)
}

fn state(schema: Value, values: &[Value]) -> State {
    let schema = FieldSchema::parse(&mut Reader::new(schema.to_string().as_bytes()).unwrap()).unwrap();
    let mut state = State::with([("k", schema)].into_iter());
    for (offset, value) in (0..).zip(values) {
        state.apply(&Change::Put(offset, json!({"k": value})));
    }
    state
}

#[test]
fn the_index_alone_decides_words_of_points_with_one_text() {
    let values =
        [json!("red fox"), json!("fox, Red"), json!(["red", "fox"]), json!(["red fox", 1]), json!(1)];
    let words = state(json!("text"), &values);
    assert_eq!(planned(&words, "text", "Fox"), (vec![0, 1, 2, 3], true));
    assert_eq!(planned(&words, "text_any", "fox cat"), (vec![0, 1, 2, 3], true));
    assert_eq!(planned(&words, "text", "fox cat"), (vec![], true));
    assert_eq!(planned(&words, "text", "--"), (vec![], true));
    // The words of point 2 are in different texts. The postings do not show that.
    assert_eq!(planned(&words, "text", "red fox"), (vec![0, 1, 2, 3], false));
    assert_eq!(planned(&words, "phrase", "red fox"), (vec![0, 1, 2, 3], false));
    assert_eq!(planned(&state(json!("text"), &values[..2]), "text", "red fox"), (vec![0, 1], true));
}

#[test]
fn an_index_that_keeps_the_order_decides_phrases_alone() {
    let values = [json!("red fox"), json!("fox, Red"), json!(["red", "fox"]), json!(["a red fox", "b"])];
    let words = state(json!({"type": "text", "phrase_matching": true}), &values);
    assert_eq!(planned(&words, "phrase", "red fox"), (vec![0, 3], true));
    assert_eq!(planned(&words, "text", "red fox"), (vec![0, 1, 3], true));
}
