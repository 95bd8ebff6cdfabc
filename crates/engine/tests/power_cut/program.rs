//! Random steps of a program, each with what it does to the model.

use crate::common::Random;
use crate::model::{Collection, FIRST_UUID, Filter, Model, Point, SPARSE, Schema, shown};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const NAMES: [&str; 3] = ["alpha", "beta", ".. γ"];
const TAGS: [&str; 4] = ["red", "green", "blue", "ünï\"q"];
const FIELDS: [(&str, &str); 2] = [("n", "integer"), ("tag", "keyword")];

/// One request of a program.
pub struct Step {
    pub operation: &'static str,
    pub collection: String,
    pub target: Option<String>,
    pub wait: bool,
    pub body: Value,
    /// The model after it, or the code of the refusal.
    pub outcome: Result<Model, &'static str>,
}

/// Which points a change is about.
enum Selection {
    Ids(Vec<u64>),
    Matching(Filter),
}

impl Selection {
    fn put(&self, body: &mut Value) {
        match self {
            Selection::Ids(ids) => body["points"] = ids.iter().copied().map(shown).collect(),
            Selection::Matching(filter) => body["filter"] = filter.json(),
        }
    }

    /// The ids it stands for; none when an id that must exist does not.
    fn ids(&self, collection: &Collection) -> Option<Vec<u64>> {
        match self {
            Selection::Ids(ids) => {
                ids.iter().all(|id| collection.points.contains_key(id)).then(|| ids.clone())
            }
            Selection::Matching(filter) => {
                let matching = collection.points.iter().filter(|(_, point)| point.matches(filter));
                Some(matching.map(|(id, _)| *id).collect())
            }
        }
    }
}

/// What a change does to a collection; false when it is refused because an id is absent.
type Effect = Box<dyn Fn(&mut Collection) -> bool>;

/// The next step of a program. Now and then it is one that must be refused.
pub fn step(random: &mut Random, model: &Model) -> Step {
    let name = NAMES[random.below(3) as usize];
    let step = |operation, body, outcome| Step {
        operation,
        collection: name.to_string(),
        target: None,
        wait: true,
        body,
        outcome,
    };
    let Some(collection) = model.get(name) else {
        if random.chance(10) {
            return step("clear_payload", json!({"points": [1]}), Err("collection_not_found"));
        }
        let schemas = [Schema::Small, Schema::Graph, Schema::Named, Schema::Sparse];
        let schema = schemas[random.below(4) as usize];
        let m = 4 + random.below(3);
        let mut after = model.clone();
        after.insert(name.to_string(), Collection::new(schema, m));
        return step("create_collection", schema.creation(m), Ok(after));
    };
    match random.below(100) {
        0..3 => {
            let mut after = model.clone();
            after.remove(name);
            step("delete_collection", json!(null), Ok(after))
        }
        3..5 => step("create_collection", collection.schema.creation(4), Err("collection_exists")),
        5..13 => declare(random, model, name, step),
        13..16 => {
            let (note, m) = (random.below(1 << 40), 4 + random.below(3));
            let mut after = model.clone();
            let changed = after.get_mut(name).expect("it exists");
            (changed.note, changed.m) = (Some(note), m);
            step("update_collection", json!({"metadata": {"note": note}, "hnsw_config": {"m": m}}), Ok(after))
        }
        16..24 => {
            let changes: Vec<_> = (0..1 + random.below(4)).map(|_| change(random, collection)).collect();
            let operations: Vec<Value> =
                changes.iter().map(|(key, _, body, _)| json!({*key: body})).collect();
            let mut after = model.clone();
            let done =
                changes.iter().all(|(_, _, _, effect)| effect(after.get_mut(name).expect("it exists")));
            let outcome = if done { Ok(after) } else { Err("point_not_found") };
            Step {
                wait: random.chance(70),
                ..step("batch_update", json!({"operations": operations}), outcome)
            }
        }
        _ => {
            let (_, operation, body, effect) = change(random, collection);
            let mut after = model.clone();
            let done = effect(after.get_mut(name).expect("it exists"));
            Step {
                wait: random.chance(70),
                ..step(operation, body, done.then_some(after).ok_or("point_not_found"))
            }
        }
    }
}

