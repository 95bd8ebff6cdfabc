//! Upserts as Arrow IPC streams (C5.13), written by arrow's own writer.

use super::{accepted, message};
use crate::api;
use crate::collection::update::{PointInput, Update};
use crate::error::Error;
use crate::json::Watch;
use crate::limits::{Limits, MAX_ARROW_POINT_BYTES};
use crate::types::{IdKind, PointId};
use arrow_array::builder::{
    FixedSizeListBuilder, Float32Builder, ListBuilder, StringBuilder, StringDictionaryBuilder, UInt32Builder,
};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, FixedSizeListArray, Float16Array, Float32Array, Float64Array, Int8Array,
    Int32Array, Int64Array, LargeListArray, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt8Array, UInt64Array, new_null_array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use half::f16;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// The stream of batches with one schema.
fn stream_of(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    stream_of(&[batch(columns)])
}

fn parse_within(stream: &[u8], limits: &Limits) -> Result<Update, Error> {
    api::upsert_arrow(stream, IdKind::Default, limits, Watch(&|| Ok(())), &mut |_| Ok(()))
}

fn points(stream: &[u8]) -> Vec<PointInput> {
    match parse_within(stream, &Limits::default()).unwrap() {
        Update::Upsert { points, .. } => points,
        other => panic!("{other:?}"),
    }
}

/// Asserts that a stream means the same as a body of JSON.
#[track_caller]
fn same(stream: &[u8], json: &str) {
    let parsed = parse_within(stream, &Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(format!("{parsed:?}"), accepted("upsert_points", json));
}

/// Asserts that a stream is refused with that message.
#[track_caller]
fn refused(stream: &[u8], expected: &str) {
    // Points are not in the message: they may be long.
    let error = parse_within(stream, &Limits::default()).map(|_| ()).expect_err(expected);
    assert!(matches!(error, Error::BadRequest(_) | Error::MissingField(_)), "{error}");
    assert!(message(&error).contains(expected), "{error}\n  lacks {expected:?}");
}

fn ids(count: u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(1..=count))
}

