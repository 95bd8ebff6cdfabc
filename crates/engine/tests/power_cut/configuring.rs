//! Random steps that change what a collection is: its aliases, field indexes, vector fields and configuration.

use crate::common::Random;
use crate::expiry;
use crate::model::{ADDED, Level, Model};
use crate::program::{FIELDS, NAMES, Step};
use serde_json::{Value, json};
use std::sync::Arc;

/// Names of aliases, one of which collections have too.
const ALIASES: [&str; 3] = ["first", "beta", "sec\u{f6}nd"];

/// Some actions on aliases, one of which may make all of them refused.
pub fn change_aliases(random: &mut Random, model: &Model) -> Step {
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
pub fn declare(
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
pub fn change_fields(
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
    let all = changed.points.values_mut().chain(changed.expired.values_mut());
    for point in all.filter(|point| point.vectors.contains_key(field)) {
        Arc::make_mut(point).vectors.remove(field);
    }
    Step { target, wait, ..step("delete_vector_name", String::new(), Ok(after)) }
}

/// Half of the collections wait for no sync.
pub fn level(random: &mut Random) -> Level {
    if random.chance(50) { Level::Always } else { Level::ALL[1 + random.below(2) as usize] }
}

/// Changes a note, the graphs' degree, whether vectors are quantised, what writes wait for, whether points come to their
/// end, or whether field indexes are made that nobody declared.
pub fn patch(
    random: &mut Random,
    model: &Model,
    name: &str,
    step: impl Fn(&'static str, String, Result<Model, &'static str>) -> Step,
) -> Step {
    let mut after = model.clone();
    let changed = after.get_mut(name).expect("it exists");
    let mut body = json!({});
    let which = random.below(10);
    // Without the key, points are found again that are not removed yet, and nobody knows which these are.
    if changed.expired.is_empty() && random.chance(25) {
        changed.expires = !changed.expires;
        body["expire_at_key"] = if changed.expires { json!(expiry::KEY) } else { Value::Null };
    } else if random.chance(15) {
        changed.is_manual = !changed.is_manual;
        body["field_indexes"] = if changed.is_manual { json!("manual") } else { Value::Null };
    } else if which < 3 {
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
