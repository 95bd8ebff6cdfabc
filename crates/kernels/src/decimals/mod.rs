//! Decimal numbers of JSON to `f32`, correctly rounded: one, or a list of them with the widest instructions there are.
//!
//! A vector of 384 components is eight kilobytes of digits, so parsing them is a considerable part of a search's cost.

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;

use std::sync::OnceLock;

pub use scalar::read_f32;

/// The signature of [`read_list`] at one level.
type ReadList = fn(&[u8], usize, &mut Vec<f32>) -> usize;

/// Appends to `out` the numbers of a list from `at` on, each of them followed by a comma and at most one space, and
/// returns the place behind the last such comma. What it stops at is the last number of the list, white space, a number
/// that [`read_f32`] leaves to the general parser, or no number at all.
///
/// The same text gives the same numbers on every CPU.
pub fn read_list(text: &[u8], at: usize, out: &mut Vec<f32>) -> usize {
    static BEST: OnceLock<ReadList> = OnceLock::new();
    BEST.get_or_init(|| available()[0])(text, at, out)
}

/// What this CPU can run, best first; the portable one is always the last.
fn available() -> Vec<ReadList> {
    let mut all: Vec<ReadList> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    all.extend(avx2::read_list());
    all.push(scalar::read_list);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All levels read the same numbers of a text and stop at the same place.
    fn agree(text: &str, at: usize) -> Result<(), TestCaseError> {
        let mut expected = vec![7.0];
        let end = scalar::read_list(text.as_bytes(), at, &mut expected);
        for read in available() {
            let mut got = vec![7.0];
            prop_assert_eq!(read(text.as_bytes(), at, &mut got), end, "{} from {}", text, at);
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&got), bits(&expected), "{} from {}", text, at);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_level_reads_the_same(
            numbers in prop::collection::vec(
                "-?0\\.[0-9]{1,24}|-?0\\.0{0,9}[0-9]{1,17}|-?0\\.[0-9]{1,18}([eE][+-]?[0-9]{1,2})?|-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,20})?|[-0-9.eE]{0,12}",
                0..12,
            ),
            between in prop::sample::select(vec![",", ", ", ",  ", " ,", ",\n"]),
            end in prop::sample::select(vec!["", "]", ",", "],\"limit\":10}", "]                                "]),
            front in " {0,40}",
        ) {
            agree(&format!("{front}{}{end}", numbers.join(between)), front.len())?;
        }

        #[test]
        fn the_numbers_of_a_vector_are_those_of_the_standard_parser(
            values in prop::collection::vec(prop_oneof![4 => -1.0f32..1.0, 1 => -0.001f32..0.001, 1 => any::<f32>()], 1..60),
        ) {
            prop_assume!(values.iter().all(|value| value.is_normal()));
            // As a client writes them that knows only `f64`: up to 17 digits.
            let text = format!("{{\"vector\":[{},1]}}", values.iter().map(|value| f64::from(*value).to_string())
                .collect::<Vec<_>>().join(","));
            for read in available() {
                let mut got = Vec::new();
                let mut at = 11;
                while got.len() < values.len() {
                    at = read(text.as_bytes(), at, &mut got);
                    if got.len() < values.len() {
                        // What is left to the general parser.
                        let end = at + text[at..].find(',').unwrap();
                        got.push(text[at..end].parse().unwrap());
                        at = end + 1;
                    }
                }
                prop_assert_eq!(&got, &values);
                prop_assert_eq!(&text[at..], "1]}");
            }
        }
    }

    #[test]
    fn usual_components_are_read_to_the_last_comma() {
        let text = "{\"vector\": [0.03125847131013870, -0.5, 0.0001, -1.25e-05, 0, -0.0, 12.5, 0.0012345678901234567, 1]}";
        for read in available() {
            let mut got = Vec::new();
            let end = read(text.as_bytes(), 12, &mut got);
            assert_eq!(&text[end..], "1]}");
            assert_eq!(got, [0.031_258_47, -0.5, 0.0001, -1.25e-5, 0.0, 0.0, 12.5, 0.001_234_567_8]);
        }
    }
}
