//! The grammar of formulas and its errors.

use super::{formula, parse};
use crate::error::Error;
use crate::limits::{MAX_FORMULA_DEPTH, MAX_FORMULA_TERMS};
use proptest::prelude::*;

const EVERY_FORM: [&str; 24] = [
    "1",
    "-2.5e3",
    r#""$score""#,
    r#""$score[12]""#,
    r#""a.b[0].\"c d\"""#,
    r#"{"key":"a","match":{"value":1}}"#,
    r#"{"must":[{"has_id":[1]}],"should":{"has_vector":"x"}}"#,
    r#"{"is_null":{"key":"a"}}"#,
    r#"{"nested":{"key":"a","filter":{}}}"#,
    r#"{"sum":[]}"#,
    r#"{"sum":[1,"a",{"mult":[2]}]}"#,
    r#"{"mult":["$score",{"neg":1}]}"#,
    r#"{"abs":{"sqrt":{"exp":{"ln":{"log10":"a"}}}}}"#,
    r#"{"div":{"left":1,"right":"a"}}"#,
    r#"{"div":{"left":1,"right":"a","by_zero_default":0}}"#,
    r#"{"div":{"left":1,"right":"a","by_zero_default":null}}"#,
    r#"{"pow":{"base":"a","exponent":2}}"#,
    r#"{"geo_distance":{"origin":{"lat":52.5,"lon":13.4},"to":"a.place"}}"#,
    r#"{"datetime":"2024-01-01"}"#,
    r#"{"datetime_key":"a[]"}"#,
    r#"{"lin_decay":{"x":"a"}}"#,
    r#"{"lin_decay":{"x":"a","midpoint":1,"target":null}}"#,
    r#"{"exp_decay":{"x":"a","target":{"datetime":"2024-01-01"},"scale":86400,"midpoint":0.5}}"#,
    r#"{"gauss_decay":{"x":{"geo_distance":{"origin":{"lat":0,"lon":0},"to":"a"}},"scale":5000}}"#,
];

