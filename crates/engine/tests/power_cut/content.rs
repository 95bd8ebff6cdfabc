//! Random content of programs: payloads, vectors, filters, ids.

use crate::body::Vectors;
use crate::common::Random;
use crate::expiry;
use crate::model::{Collection, FIRST_UUID, Filter, MULTI, ROW, SPARSE, Sides};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub const TAGS: [&str; 4] = ["red", "green", "blue", "ünï\"q"];
/// No word is a part of another, so that a text index and its absence mean the same.
const WORDS: [&str; 5] = ["ape", "bee", "cow", "Dog", "emu"];

/// A filter on one field.
pub fn filter(random: &mut Random) -> Filter {
    match random.below(6) {
        0 => Filter::AtLeast(random.below(50) as i64),
        1 => Filter::Tagged(TAGS[random.below(4) as usize].to_string()),
        2 => Filter::Below(random.below(40) as f64 / 4.0),
        3 => {
            let (west, south) = (random.below(30) as f64 - 0.5, random.below(30) as f64 - 0.5);
            Filter::Within(Sides { west, south, east: west + 16.0, north: south + 16.0 })
        }
        4 => Filter::Mentions(WORDS[random.below(5) as usize]),
        _ => Filter::Since(day(random)),
    }
}

fn day(random: &mut Random) -> String {
    format!("2024-01-{:02}T00:00:00Z", 1 + random.below(28))
}

/// An id that may be free.
pub fn any_id(random: &mut Random) -> u64 {
    if random.chance(20) { FIRST_UUID + random.below(20) } else { random.below(60) }
}

/// Mostly an id that exists.
pub fn some_id(random: &mut Random, collection: &Collection) -> u64 {
    let count = collection.points.len() as u64;
    if count == 0 || random.chance(4) {
        return any_id(random);
    }
    *collection.points.keys().nth(random.below(count) as usize).expect("it is below the count")
}

/// A payload with some of its fields.
pub fn payload(random: &mut Random) -> Map<String, Value> {
    let mut payload = Map::new();
    let mut put = |key: &str, value: Value| drop(payload.insert(key.to_string(), value));
    if random.chance(60) {
        put("n", json!(random.below(60)));
    }
    if random.chance(50) {
        put("tag", json!(TAGS[random.below(4) as usize]));
    }
    if random.chance(30) {
        put("x", json!(random.below(40) as f64 / 4.0));
    }
    if random.chance(30) {
        put("place", json!({"lon": random.below(45), "lat": random.below(45)}));
    }
    if random.chance(30) {
        let words: Vec<&str> = (0..1 + random.below(3)).map(|_| WORDS[random.below(5) as usize]).collect();
        put("words", json!(words.join(" ")));
    }
    if random.chance(20) {
        put("day", json!(day(random)));
    }
    if random.chance(35) {
        put(expiry::KEY, expiry::time(random));
    }
    if random.chance(15) {
        let text = "λ".repeat(random.below(60) as usize);
        put("text", json!({"a": [text, u64::MAX, -0.5], "b": {}}));
    }
    payload
}

/// Vectors of a point; in an update there is at least one. Components are eighths, which every format keeps.
pub fn vectors(random: &mut Random, fields: &[(&'static str, usize)], update: bool) -> Vectors {
    let mut vectors = Vectors::new();
    let must = random.below(fields.len() as u64) as usize;
    for (at, &(name, size)) in fields.iter().enumerate() {
        if random.chance(85) || update && at == must {
            vectors.insert(name, vector(random, name, size));
        }
    }
    vectors
}

/// A vector of a field of that size.
pub fn vector(random: &mut Random, field: &str, size: usize) -> Arc<[f32]> {
    // One draw decides eight components.
    let draws: Vec<u64> = (0..size.div_ceil(8)).map(|_| random.next()).collect();
    let component = |at: usize| f32::from((draws[at / 8] >> (at % 8 * 8)) as i8 >> 3) / 8.0;
    let there = if field == SPARSE { random.next() } else { u64::MAX };
    let kept = |at: usize| if there >> (at % 64) & 1 == 1 { component(at) } else { 0.0 };
    let size = if field == MULTI { ROW * (1 + random.below(4) as usize) } else { size };
    (0..size).map(kept).collect()
}
