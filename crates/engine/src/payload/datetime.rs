//! Reading and writing date-times.
//!
//! The calendar is that of `jiff`. The grammar is our own: see docs/decisions.md.

use jiff::Span;
use jiff::civil::Date;

const EPOCH: Date = Date::constant(1970, 1, 1);
const SECONDS_OF_DAY: i64 = 86_400;

/// Reads a date-time as microseconds since the epoch. Further digits are truncated.
///
/// The forms are RFC 3339, and beyond it: a space for the `T`, an offset without its colon, no zone (UTC), no
/// seconds, or a date alone. `None` for anything else.
pub fn parse_datetime(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let date = Date::new(
        i16::try_from(number(&date[..4])?).ok()?,
        i8::try_from(number(&date[5..7])?).ok()?,
        i8::try_from(number(&date[8..])?).ok()?,
    )
    .ok()?;
    let (seconds_of_day, micros, offset_seconds) = match rest.split_first() {
        None => (0, 0, 0),
        Some((b'T' | b't' | b' ', rest)) => time(rest)?,
        Some(_) => return None,
    };
    // Not by the library's timestamps: they end a day before the year 9999 does.
    let midnight = date.duration_since(EPOCH).as_secs();
    Some((midnight + seconds_of_day - offset_seconds) * 1_000_000 + micros)
}

/// Appends a moment, seconds and nanoseconds since the epoch, as a string of RFC 3339 in UTC, with 0, 3, 6 or 9 digits behind the
/// second. Whether it is one of the years 0 to 9999, which that grammar has.
pub fn write_datetime(out: &mut Vec<u8>, seconds: i64, nanos: u32) -> bool {
    let (days, second) = (seconds.div_euclid(SECONDS_OF_DAY), seconds.rem_euclid(SECONDS_OF_DAY));
    let date = Span::new().try_days(days).and_then(|days| EPOCH.checked_add(days));
    let Some(date) = date.ok().filter(|date| date.year() >= 0) else { return false };
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let fraction = match nanos {
        0 => String::new(),
        nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        nanos => format!(".{nanos:09}"),
    };
    let text = format!("\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z\"");
    out.extend_from_slice(text.as_bytes());
    true
}

/// Reads a time: seconds of the day, microseconds of the second, and the offset in seconds.
fn time(text: &[u8]) -> Option<(i64, i64, i64)> {
    let (clock, mut rest) = text.split_at_checked(5)?;
    if clock[2] != b':' {
        return None;
    }
    let (hours, minutes) = (number(&clock[..2])?, number(&clock[3..])?);
    let (mut seconds, mut micros) = (0, 0);
    if let Some((b':', after)) = rest.split_first() {
        let (digits, after) = after.split_at_checked(2)?;
        seconds = number(digits)?;
        rest = after;
        if let Some((b'.', after)) = rest.split_first() {
            let length = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 {
                return None;
            }
            let kept = length.min(6);
            micros = number(&after[..kept])? * 10i64.pow(6 - kept as u32);
            rest = &after[length..];
        }
    }
    // Second 60 is a leap second, counted as the first of the next minute.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some((hours * 3_600 + minutes * 60 + seconds, micros, zone(rest)?))
}

/// Reads an offset from UTC, in seconds.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text.split_first() {
        None | Some((b'Z' | b'z', [])) => return Some(0),
        Some((b'+', digits)) => (1, digits),
        Some((b'-', digits)) => (-1, digits),
        Some(_) => return None,
    };
    let (hours, minutes) = match digits {
        [_, _, b':', _, _] => (number(&digits[..2])?, number(&digits[3..])?),
        [_, _, _, _] => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 { None } else { Some(sign * (hours * 3_600 + minutes * 60)) }
}