/// Vectors of one length.
fn fixed(vectors: &[&[f32]]) -> ArrayRef {
    let mut builder = FixedSizeListBuilder::new(Float32Builder::new(), vectors[0].len() as i32);
    for vector in vectors {
        builder.values().append_slice(vector);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn lists<T: Array + 'static>(length: i32, values: T) -> ArrayRef {
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    Arc::new(FixedSizeListArray::new(field, length, Arc::new(values), None))
}

fn texts(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// Structs of indices and values.
fn sparse(vectors: &[(&[u32], &[f32])]) -> ArrayRef {
    let (mut indices, mut values) =
        (ListBuilder::new(UInt32Builder::new()), ListBuilder::new(Float32Builder::new()));
    for (at, of) in vectors {
        indices.append_value(at.iter().copied().map(Some));
        values.append_value(of.iter().copied().map(Some));
    }
    let arrays: Vec<(&str, ArrayRef)> =
        vec![("indices", Arc::new(indices.finish())), ("values", Arc::new(values.finish()))];
    Arc::new(StructArray::try_from(arrays).unwrap())
}

/// Points with one key of payloads.
fn with_key(values: ArrayRef) -> Vec<u8> {
    let vectors = vec![&[1.0f32][..]; values.len()];
    stream(vec![("id", ids(values.len() as u64)), ("vector", fixed(&vectors)), ("k", values)])
}

/// The payloads of a stream, as text.
fn payloads(stream: &[u8]) -> Vec<String> {
    points(stream).into_iter().map(|point| String::from_utf8(point.payload.into()).unwrap()).collect()
}

#[test]
fn a_row_is_a_point_c5_13() {
    let one = batch(vec![
        ("id", ids(2)),
        ("vector", fixed(&[&[1.0, -0.5], &[-0.0, 3.0]])),
        ("city", texts(&["Bärn", "a\"b\n"])),
        ("n", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
    ]);
    let two = batch(vec![
        ("id", Arc::new(UInt64Array::from(vec![u64::MAX]))),
        ("vector", fixed(&[&[5.0, 6.0]])),
        ("city", Arc::new(StringArray::from(vec![None::<&str>]))),
        ("n", Arc::new(Int64Array::from(vec![7]))),
    ]);
    same(
        &stream_of(&[one.clone(), one.slice(2, 0), two]),
        r#"{"points":[{"id":1,"vector":[1,-0.5],"payload":{"city":"Bärn","n":-9223372036854775808}},
            {"id":2,"vector":[0,3],"payload":{"city":"a\"b\n"}},
            {"id":18446744073709551615,"vector":[5,6],"payload":{"n":7}}]}"#,
    );
    same(
        &stream_of(&[one.slice(1, 1)]),
        r#"{"points":[{"id":2,"vector":[0,3],"payload":{"city":"a\"b\n"}}]}"#,
    );
}

#[test]
fn ids_are_integers_texts_or_bytes_c2_1_c5_13() {
    let uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    let bytes = 0x6ba7b810_9dad_11d1_80b4_00c04fd430c8_u128.to_be_bytes();
    let forms: [(ArrayRef, String); 7] = [
        (Arc::new(Int8Array::from(vec![7])), "7".into()),
        (Arc::new(Int64Array::from(vec![i64::MAX])), i64::MAX.to_string()),
        (Arc::new(UInt8Array::from(vec![255])), "255".into()),
        (texts(&[uuid]), format!("\"{uuid}\"")),
        (Arc::new(LargeStringArray::from(vec![uuid])), format!("\"{uuid}\"")),
        (Arc::new(StringViewArray::from(vec![uuid])), format!("\"{uuid}\"")),
        (Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).unwrap()), format!("\"{uuid}\"")),
    ];
    for (column, id) in forms {
        let sent = stream(vec![("id", column), ("vector", fixed(&[&[1.0]]))]);
        same(&sent, &format!(r#"{{"points":[{{"id":{id},"vector":[1]}}]}}"#));
    }
    let refused_ids: [(ArrayRef, &str); 4] = [
        (Arc::new(Int32Array::from(vec![1, -3])), "id[1]: value -3 is not a valid point ID"),
        (Arc::new(UInt64Array::from(vec![None, Some(3)])), "id[0]: value null is not a valid point ID"),
        (texts(&[uuid, "12"]), "id[1]: value \"12\" is not a valid point ID"),
        (Arc::new(Float64Array::from(vec![1.0, 2.0])), "id: expected integers, texts or 16 bytes"),
    ];
    for (column, why) in refused_ids {
        refused(&stream(vec![("id", column), ("vector", fixed(&[&[1.0], &[1.0]]))]), why);
    }
}

#[test]
fn ids_are_integers_and_texts_where_ids_are_strings_c21_c5_13() {
    let read = |ids: ArrayRef| {
        let sent = stream(vec![("id", ids), ("vector", fixed(&[&[1.0]]))]);
        api::upsert_arrow(&sent, IdKind::String, &Limits::default(), Watch(&|| Ok(())), &mut |_| Ok(()))
    };
    let id = |ids: ArrayRef| match read(ids).unwrap() {
        Update::Upsert { points, .. } => points[0].id.clone(),
        _ => panic!("another update"),
    };
    for text in ["7", "550E8400-E29B-41D4-A716-446655440000", "a name longer than thirty bytes of text"] {
        assert_eq!(Some(id(texts(&[text]))), PointId::of_string(text, IdKind::String));
    }
    assert_eq!(id(Arc::new(UInt64Array::from(vec![7]))), PointId::Num(7));
    let bytes = FixedSizeBinaryArray::try_from_iter([[7_u8; 16]].into_iter()).unwrap();
    for ids in [texts(&[""]), texts(&[&"x".repeat(257)]), Arc::new(bytes) as ArrayRef] {
        let why = read(ids).unwrap_err().to_string();
        assert!(why.contains("id[0]: ") && why.contains("a string of 1 to 256 bytes"), "{why}");
    }
}

#[test]
fn vectors_of_every_kind_and_number_are_read_c2_3_c5_13() {
    let halves = Float16Array::from_iter_values([1.0, 2.5].map(f16::from_f32));
    let mut multi = ListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 2));
    for row in [[1.0, 2.0], [3.0, 4.0]] {
        multi.values().values().append_slice(&row);
        multi.values().append(true);
    }
    multi.append(true);
    let free = ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>([Some([Some(0.1)])]);
    let wide =
        LargeListArray::from_iter_primitive::<arrow_array::types::Float32Type, _, _>([Some([Some(9.0)])]);
    let sent = stream(vec![
        ("id", ids(1)),
        ("vector", fixed(&[&[1.0]])),
        ("vector.half", lists(2, halves)),
        ("vector.double", lists(1, Float64Array::from(vec![1e-3]))),
        ("vector.byte", lists(3, UInt8Array::from(vec![0, 7, 255]))),
        ("vector.free", Arc::new(free)),
        ("vector.wide", Arc::new(wide)),
        ("vector.multi", Arc::new(multi.finish())),
        ("vector.s.p", sparse(&[(&[9, 4_294_967_295, 0], &[1.0, -2.5, 3.0])])),
        ("vector.none", Arc::new(NullArray::new(1))),
        ("vector.null", new_null_array(&DataType::new_list(DataType::Float32, true), 1)),
    ]);
    same(
        &sent,
        r#"{"points":[{"id":1,"vector":{"":[1],"half":[1,2.5],"double":[0.001],"byte":[0,7,255],"free":[0.1],"wide":[9],
            "multi":[[1,2],[3,4]],"s.p":{"indices":[9,4294967295,0],"values":[1,-2.5,3]}}}]}"#,
    );
}

