//! A step that makes the points with a tag those of a source (C20).

use crate::body;
use crate::common::Random;
use crate::content::{TAGS, any_id, payload, vectors};
use crate::model::{Filter, Model, Point, shown};
use crate::program::Step;
use serde_json::json;
use std::sync::Arc;

/// A sync of the points with a tag, whose hashes are their numbers (C20).
pub fn sync_source(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, String, Result<Model, &'static str>) -> Step,
) -> Step {
    let tag = TAGS[random.below(4) as usize];
    let mut after = model.clone();
    let collection = after.get_mut(name).expect("it exists");
    let fields = collection.fields();
    let scope = Filter::Tagged(tag.to_string());
    let held: Vec<u64> = collection.matching(&scope).collect();
    let (mut points, mut conflicts) = (Vec::new(), false);
    for id in &held {
        // What the source has no more is deleted.
        if random.chance(30) {
            collection.points.remove(id);
            continue;
        }
        let number = collection.points[id].payload.get("n").cloned();
        match number {
            Some(number) if random.chance(60) => {
                points.push(json!({"id": shown(*id), "hash": number}).to_string())
            }
            number => {
                let point = of_source(random, &fields, tag);
                points.push(body::point(*id, &point));
                if point.payload.get("n") != number.as_ref() {
                    collection.points.insert(*id, Arc::new(point));
                }
            }
        }
    }
    for _ in 0..random.below(4) {
        let id = any_id(random);
        if held.contains(&id) {
            continue;
        }
        // Mostly one that is not stored: one that is belongs to others.
        let is_stored = model[name].points.contains_key(&id);
        if is_stored && random.chance(80) {
            continue;
        }
        conflicts |= is_stored;
        let point = of_source(random, &fields, tag);
        points.push(body::point(id, &point));
        collection.points.insert(id, Arc::new(point));
    }
    let scope = scope.json();
    let body = format!("{{\"scope\":{scope},\"hash_key\":\"n\",\"points\":[{}]}}", points.join(","));
    Step {
        wait: random.chance(70),
        ..step("sync_points", body, if conflicts { Err("sync_conflict") } else { Ok(after) })
    }
}

/// A point with a tag and a number.
pub fn of_source(random: &mut Random, fields: &[(&'static str, usize)], tag: &str) -> Point {
    let mut payload = payload(random);
    payload.insert("tag".to_string(), json!(tag));
    payload.insert("n".to_string(), json!(random.below(60)));
    Point { vectors: vectors(random, fields, false), payload }
}
