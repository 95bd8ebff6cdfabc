//! What each expression is worth.

use super::{Point, formula, parse};
use crate::error::Error;

const PAYLOAD: &str = r#"{
    "n": 85.0, "whole": 3, "zero": 0, "one": [4], "two": [4, 5], "none": [], "null": null, "word": "red", "yes": true,
    "deep": {"list": [{"x": 1}, {"x": 2}]}, "born": "2024-01-01T00:00:00.5Z", "dates": ["1970-01-02"],
    "place": {"lat": 25.628482424190565, "lon": -100.23881855976}, "places": [{"lat": 0, "lon": 1}],
    "far": {"lat": 0, "lon": 200}
}"#;

fn evaluate(query: &str) -> Result<f32, Error> {
    parse(query).unwrap_or_else(|error| panic!("{query}: {error}")).evaluate(
        &Point::new(PAYLOAD),
        &[Some(0.5), None, Some(-2.0)],
        None,
    )
}

#[track_caller]
fn is(expression: &str, expected: f64) {
    let value = evaluate(&format!(r#"{{"formula":{expression}}}"#))
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert!((f64::from(value) - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{expression}: {value}");
}

#[track_caller]
fn refused(query: &str, message: &str) {
    assert_eq!(evaluate(query), Err(Error::bad(message)), "{query}");
}

#[test]
fn variables_are_scores_and_numbers_of_the_payload_c6_3() {
    is("5", 5.0);
    is(r#""$score""#, 0.5);
    is(r#""$score[0]""#, 0.5);
    is(r#""$score[2]""#, -2.0);
    is(r#""n""#, 85.0);
    is(r#""whole""#, 3.0);
    is(r#""one""#, 4.0);
    is(r#""one[]""#, 4.0);
    is(r#""two[1]""#, 5.0);
    is(r#""deep.list[1].x""#, 2.0);
}

#[test]
fn a_missing_score_is_its_default_or_zero_c6_3() {
    is(r#""$score[1]""#, 0.0);
    is(r#""$score[99]""#, 0.0);
    let with = |variable: &str| {
        evaluate(&format!(
            r#"{{"formula":"{variable}","defaults":{{"$score":9,"$score[1]":-1.5,"$score[7]":7}}}}"#
        ))
        .unwrap()
    };
    assert_eq!(
        [with("$score"), with("$score[1]"), with("$score[7]"), with("$score[8]")],
        [0.5, -1.5, 7.0, 0.0]
    );
}

#[test]
fn defaults_stand_for_missing_values_only_c6_3() {
    let with = |expression: &str, defaults: &str| {
        evaluate(&format!(r#"{{"formula":{expression},"defaults":{defaults}}}"#))
    };
    assert_eq!(with(r#""n""#, r#"{"n":1}"#), Ok(85.0));
    for missing in ["gone", "none", "null", "deep.gone", "deep.list[9].x"] {
        assert_eq!(with(&format!("\"{missing}\""), &format!(r#"{{"{missing}":[7]}}"#)), Ok(7.0), "{missing}");
    }
    assert_eq!(with(r#""\"gone\"""#, r#"{"gone":7}"#), Ok(7.0), "two spellings of one path");
    let metres =
        with(r#"{"geo_distance":{"origin":{"lat":0,"lon":0},"to":"gone"}}"#, r#"{"gone":{"lat":0,"lon":1}}"#);
    assert_eq!(metres, Ok(111_195.08));
    assert_eq!(with(r#"{"datetime_key":"gone"}"#, r#"{"gone":"1970-01-01T00:01"}"#), Ok(60.0));
    refused(
        r#"{"formula":{"sum":["gone"]},"defaults":{"gone":"x"}}"#,
        "query.formula.sum[0]: expected a number for gone in the defaults, got a string (point 7)",
    );
    refused(
        r#"{"formula":"gone","defaults":{"gone":[]}}"#,
        "query.formula: no value for gone in the payload of point 7 nor in the defaults",
    );
}

#[test]
fn a_variable_without_a_usable_value_is_an_error_c6_3() {
    for (path, why) in [
        ("gone", "no value for gone in the payload of point 7 nor in the defaults"),
        ("null", "no value for null in the payload of point 7 nor in the defaults"),
        ("none", "no value for none in the payload of point 7 nor in the defaults"),
        ("two", "expected a number for two in the payload, got several values (point 7)"),
        ("deep.list[].x", "expected a number for deep.list[].x in the payload, got several values (point 7)"),
        ("word", "expected a number for word in the payload, got a string (point 7)"),
        ("yes", "expected a number for yes in the payload, got a boolean (point 7)"),
        ("deep", "expected a number for deep in the payload, got an object (point 7)"),
    ] {
        refused(
            &format!(r#"{{"formula":{{"mult":[1,"{path}"]}}}}"#),
            &format!("query.formula.mult[1]: {why}"),
        );
    }
    refused(
        r#"{"formula":{"geo_distance":{"origin":{"lat":0,"lon":0},"to":"far"}}}"#,
        "query.formula: expected a geo point for far in the payload, got an object (point 7)",
    );
    refused(
        r#"{"formula":{"datetime_key":"word"}}"#,
        "query.formula: expected a date-time for word in the payload, got a string (point 7)",
    );
    refused(
        r#"{"formula":{"datetime_key":"whole"}}"#,
        "query.formula: expected a date-time for whole in the payload, got a number (point 7)",
    );
}

#[test]
fn conditions_are_one_or_zero_c6_3() {
    is(r#"{"key":"word","match":{"value":"red"}}"#, 1.0);
    is(r#"{"key":"word","match":{"value":"blue"}}"#, 0.0);
    is(r#"{"must_not":[{"key":"two","match":{"any":[5]}}]}"#, 0.0);
    is(r#"{"has_id":[6,7]}"#, 1.0);
    is(r#"{"has_vector":"dense"}"#, 1.0);
    is(r#"{"has_vector":"other"}"#, 0.0);
    is(r#"{"key":"gone","is_empty":true}"#, 1.0);
    is(r#"{"nested":{"key":"deep.list","filter":{"must":[{"key":"x","range":{"gt":1}}]}}}"#, 1.0);
    is(r#"{"sum":["$score",{"mult":[2,{"key":"n","range":{"gte":85}}]}]}"#, 2.5);
    is("{}", 1.0);
}

#[test]
fn arithmetic_is_that_of_f64_c6_3() {
    is(r#"{"sum":[1,"$score","n",{"has_id":[7]}]}"#, 87.5);
    is(r#"{"sum":[]}"#, 0.0);
    is(r#"{"mult":[2,"$score","n"]}"#, 85.0);
    is(r#"{"mult":[]}"#, 1.0);
    is(r#"{"div":{"left":1,"right":3}}"#, 1.0 / 3.0);
    is(r#"{"neg":"n"}"#, -85.0);
    is(r#"{"abs":{"neg":3}}"#, 3.0);
    is(r#"{"sqrt":2}"#, 2f64.sqrt());
    is(r#"{"exp":1}"#, std::f64::consts::E);
    is(r#"{"ln":10}"#, 10f64.ln());
    is(r#"{"log10":1000}"#, 3.0);
    is(r#"{"pow":{"base":2,"exponent":-1.5}}"#, 2f64.powf(-1.5));
    is(r#"{"pow":{"base":-2,"exponent":3}}"#, -8.0);
    // 2^53 + 1 is beyond f32 and f64 both; the difference of 1 between f64s is not.
    is(r#"{"sum":[9007199254740991,-9007199254740990]}"#, 1.0);
}

#[test]
fn zero_ends_a_product_and_a_quotient_before_the_rest_is_looked_at_c6_3() {
    is(r#"{"mult":["zero","gone"]}"#, 0.0);
    is(r#"{"mult":[{"has_id":[]},{"ln":0}]}"#, 0.0);
    is(r#"{"div":{"left":0,"right":"gone"}}"#, 0.0);
    is(r#"{"div":{"left":0,"right":0,"by_zero_default":5}}"#, 0.0);
    is(r#"{"div":{"left":1,"right":"zero","by_zero_default":5}}"#, 5.0);
    let negative = evaluate(r#"{"formula":{"neg":0}}"#).unwrap();
    assert!(negative.is_sign_positive(), "zero sorts as one number");
}

#[test]
fn what_is_not_finite_is_an_error_c6_3() {
    for (expression, why) in [
        (r#"{"div":{"left":1,"right":0}}"#, "1/0 is not a finite number"),
        (r#"{"div":{"left":1e300,"right":1e-300}}"#, "is not a finite number"),
        (r#"{"sqrt":-1}"#, "sqrt(-1) is not a finite number"),
        (r#"{"ln":0}"#, "ln(0) is not a finite number"),
        (r#"{"log10":-1}"#, "log10(-1) is not a finite number"),
        (r#"{"exp":1000}"#, "exp(1000) is not a finite number"),
        (r#"{"pow":{"base":-8,"exponent":0.5}}"#, "-8^0.5 is not a finite number"),
        (r#"{"pow":{"base":0,"exponent":-1}}"#, "0^-1 is not a finite number"),
        (r#"{"sum":[1e308,1e308]}"#, "the sum is not a finite number"),
        (r#"{"mult":[1e308,-1e308]}"#, "the product is not a finite number"),
    ] {
        // It may not disappear in what follows.
        let outer = format!(r#"{{"div":{{"left":1,"right":{expression}}}}}"#);
        let error = evaluate(&format!(r#"{{"formula":{outer}}}"#)).unwrap_err();
        let Error::BadRequest(message) = error else { panic!("{expression}: {error}") };
        assert!(
            message.starts_with("query.formula.div.right: ")
                && message.ends_with(&format!("{why} (point 7)")),
            "{message}"
        );
    }
    refused(r#"{"formula":1e39}"#, "query.formula: the score 1e39 is beyond 32-bit floats (point 7)");
    is(r#"{"div":{"left":1e39,"right":1e39}}"#, 1.0);
}

#[test]
fn distances_are_those_on_a_sphere_c6_3() {
    is(
        r#"{"geo_distance":{"origin":{"lat":25.717877679163667,"lon":-100.43383200156751},"to":"place"}}"#,
        21_926.494,
    );
    is(r#"{"geo_distance":{"origin":{"lat":0,"lon":0},"to":"places"}}"#, 111_195.08);
}

#[test]
fn date_times_are_seconds_since_the_epoch_c6_3() {
    is(r#"{"datetime":"1970-01-01T00:00:00.25Z"}"#, 0.25);
    is(r#"{"datetime":"1970-01-01T01:00:00+01:00"}"#, 0.0);
    is(r#"{"sum":[{"datetime_key":"born"},{"neg":{"datetime":"2023-12-31T23:59:00Z"}}]}"#, 60.5);
    is(r#"{"datetime_key":"dates"}"#, 86_400.0);
}

#[test]
fn decays_fall_from_one_to_their_midpoint_c6_3() {
    for decay in ["lin_decay", "exp_decay", "gauss_decay"] {
        let at = |x: f64| format!(r#"{{"{decay}":{{"x":{x},"target":10,"scale":4,"midpoint":0.3}}}}"#);
        is(&at(10.0), 1.0);
        is(&at(14.0), 0.3);
        is(&at(6.0), 0.3);
        is(&format!(r#"{{"{decay}":{{"x":1}}}}"#), 0.5);
        is(&format!(r#"{{"{decay}":{{"x":-1,"scale":null,"midpoint":null,"target":null}}}}"#), 0.5);
        is(&format!(r#"{{"{decay}":{{"x":1e300,"target":-1e300,"scale":1e-300}}}}"#), 0.0);
        is(&format!(r#"{{"{decay}":{{"x":3,"target":3,"scale":1e-300}}}}"#), 1.0);
    }
    is(r#"{"lin_decay":{"x":3,"scale":4,"midpoint":0.2}}"#, 1.0 - 0.8 * 0.75);
    is(r#"{"lin_decay":{"x":8,"scale":4,"midpoint":0.5}}"#, 0.0);
    is(r#"{"lin_decay":{"x":8,"scale":4,"midpoint":1}}"#, 1.0);
    is(r#"{"lin_decay":{"x":1e300,"scale":1e-300,"midpoint":1}}"#, 1.0);
    is(r#"{"lin_decay":{"x":1e308,"target":-1e308,"midpoint":1}}"#, 1.0);
    is(r#"{"lin_decay":{"x":2,"scale":4,"midpoint":0}}"#, 0.5);
    is(r#"{"exp_decay":{"x":3,"scale":4,"midpoint":0.2}}"#, 0.2f64.powf(0.75));
    is(r#"{"gauss_decay":{"x":3,"scale":4,"midpoint":0.2}}"#, 0.2f64.powf(0.75 * 0.75));
    is(r#"{"gauss_decay":{"x":"n","target":{"sum":["n","one"]},"scale":4}}"#, 0.5);
}

#[test]
fn the_work_of_a_formula_is_its_terms_and_conditions() {
    let work = |expression: &str| formula(expression).unwrap().work();
    assert_eq!(work("1"), 1);
    assert_eq!(work(r#"{"sum":[1,{"neg":"a"}]}"#), 4);
    assert_eq!(work(r#"{"mult":[1,{"should":[{"has_id":[1]},{"key":"a","is_null":true}]}]}"#), 6);
}
