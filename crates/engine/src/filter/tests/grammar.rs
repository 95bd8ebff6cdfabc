//! The grammar of C7 and its errors.

use super::{Point, parse, parse_with};
use crate::error::Error;
use crate::limits::Limits;
use proptest::prelude::*;

/// The message of a filter that cannot be parsed.
fn refusal(filter: &str) -> String {
    match parse(filter) {
        Err(Error::FilterParse(message)) => message,
        other => panic!("{filter}: {other:?}"),
    }
}

const EVERY_KIND: [&str; 26] = [
    r#"{"key":"a","match":{"value":"x"}}"#,
    r#"{"key":"a","match":{"value":1}}"#,
    r#"{"key":"a","match":{"value":true}}"#,
    r#"{"key":"a","match":{"text":"x y"}}"#,
    r#"{"key":"a","match":{"text_any":"x y"}}"#,
    r#"{"key":"a","match":{"phrase":"x y"}}"#,
    r#"{"key":"a","match":{"prefix":"x"}}"#,
    r#"{"key":"a","match":{"substring":"x"}}"#,
    r#"{"slice":{"total":4,"index":3}}"#,
    r#"{"key":"a","match":{"any":["x","y"]}}"#,
    r#"{"key":"a","match":{"any":[1,2]}}"#,
    r#"{"key":"a","match":{"except":["x"]}}"#,
    r#"{"key":"a[].b","range":{"gt":1,"gte":null,"lt":2.5,"lte":3}}"#,
    r#"{"key":"a","range":{"gte":"2024-01-01T00:00:00Z","lt":"2025-01-01"}}"#,
    r#"{"key":"a","geo_bounding_box":{"top_left":{"lon":1,"lat":2},"bottom_right":{"lon":3,"lat":1}}}"#,
    r#"{"key":"a","geo_radius":{"center":{"lon":1,"lat":2},"radius":100.5}}"#,
    r#"{"key":"a","geo_polygon":{"exterior":{"points":[{"lon":0,"lat":0},{"lon":1,"lat":0},{"lon":1,"lat":1},{"lon":0,"lat":0}]},"interiors":[]}}"#,
    r#"{"key":"a","values_count":{"gt":1,"lte":4}}"#,
    r#"{"is_empty":{"key":"a"}}"#,
    r#"{"key":"a","is_empty":false}"#,
    r#"{"is_null":{"key":"a"}}"#,
    r#"{"key":"a","is_null":true}"#,
    r#"{"has_id":[1,"550e8400-e29b-41d4-a716-446655440000"]}"#,
    r#"{"has_vector":""}"#,
    r#"{"nested":{"key":"a","filter":{"must":{"key":"b","match":{"value":1}}}}}"#,
    r#"{"should":[{"has_id":[]}]}"#,
];

