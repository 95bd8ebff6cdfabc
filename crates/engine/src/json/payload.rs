//! The normal form of payloads: JSON without white space, keys in the order of their first occurrence, the last
//! value of a repeated key, strings with as few escapes as possible, numbers as the client wrote them.

use super::reader::{Kind, Reader};
use crate::allocator::{buffer, reserve_or_unwind};
use crate::error::Error;
use crate::json_writer::write_string;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The greatest nesting of a payload. The object itself is the first level (C2.5).
pub const MAX_PAYLOAD_DEPTH: usize = 64;

/// Repeated keys of objects with more keys than this are found by hash.
const SMALL_OBJECT: usize = 16;

/// Reads a JSON object and appends its normalised form to `out`.
///
/// # Errors
/// `BadRequest` that names the place: no object, nested deeper than [`MAX_PAYLOAD_DEPTH`], a number beyond `f64`.
pub fn read_payload(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    reader.expect(Kind::Object)?;
    let deepest = reader.depth() + MAX_PAYLOAD_DEPTH;
    value(reader, out, deepest)
}

/// Reads a JSON value of any kind and appends its normalised form to `out`.
///
/// # Errors
/// `BadRequest` that names the place: nested deeper than [`MAX_PAYLOAD_DEPTH`], a number beyond `f64`.
pub fn read_value(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let deepest = reader.depth() + MAX_PAYLOAD_DEPTH;
    value(reader, out, deepest)
}

fn value(reader: &mut Reader<'_>, out: &mut Vec<u8>, deepest: usize) -> Result<(), Error> {
    match reader.peek()? {
        Kind::Object => {
            level(reader, deepest)?;
            object(reader, out, deepest)
        }
        Kind::Array => {
            level(reader, deepest)?;
            out.push(b'[');
            reader.array(|r, index| {
                if index > 0 {
                    out.push(b',');
                }
                value(r, out, deepest)
            })?;
            out.push(b']');
            Ok(())
        }
        Kind::String => {
            match reader.string()? {
                // A string without escapes has no characters that need them.
                Cow::Borrowed(plain) => {
                    reserve_or_unwind(out, plain.len());
                    out.push(b'"');
                    out.extend_from_slice(plain.as_bytes());
                    out.push(b'"');
                }
                Cow::Owned(text) => write_string(out, &text),
            }
            Ok(())
        }
        Kind::Number => {
            let text = reader.number_text()?;
            if !text.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(reader.error("number out of range"));
            }
            reserve_or_unwind(out, text.len());
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        Kind::Bool => {
            out.extend_from_slice(if reader.bool()? { b"true" } else { b"false" });
            Ok(())
        }
        Kind::Null => {
            reader.take_null()?;
            out.extend_from_slice(b"null");
            Ok(())
        }
    }
}

fn level(reader: &Reader<'_>, deepest: usize) -> Result<(), Error> {
    if reader.depth() >= deepest {
        return Err(reader.error(format!("payload is nested deeper than {MAX_PAYLOAD_DEPTH} levels")));
    }
    Ok(())
}

fn object(reader: &mut Reader<'_>, out: &mut Vec<u8>, deepest: usize) -> Result<(), Error> {
    let start = out.len();
    // The ranges in `out` of each key and of its last field.
    let mut fields: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut by_key: HashMap<Box<[u8]>, usize> = HashMap::new();
    let mut repeated = false;
    out.push(b'{');
    reader.object(|r, key| {
        let end = out.len();
        if end > start + 1 {
            out.push(b',');
        }
        let from = out.len();
        write_string(out, key);
        let written_key = from..out.len();
        out.push(b':');
        if let Err(error) = value(r, out, deepest) {
            // The object is read on where the key comes again.
            out.truncate(end);
            return Err(error);
        }
        let range = from..out.len();
        let earlier = if fields.len() > SMALL_OBJECT {
            by_key.get(&out[written_key.clone()]).copied()
        } else {
            fields.iter().position(|(known, _)| out[known.clone()] == out[written_key.clone()])
        };
        match earlier {
            Some(at) => {
                fields[at].1 = range;
                repeated = true;
            }
            None => {
                fields.push((written_key.clone(), range));
                if fields.len() > SMALL_OBJECT {
                    let key_of = |range: &Range<usize>| Box::from(&out[range.clone()]);
                    if by_key.is_empty() {
                        by_key.extend(fields.iter().enumerate().map(|(at, (known, _))| (key_of(known), at)));
                    } else {
                        by_key.insert(key_of(&written_key), fields.len() - 1);
                    }
                }
            }
        }
        Ok(())
    })?;
    if repeated {
        keep_only(out, start, fields.iter().map(|(_, field)| field.clone()));
    }
    out.push(b'}');
    Ok(())
}

