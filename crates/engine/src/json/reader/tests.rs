use super::strings::plain_end;
use super::*;
use proptest::prelude::*;
use std::cell::Cell;

fn skip_all(body: &[u8]) -> Result<()> {
    let mut reader = Reader::new(body)?;
    reader.skip()?;
    reader.finish()
}

#[test]
fn errors_name_the_place_c1_11() {
    let mut reader = Reader::new(br#"{"points":[{"id":1,"vector":[1,"x"]}]}"#).unwrap();
    let error = reader
        .object(|r, _| {
            r.array(|r, _| {
                r.object(|r, key| if key == "vector" { r.f32_array(&mut Vec::new()) } else { r.skip() })
            })
        })
        .unwrap_err();
    assert_eq!(error, Error::bad("points[0].vector[1]: expected a number, got a string"));
}

/// Reads objects of numbers below `n`, of such objects in `o`, and of lists of them in `l`; the sum of the numbers that count.
fn sum(reader: &mut Reader<'_>) -> Result<u64> {
    let (mut number, mut object, mut list) = (0, 0, 0);
    reader.object(|r, key| {
        match key {
            "n" => number = r.u64()?,
            "o" => object = sum(r)?,
            "l" => {
                let mut all = 0;
                r.array(|r, _| {
                    all += sum(r)?;
                    Ok(())
                })?;
                list = all;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(number + object + list)
}

fn sum_of(body: &str) -> Result<u64> {
    let mut reader = Reader::new(body.as_bytes())?;
    let sum = sum(&mut reader)?;
    reader.finish()?;
    Ok(sum)
}

#[test]
fn of_a_repeated_key_the_last_value_counts_also_where_the_first_is_not_valid_c1_8() {
    for (body, expected) in [
        (r#"{"n":-1,"n":2}"#, 2),
        (r#"{"n":"x","n":{"a":[]},"n":2}"#, 2),
        (r#"{"x":3,"n":1,"x":null}"#, 1),
        (r#"{"o":{"n":-1,"o":{"x":1},"l":[]},"n":1,"o":{"n":2}}"#, 3),
        (r#"{"o":{"n":-1,"n":3},"n":1}"#, 4),
        (r#"{"l":[{"n":1},{"n":-1},{"n":5}] , "n" : 7 , "l" : [{"n":1}]}"#, 8),
        (r#"{"l":[{"o":{"l":[{"n":-1}]},"n":1},7,"]}"],"l":[{"o":{"n":"}","n":4}}]}"#, 4),
        (r#"{"\u006e":-1,"n":2}"#, 2),
    ] {
        assert_eq!(sum_of(body), Ok(expected), "{body}");
    }
    for (body, expected) in [
        (r#"{"n":2,"n":-1}"#, "n: "),
        (r#"{"n":-1,"n":"x"}"#, "n: expected a number, got a string"),
        (r#"{"n":-1,"o":{"n":1}}"#, "n: "),
        (r#"{"o":{"n":-1},"l":[{"n":2}],"n":1}"#, "o.n: "),
        (r#"{"l":[{"n":1},{"o":{"n":-1}}],"n":1}"#, "l[1].o.n: "),
        (r#"{"o":{"o":{"n":-1}},"n":1,"l":[{"o":{}}]}"#, "o.o.n: "),
    ] {
        let error = sum_of(body).unwrap_err();
        assert!(matches!(&error, Error::BadRequest(why) if why.starts_with(expected)), "{body}: {error:?}");
    }
    // What follows is no JSON: nothing counts.
    for body in
        [r#"{"n":-1,"n":2"#, r#"{"n":-1,,"n":2}"#, r#"{"o":{"n":01},"o":{"n":2}}"#, r#"{"n":-1,"o":{]}"#]
    {
        assert!(sum_of(body).is_err(), "{body}");
    }
}

proptest! {
    /// A value that is not valid, before each key at each nesting, changes nothing where the key comes again.
    #[test]
    fn invalid_values_of_keys_that_come_again_change_nothing_c1_8(
        nesting in 0_usize..40,
        before in proptest::collection::vec(0_usize..6, 41),
        in_list in proptest::collection::vec(any::<bool>(), 41),
    ) {
        let invalid = ["-1", "\"}\"", "[{\"n\":-1},{}]", "{\"n\":{\"o\":[]}}", "{\"l\":[7,{\"n\":[]}]}", "false"];
        let mut body = r#"{"n":1}"#.to_string();
        for level in 0..nesting {
            let (key, value) = if in_list[level] { ("l", format!("[{body}]")) } else { ("o", body) };
            body = format!(r#"{{"{key}":{},"n":"x","{key}":{value},"n":1}}"#, invalid[before[level]]);
        }
        prop_assert_eq!(sum_of(&body), Ok(nesting as u64 + 1));
        // Without the innermost number the first error is one that stands, and the same as without what counts.
        let broken = body.replacen(r#"{"n":1}"#, r#"{"n":1.5}"#, 1);
        prop_assert!(sum_of(&broken).is_err());
    }
}

/// Each invalid value is followed by all that come behind it.
#[test]
fn many_invalid_values_are_not_looked_for_again_and_again_c1_8() {
    let fields = |count: usize, value: &str| {
        (0..count).map(|at| format!("\"k{at}\":{value}")).collect::<Vec<_>>().join(",")
    };
    let read = |count: usize| {
        let body = format!("{{{},{}}}", fields(count, "-1"), fields(count, "1"));
        let mut reader = Reader::new(body.as_bytes()).unwrap();
        let outcome = reader.object(|r, _| r.u64().map(drop));
        (outcome.is_ok(), reader.looked_for_keys / body.len())
    };
    assert!(read(40).0);
    let (is_read, looks) = read(20_000);
    assert!(!is_read && looks <= 18, "{looks} times the body");
}

#[test]
fn deep_nesting_is_refused_without_deep_recursion() {
    assert!(skip_all(&vec![b'['; 10 << 20]).is_err());
    let deep = [vec![b'['; 150], vec![b']'; 150]].concat();
    assert!(skip_all(&deep).is_ok());
}

#[test]
fn only_strict_json_is_read() {
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "nul",
        "tru",
        "'a'",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"a\nb\"",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "1 2",
        "\u{feff}1",
        "NaN",
        "Infinity",
        "-",
        "[",
        "\"",
        "\"\\",
        "\"\\u12",
        "{\"a\":",
        "{1:2}",
    ] {
        assert!(skip_all(bad.as_bytes()).is_err(), "{bad:?}");
    }
    assert!(skip_all(b"\xff").is_err());
    assert!(skip_all(b"\"\xc3\"").is_err());
}

#[test]
fn numbers_beyond_f32_are_refused_c2_3() {
    for bad in ["1e39", "-1e39", "1e400", "340282366920938463463374607431768211456"] {
        assert!(Reader::new(bad.as_bytes()).unwrap().f32().is_err(), "{bad}");
    }
    assert_eq!(Reader::new(b"3.4028234663852886e38").unwrap().f32().unwrap(), f32::MAX);
}

proptest! {
    #[test]
    fn floats_are_correctly_rounded(text in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?") {
        let expected = text.parse::<f32>().unwrap();
        let got = Reader::new(text.as_bytes()).unwrap().f32();
        if expected.is_finite() {
            prop_assert_eq!(got.unwrap().to_bits(), expected.to_bits());
        } else {
            prop_assert!(got.is_err());
        }
    }

    #[test]
    fn shortest_forms_round_trip(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        prop_assume!(value.is_finite());
        let mut text = Vec::new();
        crate::json::write_f32(&mut text, value);
        prop_assert_eq!(Reader::new(&text).unwrap().f32().unwrap().to_bits(), bits);
    }

    #[test]
    fn the_first_special_character_of_a_string_is_found(
        bytes in prop::collection::vec(prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 1 => 0x1e..0x24u8], 0..40),
        from in 0usize..9,
    ) {
        let from = from.min(bytes.len());
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        let expected = bytes[from..].iter().position(is_special).map_or(bytes.len(), |at| from + at);
        prop_assert_eq!(plain_end(&bytes, from), expected);
    }

    #[test]
    fn agrees_with_an_independent_parser(body in "[\\[\\]{}:,\"\\\\a0-9eE.+\\-tfn ulrs]{0,24}") {
        let theirs = serde_json::from_str::<serde_json::Value>(&body).is_ok();
        prop_assert_eq!(skip_all(body.as_bytes()).is_ok(), theirs, "{}", body);
    }
}

#[test]
fn a_watched_body_is_looked_at_every_few_kilobytes_and_given_up_where_it_stands() {
    let condition = r#"{"key":"a","match":{"value":1}},"#;
    let body = format!("[{}null]", condition.repeat(10_000));
    let (looks, most) = (Cell::new(0), Cell::new(usize::MAX));
    let watch = || {
        looks.set(looks.get() + 1);
        if looks.get() > most.get() { Err(Error::Cancelled) } else { Ok(()) }
    };
    let read = || {
        looks.set(0);
        let mut reader = Reader::new(body.as_bytes()).unwrap();
        reader.be_watched(Some(Watch(&watch)));
        (reader.skip(), reader.remaining())
    };
    assert_eq!(read(), (Ok(()), 0));
    let expected = body.len() / BYTES_BETWEEN_LOOKS;
    assert!((expected - 2..=expected).contains(&looks.get()), "{} of {expected}", looks.get());
    most.set(3);
    let (given_up, left) = read();
    assert_eq!(given_up, Err(Error::Cancelled));
    assert!(body.len() - left < 5 * BYTES_BETWEEN_LOOKS, "{left} bytes of {} are left", body.len());
}
