//! Decimal numbers to 32-bit floats, correctly rounded, eight digits at a time.

/// Powers of ten that an `f64` holds exactly.
pub(super) const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
pub(super) const LARGEST_POWER: usize = POWERS.len() - 1;

/// Powers of ten by which a group of up to eight digits shifts the digits before it.
const SHIFTS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Any number with so many decimal digits fits a `u64`.
const MANTISSA_DIGITS: usize = 19;

/// Low bits of an `f64` that an `f32` does not have.
const DROPPED_BITS: u64 = (1 << 29) - 1;
/// The dropped bits of a value that lies exactly between two `f32`.
const HALFWAY: u64 = 1 << 28;
/// How near to halfway a value is too near to be rounded, in units of the last place of the `f64`. At most three
/// operations round, each by half a unit relative to its own binade, which is less than four units in the result's.
const ERROR_UNITS: u64 = 8;

/// Reads the JSON number at `at` and returns it as the nearest `f32`, with the place behind it. `None` for what needs
/// the general parser: more digits than a `u64` holds, a large exponent, a result that is subnormal, not finite, or
/// so near to the middle between two `f32` that the error of the fast path could decide, and text that is no number.
///
/// The decimal digits become an integer, and that, scaled by exact powers of ten, an `f64` that is off by a few units
/// of its last place at most. Rounding it to `f32` is then right unless the middle between two `f32` is that near
/// (the idea of Clinger's fast path, PLDI 1990, with the wider format in place of exactness).
#[inline]
pub fn read_f32(bytes: &[u8], mut at: usize) -> Option<(f32, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(negative);
    let whole_from = at;
    let mut mantissa = 0u64;
    // Most components are below one: their fraction can be read before the digits of the integer part are counted.
    at = match bytes.get(at..at + 2) {
        Some(b"0.") => at + 1,
        _ => read_digits(bytes, at, &mut mantissa),
    };
    let whole_digits = at - whole_from;
    if whole_digits == 0 || (whole_digits > 1 && bytes[whole_from] == b'0') {
        return None;
    }
    let mut fraction_digits = 0;
    if bytes.get(at) == Some(&b'.') {
        let from = at + 1;
        at = read_digits(bytes, from, &mut mantissa);
        fraction_digits = at - from;
        if fraction_digits == 0 {
            return None;
        }
    }
    if whole_digits + fraction_digits > MANTISSA_DIGITS
        && significant_digits(&bytes[whole_from..at]) > MANTISSA_DIGITS
    {
        return None;
    }
    // The value is mantissa · 10^-scale.
    let mut scale = fraction_digits as i64;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let (exponent, end) = read_exponent(bytes, at + 1)?;
        scale -= exponent;
        at = end;
    }
    if mantissa == 0 {
        return Some((if negative { -0.0 } else { 0.0 }, at));
    }
    let digits = mantissa as f64;
    let value = match usize::try_from(scale) {
        Ok(down) if down <= LARGEST_POWER => digits / POWERS[down],
        Ok(down) if down <= 2 * LARGEST_POWER => {
            digits / POWERS[LARGEST_POWER] / POWERS[down - LARGEST_POWER]
        }
        Ok(_) => return None,
        Err(_) => digits * POWERS.get(usize::try_from(-scale).ok()?)?,
    };
    rounds_safely(value).then(|| {
        let value = value as f32;
        (if negative { -value } else { value }, at)
    })
}

/// Whether the nearest `f32` of a positive value is that of the decimal number too, from which it differs by the error
/// of at most three operations.
#[inline]
pub(super) fn rounds_safely(value: f64) -> bool {
    let from_halfway = (value.to_bits() & DROPPED_BITS).abs_diff(HALFWAY);
    from_halfway > ERROR_UNITS && value > f64::from(f32::MIN_POSITIVE) && value < f64::from(f32::MAX)
}

/// Reads the numbers of a list with [`read_f32`], as [`super::read_list`] says.
pub(super) fn read_list(text: &[u8], mut at: usize, out: &mut Vec<f32>) -> usize {
    while let Some(behind) = read_one(text, at, out) {
        at = behind;
    }
    at
}

/// Appends the number at `at` if a comma follows; returns the place behind that and one space.
#[inline]
pub(super) fn read_one(text: &[u8], at: usize, out: &mut Vec<f32>) -> Option<usize> {
    let (value, end) = read_f32(text, at)?;
    if text.get(end) != Some(&b',') {
        return None;
    }
    out.push(value);
    Some(behind(text, end))
}

/// The place behind a comma and one space.
#[inline]
pub(super) fn behind(text: &[u8], comma: usize) -> usize {
    comma + 1 + usize::from(text.get(comma + 1) == Some(&b' '))
}