/// Creates or removes a field index.
fn declare(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, Value, Result<Model, &'static str>) -> Step,
) -> Step {
    let (field, schema) = FIELDS[random.below(2) as usize];
    let mut after = model.clone();
    let indexes = &mut after.get_mut(name).expect("it exists").indexes;
    if random.chance(65) {
        indexes.insert(field.to_string());
        step("create_field_index", json!({"field_name": field, "field_schema": schema}), Ok(after))
    } else {
        indexes.remove(field);
        Step { target: Some(field.to_string()), ..step("delete_field_index", json!(null), Ok(after)) }
    }
}

/// A change of points: its key in a batch, its operation, its body, its effect.
fn change(random: &mut Random, collection: &Collection) -> (&'static str, &'static str, Value, Effect) {
    let schema = collection.schema;
    match random.below(100) {
        0..45 => upsert(random, schema),
        45..57 => {
            let selection = match random.chance(30) {
                true => Selection::Matching(filter(random)),
                // Absent ids are ignored here.
                false => Selection::Ids((0..1 + random.below(6)).map(|_| any_id(random)).collect()),
            };
            let mut body = json!({});
            selection.put(&mut body);
            let effect = move |collection: &mut Collection| {
                let doomed: BTreeSet<u64> = match &selection {
                    Selection::Ids(ids) => ids.iter().copied().collect(),
                    matching => matching.ids(collection).into_iter().flatten().collect(),
                };
                collection.points.retain(|id, _| !doomed.contains(id));
                true
            };
            ("delete", "delete_points", body, Box::new(effect))
        }
        57..67 => {
            let updates: Vec<(u64, BTreeMap<String, Vec<f32>>)> = (0..1 + random.below(4))
                .map(|_| (some_id(random, collection), vectors(random, schema, true)))
                .collect();
            let points: Vec<Value> =
                updates.iter().map(|(id, v)| json!({"id": shown(*id), "vector": shown_vectors(v)})).collect();
            let effect = move |collection: &mut Collection| {
                updates.iter().all(|(id, given)| {
                    let Some(point) = collection.points.get_mut(id) else { return false };
                    point.vectors.extend(given.clone());
                    true
                })
            };
            ("update_vectors", "update_vectors", json!({"points": points}), Box::new(effect))
        }
        67..72 => {
            let field = schema.fields()[random.below(schema.fields().len() as u64) as usize].0;
            edit(
                random,
                collection,
                json!({"vector": [field]}),
                "delete_vectors",
                "delete_vectors",
                move |point| {
                    point.vectors.remove(field);
                },
            )
        }
        72..83 => {
            let mut patch = payload(random);
            if random.chance(40) {
                patch.insert(["n", "tag", "text"][random.below(3) as usize].to_string(), Value::Null);
            }
            edit(random, collection, json!({"payload": patch}), "set_payload", "set_payload", move |point| {
                for (key, value) in &patch {
                    match value {
                        Value::Null => drop(point.payload.remove(key)),
                        value => drop(point.payload.insert(key.clone(), value.clone())),
                    }
                }
            })
        }
        83..90 => {
            let whole = payload(random);
            let body = json!({"payload": whole});
            edit(random, collection, body, "overwrite_payload", "overwrite_payload", move |point| {
                point.payload = whole.clone();
            })
        }
        90..96 => {
            let key = ["n", "tag"][random.below(2) as usize];
            edit(
                random,
                collection,
                json!({"keys": [key]}),
                "delete_payload",
                "delete_payload",
                move |point| {
                    point.payload.remove(key);
                },
            )
        }
        _ => edit(random, collection, json!({}), "clear_payload", "clear_payload", |point| {
            point.payload.clear()
        }),
    }
}

