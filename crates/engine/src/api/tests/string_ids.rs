//! Ids of collections whose ids are strings (C21).

use crate::api;
use crate::collection::update::{Selection, Update, Versions};
use crate::error::Error;
use crate::json::{IdRules, JsonBody, KindOf};
use crate::limits::Limits;
use crate::query::tree::{Example, Query, QueryNode};
use crate::types::{IdKind, PointId};

fn text(text: &str) -> PointId {
    PointId::of_string(text, IdKind::String).unwrap()
}

fn of_strings(body: &str) -> JsonBody<'_> {
    JsonBody::from(body).with_ids(IdRules { kind: IdKind::String, ..IdRules::default() })
}

fn retrieved(ids: &str) -> Result<Vec<PointId>, Error> {
    let body = format!(r#"{{"ids":{ids}}}"#);
    api::retrieve(&of_strings(&body), &Limits::default()).map(|request| request.ids)
}

#[test]
fn an_id_in_a_body_is_an_integer_or_a_string_c21() {
    let longest = "é".repeat(128);
    let ids = retrieved(&format!(
        r#"[7,"7","550E8400-E29B-41D4-A716-446655440000","a\u0000\"","\ud83d\ude00","{longest}"]"#
    ));
    let expected = ["7", "550E8400-E29B-41D4-A716-446655440000", "a\0\"", "😀", &longest].map(text);
    assert_eq!(ids.unwrap(), [&[PointId::Num(7)][..], &expected].concat());
    let too_long = format!(r#"["{longest}x"]"#);
    for wrong in [r#"[""]"#, &too_long, "[1.5]", "[-1]", "[true]", "[null]", "[18446744073709551616]"] {
        let error = retrieved(wrong).unwrap_err().to_string();
        assert!(error.contains("ids[0]") && error.contains("a string of 1 to 256 bytes"), "{wrong}: {error}");
    }
    assert!(retrieved(r#"["\ud800"]"#).is_err(), "half a character");
}

#[test]
fn in_a_path_digits_are_the_integer_and_quotes_make_a_string_of_them_c21() {
    let id = |path: &str| api::path_id(path, IdKind::String);
    assert_eq!(id("7"), Ok(PointId::Num(7)));
    assert_eq!(id("007"), Ok(PointId::Num(7)));
    for (path, string) in [
        (r#""7""#, "7"),
        (r#""a\"b\u00e9""#, "a\"bé"),
        (r#"a"b"#, "a\"b"),
        ("7a", "7a"),
        ("-7", "-7"),
        (" 7", " 7"),
        ("550E8400E29B41D4A716446655440000", "550E8400E29B41D4A716446655440000"),
    ] {
        assert_eq!(id(path), Ok(text(string)), "{path}");
    }
    let long = "x".repeat(257);
    for wrong in ["", "\"", r#""7"#, r#""7"x"#, r#""""#, r#""\q""#, "18446744073709551616", &long] {
        let error = id(wrong).unwrap_err().to_string();
        assert!(error.contains("id: Can not recognize"), "{wrong}: {error}");
    }
}

#[test]
fn the_keys_of_versions_are_ids_as_in_a_path_c21() {
    let body = r#"{"points":[7,"7","a"],"payload":{},"if_version":{"7":1,"\"7\"":2,"a":3}}"#;
    let update = api::set_payload(&of_strings(body), &Limits::default()).unwrap();
    let Update::SetPayload { selection: Selection::Ids(_, versions), .. } = update else { panic!("ids") };
    let found = [PointId::Num(7), text("7"), text("a")].map(|id| versions.of(&id));
    assert_eq!((found, matches!(versions, Versions::Each(_))), ([Some(1), Some(2), Some(3)], true));
    let wrong = r#"{"points":["a"],"payload":{},"if_version":{"\"a":3}}"#;
    assert!(api::set_payload(&of_strings(wrong), &Limits::default()).is_err());
}

#[test]
fn examples_have_ids_of_the_collection_in_which_they_are_looked_up_c21() {
    let kind_of = |name: &str| if name == "strings" { IdKind::String } else { IdKind::Default };
    let query = |own: IdKind, body: &str| {
        let ids = IdRules { kind: own, of_others: Some(KindOf(&kind_of)), ..IdRules::default() };
        api::query(&JsonBody::from(body).with_ids(ids), &Limits::default()).map(|request| request.node)
    };
    let nearest = |node: &QueryNode| match &node.query {
        Query::Nearest(Example::Id(id)) => id.clone(),
        other => panic!("{other:?}"),
    };
    let behind = r#"{"query":"a","filter":{"must":{"has_id":["a"]}},"lookup_from":{"collection":"strings"}}"#;
    assert!(query(IdKind::Default, behind).is_err(), "the filter is of the collection itself");
    let behind = r#"{"query":"a","lookup_from":{"collection":"strings"}}"#;
    assert_eq!(nearest(&query(IdKind::Default, behind).unwrap()), text("a"));
    let before = r#"{"lookup_from":{"collection":"others"},"query":"a"}"#;
    assert!(query(IdKind::String, before).is_err());
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let before = format!(r#"{{"lookup_from":{{"collection":"others"}},"query":"{uuid}"}}"#);
    assert_eq!(nearest(&query(IdKind::String, &before).unwrap()), PointId::parse_path(uuid).unwrap());
    let nested = format!(
        r#"{{"prefetch":{{"query":"{uuid}","lookup_from":{{"collection":"others"}}}},"query":"{uuid}"}}"#
    );
    let node = query(IdKind::String, &nested).unwrap();
    assert_eq!(
        (nearest(&node), nearest(&node.prefetch[0])),
        (text(uuid), PointId::parse_path(uuid).unwrap())
    );
    let recommend = |body: &str| {
        let ids = IdRules { of_others: Some(KindOf(&kind_of)), ..IdRules::default() };
        api::recommend(&JsonBody::from(body).with_ids(ids), &Limits::default())
    };
    assert!(recommend(r#"{"positive":["a"],"limit":1,"lookup_from":{"collection":"strings"}}"#).is_ok());
    assert!(recommend(r#"{"positive":["a"],"limit":1}"#).is_err());
}
