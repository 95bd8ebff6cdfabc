//! Random steps of a program, each with what it does to the model.

use crate::body::{self, Vectors};
use crate::common::Random;
use crate::model::{
    ADDED, Collection, FIRST_UUID, Filter, Level, MULTI, Model, Point, ROW, SPARSE, Schema, Sides,
    collection_of, shown,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const NAMES: [&str; 3] = ["alpha", "beta", ".. γ"];
/// Names of aliases, one of which collections have too.
const ALIASES: [&str; 3] = ["first", "beta", "sec\u{f6}nd"];
const TAGS: [&str; 4] = ["red", "green", "blue", "ünï\"q"];
/// No word is a part of another, so that a text index and its absence mean the same.
const WORDS: [&str; 5] = ["ape", "bee", "cow", "Dog", "emu"];
const FIELDS: [(&str, &str); 6] = [
    ("n", "integer"),
    ("tag", "keyword"),
    ("x", "float"),
    ("place", "geo"),
    ("words", "text"),
    ("day", "datetime"),
];

/// One request of a program.
pub struct Step {
    pub operation: &'static str,
    pub collection: String,
    pub target: Option<String>,
    pub wait: bool,
    pub body: String,
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

    /// The ids that it selects; none when an id that must exist does not.
    fn ids(&self, collection: &Collection) -> Option<Vec<u64>> {
        match self {
            Selection::Ids(ids) => {
                ids.iter().all(|id| collection.points.contains_key(id)).then(|| ids.clone())
            }
            Selection::Matching(filter) => Some(collection.matching(filter).collect()),
        }
    }
}

/// What a change does to a collection, or the code of its refusal.
type Effect = Box<dyn Fn(&mut Collection) -> Result<(), &'static str>>;

const ABSENT: Result<(), &str> = Err("point_not_found");

/// A change of points: its key in a batch, its operation, its body, its effect.
type Change = (&'static str, &'static str, String, Effect);

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
    if collection_of(model, name).is_some() {
        let body = Schema::Small.creation(4, Level::Always).to_string();
        return step("create_collection", body, Err("alias_exists"));
    }
    if random.chance(3) {
        return change_aliases(random, model);
    }
    let Some(collection) = model.get(name) else {
        if random.chance(10) {
            return step("clear_payload", "{\"points\":[1]}".into(), Err("collection_not_found"));
        }
        let schemas = [Schema::Small, Schema::Graph, Schema::Named, Schema::Sparse];
        let schema = schemas[random.below(4) as usize];
        let (m, level) = (4 + random.below(3), level(random));
        let mut after = model.clone();
        after.insert(name.to_string(), Collection::new(schema, m, level));
        return step("create_collection", schema.creation(m, level).to_string(), Ok(after));
    };
    match random.below(100) {
        0..3 => {
            let mut after = model.clone();
            after.remove(name);
            step("delete_collection", String::new(), Ok(after))
        }
        3..5 => {
            let body = collection.schema.creation(4, collection.level).to_string();
            step("create_collection", body, Err("collection_exists"))
        }
        5..8 => {
            let new = NAMES[random.below(3) as usize];
            let mut after = model.clone();
            let copy = Collection { aliases: BTreeSet::new(), ..collection.clone() };
            after.entry(new.to_string()).or_insert(copy);
            let outcome = match collection_of(model, new) {
                _ if model.contains_key(new) => Err("collection_exists"),
                Some(_) => Err("alias_exists"),
                None => Ok(after),
            };
            step("clone_collection", json!({"name": new}).to_string(), outcome)
        }
        8..13 => declare(random, model, name, step),
        13..17 => patch(random, model, name, step),
        17..20 => change_fields(random, model, name, step),
        20..26 => {
            let changes: Vec<Change> = (0..1 + random.below(4)).map(|_| change(random, collection)).collect();
            let operations: Vec<String> =
                changes.iter().map(|(key, _, body, _)| format!("{{\"{key}\":{body}}}")).collect();
            let mut after = model.clone();
            let done = changes
                .iter()
                .try_for_each(|(_, _, _, effect)| effect(after.get_mut(name).expect("it exists")));
            let outcome = done.map(|()| after);
            let body = format!("{{\"operations\":[{}]}}", operations.join(","));
            Step { wait: random.chance(70), ..step("batch_update", body, outcome) }
        }
        26..34 => sync_source(random, model, name, step),
        _ => {
            let (_, operation, body, effect) = change(random, collection);
            let mut after = model.clone();
            let done = effect(after.get_mut(name).expect("it exists"));
            let outcome = done.map(|()| after);
            Step { wait: random.chance(70), ..step(operation, body, outcome) }
        }
    }
}