fn upsert(random: &mut Random, schema: Schema) -> (&'static str, &'static str, Value, Effect) {
    let many = if random.chance(25) { 30 } else { 5 };
    let points: Vec<(u64, Point)> = (0..1 + random.below(many))
        .map(|_| {
            (any_id(random), Point { vectors: vectors(random, schema, false), payload: payload(random) })
        })
        .collect();
    let shown: Vec<Value> = points
        .iter()
        .map(|(id, point)| {
            json!({"id": shown(*id), "vector": shown_vectors(&point.vectors), "payload": point.payload})
        })
        .collect();
    let effect = move |collection: &mut Collection| {
        collection.points.extend(points.iter().cloned());
        true
    };
    ("upsert", "upsert_points", json!({"points": shown}), Box::new(effect))
}

/// A change of each selected point by itself.
fn edit(
    random: &mut Random,
    collection: &Collection,
    mut body: Value,
    key: &'static str,
    operation: &'static str,
    apply: impl Fn(&mut Point) + 'static,
) -> (&'static str, &'static str, Value, Effect) {
    let selection = match random.chance(40) {
        true => Selection::Matching(filter(random)),
        false => Selection::Ids((0..1 + random.below(4)).map(|_| some_id(random, collection)).collect()),
    };
    selection.put(&mut body);
    let effect = move |collection: &mut Collection| {
        let Some(ids) = selection.ids(collection) else { return false };
        for id in ids {
            apply(collection.points.get_mut(&id).expect("a selected point exists"));
        }
        true
    };
    (key, operation, body, Box::new(effect))
}

pub fn filter(random: &mut Random) -> Filter {
    if random.chance(50) {
        Filter::AtLeast(random.below(50) as i64)
    } else {
        Filter::Tagged(TAGS[random.below(4) as usize].to_string())
    }
}

fn any_id(random: &mut Random) -> u64 {
    if random.chance(20) { FIRST_UUID + random.below(20) } else { random.below(60) }
}

/// Mostly an id that exists.
fn some_id(random: &mut Random, collection: &Collection) -> u64 {
    let count = collection.points.len() as u64;
    if count == 0 || random.chance(4) {
        return any_id(random);
    }
    *collection.points.keys().nth(random.below(count) as usize).expect("it is below the count")
}

fn payload(random: &mut Random) -> Map<String, Value> {
    let mut payload = Map::new();
    if random.chance(70) {
        payload.insert("n".to_string(), json!(random.below(60)));
    }
    if random.chance(60) {
        payload.insert("tag".to_string(), json!(TAGS[random.below(4) as usize]));
    }
    if random.chance(20) {
        let text = "λ".repeat(random.below(60) as usize);
        payload.insert("text".to_string(), json!({"a": [text, u64::MAX, -0.5], "b": {}}));
    }
    payload
}

/// Vectors of a point; in an update there is at least one. Components are eighths, which every format keeps.
fn vectors(random: &mut Random, schema: Schema, update: bool) -> BTreeMap<String, Vec<f32>> {
    let mut vectors = BTreeMap::new();
    let must = random.below(schema.fields().len() as u64) as usize;
    for (at, (name, size)) in schema.fields().iter().enumerate() {
        if random.chance(85) || update && at == must {
            // One draw decides eight components: programs spend their time in the engine, not here.
            let draws: Vec<u64> = (0..size.div_ceil(8)).map(|_| random.next()).collect();
            let component = |at: usize| f32::from((draws[at / 8] >> (at % 8 * 8)) as i8 >> 3) / 8.0;
            let there = if *name == SPARSE { random.next() } else { u64::MAX };
            let kept = |at: usize| if there >> (at % 64) & 1 == 1 { component(at) } else { 0.0 };
            vectors.insert((*name).to_string(), (0..*size).map(kept).collect());
        }
    }
    vectors
}

fn shown_vectors(vectors: &BTreeMap<String, Vec<f32>>) -> Value {
    match vectors.get("") {
        Some(unnamed) => json!(unnamed),
        None => vectors.iter().map(|(name, vector)| (name.clone(), shown_vector(name, vector))).collect(),
    }
}

/// The vector as a request to the field of that name holds it.
pub fn shown_vector(name: &str, vector: &[f32]) -> Value {
    if name != SPARSE {
        return json!(vector);
    }
    let there = vector.iter().enumerate().filter(|(_, value)| **value != 0.0);
    let (indices, values): (Vec<usize>, Vec<f32>) = there.unzip();
    json!({"indices": indices, "values": values})
}
