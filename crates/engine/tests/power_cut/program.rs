//! Random steps of a program, each with what it does to the model.

use crate::body::{self, Vectors};
use crate::common::{Client, Random};
use crate::configuring::{change_aliases, change_fields, declare, level, patch};
use crate::content::{any_id, filter, payload, some_id, vectors};
use crate::expiry;
use crate::model::{Collection, Filter, Level, Model, Point, Schema, collection_of, shown};
use crate::snapshots::{self, Snapshot};
use crate::syncing::sync_source;
use crate::versions::{self, Versions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names of collections.
pub const NAMES: [&str; 3] = ["alpha", "beta", ".. γ"];
/// Fields that get an index, and its kind.
pub const FIELDS: [(&str, &str); 6] = [
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
pub type Effect = Box<dyn Fn(&mut Collection) -> Result<(), &'static str>>;

pub const ABSENT: Result<(), &str> = Err("point_not_found");

/// A change of points: its key in a batch, its operation, its body, its effect.
pub type Change = (&'static str, &'static str, String, Effect);

/// The update of the vectors of some points, all of which must be there.
pub fn vector_updates(updates: Vec<(u64, Vectors)>, body: String) -> Change {
    let effect = move |collection: &mut Collection| {
        updates.iter().try_for_each(|(id, given)| {
            let Some(point) = collection.points.get_mut(id) else { return ABSENT };
            Arc::make_mut(point).vectors.extend(given.clone());
            Ok(())
        })
    };
    ("update_vectors", "update_vectors", body, Box::new(effect))
}

/// What a step is made of beside the model.
pub struct Known<'k> {
    /// The time, in seconds.
    pub now: i64,
    pub snapshots: &'k [Snapshot],
    pub client: &'k Client,
}

/// The next step of a program. Now and then it is one that must be refused.
pub fn step(random: &mut Random, model: &Model, known: &Known<'_>) -> Step {
    let now = known.now;
    let mut step = any_step(random, model, known);
    if let Ok(after) = &mut step.outcome {
        expiry::pass(after, now);
    }
    step
}

fn any_step(random: &mut Random, model: &Model, known: &Known<'_>) -> Step {
    if !known.snapshots.is_empty() && random.chance(3) {
        return snapshots::recover_any(random, model, known.snapshots);
    }
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
        let mut created = Collection::new(schema, m, level);
        let mut body = schema.creation(m, level);
        if random.chance(70) {
            created.expires = true;
            body["expire_at_key"] = json!(expiry::KEY);
        }
        if random.chance(20) {
            created.is_manual = true;
            body["field_indexes"] = json!("manual");
        }
        if random.chance(30) {
            created.has_strings = true;
            body["ids"] = json!("string");
        }
        let mut after = model.clone();
        after.insert(name.to_string(), created);
        return step("create_collection", body.to_string(), Ok(after));
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
            // Versions of points that earlier changes of the batch have written are not known.
            let versions: Versions<'_> = &versions::of(known.client, name);
            let count = 1 + random.below(4);
            let any = |at| change(random, collection, (at == 0).then_some(versions));
            let changes: Vec<Change> = (0..count).map(any).collect();
            let operations: Vec<String> =
                changes.iter().map(|(key, _, body, _)| format!("{{\"{key}\":{body}}}")).collect();
            let mut after = model.clone();
            let done = changes.iter().try_for_each(|(_, _, _, effect)| {
                let held = after.get_mut(name).expect("it exists");
                // What comes with a time that has passed is absent for the changes behind it.
                effect(held).map(|()| held.pass(known.now))
            });
            let outcome = done.map(|()| after);
            let body = format!("{{\"operations\":[{}]}}", operations.join(","));
            Step { wait: random.chance(70), ..step("batch_update", body, outcome) }
        }
        26..34 => sync_source(random, model, name, step),
        _ => {
            let versions = versions::of(known.client, name);
            let (_, operation, body, effect) = change(random, collection, Some(&versions));
            let mut after = model.clone();
            let done = effect(after.get_mut(name).expect("it exists"));
            let outcome = done.map(|()| after);
            Step { wait: random.chance(70), ..step(operation, body, outcome) }
        }
    }
}

/// A change of points; where their versions are known perhaps on condition of these.
fn change(random: &mut Random, collection: &Collection, versions: Option<Versions<'_>>) -> Change {
    if let Some(versions) = versions
        && random.chance(10)
    {
        return versions::change(random, collection, versions);
    }
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
            vector_updates(updates, body)
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
                let at = random.below(FIELDS.len() as u64 + 1) as usize;
                let field = FIELDS.get(at).map_or(expiry::KEY, |(field, _)| *field);
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