/// Some actions on aliases, one of which may make all of them refused.
fn change_aliases(random: &mut Random, model: &Model) -> Step {
    let (mut after, mut actions, mut outcome) = (model.clone(), Vec::new(), Ok(()));
    for _ in 0..1 + random.below(3) {
        let [alias, other] = [(); 2].map(|()| ALIASES[random.below(3) as usize]);
        let name = NAMES[random.below(3) as usize];
        let (action, done) = match random.below(4) {
            0 => {
                take_alias(&mut after, alias);
                (json!({"delete_alias": {"alias_name": alias}}), Ok(()))
            }
            1 => {
                let owner = take_alias(&mut after, alias).ok_or("alias_not_found");
                let done = owner.and_then(|owner| give_alias(&mut after, &owner, other));
                (json!({"rename_alias": {"old_alias_name": alias, "new_alias_name": other}}), done)
            }
            _ => {
                let done = give_alias(&mut after, name, alias);
                (json!({"create_alias": {"alias_name": alias, "collection_name": name}}), done)
            }
        };
        actions.push(action);
        outcome = outcome.and(done);
    }
    Step {
        operation: "change_aliases",
        collection: String::new(),
        target: None,
        wait: true,
        body: json!({"actions": actions}).to_string(),
        outcome: outcome.map(|()| after),
    }
}

/// Removes an alias; the name of its collection, if there was one.
fn take_alias(model: &mut Model, alias: &str) -> Option<String> {
    model.iter_mut().find_map(|(name, held)| held.aliases.remove(alias).then(|| name.clone()))
}

fn give_alias(model: &mut Model, name: &str, alias: &str) -> Result<(), &'static str> {
    if !model.contains_key(name) {
        return Err("collection_not_found");
    }
    if model.contains_key(alias) {
        return Err("collection_exists");
    }
    take_alias(model, alias);
    model.get_mut(name).expect("it exists").aliases.insert(alias.to_string());
    Ok(())
}

/// Creates or removes a field index.
fn declare(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, String, Result<Model, &'static str>) -> Step,
) -> Step {
    let (field, schema) = FIELDS[random.below(FIELDS.len() as u64) as usize];
    let mut after = model.clone();
    let indexes = &mut after.get_mut(name).expect("it exists").indexes;
    if random.chance(70) {
        indexes.insert(field.to_string());
        let body = json!({"field_name": field, "field_schema": schema}).to_string();
        // An index that no request waits for is built at the next background work, after changes and cuts.
        Step { wait: random.chance(40), ..step("create_field_index", body, Ok(after)) }
    } else {
        indexes.remove(field);
        Step { target: Some(field.to_string()), ..step("delete_field_index", String::new(), Ok(after)) }
    }
}

