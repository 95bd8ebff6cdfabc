//! The meaning of each condition: the table of C7.

use super::{Point, parse};
use crate::types::PointId;

/// Whether one condition matches a payload.
fn holds(condition: &str, payload: &str) -> bool {
    let filter =
        parse(&format!(r#"{{"must":[{condition}]}}"#)).unwrap_or_else(|error| panic!("{condition}: {error}"));
    filter.matches(&Point::new(1, payload))
}

/// A condition on `a`, and the values of `a` for which it holds or not.
fn table(condition: &str, yes: &[&str], no: &[&str]) {
    let condition = format!(r#"{{"key":"a",{condition}}}"#);
    for value in yes {
        assert!(holds(&condition, &format!(r#"{{"a":{value}}}"#)), "{condition} on {value}");
    }
    for value in no {
        assert!(!holds(&condition, &format!(r#"{{"a":{value}}}"#)), "{condition} on {value}");
    }
}

#[test]
fn match_value_compares_type_and_value_c7() {
    table(
        r#""match":{"value":1}"#,
        &["1", "[0,1]"],
        &["1.0", "1e0", "\"1\"", "true", "[[1]]", "{\"a\":1}", "null", "[]"],
    );
    table(
        r#""match":{"value":9223372036854775807}"#,
        &["9223372036854775807"],
        &["9223372036854775808", "9223372036854775806"],
    );
    table(r#""match":{"value":"x"}"#, &["\"x\"", "[1,\"x\"]"], &["\"X\"", "\"xy\"", "1"]);
    table(
        r#""match":{"value":"tab\t\"é\""}"#,
        &[r#""tab\t\"é\"""#, r#""tab\u0009\u0022\u00e9\u0022""#],
        &["\"tab\""],
    );
    table(r#""match":{"value":true}"#, &["true", "[false,true]"], &["false", "1", "\"true\""]);
}

#[test]
fn uuids_are_equal_in_every_spelling_c7() {
    let forms = [
        "\"550e8400-e29b-41d4-a716-446655440000\"",
        "\"550E8400E29B41D4A716446655440000\"",
        "\"urn:uuid:550e8400-e29b-41d4-a716-446655440000\"",
    ];
    for form in forms {
        table(
            &format!(r#""match":{{"value":{form}}}"#),
            &forms,
            &["\"550e8400\"", "\"550e8400-e29b-41d4-a716-446655440001\""],
        );
        table(&format!(r#""match":{{"any":["x",{form}]}}"#), &forms, &["\"y\""]);
        table(&format!(r#""match":{{"except":["x",{form}]}}"#), &["\"y\""], &forms);
    }
}

#[test]
fn any_and_except_c7() {
    table(r#""match":{"any":["x","y"]}"#, &["\"y\"", "[0,\"x\"]"], &["\"z\"", "1", "null", "[]"]);
    table(r#""match":{"any":[1,2]}"#, &["2", "[5,1]"], &["3", "1.0", "\"1\""]);
    table(r#""match":{"any":[]}"#, &[], &["1", "\"\"", "null"]);
    table(
        r#""match":{"except":["x"]}"#,
        &["\"y\"", "1", "[\"x\",\"y\"]", "{\"b\":1}", "[[\"x\"]]", "true"],
        &["\"x\"", "[\"x\"]", "null", "[]", "[null]", "[\"x\",null]"],
    );
    table(r#""match":{"except":[1]}"#, &["2", "1.0", "\"x\"", "[1,2]"], &["1", "[1,1]", "null"]);
    table(r#""match":{"except":[]}"#, &["1", "\"\"", "{}", "[[]]"], &["null", "[]", "[null]"]);
    assert!(!holds(r#"{"key":"a","match":{"except":["x"]}}"#, "{}"));
}

#[test]
fn prefix_and_text_c7() {
    table(r#""match":{"prefix":"Äp"}"#, &["\"Äpfel\"", "[1,\"Äp\"]"], &["\"äpfel\"", "\"A\"", "1"]);
    table(r#""match":{"prefix":""}"#, &["\"\"", "\"x\""], &["1", "null", "[]"]);
    let parts = &["\"ein Äpfel\"", "[1,\"xÄp\"]"];
    table(r#""match":{"substring":"Äp"}"#, parts, &["\"äpfel\"", "\"A p\"", "1", "[[\"Äp\"]]"]);
    table(r#""match":{"substring":""}"#, &["\"\"", "\"x\""], &["1", "null", "[]"]);
    table(
        r#""match":{"text":"Quick fox"}"#,
        &["\"a fox, quick!\""],
        &["\"quick\"", "[\"quick\",\"fox\"]", "\"foxes quick\"", "1"],
    );
    table(r#""match":{"text_any":"cat fox"}"#, &["\"a FOX\"", "[\"dog\",\"cat\"]"], &["\"dog\"", "5"]);
    table(
        r#""match":{"phrase":"brown fox"}"#,
        &["\"the brown-fox\""],
        &["\"fox brown\"", "\"brown red fox\"", "[\"brown\",\"fox\"]"],
    );
    table(r#""match":{"text":""}"#, &[], &["\"\"", "\"x\""]);
}

#[test]
fn ranges_of_numbers_c7() {
    table(
        r#""range":{"gt":1,"lte":3}"#,
        &["2", "3", "3.0", "1.5", "[0,2]"],
        &["1", "1.0", "3.1", "\"2\"", "null", "[1,4]", "[[2]]"],
    );
    table(r#""range":{"gte":-0.5,"lt":1e3}"#, &["-0.5", "0", "999.99", "1e2"], &["-0.6", "1000"]);
    table(r#""range":{}"#, &["1", "-1e300"], &["\"1\"", "true", "null"]);
    table(r#""range":{"gt":1,"lt":5}"#, &["[0,3]"], &["[0,9]"]);
    table(r#""range":{"gte":18446744073709551615}"#, &["18446744073709551615"], &["18446744073709540000"]);
}

#[test]
fn ranges_of_date_times_c7() {
    table(
        r#""range":{"gte":"2024-01-01T00:00:00Z","lt":"2024-02-01"}"#,
        &[
            "\"2024-01-01\"",
            "\"2024-01-01 01:00:00+0100\"",
            "\"2024-01-31T23:59\"",
            "[1,\"2024-01-05T10:00:00.5\"]",
        ],
        &["\"2024-02-01\"", "\"2024-01-01T00:59:59+01:00\"", "1704067200", "\"soon\""],
    );
    table(
        r#""range":{"gt":"2024-01-01T00:00:00.000001Z"}"#,
        &["\"2024-01-01T00:00:00.000002Z\""],
        &["\"2024-01-01T00:00:00.000001Z\""],
    );
}

#[test]
fn geo_conditions_c7() {
    let berlin = r#"{"lon":13.4,"lat":52.5,"name":"Berlin"}"#;
    let others = [
        r#"{"lon":"13.4","lat":52.5}"#,
        r#"{"lon":13.4}"#,
        "[13.4,52.5]",
        "\"13.4,52.5\"",
        r#"{"lon":2.3,"lat":48.8}"#,
    ];
    let list = format!("[null,{berlin}]");
    for condition in [
        r#""geo_bounding_box":{"top_left":{"lon":13,"lat":53},"bottom_right":{"lon":14,"lat":52}}"#,
        r#""geo_radius":{"center":{"lon":13.5,"lat":52.5},"radius":7000}"#,
        r#""geo_polygon":{"exterior":{"points":[{"lon":13,"lat":52},{"lon":14,"lat":52},{"lon":14,"lat":53},{"lon":13,"lat":53},{"lon":13,"lat":52}]}}"#,
    ] {
        table(condition, &[berlin, &list], &others);
    }
}

#[test]
fn values_count_is_empty_and_is_null_look_at_the_array_itself_c7() {
    table(
        r#""values_count":{"gte":2,"lt":4}"#,
        &["[1,2]", "[null,null,3]"],
        &["[1]", "[1,2,3,4]", "5", "{\"x\":1,\"y\":2}"],
    );
    table(r#""values_count":{"lte":0}"#, &["null", "[]"], &["0", "[null]"]);
    table(r#""values_count":{"gt":0}"#, &["0", "{}", "[[]]"], &["null", "[]"]);
    table(r#""is_empty":true"#, &["null", "[]"], &["[null]", "\"\"", "0", "{}", "false"]);
    table(r#""is_empty":false"#, &["[null]", "\"\"", "0"], &["null", "[]"]);
    table(r#""is_null":true"#, &["null", "[1,null]"], &["[]", "0", "[[null]]"]);
    table(r#""is_null":false"#, &["[]", "0"], &["null", "[null]"]);
}

#[test]
fn the_two_spellings_of_absence_are_one_c7() {
    for value in ["null", "[]", "[null]", "1", "[1,null]", "\"\""] {
        let payload = format!(r#"{{"a":{value}}}"#);
        for what in ["is_empty", "is_null"] {
            let (one, other) =
                (format!(r#"{{"{what}":{{"key":"a"}}}}"#), format!(r#"{{"key":"a","{what}":true}}"#));
            assert_eq!(holds(&one, &payload), holds(&other, &payload), "{what} {value}");
        }
    }
}

#[test]
fn a_missing_field_satisfies_only_what_asks_for_absence_c7() {
    for (condition, expected) in [
        (r#"{"key":"a","match":{"value":1}}"#, false),
        (r#"{"key":"a","match":{"except":[1]}}"#, false),
        (r#"{"key":"a","range":{}}"#, false),
        (r#"{"key":"a","values_count":{"lt":1}}"#, true),
        (r#"{"key":"a","values_count":{"gt":0}}"#, false),
        (r#"{"is_empty":{"key":"a"}}"#, true),
        (r#"{"key":"a","is_empty":false}"#, false),
        (r#"{"is_null":{"key":"a"}}"#, false),
        (r#"{"key":"a","is_null":false}"#, true),
        (r#"{"must_not":[{"key":"a","match":{"value":1}}]}"#, true),
    ] {
        assert_eq!(holds(condition, r#"{"b":1}"#), expected, "{condition}");
    }
}

#[test]
fn several_clauses_of_one_condition_are_alternatives_c7() {
    table(r#""match":{"value":"x"},"range":{"gt":5}"#, &["\"x\"", "6", "[\"x\",1]"], &["\"y\"", "5"]);
    table(r#""match":{"value":1},"is_null":true"#, &["1", "null"], &["2"]);
}

#[test]
fn ids_and_vectors_c7() {
    let mut point = Point::new(7, "{}");
    point.vectors = vec!["text", ""];
    let holds =
        |condition: &str, point: &Point| parse(&format!(r#"{{"must":{condition}}}"#)).unwrap().matches(point);
    assert!(
        holds(r#"{"has_id":[9,7,7]}"#, &point)
            && !holds(r#"{"has_id":[8]}"#, &point)
            && !holds(r#"{"has_id":[]}"#, &point)
    );
    assert!(holds(r#"{"has_vector":"text"}"#, &point) && holds(r#"{"has_vector":""}"#, &point));
    assert!(!holds(r#"{"has_vector":"image"}"#, &point));
    point.id = PointId::parse_path("550e8400-e29b-41d4-a716-446655440000").unwrap();
    assert!(holds(r#"{"has_id":[1,"550E8400E29B41D4A716446655440000"]}"#, &point));
}

#[test]
fn groups_combine_c7() {
    let cond = |n: u32| format!(r#"{{"key":"a","match":{{"value":{n}}}}}"#);
    let on = |filter: String, payload: &str| parse(&filter).unwrap().matches(&Point::new(1, payload));
    let (one, two, three) = (cond(1), cond(2), cond(3));
    assert!(on(format!(r#"{{"must":[{one},{two}]}}"#), r#"{"a":[1,2]}"#));
    assert!(!on(format!(r#"{{"must":[{one},{two}]}}"#), r#"{"a":1}"#));
    assert!(on(format!(r#"{{"should":[{one},{two}]}}"#), r#"{"a":2}"#));
    assert!(!on(format!(r#"{{"should":[{one},{two}]}}"#), r#"{"a":3}"#));
    assert!(on(format!(r#"{{"must_not":[{one},{two}]}}"#), r#"{"a":3}"#));
    assert!(!on(format!(r#"{{"must_not":[{one},{two}]}}"#), r#"{"a":[3,2]}"#));
    let at_least = |count: u64| {
        format!(r#"{{"min_should":{{"conditions":[{one},{two},{three}],"min_count":{count}}}}}"#)
    };
    assert!(on(at_least(2), r#"{"a":[3,1]}"#) && !on(at_least(3), r#"{"a":[3,1]}"#));
    assert!(!on(at_least(4), r#"{"a":[1,2,3]}"#));
    assert!(on(format!(r#"{{"must":[{{"should":[{one},{two}]}}],"must_not":{three}}}"#), r#"{"a":2}"#));
}

#[test]
fn paths_reach_into_arrays_only_where_they_say_so_c7() {
    let payload = r#"{"o":{"k":1},"l":[{"k":1},{"k":[2,3]}],"x.y":1,"deep":[[{"k":5}]]}"#;
    for (key, value, expected) in [
        ("o.k", 1, true),
        ("l.k", 1, false),
        ("l[].k", 1, true),
        ("l[].k", 3, true),
        ("l[0].k", 2, false),
        ("l[1].k", 2, true),
        ("\\\"x.y\\\"", 1, true),
        ("x.y", 1, false),
        ("deep[][].k", 5, true),
        ("deep[].k", 5, false),
    ] {
        assert_eq!(
            holds(&format!(r#"{{"key":"{key}","match":{{"value":{value}}}}}"#), payload),
            expected,
            "{key} {value}"
        );
    }
}

#[test]
fn nested_conditions_hold_for_one_element_c7() {
    let payload = r#"{"diet":[{"food":"leaves","likes":false},{"food":"meat","likes":true},"grass"],"o":{"food":"meat"}}"#;
    let nested = |key: &str, inner: &str| format!(r#"{{"nested":{{"key":"{key}","filter":{inner}}}}}"#);
    let food = |name: &str, likes: bool| {
        format!(
            r#"{{"must":[{{"key":"food","match":{{"value":"{name}"}}}},{{"key":"likes","match":{{"value":{likes}}}}}]}}"#
        )
    };
    for key in ["diet", "diet[]"] {
        assert!(holds(&nested(key, &food("meat", true)), payload));
        assert!(!holds(&nested(key, &food("leaves", true)), payload));
    }
    assert!(!holds(&nested("o", &food("meat", true)), payload));
    assert!(holds(&nested("diet", r#"{"must_not":[{"key":"food","match":{"value":"meat"}}]}"#), payload));
    assert!(holds(&nested("diet", "{}"), payload) && !holds(&nested("o", "{}"), payload));
    assert!(!holds(&nested("diet", r#"{"must":[{"has_id":[1]}]}"#), payload));
    assert!(!holds(&nested("diet", r#"{"must":[{"has_vector":""}]}"#), payload));
    let deep = r#"{"a":[{"b":[{"c":1},{"c":2,"d":1}]},{"b":[{"c":3}]}]}"#;
    let inner = |c: u32| {
        nested(
            "b",
            &format!(
                r#"{{"must":[{{"key":"c","match":{{"value":{c}}}}},{{"key":"d","match":{{"value":1}}}}]}}"#
            ),
        )
    };
    assert!(holds(&nested("a", &format!(r#"{{"must":[{}]}}"#, inner(2))), deep));
    assert!(!holds(&nested("a", &format!(r#"{{"must":[{}]}}"#, inner(1))), deep));
}
