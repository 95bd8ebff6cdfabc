//! Which kind of automatic index a path gets, and what it will hold: by a sample of the points.

use crate::filter::Kinds;
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath};
use crate::state::State;
use crate::types::PointOffset;

/// Points that are looked at: an even number.
const SAMPLE: u32 = 256;

/// An index that is worth making.
#[derive(Debug, PartialEq)]
pub struct Choice {
    /// Its type.
    pub kind: FieldKind,
    /// About how many bytes it will hold.
    pub bytes: u64,
}

/// The kind among `wanted` that covers the values of most points; of all where there is none among them. None where no kind
/// covers what is there.
pub fn choose(state: &State, path: &JsonPath, wanted: Kinds) -> Option<Choice> {
    let sample = sample(state);
    // Never of type text: what words of a text are is for a client to say.
    let kinds = FieldKind::ALL.into_iter().filter(|kind| *kind != FieldKind::Text);
    let kinds = kinds.filter(|kind| wanted.is_empty() || wanted.contains(kind));
    let samples = kinds.map(|kind| IndexedSample::of(state, &sample, path, kind));
    // The last of equal ones is taken, so the more usual kinds come last.
    let samples: Vec<IndexedSample> = samples.collect();
    let best = samples.into_iter().rev().max_by_key(|one| one.index.points_count())?;
    if best.index.points_count() == 0 && !best.index.uncovered().is_empty() {
        return None;
    }
    let bytes = u128::from(best.bytes_of_half) * u128::from(state.live.len()) * 2 / u128::from(SAMPLE);
    Some(Choice { kind: best.index.schema().kind(), bytes: u64::try_from(bytes).unwrap_or(u64::MAX) })
}

/// Points spread over all, first every second of them, then those between.
fn sample(state: &State) -> Vec<PointOffset> {
    let points = state.live.sample(SAMPLE);
    let (first, second) = (points.iter().step_by(2), points.iter().skip(1).step_by(2));
    first.chain(second).copied().collect()
}

/// An index over the sample.
struct IndexedSample {
    index: FieldIndex,
    /// What its second half has added: values that many points have are in the first one already.
    bytes_of_half: u64,
}

impl IndexedSample {
    fn of(state: &State, sample: &[PointOffset], path: &JsonPath, kind: FieldKind) -> IndexedSample {
        let mut index = FieldIndex::new(path.clone(), FieldSchema::new(kind));
        let mut add = |offsets: &[PointOffset]| {
            for offset in offsets {
                let doc = state.at(*offset).document();
                // A point that comes twice is in the index already.
                index.replace(*offset, None, Some(doc));
            }
            index.memory_bytes()
        };
        let (first, second) = sample.split_at(sample.len() / 2);
        let bytes_of_first = add(first);
        let bytes_of_half = add(second).saturating_sub(bytes_of_first);
        IndexedSample { index, bytes_of_half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::config::tests::config_of;
    use crate::state::Head;
    use crate::types::PointId;

    const POINTS: u64 = 2_000;

    fn chosen(value: impl Fn(u64) -> String, wanted: Kinds) -> Option<Choice> {
        let mut head = Head::new(config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#), 1 << 12);
        for id in 0..POINTS {
            let payload = format!("{{\"k\":{}}}", value(id)).into_bytes().into_boxed_slice();
            head.op = head.op.next();
            head.apply(head.op, &Change::Put { id: PointId::Num(id), vectors: vec![], payload }).unwrap();
        }
        choose(&head.state, &JsonPath::parse("k").unwrap(), wanted)
    }

    fn kind(value: impl Fn(u64) -> String, wanted: Kinds) -> Option<FieldKind> {
        chosen(value, wanted).map(|choice| choice.kind)
    }

    #[test]
    fn the_kind_is_that_of_the_values_and_never_text_c23() {
        let range = &[FieldKind::Integer, FieldKind::Float];
        assert_eq!(kind(|n| n.to_string(), range), Some(FieldKind::Integer));
        assert_eq!(kind(|n| format!("{n}.5"), range), Some(FieldKind::Float));
        assert_eq!(
            kind(|n| if n % 2 == 0 { n.to_string() } else { format!("{n}.5") }, range),
            Some(FieldKind::Float)
        );
        assert_eq!(kind(|n| format!("\"v{n}\""), &[]), Some(FieldKind::Keyword));
        assert_eq!(kind(|n| (n % 2 == 0).to_string(), &[]), Some(FieldKind::Bool));
        assert_eq!(kind(|n| format!("{{\"lon\":{},\"lat\":1}}", n % 90), &[]), Some(FieldKind::Geo));
        assert_eq!(kind(|n| format!("\"v{n}\""), &[FieldKind::Text]), None);
    }

    #[test]
    fn a_path_whose_values_no_index_covers_gets_none_c23() {
        assert_eq!(kind(|n| format!("[[{n}]]"), &[FieldKind::Integer]), None);
        assert_eq!(kind(|_| "null".into(), &[]), Some(FieldKind::Keyword), "nothing is there yet");
    }

    #[test]
    fn an_index_of_many_values_is_taken_to_hold_more_c23() {
        let bytes = |value: fn(u64) -> String| chosen(value, &[]).unwrap().bytes / POINTS;
        let (few, many) = (bytes(|n| format!("\"tag {}\"", n % 7)), bytes(|n| format!("\"{n:0>40}\"")));
        assert!(few < 10, "{few} bytes a point with one of seven values");
        assert!(many > 60 && many < 300, "{many} bytes a point with a value of its own");
    }
}