/// Adds a vector field, or removes one.
fn change_fields(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, String, Result<Model, &'static str>) -> Step,
) -> Step {
    let mut after = model.clone();
    let changed = after.get_mut(name).expect("it exists");
    let all: Vec<&'static str> = changed
        .schema
        .fields()
        .iter()
        .map(|(name, _)| *name)
        .chain([ADDED.0])
        .filter(|n| !n.is_empty())
        .collect();
    let field = all[random.below(all.len() as u64) as usize];
    let is_there = changed.fields().iter().any(|(name, _)| *name == field);
    // Searches need a vector. What is there already, or is not there, changes nothing.
    let adds = if is_there { changed.fields().len() == 1 || random.chance(20) } else { random.chance(80) };
    let target = Some(field.to_string());
    let wait = random.chance(70);
    if adds {
        changed.removed.remove(field);
        changed.has_added |= field == ADDED.0;
        let body = changed.schema.addition(field).to_string();
        return Step { target, wait, ..step("create_vector_name", body, Ok(after)) };
    }
    if field == ADDED.0 {
        changed.has_added = false;
    } else {
        changed.removed.insert(field);
    }
    for point in changed.points.values_mut().filter(|point| point.vectors.contains_key(field)) {
        Arc::make_mut(point).vectors.remove(field);
    }
    Step { target, wait, ..step("delete_vector_name", String::new(), Ok(after)) }
}