/// Reads a number of up to six digits.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0i64, |value, &digit| {
        if digit.is_ascii_digit() { Some(value * 10 + i64::from(digit - b'0')) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_one_instant_is_the_same_c7() {
        let expected = 1_704_103_200_000_000;
        for text in [
            "2024-01-01T10:00:00Z",
            "2024-01-01t10:00:00z",
            "2024-01-01T10:00:00.000Z",
            "2024-01-01T11:00:00+01:00",
            "2024-01-01T11:00:00+0100",
            "2024-01-01T05:30:00-04:30",
            "2024-01-01 10:00:00Z",
            "2024-01-01T10:00:00",
            "2024-01-01 10:00:00",
            "2024-01-01T10:00",
            "2024-01-01 10:00",
        ] {
            assert_eq!(parse_datetime(text), Some(expected), "{text}");
        }
        assert_eq!(parse_datetime("2024-01-01"), Some(expected - 36_000_000_000));
        assert_eq!(parse_datetime("1969-12-31T23:59:59.9999999Z"), Some(-1));
        assert_eq!(parse_datetime("2016-12-31T23:59:60Z"), parse_datetime("2017-01-01T00:00:00Z"));
        assert_eq!(parse_datetime("2024-02-29T00:00:00.123456789Z"), Some(1_709_164_800_123_456));
    }

    #[test]
    fn the_first_and_the_last_moment_of_rfc_3339_are_date_times_c7() {
        let last_second = 253_402_300_799;
        assert_eq!(parse_datetime("9999-12-31T23:59:59.999999Z"), Some(last_second * 1_000_000 + 999_999));
        assert_eq!(parse_datetime("9999-12-31"), Some((last_second - 86_399) * 1_000_000));
        assert_eq!(parse_datetime("9999-12-31T23:59:59-23:59"), Some((last_second + 86_340) * 1_000_000));
        assert_eq!(parse_datetime("0000-01-01T00:00:00+23:59"), Some(-62_167_305_540_000_000));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(micros in -62_167_219_200_000_000i64..253_402_300_800_000_000) {
            let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
            let mut out = Vec::new();
            prop_assert!(write_datetime(&mut out, seconds, rest as u32 * 1_000));
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(parse_datetime(text.trim_matches('"')), Some(micros), "{}", text);
        }
    }

    #[test]
    fn moments_are_written_with_the_digits_that_they_have_c5_13() {
        let written = |seconds, nanos| {
            let mut out = Vec::new();
            write_datetime(&mut out, seconds, nanos).then(|| String::from_utf8(out).unwrap())
        };
        assert_eq!(written(0, 0).as_deref(), Some("\"1970-01-01T00:00:00Z\""));
        assert_eq!(written(-1, 500_000_000).as_deref(), Some("\"1969-12-31T23:59:59.500Z\""));
        assert_eq!(written(1_709_164_800, 123_456_000).as_deref(), Some("\"2024-02-29T00:00:00.123456Z\""));
        assert_eq!(written(1, 1).as_deref(), Some("\"1970-01-01T00:00:01.000000001Z\""));
        assert_eq!(written(253_402_300_799, 0).as_deref(), Some("\"9999-12-31T23:59:59Z\""));
        for outside in [253_402_300_800, -62_167_219_201, i64::MAX, i64::MIN] {
            assert_eq!(written(outside, 0), None);
        }
    }

    #[test]
    fn what_is_no_date_time_is_refused() {
        for text in [
            "",
            "2024",
            "2024-01",
            "2024-1-1",
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-01T",
            "2024-01-01T1",
            "2024-01-01T24:00:00Z",
            "2024-01-01T10:60",
            "2024-01-01T10:00:61",
            "2024-01-01T10:00:00.",
            "2024-01-01T10:00:0",
            "2024-01-01T10:00:00+1",
            "2024-01-01T10:00:00+24:00",
            "2024-01-01X10:00",
            " 2024-01-01",
            "2024-01-01 ",
            "2024-01-01T10:00:00ZZ",
            "+024-01-01",
            "2024-01-01T1é:00",
            "20240101",
            "2024-01-01T10:00:00 +01:00",
        ] {
            assert_eq!(parse_datetime(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_library_on_rfc_3339(seconds in -62_135_596_800i64..253_402_200_000, micros in 0i64..1_000_000) {
            let instant = jiff::Timestamp::from_microsecond(seconds * 1_000_000 + micros).unwrap();
            prop_assert_eq!(parse_datetime(&instant.to_string()), Some(instant.as_microsecond()));
        }

        #[test]
        fn any_text_is_safe(text in "[0-9TZ:+. é-]{0,30}") {
            let _ = parse_datetime(&text);
        }
    }
}
