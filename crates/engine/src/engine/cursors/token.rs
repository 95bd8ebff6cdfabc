//! The text of a cursor: which one it is, and where the page begins. So a page can be asked for twice.

use crate::types::{IdKind, PointId};
use std::fmt::Write as _;

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// At a place of a ranking.
    Rank(usize),
    /// At an id.
    Id(PointId),
}

/// Digits of the id.
const ID_DIGITS: usize = 32;

/// The text: 32 hexadecimal digits of the id, a letter for the kind of the position, and its hexadecimal digits, of a string
/// those of its bytes.
pub(super) fn write(id: u128, position: &Position) -> String {
    match position {
        Position::Rank(rank) => format!("{id:032x}r{rank:x}"),
        Position::Id(PointId::Num(number)) => format!("{id:032x}n{number:x}"),
        Position::Id(PointId::Uuid(uuid)) => format!("{id:032x}u{uuid:x}"),
        Position::Id(PointId::Text(text)) => {
            let mut out = format!("{id:032x}t");
            let (start, rest) = text.parts();
            for byte in start.iter().chain(rest) {
                let _ = write!(out, "{byte:02x}");
            }
            out
        }
    }
}

/// What such a text says; `None` for any other.
pub(super) fn read(text: &str) -> Option<(u128, Position)> {
    let (id, rest) = text.split_at_checked(ID_DIGITS)?;
    let (kind, digits) = rest.split_at_checked(1)?;
    let id = u128::from_str_radix(id, 16).ok()?;
    let number = || u128::from_str_radix(digits, 16).ok();
    let position = match kind {
        "r" => Position::Rank(usize::try_from(number()?).ok()?),
        "n" => Position::Id(PointId::Num(u64::try_from(number()?).ok()?)),
        "u" => Position::Id(PointId::Uuid(number()?)),
        "t" => Position::Id(PointId::of_string(&string(digits)?, IdKind::String)?),
        _ => return None,
    };
    // Other spellings of the same numbers are none of ours.
    (write(id, &position) == text).then_some((id, position))
}

/// The string whose bytes are these hexadecimal digits.
fn string(digits: &str) -> Option<String> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(pairs.iter().map(byte).collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else_c22() {
        let positions = [
            Position::Rank(0),
            Position::Rank(usize::MAX),
            Position::Id(PointId::Num(0)),
            Position::Id(PointId::Num(u64::MAX)),
            Position::Id(PointId::Uuid(u128::MAX)),
            Position::Id(PointId::of_string("é", IdKind::String).unwrap()),
            Position::Id(PointId::of_string(&"x".repeat(256), IdKind::String).unwrap()),
        ];
        for position in positions {
            for id in [0, 1, u128::MAX] {
                let text = write(id, &position);
                assert_eq!(read(&text), Some((id, position.clone())));
                for wrong in [
                    format!("{text}0g"),
                    text[1..].to_string(),
                    text.to_uppercase(),
                    format!("+{}", &text[1..]),
                ] {
                    assert_ne!(read(&wrong), Some((id, position.clone())), "{wrong}");
                }
            }
        }
        for wrong in [
            "",
            "r0",
            "é",
            &"é".repeat(20),
            &format!("{}tc3", "0".repeat(32)),
            &format!("{}t", "0".repeat(32)),
            &"0".repeat(32),
            &format!("{}r", "0".repeat(32)),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