/// Makes an object, which begins at `start` and has no end yet, of some of its fields.
fn keep_only(out: &mut Vec<u8>, start: usize, fields: impl Iterator<Item = Range<usize>>) {
    let mut kept = buffer(out.len() - start);
    kept.push(b'{');
    for (at, field) in fields.enumerate() {
        if at > 0 {
            kept.push(b',');
        }
        kept.extend_from_slice(&out[field]);
    }
    out.truncate(start);
    out.extend_from_slice(&kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalise(body: &str) -> Result<String, Error> {
        let mut reader = Reader::new(body.as_bytes())?;
        let mut out = Vec::new();
        read_payload(&mut reader, &mut out)?;
        reader.finish()?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn numbers_order_and_last_duplicates_are_kept_c1_8() {
        let body = r#" { "b" : 18446744073709551615 , "a":1.0,"e":1e2,"b":-9223372036854775808,"n":{"x":1,"x":2},"u":"\u00e9\/" } "#;
        assert_eq!(
            normalise(body).unwrap(),
            r#"{"b":-9223372036854775808,"a":1.0,"e":1e2,"n":{"x":2},"u":"é/"}"#
        );
    }

    #[test]
    fn sixty_four_levels_pass_and_one_more_does_not_c2_5() {
        let nested = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert!(normalise(&nested(64)).is_ok());
        assert!(matches!(normalise(&nested(65)), Err(Error::BadRequest(_))));
    }

    #[test]
    fn what_is_no_object_is_refused_c2_5() {
        for body in ["1", "[]", "\"a\"", "null", "{\"a\":1e400}", "{\"a\":NaN}"] {
            assert!(normalise(body).is_err(), "{body}");
        }
    }

    #[test]
    fn nothing_is_left_of_an_invalid_value_whose_key_comes_again_c1_8() {
        let deep = format!("{}1{}", r#"{"x":"#.repeat(64), "}".repeat(64));
        for invalid in ["1e999", r#"[1,{"y":1e999},2]"#, r#"{"y":1,"z":[1e999]}"#, &deep] {
            for (body, expected) in [
                (format!(r#"{{"a":{invalid},"a":2,"b":3}}"#), r#"{"a":2,"b":3}"#),
                (format!(r#"{{"b":3,"a":{invalid},"a":2}}"#), r#"{"b":3,"a":2}"#),
                (format!(r#"{{"a":1,"a":{invalid},"a":2}}"#), r#"{"a":2}"#),
                (
                    format!(r#"{{"o":{{"a":{invalid},"b":3}},"o":{{"a":{invalid},"a":2}}}}"#),
                    r#"{"o":{"a":2}}"#,
                ),
            ] {
                assert_eq!(normalise(&body).as_deref(), Ok(expected), "{body}");
            }
        }
    }

    #[test]
    fn many_keys_find_their_duplicates() {
        let body: Vec<String> = (0..100).chain(0..100).map(|n| format!("\"k{n}\":{n}")).collect();
        let once: Vec<String> = (0..100).map(|n| format!("\"k{n}\":{n}")).collect();
        assert_eq!(normalise(&format!("{{{}}}", body.join(","))).unwrap(), format!("{{{}}}", once.join(",")));
    }

    proptest! {
        #[test]
        fn means_the_same_as_before(keys in prop::collection::vec(("[a-e\\n\"é]{0,3}", -5i64..5), 0..24)) {
            let body: Vec<String> =
                keys.iter().map(|(k, v)| format!("{}:[{v},{{\"x\":{v}}}]", serde_json::to_string(k).unwrap())).collect();
            let body = format!("{{{}}}", body.join(" , "));
            let theirs: serde_json::Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(normalise(&body).unwrap(), theirs.to_string());
        }
    }
}