/// Appends the decimal digits from `at` on to `mantissa`, which wraps, and returns the place behind them.
#[inline]
fn read_digits(bytes: &[u8], mut at: usize, mantissa: &mut u64) -> usize {
    while let Some(group) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let (value, count) = leading_digits(u64::from_le_bytes(*group));
        *mantissa = mantissa.wrapping_mul(SHIFTS[count]).wrapping_add(value);
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit @ b'0'..=b'9') = bytes.get(at).copied() {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    at
}

/// The value of eight digits, each its value and not its character, the first in the lowest byte.
#[inline]
pub(super) fn eight_digits(digits: u64) -> u64 {
    // Adjacent digits are combined: to pairs, to fours, to all eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// The value of the digits with which eight characters begin, the first in the lowest byte, and how many there are.
#[inline]
fn leading_digits(characters: u64) -> (u64, usize) {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // Digits become 0 to 9, everything else more. A carry out of a byte disturbs only those behind it.
    let flipped = characters ^ 0x3030_3030_3030_3030;
    let others = (flipped.wrapping_add(0x7676_7676_7676_7676) | flipped) & HIGH_BITS;
    let count = (others.trailing_zeros() / 8) as usize;
    // Zeros in front in place of what follows the digits.
    let digits = if count == 0 { 0 } else { flipped << (64 - 8 * count) };
    (eight_digits(digits), count)
}

/// Digits from the first that is not zero on.
fn significant_digits(text: &[u8]) -> usize {
    let first = text.iter().position(|byte| !matches!(byte, b'0' | b'.')).unwrap_or(text.len());
    text[first..].iter().filter(|byte| **byte != b'.').count()
}

/// The exponent behind the `e`, and the place behind it; `None` unless it has one to three digits.
fn read_exponent(bytes: &[u8], mut at: usize) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let from = at;
    let mut exponent = 0i64;
    while let Some(digit @ b'0'..=b'9') = bytes.get(at).copied() {
        if at - from == 3 {
            return None;
        }
        exponent = exponent * 10 + i64::from(digit - b'0');
        at += 1;
    }
    (at > from).then_some((if negative { -exponent } else { exponent }, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The fast path agrees with the standard parser, and stops behind the number.
    fn check(text: &str, rest: &str) -> Result<(), TestCaseError> {
        let body = format!("{text}{rest}");
        if let Some((value, end)) = read_f32(body.as_bytes(), 0) {
            prop_assert_eq!(end, text.len(), "{}", body);
            prop_assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{}", text);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn decimals_are_rounded_as_the_standard_library_does(
            text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?",
            rest in "(,[0-9.]{0,9}|\\]|)",
        ) {
            check(&text, &rest)?;
        }

        #[test]
        fn doubles_as_clients_print_them_are_rounded_once(bits in any::<u32>(), jitter in -1e-6f64..1e-6) {
            let value = f64::from(f32::from_bits(bits)) * (1.0 + jitter);
            prop_assume!(value.is_finite());
            check(&format!("{value}"), ",")?;
            check(&format!("{value:e}"), "]")?;
        }

        #[test]
        fn neighbours_of_the_middle_between_two_floats_are_rounded_right(
            bits in 0x0080_0000u32..0x7f00_0000,
            units in -20i64..=20,
        ) {
            let low = f64::from(f32::from_bits(bits));
            let middle = low + (f64::from(f32::from_bits(bits + 1)) - low) / 2.0;
            let near = f64::from_bits(middle.to_bits().wrapping_add_signed(units));
            check(&format!("{near}"), ",")?;
            check(&format!("{near:e}"), ",")?;
        }

        #[test]
        fn groups_of_digits_are_read_whole(digits in "[0-9]{0,8}", rest in "[^0-9]{8}") {
            let bytes = format!("{digits}{rest}").into_bytes();
            let (value, count) = leading_digits(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
            prop_assert_eq!(count, digits.len());
            prop_assert_eq!(value, digits.parse().unwrap_or(0));
        }
    }

    #[test]
    fn usual_components_take_the_fast_path() {
        for text in [
            "0",
            "-0",
            "1",
            "-0.25",
            "0.033203125",
            "0.03125847131013870",
            "-1.2345e-05",
            "6.1e5",
            "12345678.25",
        ] {
            let (value, end) = read_f32(format!("{text},").as_bytes(), 0).expect(text);
            assert_eq!((value, end), (text.parse().unwrap(), text.len()), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_number_is_left_to_the_general_parser() {
        for text in ["", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+", "nan", "1e1000", "\"1\""] {
            assert_eq!(read_f32(text.as_bytes(), 0), None, "{text:?}");
        }
    }
}