#[test]
fn malformed_vectors_are_refused_with_their_column_and_row_c1_11_c5_13() {
    let refusals: [(&str, ArrayRef, &str); 12] = [
        ("vector", fixed(&[&[1.0, 2.0], &[1.0, f32::NAN]]), "vector[1][1]: expected a number within"),
        ("vector.a", fixed(&[&[1.0], &[f32::INFINITY]]), "vector.a[1][0]: expected a number within"),
        ("vector", lists(1, Float64Array::from(vec![1.0, 1e39])), "vector[1][0]: expected a number within"),
        (
            "vector",
            lists(1, Float32Array::from(vec![Some(1.0), None])),
            "vector[1][0]: expected a number, got null",
        ),
        ("vector", lists(1, Int8Array::from(vec![1, 2])), "vector: expected lists of floats"),
        ("vector", texts(&["a", "b"]), "vector: expected lists of floats"),
        (
            "vector",
            Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Float32Type, _, _>([
                Some(vec![Some(1.0)]),
                Some(vec![]),
            ])),
            "vector[1]: dense vector must not be empty",
        ),
        (
            "vector.s",
            sparse(&[(&[1], &[1.0]), (&[1, 2], &[1.0])]),
            "vector.s[1].values: must be the same length",
        ),
        (
            "vector.s",
            sparse(&[(&[1], &[1.0]), (&[2, 2], &[1.0, 1.0])]),
            "vector.s[1].indices: must be unique",
        ),
        (
            "vector.s",
            sparse(&[(&[1], &[1.0]), (&[2], &[f32::NAN])]),
            "vector.s[1].values[0]: expected a number",
        ),
        ("vector.", fixed(&[&[1.0], &[1.0]]), "vector.: names no vector"),
        ("vectors", fixed(&[&[1.0], &[1.0]]), "vector"),
    ];
    for (name, column, why) in refusals {
        refused(&stream(vec![("id", ids(2)), (name, column)]), why);
    }
    let mut uneven = ListBuilder::new(ListBuilder::new(Float32Builder::new()));
    uneven.values().append_value([Some(1.0), Some(2.0)]);
    uneven.values().append_value([Some(1.0)]);
    uneven.append(true);
    uneven.append(true);
    let uneven: ArrayRef = Arc::new(uneven.finish());
    let sent = |column: ArrayRef| stream(vec![("id", ids(column.len() as u64)), ("vector", column)]);
    refused(&sent(uneven.slice(0, 1)), "vector[0]: all vectors must have the same dimension");
    refused(&sent(uneven.slice(1, 1)), "vector[0]: multi vector must not be empty");
}

