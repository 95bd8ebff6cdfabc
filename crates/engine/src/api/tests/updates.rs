//! Bodies of writes (C5).

use super::{accepted, refused, same};
use crate::api;
use crate::collection::update::{Selection, Update, UpdateMode, Versions};
use crate::limits::Limits;
use crate::types::PointId;
use crate::vectors::{MultiVector, SparseVector, VectorValue};

fn upsert(body: &str) -> (Vec<crate::collection::update::PointInput>, UpdateMode, bool) {
    match api::upsert(body.as_bytes(), &Limits::default()).unwrap() {
        Update::Upsert { points, mode, update_filter, .. } => (points, mode, update_filter.is_some()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_upsert_keeps_ids_vectors_and_payloads_exact_c5_1_c2_1_c1_8() {
    let (points, mode, filtered) = upsert(
        r#"{"points":[
            {"id":18446744073709551615,"vector":[1,-0.5,1e-3],"payload":{"b":18446744073709551615,"a":1.0,"b":2}},
            {"id":"550E8400E29B41D4A716446655440000","vector":{"t":[1],"i":[2,3],"n":null},"payload":null},
            {"id":7,"vector":{}}]}"#,
    );
    assert_eq!((mode, filtered), (UpdateMode::Upsert, false));
    assert_eq!(points[0].id, PointId::Num(u64::MAX));
    assert_eq!(points[0].vectors, [("".into(), vec![1.0, -0.5, 0.001].into())]);
    assert_eq!(&*points[0].payload, br#"{"b":2,"a":1.0}"#);
    assert_eq!(points[1].id.to_string(), "550e8400-e29b-41d4-a716-446655440000");
    assert_eq!(points[1].vectors, [("t".into(), vec![1.0].into()), ("i".into(), vec![2.0, 3.0].into())]);
    assert_eq!(&*points[1].payload, b"{}");
    assert_eq!(points[2].vectors, []);
}

#[test]
fn columns_mean_the_same_as_points_c5_1() {
    same(
        "upsert_points",
        r#"{"batch":{"ids":[1,2],"vectors":[[1,2],[3,4]],"payloads":[null,{"a":1}]}}"#,
        r#"{"points":[{"id":1,"vector":[1,2]},{"id":2,"vector":[3,4],"payload":{"a":1}}]}"#,
    );
    same(
        "upsert_points",
        r#"{"batch":{"ids":[1,2],"vectors":{"a":[[1],[2]],"b":[[3],[4]]}}}"#,
        r#"{"points":[{"id":1,"vector":{"a":[1],"b":[3]}},{"id":2,"vector":{"a":[2],"b":[4]}}]}"#,
    );
    same("upsert_points", r#"{"batch":{"ids":[1],"vectors":{}}}"#, r#"{"points":[{"id":1,"vector":{}}]}"#);
}

#[test]
fn lines_mean_the_same_as_a_list_of_points_c5_14() {
    let limits = Limits::default();
    let points = [
        r#"{"id":1,"vector":[1,2],"payload":{"a":"}\n{"}}"#,
        r#" {"id":"550e8400-e29b-41d4-a716-446655440000", "vector":{"t":[1]},"if_version":3} "#,
        r#"{"id":3,"vector":{"s":{"text":"owls","model":"qdrant/bm25"}}}"#,
    ];
    let list = api::upsert(format!(r#"{{"points":[{}]}}"#, points.join(",")).as_bytes(), &limits);
    let list = format!("{:?}", list.expect("a list"));
    let [one, two, three] = points;
    for lines in [points.join("\n"), format!("\n\r\n{one}\r\n \t\n{two}\n{three}\n\n")] {
        let lines = api::upsert_lines(lines.as_bytes(), &limits).expect("lines");
        assert_eq!(format!("{lines:?}"), list);
    }
}

#[test]
fn what_is_wrong_with_a_line_is_named_by_its_point_c5_14() {
    let limits = Limits { max_points_per_request: 3, ..Limits::default() };
    let good = r#"{"id":1,"vector":[1]}"#;
    for (lines, expected) in [
        ("", "points: must hold at least one point"),
        (" \n\r\n", "points: must hold at least one point"),
        (&format!("{good}\n\n{{\"id\":1}}"), "points[1].vector"),
        (&format!("{good}\n{{\"id\":1,\n\"vector\":[1]}}\n"), "at byte 30 (points[1])"),
        (&format!("{good}\n{{\"id\":1,\"vector\":[1"), "(points[1].vector"),
        (&format!("{good}\n{good} {good}"), "expected the end of the line at byte 44 (points[1])"),
        (&format!("{good},\n{good}"), "expected the end of the line at byte 21 (points[0])"),
        (&format!("{good}\n[{good}]"), "points[1]: expected an object, got an array"),
        (&format!("{{\"points\":[{good}]}}"), "points[0].points"),
        (&format!("{good}\n{good}\n{good}\n{good}"), "points: at most 3 points"),
    ] {
        let error = api::upsert_lines(lines.as_bytes(), &limits).expect_err(lines);
        let message = String::from_utf8(error.details_json()).expect("JSON");
        assert!(message.contains(expected), "{lines}: {message}");
    }
}

#[test]
fn vectors_of_every_kind_are_read_c2_3() {
    let sparse = |indices: &[u32], values: &[f32]| {
        VectorValue::Sparse(SparseVector { indices: indices.to_vec(), values: values.to_vec() })
    };
    let (points, _, _) = upsert(
        r#"{"points":[
            {"id":1,"vector":{"d":[1,2],"m":[[1,2],[3,4]],"s":{"indices":[9,4294967295,0],"values":[1,-2.5,3]},
                "e":{"values":[],"indices":[],"other":null}}},
            {"id":2,"vector":[[1],[2],[3]]}]}"#,
    );
    let multi =
        |dim, components: &[f32]| VectorValue::Multi(MultiVector { dim, components: components.to_vec() });
    let expected = [
        ("d".into(), vec![1.0, 2.0].into()),
        ("m".into(), multi(2, &[1.0, 2.0, 3.0, 4.0])),
        ("s".into(), sparse(&[0, 9, u32::MAX], &[3.0, 1.0, -2.5])),
        ("e".into(), sparse(&[], &[])),
    ];
    assert_eq!(points[0].vectors, expected);
    assert_eq!(points[1].vectors, [("".into(), multi(1, &[1.0, 2.0, 3.0]))]);
    same(
        "upsert_points",
        r#"{"batch":{"ids":[1,2],"vectors":{"s":[{"indices":[1],"values":[1]},{"indices":[],"values":[]}],"m":[[[1]],[[2]]]}}}"#,
        r#"{"points":[{"id":1,"vector":{"s":{"indices":[1],"values":[1]},"m":[[1]]}},
            {"id":2,"vector":{"s":{"indices":[],"values":[]},"m":[[2]]}}]}"#,
    );
}

#[test]
fn malformed_vectors_are_refused_with_their_place_c2_3_c1_11() {
    for (vector, why) in [
        (
            r#"{"s":{"indices":[1,2],"values":[1]}}"#,
            "points[0].vector.s.values: must be the same length as indices",
        ),
        (r#"{"s":{"indices":[2,1,2],"values":[1,2,3]}}"#, "points[0].vector.s.indices: must be unique"),
        (r#"{"s":{"indices":[-1],"values":[1]}}"#, "points[0].vector.s.indices[0]: expected an unsigned"),
        (r#"{"s":{"indices":[4294967296],"values":[1]}}"#, "must be 4294967295 or smaller"),
        (r#"{"s":{"indices":[1.0],"values":[1]}}"#, "points[0].vector.s.indices[0]: "),
        (r#"{"s":{"indices":[1],"values":[1e39]}}"#, "points[0].vector.s.values[0]: "),
        (r#"{"s":{"indices":[1],"values":["1"]}}"#, "points[0].vector.s.values[0]: "),
        (r#"{"s":{"indices":[1],"values":[1],"size":3}}"#, "points[0].vector.s.size: unknown field"),
        (
            r#"{"s":{"text":"hello","model":"m"}}"#,
            "points[0].vector.s.model: unknown model 'm', expected qdrant/bm25",
        ),
        (r#"{"s":{"text":"hello"}}"#, "points[0].vector.s.model"),
        (r#"{"s":{"model":"qdrant/bm25"}}"#, "points[0].vector.s.text"),
        (r#"{"s":{"image":"x","model":"qdrant/bm25"}}"#, "points[0].vector.s.image: models take texts only"),
        (
            r#"{"s":{"text":"a","model":"qdrant/bm25","options":{"k":-1}}}"#,
            "points[0].vector.s.options.k: value -1 invalid",
        ),
        (r#"{"text":"hello","model":"m"}"#, "points[0].vector.model: unknown model 'm'"),
        (r#"{"options":{},"text":"hello"}"#, "points[0].vector.model"),
        (r#"{"s":{"indices":[1],"values":[1],"text":"x"}}"#, "points[0].vector.s.text: unknown field"),
        (r#"{"s":{"values":[1]}}"#, "points[0].vector.s.indices"),
        (r#"{"s":{"indices":[1]}}"#, "points[0].vector.s.values"),
        (r#"{"s":{}}"#, "points[0].vector.s.indices"),
        ("[[]]", "points[0].vector[0]: all vectors must be non-empty"),
        (
            "[[1,2],[3]]",
            "points[0].vector: all vectors must have the same dimension, found vector with dimension 1",
        ),
        ("[[1],2]", "points[0].vector[1]: "),
        ("[[[1]]]", "points[0].vector[0][0]: "),
        ("[1,[2]]", "points[0].vector[1]: "),
    ] {
        refused("upsert_points", &format!(r#"{{"points":[{{"id":1,"vector":{vector}}}]}}"#), why);
    }
}

#[test]
fn aliases_nulls_and_repeated_keys_c1_8_c1_10() {
    let plain = r#"{"points":[{"id":1,"vector":[1,2]}]}"#;
    for form in [
        r#"{"points":[{"id":1,"vectors":[1,2]}]}"#,
        r#"{"points":[{"id":9,"id":1,"vector":[7],"vector":[1,2],"payload":{"a":1},"payload":{}}]}"#,
        r#"{"points":[{"id":1,"vector":[1,2],"color":null}],"shard_key":null,"batch":null,"update_filter":null}"#,
        r#"{"points":[],"points":[{"id":1,"vector":[1,2]}],"update_mode":null}"#,
        r#"{"points":[{"id":-1,"vector":[1]}],"points":[{"id":"x","id":1,"vector":[1,"y"],"vector":[1,2]}]}"#,
        r#"{"nosuch":3,"points":[{"id":1,"vector":[1,2]}],"nosuch":null}"#,
        " {\"points\" : [ {\"id\":1 , \"vector\":[ 1.0 , 20e-1 ] } ] } \n",
    ] {
        same("upsert_points", plain, form);
    }
    same(
        "upsert_points",
        r#"{"points":[{"id":1,"vector":{"a":[1],"a":[2]}}]}"#,
        r#"{"points":[{"id":1,"vector":{"a":[2]}}]}"#,
    );
}

#[test]
fn of_an_operation_of_a_batch_the_last_value_of_each_key_counts_c1_8() {
    let (upsert, delete) = (r#"{"points":[{"id":1,"vector":[1]}]}"#, r#"{"points":[2]}"#);
    let of = |operation: &str| format!(r#"{{"operations":[{{{operation}}}]}}"#);
    let only = of(&format!(r#""upsert":{upsert}"#));
    for form in [
        format!(r#""upsert":{upsert},"delete":{delete},"delete":null"#),
        format!(r#""delete":null,"upsert":{upsert},"clear_payload":null"#),
        format!(r#""upsert":{{"points":7}},"upsert":{upsert}"#),
    ] {
        same("batch_update", &only, &of(&form));
    }
    refused(
        "batch_update",
        &of(&format!(r#""upsert":{upsert},"delete":{delete}"#)),
        "expected one operation",
    );
    refused("batch_update", &of(&format!(r#""upsert":{upsert},"upsert":null"#)), "expected one of");
}

#[test]
fn update_modes_and_filters_are_read_c5_1() {
    let point = r#""points":[{"id":1,"vector":{}}]"#;
    for (name, mode) in [
        ("upsert", UpdateMode::Upsert),
        ("insert_only", UpdateMode::InsertOnly),
        ("update_only", UpdateMode::UpdateOnly),
    ] {
        let (_, read, filtered) =
            upsert(&format!(r#"{{{point},"update_mode":"{name}","update_filter":{{}}}}"#));
        assert_eq!((read, filtered), (mode, true));
    }
}

#[test]
fn a_selection_is_ids_or_a_filter_and_ids_count_c5() {
    let selection = |body: &str| match api::delete_points(body.as_bytes(), &Limits::default()).unwrap() {
        Update::Delete(selection) => selection,
        other => panic!("{other:?}"),
    };
    let Selection::Ids(ids, _) = selection(r#"{"filter":{"must":[]},"points":[3,1,3]}"#) else { panic!() };
    assert_eq!(ids, [3, 1, 3].map(PointId::Num));
    assert!(matches!(selection(r#"{"filter":{}}"#), Selection::Filter(_)));
    assert!(matches!(selection(r#"{"points":[]}"#), Selection::Ids(ids, _) if ids.is_empty()));
}

#[test]
fn payload_operations_are_read_c5_6_to_c5_9() {
    let limits = Limits::default();
    let body = br#"{"payload":{"a":null},"key":"k.list[].a","points":[1],"shard_key":null}"#;
    let Update::SetPayload { payload, key, .. } = api::set_payload(body, &limits).unwrap() else { panic!() };
    assert_eq!((&*payload, key.unwrap().to_string().as_str()), (&b"{\"a\":null}"[..], "k.list[].a"));
    assert!(matches!(
        api::overwrite_payload(body, &limits).unwrap(),
        Update::OverwritePayload { key: Some(_), .. }
    ));
    let Update::DeletePayload { keys, .. } =
        api::delete_payload(br#"{"keys":["a","\"x.y\".z"],"filter":{}}"#, &limits).unwrap()
    else {
        panic!()
    };
    assert_eq!(keys.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "\"x.y\".z"]);
    assert!(matches!(api::clear_payload(br#"{"points":[1]}"#, &limits).unwrap(), Update::ClearPayload(_)));
}

#[test]
fn versions_are_of_ids_alone_c25() {
    let read = |body: &str| match api::clear_payload(body.as_bytes(), &Limits::default()).unwrap() {
        Update::ClearPayload(Selection::Ids(_, versions)) => versions,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(r#"{"points":[1],"if_version":null}"#), Versions::Any);
    assert_eq!(read(r#"{"points":[1],"if_version":0}"#), Versions::All(0));
    let each = read(
        r#"{"if_version":{"1":18446744073709551615,"550E8400E29B41D4A716446655440000":3},
            "points":[2,1,"550e8400-e29b-41d4-a716-446655440000"]}"#,
    );
    assert_eq!([1, 2].map(|id| each.of(&PointId::Num(id))), [Some(u64::MAX), None]);
    for (body, place) in [
        (r#"{"filter":{},"if_version":1}"#, "if_version: goes with points"),
        (r#"{"filter":{},"points":[1],"if_version":{"1":1}}"#, "if_version: goes with points"),
        (r#"{"points":[1],"if_version":{"2":1}}"#, "if_version.2: is not among the points"),
        (r#"{"points":[1],"if_version":{"one":1}}"#, "if_version.one"),
        (r#"{"points":[1],"if_version":{"1":-1}}"#, "if_version.1"),
        (r#"{"points":[1],"if_version":1.5}"#, "if_version"),
        (r#"{"points":[1],"if_version":[1]}"#, "if_version: expected an integer or an object"),
    ] {
        refused("clear_payload", body, place);
    }
    refused("delete_points", r#"{"points":[1],"if_version":1}"#, "if_version");
    refused("delete_vectors", r#"{"points":[1],"vector":["a"],"if_version":1}"#, "if_version");
    refused(
        "upsert_points",
        r#"{"points":[{"id":1,"vector":[1],"if_version":"1"}]}"#,
        "points[0].if_version",
    );
}

#[test]
fn vector_operations_are_read_c5_5_c5_10() {
    let limits = Limits::default();
    let body = br#"{"points":[{"id":1,"vector":{"a":[1]}},{"id":1,"vectors":[2,3]}],"update_filter":{}}"#;
    let Update::UpdateVectors { points, update_filter, .. } = api::update_vectors(body, &limits).unwrap()
    else {
        panic!()
    };
    assert!(update_filter.is_some());
    assert!(points.iter().all(|point| point.id == PointId::Num(1)));
    assert_eq!(points[0].vectors, vec![("a".into(), vec![1.0].into())]);
    assert_eq!(points[1].vectors, vec![("".into(), vec![2.0, 3.0].into())]);
    let body = br#"{"vector":["a",""],"points":[1]}"#;
    let Update::DeleteVectors { names, .. } = api::delete_vectors(body, &limits).unwrap() else { panic!() };
    assert_eq!(names, ["a".into(), "".into()]);
}

#[test]
fn a_batch_is_the_bodies_of_its_endpoints_c5_11() {
    let bodies = [
        ("upsert", "upsert_points", r#"{"points":[{"id":1,"vector":[1]}]}"#),
        ("delete", "delete_points", r#"{"filter":{}}"#),
        ("set_payload", "set_payload", r#"{"payload":{"a":1},"points":[1],"key":"k"}"#),
        ("overwrite_payload", "overwrite_payload", r#"{"payload":{},"filter":{}}"#),
        ("delete_payload", "delete_payload", r#"{"keys":["a"],"points":[1]}"#),
        ("clear_payload", "clear_payload", r#"{"points":[1]}"#),
        ("update_vectors", "update_vectors", r#"{"points":[{"id":1,"vector":[1]}]}"#),
        ("delete_vectors", "delete_vectors", r#"{"vector":["a"],"points":[1]}"#),
    ];
    let operations: Vec<String> =
        bodies.iter().map(|(name, _, body)| format!("{{\"{name}\":{body}}}")).collect();
    let alone: Vec<String> = bodies.iter().map(|(_, operation, body)| accepted(operation, body)).collect();
    let batch = accepted("batch_update", &format!("{{\"operations\":[{}]}}", operations.join(",")));
    assert_eq!(batch, format!("[{}]", alone.join(", ")));
}

#[test]
fn the_limit_on_points_holds_for_a_whole_request_c2_7() {
    let limits = Limits { max_points_per_request: 3, ..Limits::default() };
    let ok = br#"{"operations":[{"delete":{"points":[1,2]}},{"delete":{"points":[3]}}]}"#;
    assert_eq!(api::batch_update(ok, &limits).unwrap().len(), 2);
    let over = br#"{"operations":[{"delete":{"points":[1,2]}},{"delete":{"points":[3,4]}}]}"#;
    let error = api::batch_update(over, &limits).unwrap_err().to_string();
    assert!(error.contains("operations[1].delete.points: at most 3 points or ids a request"), "{error}");
}

#[test]
fn a_field_index_takes_a_name_or_an_object_c5_12() {
    for body in [
        r#"{"field_name":"a.b[]","field_schema":"keyword"}"#,
        r#"{"field_name":"a","field_type":"integer"}"#,
        r#"{"field_name":"a","field_schema":{"type":"integer","lookup":true,"range":false}}"#,
        r#"{"field_name":"a","field_schema":{"type":"keyword","is_tenant":true},"shard_key":null}"#,
    ] {
        accepted("create_field_index", body);
    }
    refused("create_field_index", r#"{"field_name":"a","field_schema":null}"#, "field_schema");
}

#[test]
fn what_is_wrong_with_a_re_embedding_is_named_c19() {
    for (operation, body, expected) in [
        ("reembed_vectors", "", "model"),
        ("reembed_vectors", r#"{"model":{"text_key":"a"}}"#, "model.name"),
        ("reembed_vectors", r#"{"model":"m","size":0}"#, "size: value 0 invalid"),
        ("reembed_vectors", r#"{"model":"m","rate":0}"#, "rate"),
        ("reembed_vectors", r#"{"model":"m","vector":[1]}"#, "vector"),
        ("commit_reembedding", r#"{"allow_missing":1}"#, "allow_missing"),
        ("next_texts", r#"{"limit":0}"#, "limit"),
        ("next_texts", "{}", "limit"),
        ("fill_vectors", r#"{"points":[]}"#, "begun"),
        ("fill_vectors", r#"{"begun":1}"#, "points"),
        (
            "fill_vectors",
            r#"{"begun":1,"points":[{"at":4294967296,"input":{"text":"a","model":"qdrant/bm25"}}]}"#,
            "at",
        ),
        (
            "fill_vectors",
            r#"{"begun":1,"points":[{"at":1,"input":{"text":"a","model":"m"}}]}"#,
            "points[0].input.model",
        ),
    ] {
        refused(operation, body, expected);
    }
}