#[test]
fn every_kind_of_condition_is_read_c7() {
    for condition in EVERY_KIND {
        for filter in [
            format!(r#"{{"must":{condition}}}"#),
            format!(r#"{{"should":[{condition},{condition}]}}"#),
            format!(r#"{{"must_not":[{condition}],"must":null}}"#),
            format!(r#"{{"min_should":{{"conditions":[{condition}],"min_count":1}}}}"#),
        ] {
            let parsed = parse(&filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
            assert!(!parsed.is_empty());
        }
    }
}

#[test]
fn a_filter_without_conditions_matches_everything_c7() {
    for filter in [
        "{}",
        r#"{"must":[]}"#,
        r#"{"must":null,"should":[],"must_not":[]}"#,
        r#"{"min_should":{"conditions":[],"min_count":3}}"#,
    ] {
        let parsed = parse(filter).unwrap();
        assert!(parsed.is_empty() && parsed.matches(&Point::new(1, "{}")), "{filter}");
    }
    assert!(parse(r#"{"must":[{}]}"#).unwrap().matches(&Point::new(1, "{}")));
}

#[test]
fn errors_name_the_place_and_the_reason_c1_4_c1_11() {
    for (filter, message) in [
        (
            r#"{"must":[{"key":"a","range":{"gt":true}}]}"#,
            "filter.must[0].range.gt: expected a number or a date-time, got a boolean",
        ),
        (r#"{"most":[]}"#, "filter.most: unknown field"),
        (r#"{"must":[{"key":"a","match":{"valeu":1}}]}"#, "filter.must[0].match.valeu: unknown field"),
        (r#"{"must":{"key":"a"}}"#, "filter.must: At least one field condition must be specified"),
        (r#"{"must":[{"match":{"value":1}}]}"#, "filter.must[0].key: required field is missing"),
        (
            r#"{"must":[{"key":"a","match":{"value":1.5}}]}"#,
            "filter.must[0].match.value: expected a signed 64-bit integer, got 1.5",
        ),
        (
            r#"{"must":[{"key":"a","match":{"value":9223372036854775808}}]}"#,
            "filter.must[0].match.value: expected a signed 64-bit integer, got 9223372036854775808",
        ),
        (
            r#"{"must":[{"key":"a","match":{"value":[1]}}]}"#,
            "filter.must[0].match.value: expected a string, an integer or a boolean, got an array",
        ),
        (
            r#"{"must":[{"key":"a","match":{"any":["x",1]}}]}"#,
            "filter.must[0].match.any[1]: a list is either of strings or of integers",
        ),
        (
            r#"{"must":[{"key":"a","match":{"except":[true]}}]}"#,
            "filter.must[0].match.except[0]: expected a string or an integer, got a boolean",
        ),
        (
            r#"{"must":[{"key":"a","match":{"substring":1}}]}"#,
            "filter.must[0].match.substring: expected a string, got a number",
        ),
        (
            r#"{"must":[{"slice":{"total":2,"index":2}}]}"#,
            "filter.must[0].slice: index: value 2 invalid, must be less than total, 2",
        ),
        (
            r#"{"must":[{"key":"a","match":{}}]}"#,
            "filter.must[0].match: expected one of value, any, except, prefix, substring, text, text_any, phrase",
        ),
        (
            r#"{"must":[{"key":"a","match":{"value":1,"any":[1]}}]}"#,
            "filter.must[0].match: a match is of one kind, got both value and any",
        ),
        (r#"{"must":[{"key":"a.","match":{"value":1}}]}"#, "filter.must[0].key: Invalid json path: 'a.'"),
        (
            r#"{"must":[{"key":"a","range":{"gt":1,"lt":"2024-01-01"}}]}"#,
            "filter.must[0].range: the bounds are either all numbers or all date-times",
        ),
        (
            r#"{"must":[{"key":"a","range":{"gt":"yesterday"}}]}"#,
            "filter.must[0].range.gt: 'yesterday' does not match accepted datetime format (RFC3339). Example: 2014-01-01T00:00:00Z",
        ),
        (
            r#"{"must":[{"has_id":[1,"x"]}]}"#,
            "filter.must[0].has_id[1]: value x is not a valid point ID, valid values are either an unsigned integer or a UUID",
        ),
        (
            r#"{"must":[{"has_id":[-1]}]}"#,
            "filter.must[0].has_id[0]: value -1 is not a valid point ID, valid values are either an unsigned integer or a UUID",
        ),
        (r#"{"must":[{"has_id":1}]}"#, "filter.must[0].has_id: expected an array, got a number"),
        (r#"{"min_should":{"conditions":[]}}"#, "filter.min_should.min_count: required field is missing"),
        (
            r#"{"min_should":{"conditions":[],"min_count":0}}"#,
            "filter.min_should.min_count: value 0 invalid, must be 1 or larger",
        ),
        (r#"{"min_should":{"min_count":1}}"#, "filter.min_should.conditions: required field is missing"),
        (r#"{"must":[{"nested":{"filter":{}}}]}"#, "filter.must[0].nested.key: required field is missing"),
        (
            r#"{"must":[{"nested":{"key":"a","filter":{"x":1}}}]}"#,
            "filter.must[0].nested.filter.x: unknown field",
        ),
        (
            r#"{"must":[{"has_id":[1],"has_vector":"a"}]}"#,
            "filter.must[0]: a condition is of one kind, got both has_id and has_vector",
        ),
        (
            r#"{"must":[{"key":"a","match":{"value":1},"must":[]}]}"#,
            "filter.must[0]: a condition is of one kind, got both key and a filter",
        ),
        (r#"{"must":[{"is_empty":1}]}"#, "filter.must[0].is_empty: expected a boolean or an object with key"),
        (r#"{"must":[{"is_null":{}}]}"#, "filter.must[0].is_null.key: required field is missing"),
        (
            r#"{"must":[{"key":"a","values_count":{"gt":-1}}]}"#,
            "filter.must[0].values_count.gt: expected an unsigned 64-bit integer, got -1",
        ),
        (
            r#"{"must":[{"key":"a","geo_radius":{"center":{"lon":181,"lat":0},"radius":1}}]}"#,
            "filter.must[0].geo_radius.center.lon: value 181 invalid, must be within [-180;180]",
        ),
        (
            r#"{"must":[{"key":"a","geo_radius":{"center":{"lon":1},"radius":1}}]}"#,
            "filter.must[0].geo_radius.center.lat: required field is missing",
        ),
        (
            r#"{"must":[{"key":"a","geo_polygon":{"exterior":{"points":[{"lon":0,"lat":0}]}}}]}"#,
            "filter.must[0].geo_polygon.exterior: polygon invalid, the size must be at least 4, got 1",
        ),
        (
            r#"{"must":[{"key":"a","geo_polygon":{"exterior":{"points":[{"lon":0,"lat":0},{"lon":1,"lat":0},{"lon":1,"lat":1},{"lon":0,"lat":1}]}}}]}"#,
            "filter.must[0].geo_polygon.exterior: polygon invalid, the first and the last points should be the same to form a closed line",
        ),
        (r#"{"must":[null]}"#, "filter.must[0]: expected an object, got null"),
        (r#"{"must":7}"#, "filter.must: expected an object, got a number"),
        ("[]", "filter: expected an object, got an array"),
    ] {
        assert_eq!(refusal(filter), message, "{filter}");
    }
}

#[test]
fn a_null_is_absent_even_under_an_unknown_key_c1_10() {
    assert!(parse(r#"{"must":null,"anything":null}"#).unwrap().is_empty());
    assert!(parse(r#"{"must":[{"key":"a","match":{"value":1,"any":null},"range":null,"x":null}]}"#).is_ok());
}

#[test]
fn the_last_of_a_repeated_key_counts_c1_8() {
    let filter = parse(r#"{"must":[{"key":"b","key":"a","match":{"value":1,"value":2}}]}"#).unwrap();
    assert!(
        filter.matches(&Point::new(1, r#"{"a":2}"#)) && !filter.matches(&Point::new(1, r#"{"a":1,"b":1}"#))
    );
}

#[test]
fn limits_are_named_c2_7() {
    let many = |count: usize| format!(r#"{{"must":[{}]}}"#, vec![r#"{"has_id":[1]}"#; count].join(","));
    assert!(parse(&many(1_024)).is_ok());
    assert_eq!(
        refusal(&many(1_025)),
        "filter.must[1024]: more than 1024 conditions in a filter (max_filter_conditions)"
    );
    let nested = format!(r#"{{"must":[{}],"should":{{"must":{}}}}}"#, ["{}"; 6].join(","), many(3));
    let limits = Limits { max_filter_conditions: 10, ..Limits::default() };
    assert!(
        matches!(parse_with(&nested, &limits), Err(Error::FilterParse(message)) if message.contains("more than 10"))
    );
    let ids = format!(r#"{{"must":{{"has_id":[{}]}}}}"#, vec!["7"; 10_001].join(","));
    assert_eq!(refusal(&ids), "filter.must.has_id[10000]: more than 10000 ids (max_points_per_request)");
}

#[test]
fn deep_filters_are_read_to_64_levels_c7() {
    let deep = |levels: usize| format!("{}{{}}{}", r#"{"must":"#.repeat(levels), "}".repeat(levels));
    assert!(parse(&deep(64)).is_ok());
    assert!(refusal(&deep(65)).ends_with("filter is nested deeper than 64 levels"));
    let lists = |levels: usize| format!("{}{{}}{}", r#"{"must":["#.repeat(levels), "]}".repeat(levels));
    assert!(parse(&lists(64)).is_ok());
    let nested = |levels: usize| {
        format!(
            "{}{{}}{}",
            r#"{"must":[{"nested":{"key":"a","filter":"#.repeat(levels),
            "}}]}".repeat(levels)
        )
    };
    assert!(parse(&nested(30)).is_ok());
    assert!(refusal(&nested(100)).ends_with("filter is nested too deep in the body"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn damaged_filters_are_an_error_and_never_a_panic(
        kind in 0..EVERY_KIND.len(), place in any::<prop::sample::Index>(), cut in 0usize..6,
        insert in "[{}\\[\\]\",:0-9a-z.\\\\é-]{0,4}",
    ) {
        let mut filter = format!(r#"{{"must":[{}]}}"#, EVERY_KIND[kind]);
        let at = place.index(filter.len());
        prop_assume!(filter.is_char_boundary(at));
        let end = (at + cut).min(filter.len());
        filter.replace_range(at..end, &insert);
        if let Ok(parsed) = parse(&filter) {
            parsed.matches(&Point::new(1, r#"{"a":[1,"x",{"b":true}]}"#));
        }
    }
}