#[test]
fn columns_are_keys_of_payloads_c5_13() {
    let micros = TimestampMicrosecondArray::from(vec![1_704_103_200_123_000]);
    let zoned = TimestampNanosecondArray::from(vec![1]).with_timezone("Europe/Zurich");
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a"), None]);
    let inner: Vec<(&str, ArrayRef)> = vec![
        ("x", Arc::new(Float64Array::from(vec![1.5]))),
        ("none", Arc::new(Int32Array::from(vec![None]))),
    ];
    let halves = Float16Array::from_iter_values([f16::from_f32(0.1)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from(vec![true]))),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX]))),
        ("i", Arc::new(Int32Array::from(vec![-5]))),
        ("f", Arc::new(Float32Array::from(vec![0.1]))),
        ("d", Arc::new(Float64Array::from(vec![2.0]))),
        ("h", Arc::new(halves)),
        ("view", Arc::new(StringViewArray::from(vec!["longer than twelve bytes"]))),
        ("short", Arc::new(StringViewArray::from(vec!["short"]))),
        ("s", Arc::new(TimestampSecondArray::from(vec![-1]))),
        ("micros", Arc::new(micros)),
        ("zoned", Arc::new(zoned)),
        ("day", Arc::new(Date32Array::from(vec![19_723]))),
        ("day64", Arc::new(Date64Array::from(vec![1_704_067_200_000]))),
        ("tags", Arc::new(tags.finish())),
        ("point", Arc::new(StructArray::try_from(inner).unwrap())),
        ("nothing", Arc::new(NullArray::new(1))),
        ("quo\"te", Arc::new(BooleanArray::from(vec![false]))),
    ];
    let fixed: Vec<(&str, ArrayRef)> = vec![("id", ids(1)), ("vector", fixed(&[&[1.0]]))];
    let sent = stream(fixed.into_iter().chain(columns).collect());
    let expected = concat!(
        r#"{"flag":true,"u":18446744073709551615,"i":-5,"f":0.1,"d":2.0,"h":0.099975586,"#,
        r#""view":"longer than twelve bytes","short":"short","s":"1969-12-31T23:59:59Z","#,
        r#""micros":"2024-01-01T10:00:00.123Z","zoned":"1970-01-01T00:00:00.000000001Z","#,
        r#""day":"2024-01-01T00:00:00Z","day64":"2024-01-01T00:00:00Z","tags":["a",null],"point":{"x":1.5},"quo\"te":false}"#
    );
    assert_eq!(payloads(&sent), [expected]);
}