fn refusal(query: &str) -> String {
    match parse(query) {
        Err(Error::BadRequest(message) | Error::FilterParse(message) | Error::MissingField(message)) => {
            message
        }
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn every_form_of_expression_is_read_c6_3() {
    for form in EVERY_FORM {
        formula(form).unwrap_or_else(|error| panic!("{form}: {error}"));
        formula(&format!(r#"{{"sum":[{form},{{"neg":{form}}}]}}"#)).unwrap();
    }
}

#[test]
fn errors_name_the_place_and_the_reason_c1_11() {
    for (expression, message) in [
        (
            "null",
            "query.formula: expected an expression: a number, a variable, a condition or an operation, got null",
        ),
        (
            "[1]",
            "query.formula: expected an expression: a number, a variable, a condition or an operation, got an array",
        ),
        (
            r#"{"sum":[1,true]}"#,
            "query.formula.sum[1]: expected an expression: a number, a variable, a condition or an operation, got a boolean",
        ),
        (r#"{"sum":1}"#, "query.formula.sum: expected an array, got a number"),
        (r#"{"max":[1]}"#, "query.formula.max: unknown field"),
        (r#"{"sum":[1],"mult":[1]}"#, "query.formula: an expression is of one kind, got both sum and mult"),
        (
            r#"{"sum":[1],"has_id":[1]}"#,
            "query.formula: an expression is of one kind, got both sum and a condition",
        ),
        (r#"{"neg":{"sum":[1e999]}}"#, "query.formula.neg.sum[0]: expected a finite number, got 1e999"),
        (
            r#""$scores""#,
            "query.formula: unknown variable '$scores', expected $score, $score[i] or a payload path",
        ),
        (
            r#""$score[]""#,
            "query.formula: unknown variable '$score[]', expected $score, $score[i] or a payload path",
        ),
        (
            r#""$score[+1]""#,
            "query.formula: unknown variable '$score[+1]', expected $score, $score[i] or a payload path",
        ),
        (
            r#""$score[0].a""#,
            "query.formula: unknown variable '$score[0].a', expected $score, $score[i] or a payload path",
        ),
        (
            r#""$score[99999999999999999999]""#,
            "query.formula: unknown variable '$score[99999999999999999999]', expected $score, $score[i] or a payload path",
        ),
        (r#"{"mult":["a..b"]}"#, "query.formula.mult[0]: Invalid json path: 'a..b'"),
        (r#"{"div":{"left":1}}"#, "query.formula.div.right"),
        (r#"{"div":{"left":null,"right":1}}"#, "query.formula.div.left"),
        (
            r#"{"div":{"left":1,"right":1,"by_zero_default":"a"}}"#,
            "query.formula.div.by_zero_default: expected a number, got a string",
        ),
        (r#"{"div":{"left":1,"right":1,"default":1}}"#, "query.formula.div.default: unknown field"),
        (r#"{"div":[1,2]}"#, "query.formula.div: expected an object, got an array"),
        (r#"{"pow":{"base":2}}"#, "query.formula.pow.exponent"),
        (r#"{"pow":{"exponent":2}}"#, "query.formula.pow.base"),
        (r#"{"geo_distance":{"to":"a"}}"#, "query.formula.geo_distance.origin"),
        (r#"{"geo_distance":{"origin":{"lat":1,"lon":2}}}"#, "query.formula.geo_distance.to"),
        (
            r#"{"geo_distance":{"origin":{"lat":91,"lon":2},"to":"a"}}"#,
            "query.formula.geo_distance.origin.lat: value 91 invalid, must be within [-90;90]",
        ),
        (
            r#"{"datetime":"soon"}"#,
            "query.formula.datetime: 'soon' does not match accepted datetime format (RFC3339). Example: 2014-01-01T00:00:00Z",
        ),
        (r#"{"datetime_key":"a."}"#, "query.formula.datetime_key: Invalid json path: 'a.'"),
        (r#"{"lin_decay":{"scale":1}}"#, "query.formula.lin_decay.x"),
        (
            r#"{"lin_decay":{"x":1,"scale":0}}"#,
            "query.formula.lin_decay.scale: value 0 invalid, must be larger than 0",
        ),
        (
            r#"{"exp_decay":{"x":1,"scale":-1}}"#,
            "query.formula.exp_decay.scale: value -1 invalid, must be larger than 0",
        ),
        (
            r#"{"lin_decay":{"x":1,"midpoint":1.5}}"#,
            "query.formula.lin_decay.midpoint: value 1.5 invalid, must be from 0 to 1",
        ),
        (
            r#"{"exp_decay":{"x":1,"midpoint":0}}"#,
            "query.formula.exp_decay.midpoint: value 0 invalid, must be larger than 0 and smaller than 1",
        ),
        (
            r#"{"gauss_decay":{"x":1,"midpoint":1}}"#,
            "query.formula.gauss_decay.midpoint: value 1 invalid, must be larger than 0 and smaller than 1",
        ),
        (r#"{"gauss_decay":{"x":1,"decay":1}}"#, "query.formula.gauss_decay.decay: unknown field"),
    ] {
        assert_eq!(refusal(&format!(r#"{{"formula":{expression}}}"#)), message, "{expression}");
    }
}

#[test]
fn a_condition_that_cannot_be_parsed_is_a_filter_parse_error_c1_4() {
    for (condition, message) in [
        (r#"{"key":"a"}"#, "query.formula.sum[0]: At least one field condition must be specified"),
        (r#"{"key":"a","match":{"valeu":1}}"#, "query.formula.sum[0].match.valeu: unknown field"),
        (r#"{"match":{"value":1}}"#, "query.formula.sum[0].key: required field is missing"),
    ] {
        match formula(&format!(r#"{{"sum":[{condition}]}}"#)) {
            Err(Error::FilterParse(found)) => assert_eq!(found, message),
            other => panic!("{condition}: {other:?}"),
        }
    }
}

#[test]
fn defaults_are_checked_before_anything_runs_c6_3() {
    for (defaults, message) in [
        ("[]", "query.defaults: expected an object, got an array"),
        (r#"{"$score":"a"}"#, "query.defaults.$score: expected a number, got a string"),
        (r#"{"$score[1]":[1]}"#, "query.defaults.$score[1]: expected a number, got an array"),
        (
            r#"{"$scroe":1}"#,
            "query.defaults.$scroe: unknown variable '$scroe', expected $score, $score[i] or a payload path",
        ),
        (r#"{"a b":1}"#, "query.defaults.a b: Invalid json path: 'a b'"),
        (r#"{"a":1e999}"#, "query.defaults.a: number out of range"),
    ] {
        assert_eq!(refusal(&format!(r#"{{"formula":1,"defaults":{defaults}}}"#)), message, "{defaults}");
    }
    assert!(
        parse(r#"{"formula":1,"defaults":{"a":{"lat":1,"lon":[]},"b":"x","c":null,"$score":null}}"#).is_ok()
    );
}

#[test]
fn a_null_is_absent_and_the_last_of_a_repeated_key_counts_c1_8_c1_10() {
    let one = formula(r#"{"sum":[1]}"#).unwrap();
    for same in [
        r#"{"mult":null,"sum":[1],"anything":null}"#,
        r#"{"sum":[2],"sum":[1]}"#,
        r#"{"key":null,"sum":[1]}"#,
        r#"{"mult":[1],"sum":[1],"mult":null}"#,
    ] {
        assert_eq!(formula(same).unwrap().root, one.root, "{same}");
    }
}

#[test]
fn size_and_depth_have_limits() {
    let wide = |terms: usize| format!(r#"{{"sum":[{}]}}"#, vec!["1"; terms - 1].join(","));
    assert!(formula(&wide(MAX_FORMULA_TERMS)).is_ok());
    assert_eq!(
        refusal(&format!(r#"{{"formula":{}}}"#, wide(MAX_FORMULA_TERMS + 1))),
        "query.formula.sum[1023]: more than 1024 terms in a formula"
    );
    let deep = |levels: usize| format!("{}1{}", r#"{"neg":"#.repeat(levels - 1), "}".repeat(levels - 1));
    assert!(formula(&deep(MAX_FORMULA_DEPTH)).is_ok());
    assert!(
        refusal(&format!(r#"{{"formula":{}}}"#, deep(MAX_FORMULA_DEPTH + 1)))
            .ends_with("formula is nested deeper than 64 levels")
    );
    let conditions = format!(r#"{{"must":[{}]}}"#, vec![r#"{"has_id":[1]}"#; 600].join(","));
    assert!(formula(&conditions).is_ok());
    assert!(
        refusal(&format!(r#"{{"formula":{{"sum":[{conditions},{conditions}]}}}}"#))
            .ends_with("more than 1024 conditions in a filter (max_filter_conditions)")
    );
    let defaults: Vec<String> = (0..=MAX_FORMULA_TERMS).map(|n| format!(r#""k{n}":1"#)).collect();
    assert_eq!(
        refusal(&format!(r#"{{"formula":1,"defaults":{{{}}}}}"#, defaults.join(","))),
        "query.defaults.k1024: more than 1024 defaults in a formula"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn damaged_formulas_are_an_error_and_never_a_panic(
        form in 0..EVERY_FORM.len(), place in any::<prop::sample::Index>(), cut in 0usize..6,
        insert in "[{}\\[\\]\",:$0-9a-z.\\\\é-]{0,4}",
    ) {
        let mut expression = EVERY_FORM[form].to_string();
        let at = place.index(expression.len());
        let end = (at + cut).min(expression.len());
        expression.replace_range(at..end, &insert);
        if let Ok(formula) = formula(&expression) {
            let _ = formula.evaluate(&super::Point::new(r#"{"a":[0]}"#), &[Some(0.0)], None);
        }
    }
}
