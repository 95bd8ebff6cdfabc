//! When points of a collection with an `expire_at_key` come to their end (C17): what their payloads say, in order.

use super::Payload;
use crate::faults::PlantedFault;
use crate::payload::{Document, JsonPath, Value, parse_datetime};
use crate::point_set::PointSet;
use crate::types::PointOffset;
use imbl::OrdSet;

const MICROS: i64 = 1_000_000;

/// The times of the points that have one. Derived from their payloads, and kept current by the writer: nothing of it is
/// stored. A clone costs a few reference counts.
#[derive(Clone)]
pub struct Expiry {
    key: JsonPath,
    /// Time and offset of the points whose time had not come when the writer looked last, in microseconds since 1970.
    pending: OrdSet<(i64, PointOffset)>,
    /// The others. They are not removed yet.
    due: PointSet,
}

impl Expiry {
    /// Without any point.
    pub fn new(key: JsonPath) -> Expiry {
        Expiry { key, pending: OrdSet::new(), due: PointSet::new() }
    }

    /// The payload field that has the time.
    pub fn key(&self) -> &JsonPath {
        &self.key
    }

    /// Takes note of another payload of the point at an offset: `None` where there was no point, or is none any more.
    pub fn replace(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        let before = before.and_then(|document| time_of(document, &self.key));
        let before = PlantedFault::OldTimeKept.forgets(before);
        let after = after.and_then(|document| time_of(document, &self.key));
        if let Some(time) = before
            && self.pending.remove(&(time, offset)).is_none()
        {
            self.due.remove(offset);
        }
        if let Some(time) = after {
            self.pending.insert((time, offset));
        }
    }

    /// Moves the points whose time has come by `now` to those that are due, so that each is looked at once.
    pub fn advance(&mut self, now: i64) {
        while let Some(&(time, offset)) = self.pending.get_min().filter(|(time, _)| *time <= now) {
            self.pending.remove(&(time, offset));
            self.due.insert(offset);
        }
    }

    /// Whether the time of any point has come by `now`.
    pub fn has_due(&self, now: i64) -> bool {
        !self.due.is_empty() || self.pending.get_min().is_some_and(|(time, _)| *time <= now)
    }

    /// The points whose time has come by `now`.
    pub fn due(&self, now: i64) -> PointSet {
        let mut due = self.due.clone();
        for (_, offset) in self.pending.iter().take_while(|(time, _)| *time <= now) {
            due.insert(*offset);
        }
        due
    }

    /// The time of the last of the first `most` points whose time has come by `now`; `None` where that of none has.
    pub fn until(&self, now: i64, most: usize) -> Option<i64> {
        let first = self.pending.iter().map(|(time, _)| *time).take_while(|time| *time <= now);
        // The times of those that are due already are not kept.
        if self.due.is_empty() { first.take(most).last() } else { Some(now) }
    }

    /// When the next point comes to its end after `now`.
    pub fn next_after(&self, now: i64) -> i64 {
        self.pending
            .range((now, PointOffset::new(u32::MAX))..)
            .map(|(time, _)| *time)
            .find(|time| *time > now)
            .unwrap_or(i64::MAX)
    }

    /// When the next point comes to its end, or has come to it.
    pub fn next(&self) -> Option<i64> {
        let pending = self.pending.get_min().map(|(time, _)| *time);
        if self.due.is_empty() { pending } else { Some(i64::MIN) }
    }

    /// How many points have a time.
    pub fn points(&self) -> usize {
        self.pending.len() + self.due.len() as usize
    }

    /// About what it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        // Two thirds of the places in the leaves of a tree are used.
        (self.pending.len() * size_of::<(i64, PointOffset)>() * 3 / 2) as u64 + self.due.memory_bytes()
    }
}

/// The time of a payload in microseconds since 1970: a date-time, or integer seconds. Another value has none.
fn time_of(document: &[u8], key: &JsonPath) -> Option<i64> {
    let mut time = None;
    Document::new(document).values_at(key, |value| {
        time = match value {
            Value::String(text) => parse_datetime(&text.decode()),
            value => value.as_i64().map(|seconds| seconds.saturating_mul(MICROS)),
        };
    });
    time
}

impl Payload {
    /// What the payload says of its point's end, for a point that is loaded.
    pub(super) fn note_in(&self, expiry: &mut Expiry, offset: PointOffset) {
        expiry.replace(offset, None, Some(self.bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_time_or_integer_seconds_c17() {
        let key = JsonPath::parse("a.until").unwrap();
        let time = |value: &str| time_of(format!(r#"{{"a":{{"until":{value}}}}}"#).as_bytes(), &key);
        assert_eq!(time("7"), Some(7 * MICROS));
        assert_eq!(time("-7"), Some(-7 * MICROS));
        assert_eq!(time(r#""1970-01-01T00:00:07Z""#), Some(7 * MICROS));
        assert_eq!(time(r#""1970-01-01T01:00:07.5+01:00""#), Some(7 * MICROS + MICROS / 2));
        assert_eq!(time("9223372036854775807"), Some(i64::MAX));
        for never in ["7.0", "7e1", "\"7\"", "null", "true", "[7]", "{}", "\"soon\"", "9223372036854775808"] {
            assert_eq!(time(never), None, "{never}");
        }
        assert_eq!(time_of(b"{}", &key), None);
    }

    #[test]
    fn points_are_due_from_their_time_on_until_they_are_gone_c17() {
        let mut expiry = Expiry::new(JsonPath::parse("t").unwrap());
        let payload = |seconds: i64| format!(r#"{{"t":{seconds}}}"#).into_bytes();
        let at = |n: u32| PointOffset::new(n);
        for n in 0..5 {
            expiry.replace(at(n), None, Some(&payload(i64::from(n))));
        }
        let due = |expiry: &Expiry, seconds: i64| {
            expiry.due(seconds * MICROS).iter().map(PointOffset::get).collect::<Vec<_>>()
        };
        assert_eq!((due(&expiry, -1), due(&expiry, 1)), (vec![], vec![0, 1]));
        let until = |seconds: i64, most| expiry.until(seconds * MICROS, most).map(|time| time / MICROS);
        assert_eq!((until(-1, 9), until(9, 2), until(9, 9), until(2, 9)), (None, Some(1), Some(4), Some(2)));
        expiry.advance(2 * MICROS);
        assert_eq!((due(&expiry, 2), due(&expiry, 3)), (vec![0, 1, 2], vec![0, 1, 2, 3]));
        assert_eq!(expiry.next_after(2 * MICROS), 3 * MICROS);
        // One is deleted, one gets another time, one none.
        expiry.replace(at(0), Some(&payload(0)), None);
        expiry.replace(at(1), Some(&payload(1)), Some(&payload(9)));
        expiry.replace(at(3), Some(&payload(3)), Some(b"{}"));
        assert_eq!((due(&expiry, 4), expiry.points()), (vec![2, 4], 3));
        assert_eq!((due(&expiry, 9), expiry.next_after(9 * MICROS)), (vec![1, 2, 4], i64::MAX));
    }
}