#[test]
fn texts_of_dictionaries_are_texts_c5_13() {
    let of = |texts: &[Option<&str>]| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        builder.extend(texts.iter().copied());
        Arc::new(builder.finish())
    };
    assert_eq!(
        payloads(&with_key(of(&[Some("a"), None, Some("b"), Some("a")]))),
        [r#"{"k":"a"}"#, "{}", r#"{"k":"b"}"#, r#"{"k":"a"}"#]
    );
    // A batch behind another may replace the dictionary.
    let part = |column: ArrayRef| batch(vec![("id", ids(1)), ("vector", fixed(&[&[1.0]])), ("k", column)]);
    let replaced = stream_of(&[part(of(&[Some("a")])), part(of(&[Some("z")]))]);
    assert_eq!(payloads(&replaced), [r#"{"k":"a"}"#, r#"{"k":"z"}"#]);
    // Ids and payloads are texts, too.
    let uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    let one = stream(vec![
        ("id", of(&[Some(uuid)])),
        ("vector", fixed(&[&[1.0]])),
        ("payload", of(&[Some(r#"{"a":1}"#)])),
    ]);
    same(&one, &format!(r#"{{"points":[{{"id":"{uuid}","vector":[1],"payload":{{"a":1}}}}]}}"#));
    // A null of the dictionary is one.
    let values = StringArray::from(vec![Some("x"), None]);
    let keys = Int32Array::from(vec![0, 1]);
    let nulls: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values)));
    assert_eq!(payloads(&with_key(nulls)), [r#"{"k":"x"}"#, "{}"]);
}

#[test]
fn a_payload_may_be_one_column_c5_13() {
    let sent = |column: ArrayRef| {
        stream(vec![("id", ids(2)), ("payload", column), ("vector", fixed(&[&[1.0], &[1.0]]))])
    };
    let json: ArrayRef = Arc::new(StringArray::from(vec![Some(r#" {"b" : 1.0, "a":[1e2], "b": 2} "#), None]));
    assert_eq!(payloads(&sent(json)), [r#"{"b":2,"a":[1e2]}"#, "{}"]);
    let fields: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int32Array::from(vec![Some(1), None])))];
    assert_eq!(payloads(&sent(Arc::new(StructArray::try_from(fields).unwrap()))), [r#"{"n":1}"#, "{}"]);
    refused(&sent(texts(&["{}", r#"{"a":{"b":1e400}}"#])), "payload[1].a.b: number out of range");
    refused(&sent(texts(&["{}", "[]"])), "payload[1]: expected an object");
    refused(&sent(texts(&["{}", "{"])), "payload[1]: Body is not valid JSON");
    refused(&sent(texts(&["{}", "{} {}"])), "payload[1]: Body is not valid JSON");
    refused(&sent(ids(2)), "payload: expected texts of JSON, or structs");
    let both = vec![("id", ids(1)), ("payload", texts(&["{}"])), ("vector", fixed(&[&[1.0]])), ("k", ids(1))];
    refused(&stream(both), "k: a stream with the column payload has no other columns for payloads");
}

#[test]
fn values_without_a_form_in_json_are_refused_with_their_column_and_row_c1_11_c5_13() {
    refused(
        &with_key(Arc::new(Float64Array::from(vec![1.0, f64::NAN]))),
        "k[1]: expected a finite number, got NaN",
    );
    refused(
        &with_key(Arc::new(TimestampSecondArray::from(vec![0, i64::MAX]))),
        "k[1]: a moment outside the years",
    );
    refused(
        &with_key(Arc::new(Decimal128Array::from(vec![1]))),
        "k: columns of the type Decimal cannot be read",
    );
    let bytes = FixedSizeBinaryArray::try_from_iter([[0u8; 3]].into_iter()).unwrap();
    refused(&with_key(Arc::new(bytes)), "k: expected what has a form in JSON, found bytes");
    let mut numbers = ListBuilder::new(Float32Builder::new());
    numbers.append_value([Some(1.0)]);
    numbers.append_value([Some(1.0), Some(f32::INFINITY)]);
    refused(&with_key(Arc::new(numbers.finish())), "k[1][1]: expected a finite number, got inf");
}

#[test]
fn streams_without_what_points_need_are_refused_c5_13() {
    let column = || fixed(&[&[1.0]]);
    refused(b"", "body: expected a schema first");
    refused(b"{\"points\":[]}", "body: not an Arrow IPC stream");
    refused(b"ARROW1\0\0", "body: an Arrow file, expected an Arrow IPC stream");
    refused(&stream(vec![("vector", column())]), "id");
    refused(&stream(vec![("id", ids(1)), ("embedding", column())]), "vector");
    let empty = batch(vec![("id", ids(1)), ("vector", column())]).slice(0, 0);
    refused(&stream_of(&[empty]), "id: must hold at least one point");
    let field = |name| Field::new(name, DataType::UInt64, true);
    let vector = Field::new("vector", DataType::Null, true);
    let twice = Arc::new(Schema::new(vec![field("id"), vector, field("k"), field("k")]));
    let columns = vec![ids(1), Arc::new(NullArray::new(1)) as ArrayRef, ids(1), ids(1)];
    refused(&stream_of(&[RecordBatch::try_new(twice, columns).unwrap()]), "k: a name that comes twice");
    let sent = stream(vec![("id", ids(1)), ("vector", column())]);
    refused(&[&sent[..], &[0]].concat(), "body: bytes behind the end of the stream");
    for end in (1..sent.len() - 8).step_by(7) {
        assert!(parse_within(&sent[..end], &Limits::default()).is_err(), "cut off at {end}");
    }
}

#[test]
fn the_version_of_a_point_and_the_model_of_a_vector_may_be_named_c19_c25_c5_13() {
    let versions: ArrayRef = Arc::new(UInt64Array::from(vec![Some(0), None]));
    let columns: Vec<(&str, ArrayRef)> =
        vec![("id", ids(2)), ("vector.a", fixed(&[&[1.0], &[2.0]])), ("if_version", versions)];
    let fields = columns.iter().map(|(name, column)| {
        let field = Field::new(*name, column.data_type().clone(), true);
        if *name == "vector.a" {
            field.with_metadata(HashMap::from([("model".to_string(), "m".to_string())]))
        } else {
            field
        }
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.iter().map(|(_, column)| Arc::clone(column)).collect();
    let sent = stream_of(&[RecordBatch::try_new(schema, arrays).unwrap()]);
    let read = points(&sent);
    assert_eq!(read.iter().map(|point| point.if_version).collect::<Vec<_>>(), [Some(0), None]);
    let parsed = format!("{:?}", parse_within(&sent, &Limits::default()).unwrap());
    assert!(parsed.contains(r#""a" of Some("m")"#), "{parsed}");
    let negative: ArrayRef = Arc::new(Int32Array::from(vec![-1]));
    let sent = stream(vec![("id", ids(1)), ("vector", fixed(&[&[1.0]])), ("if_version", negative)]);
    refused(&sent, "if_version[0]: expected an unsigned integer, got -1");
}

#[test]
fn limits_hold_for_streams_c2_7_c5_13() {
    let limits = Limits { max_points_per_request: 3, max_named_vectors: 1, ..Limits::default() };
    let part =
        |count: usize| batch(vec![("id", ids(count as u64)), ("vector", fixed(&vec![&[1.0f32][..]; count]))]);
    assert!(parse_within(&stream_of(&[part(2), part(1)]), &limits).is_ok());
    let error = parse_within(&stream_of(&[part(2), part(2)]), &limits).unwrap_err();
    assert!(message(&error).contains("max_points_per_request"), "{error}");
    let two = stream(vec![("id", ids(1)), ("vector.a", fixed(&[&[1.0]])), ("vector.b", fixed(&[&[1.0]]))]);
    assert!(message(&parse_within(&two, &limits).unwrap_err()).contains("max_named_vectors"));
    let many: Vec<Field> = (0..5_000).map(|n| Field::new(format!("k{n}"), DataType::Null, true)).collect();
    let schema = StreamWriter::try_new(Vec::new(), &Schema::new(many)).unwrap().into_inner().unwrap();
    refused(&schema, "at most 4096 columns");
}

#[test]
fn what_a_stream_becomes_is_bounded_and_charged_c2_7_c5_13() {
    let long = "x".repeat(1 << 20);
    let of = |rows: usize| -> Vec<u8> {
        let values: ArrayRef = Arc::new(StringArray::from(vec![long.as_str()]));
        let keys = Int32Array::from(vec![0; rows]);
        with_key(Arc::new(DictionaryArray::<Int32Type>::new(keys, values)))
    };
    refused(&of(MAX_ARROW_POINT_BYTES >> 20), "bytes of vectors and payloads a request");
    let charged = Cell::new(0);
    let mut charge = |bytes: u64| {
        charged.set(charged.get() + bytes);
        Ok(())
    };
    let sent = of(10);
    api::upsert_arrow(&sent, IdKind::Default, &Limits::default(), Watch(&|| Ok(())), &mut charge).unwrap();
    assert!((8 << 20..11 << 20).contains(&charged.get()), "{} bytes", charged.get());
    let refuse = &mut |_: u64| Err(Error::MemoryLimit);
    let refused = api::upsert_arrow(&sent, IdKind::Default, &Limits::default(), Watch(&|| Ok(())), refuse);
    assert_eq!(refused.unwrap_err(), Error::MemoryLimit);
    let given_up = api::upsert_arrow(
        &sent,
        IdKind::Default,
        &Limits::default(),
        Watch(&|| Err(Error::ShuttingDown)),
        &mut |_| Ok(()),
    );
    assert_eq!(given_up.unwrap_err(), Error::ShuttingDown);
}

#[test]
fn streams_of_other_writers_are_read_c5_13() {
    // Of pyarrow 26.
    let sent = include_bytes!("../../../../../fuzz/corpus/arrow/04");
    let expected = [
        r#"{"city":"a","when":"1970-01-01T00:00:00Z","m":{"x":1,"y":[1.5]},"v":"longer than twelve bytes"}"#,
        r#"{"when":"1970-01-01T00:00:00.000001Z","v":"b"}"#,
    ];
    assert_eq!(payloads(sent), expected);
    refused(include_bytes!("../../../../../fuzz/corpus/arrow/05"), "body: a compressed batch cannot be read");
}

/// A stream with a column of every kind.
fn every_kind() -> Vec<u8> {
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    dictionary.extend([Some("a"), None, Some("b")]);
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a"), None]);
    tags.append_null();
    tags.append_value([Some("c")]);
    let inner: Vec<(&str, ArrayRef)> = vec![("x", Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5])))];
    let mut multi = ListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 2));
    for _ in 0..3 {
        multi.values().values().append_slice(&[1.0, 2.0]);
        multi.values().append(true);
        multi.append(true);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", ids(3)),
        ("vector", fixed(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]])),
        ("vector.m", Arc::new(multi.finish())),
        ("vector.s", sparse(&[(&[1], &[1.0]), (&[], &[]), (&[7, 9], &[1.0, 2.0])])),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3]))),
        ("view", Arc::new(StringViewArray::from(vec!["longer than twelve bytes", "b", "c"]))),
        ("tags", Arc::new(tags.finish())),
        ("point", Arc::new(StructArray::try_from(inner).unwrap())),
        ("d", Arc::new(dictionary.finish())),
    ];
    stream(columns)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn damaged_streams_are_refused_or_read_and_never_a_panic_c5_13(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..6),
    ) {
        let mut sent = every_kind();
        for (place, byte, how) in damages {
            let at = place.index(sent.len());
            match how {
                0 => sent[at] ^= 1 << (byte % 8),
                1 => sent[at] = byte,
                _ => sent[at] = [0, 0x7f, 0x80, 0xff][usize::from(byte % 4)],
            }
        }
        crate::fuzzing::arrow(&sent);
    }
}
