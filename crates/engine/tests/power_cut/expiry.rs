//! Points that come to their end (C17): the times that payloads have, and how the model follows the clock.
//!
//! A point whose time has come is found by nobody and is absent for writes. When it is removed is the background's affair:
//! until then it is among [`Collection::expired`], which the engine may still hold or not.

use crate::common::Random;
use crate::model::{Collection, Model, Point};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The field of a payload that has the time.
pub const KEY: &str = "until";

/// Where the clock stands when a program begins, in seconds since 1970.
pub const BEGIN: i64 = 10;

/// Times of payloads are below this, in seconds: most of them come while a program runs.
const LAST: u64 = 100;

/// How far the clock goes at once, in seconds, at most.
const STEP: u64 = 8;

/// Points of all programs that the background has removed because their time had come.
pub static REMOVED: AtomicU64 = AtomicU64::new(0);

/// A time for a payload, or what is none.
pub fn time(random: &mut Random) -> Value {
    let seconds = random.below(LAST);
    match random.below(10) {
        0..5 => json!(seconds),
        5..9 => json!(format!("1970-01-01T00:{:02}:{:02}Z", seconds / 60, seconds % 60)),
        _ => json!(seconds.to_string()),
    }
}

/// How far the clock goes.
pub fn step(random: &mut Random) -> i64 {
    1 + random.below(STEP) as i64
}

/// It is that time now, or it was when a state came about.
pub fn pass(model: &mut Model, now: i64) {
    model.values_mut().for_each(|collection| collection.pass(now));
}

impl Point {
    /// When it comes to its end, in seconds.
    fn end(&self) -> Option<i64> {
        match self.payload.get(KEY)? {
            Value::String(text) => {
                let (minutes, seconds) =
                    text.strip_prefix("1970-01-01T00:")?.strip_suffix('Z')?.split_once(':')?;
                Some(minutes.parse::<i64>().ok()? * 60 + seconds.parse::<i64>().ok()?)
            }
            value => value.as_i64(),
        }
    }
}

impl Collection {
    /// Moves the points whose time has come to those that nobody finds.
    pub fn pass(&mut self, now: i64) {
        // A point that was written anew has taken the place of the one before.
        self.expired.retain(|id, _| !self.points.contains_key(id));
        if !self.expires {
            return;
        }
        let is_due = |point: &Arc<Point>| point.end().is_some_and(|end| end <= now);
        self.expired.extend(self.points.extract_if(.., |_, point| is_due(point)));
    }
}