/// A sync of the points with a tag, whose hashes are their numbers (C20).
fn sync_source(
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
fn of_source(random: &mut Random, fields: &[(&'static str, usize)], tag: &str) -> Point {
    let mut payload = payload(random);
    payload.insert("tag".to_string(), json!(tag));
    payload.insert("n".to_string(), json!(random.below(60)));
    Point { vectors: vectors(random, fields, false), payload }
}

/// Half of the collections wait for no sync.
fn level(random: &mut Random) -> Level {
    if random.chance(50) { Level::Always } else { Level::ALL[1 + random.below(2) as usize] }
}

/// Changes a note, the graphs' degree, whether vectors are quantised, or what writes wait for.
fn patch(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, String, Result<Model, &'static str>) -> Step,
) -> Step {
    let mut after = model.clone();
    let changed = after.get_mut(name).expect("it exists");
    let mut body = json!({});
    let which = random.below(10);
    if which < 3 {
        changed.level = level(random);
        body["wal_config"] = json!({"durability": changed.level.name()});
    } else if which < 7 {
        let (note, m) = (random.below(1 << 40), 4 + random.below(3));
        (changed.note, changed.m) = (Some(note), m);
        body = json!({"metadata": {"note": note}, "hnsw_config": {"m": m}});
    } else {
        changed.quantized = !changed.quantized;
        body["quantization_config"] =
            if changed.quantized { json!({"scalar": {"type": "int8"}}) } else { json!("Disabled") };
    }
    step("update_collection", body.to_string(), Ok(after))
}

fn change(random: &mut Random, collection: &Collection) -> Change {
    let fields = collection.fields();
    match random.below(100) {
        0..36 => upsert(random, &fields),
        36..45 => conditional_upsert(random, collection),
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
                Ok(())
            };
            ("delete", "delete_points", body.to_string(), Box::new(effect))
        }
        57..67 => {
            let updates: Vec<(u64, Vectors)> = (0..1 + random.below(4))
                .map(|_| (some_id(random, collection), vectors(random, &fields, true)))
                .collect();
            let body = body::update_vectors(&updates);
            let effect = move |collection: &mut Collection| {
                updates.iter().try_for_each(|(id, given)| {
                    let Some(point) = collection.points.get_mut(id) else { return ABSENT };
                    Arc::make_mut(point).vectors.extend(given.clone());
                    Ok(())
                })
            };
            ("update_vectors", "update_vectors", body, Box::new(effect))
        }
        67..72 => {
            let field = fields[random.below(fields.len() as u64) as usize].0;
            let what = json!({"vector": [field]});
            edit(random, collection, what, "delete_vectors", "delete_vectors", move |point| {
                point.vectors.remove(field);
            })
        }
        72..83 => {
            let mut patch = payload(random);
            if random.chance(40) {
                let (field, _) = FIELDS[random.below(FIELDS.len() as u64) as usize];
                patch.insert(field.to_string(), Value::Null);
            }
            edit(random, collection, json!({"payload": patch}), "set_payload", "set_payload", move |point| {
                for (key, value) in &patch {
                    match value {
                        Value::Null => drop(point.payload.shift_remove(key)),
                        value => drop(point.payload.insert(key.clone(), value.clone())),
                    }
                }
            })
        }
        83..90 => {
            let whole = payload(random);
            let what = json!({"payload": whole});
            edit(random, collection, what, "overwrite_payload", "overwrite_payload", move |point| {
                point.payload = whole.clone();
            })
        }
        90..96 => {
            let (key, _) = FIELDS[random.below(FIELDS.len() as u64) as usize];
            let what = json!({"keys": [key]});
            edit(random, collection, what, "delete_payload", "delete_payload", move |point| {
                point.payload.shift_remove(key);
            })
        }
        _ => edit(random, collection, json!({}), "clear_payload", "clear_payload", |point| {
            point.payload.clear()
        }),
    }
}

fn upsert(random: &mut Random, fields: &[(&'static str, usize)]) -> Change {
    let many = if random.chance(25) { 30 } else { 5 };
    let points: Vec<(u64, Arc<Point>)> = (0..1 + random.below(many))
        .map(|_| {
            let point = Point { vectors: vectors(random, fields, false), payload: payload(random) };
            (any_id(random), Arc::new(point))
        })
        .collect();
    let body = body::upsert(&points);
    let effect = move |collection: &mut Collection| {
        collection.points.extend(points.iter().cloned());
        Ok(())
    };
    ("upsert", "upsert_points", body, Box::new(effect))
}

/// An upsert of points that must be absent, or that skips some.
fn conditional_upsert(random: &mut Random, collection: &Collection) -> Change {
    let id = if random.chance(60) { some_id(random, collection) } else { any_id(random) };
    let point = Point { vectors: vectors(random, &collection.fields(), false), payload: payload(random) };
    let (mode, matching) = (random.below(4), random.chance(50).then(|| filter(random)));
    let condition = match (mode, &matching) {
        (0, _) => r#""update_mode":"insert_only""#.to_string(),
        (1, _) => r#""update_mode":"update_only""#.to_string(),
        (2, Some(filter)) => format!("\"update_filter\":{}", filter.json()),
        _ => r#""update_mode":"upsert""#.to_string(),
    };
    let must_be_absent = mode == 3;
    let point = Arc::new(point);
    let mut body = body::upsert(&[(id, Arc::clone(&point))]);
    if must_be_absent {
        let close = body.rfind("}]}").expect("the end of the list");
        body.insert_str(close, ",\"if_version\":0");
    }
    body.insert_str(1, &format!("{condition},"));
    let effect = move |collection: &mut Collection| {
        let stored = collection.points.get(&id);
        let skips = match mode {
            0 => stored.is_some(),
            1 => stored.is_none(),
            2 => stored.zip(matching.as_ref()).is_some_and(|(stored, filter)| !stored.matches(filter)),
            _ if stored.is_some() => return Err("version_conflict"),
            _ => false,
        };
        if !skips {
            collection.points.insert(id, Arc::clone(&point));
        }
        Ok(())
    };
    ("upsert", "upsert_points", body, Box::new(effect))
}

/// A change of each selected point by itself.
fn edit(
    random: &mut Random,
    collection: &Collection,
    mut body: Value,
    key: &'static str,
    operation: &'static str,
    apply: impl Fn(&mut Point) + 'static,
) -> Change {
    let selection = match random.chance(40) {
        true => Selection::Matching(filter(random)),
        false => Selection::Ids((0..1 + random.below(4)).map(|_| some_id(random, collection)).collect()),
    };
    selection.put(&mut body);
    let effect = move |collection: &mut Collection| {
        let Some(ids) = selection.ids(collection) else { return ABSENT };
        for id in ids {
            apply(Arc::make_mut(collection.points.get_mut(&id).expect("a selected point exists")));
        }
        Ok(())
    };
    (key, operation, body.to_string(), Box::new(effect))
}

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
    if random.chance(15) {
        let text = "λ".repeat(random.below(60) as usize);
        put("text", json!({"a": [text, u64::MAX, -0.5], "b": {}}));
    }
    payload
}

/// Vectors of a point; in an update there is at least one. Components are eighths, which every format keeps.
fn vectors(random: &mut Random, fields: &[(&'static str, usize)], update: bool) -> Vectors {
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
