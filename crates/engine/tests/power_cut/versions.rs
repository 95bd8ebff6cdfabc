//! Writes that say which versions their points must have (C25): on points of an upsert and of an update of vectors, and for
//! changes of payloads as one number or as an object from id to version.

use crate::body;
use crate::common::{Client, Random};
use crate::content::{any_id, payload, some_id, vectors};
use crate::model::{Collection, Point, shown};
use crate::program::{ABSENT, Change, vector_updates};
use kithdb_engine::types::PointId;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes of all programs that met the versions, none of them 0, that they had asked for.
pub static MET: AtomicU64 = AtomicU64::new(0);

/// The version of a point, as a reader sees it; 0 where there is none.
pub type Versions<'v> = &'v dyn Fn(u64) -> u64;

/// The versions of a collection's points.
pub fn of<'c>(client: &'c Client, name: &'c str) -> impl Fn(u64) -> u64 + 'c {
    move |id| {
        let Ok(entry) = client.0.catalog().enter(name) else { return 0 };
        let Ok(collection) = entry.collection() else { return 0 };
        let kind = entry.entry().config.ids;
        let id = match shown(id).as_str() {
            Some(text) => PointId::of_string(text, kind).expect("an id that is sent"),
            None => PointId::Num(id),
        };
        collection.current_view().state.point(&id).map_or(0, |(_, point)| point.version().get())
    }
}

/// The versions that one write asks for.
struct Asked {
    /// None where nothing is asked of a point.
    of: Vec<(u64, Option<u64>)>,
    /// Whether the points have them.
    hold: bool,
}

impl Asked {
    /// Mostly those that the points have.
    fn any(random: &mut Random, ids: &[u64], versions: Versions<'_>) -> Asked {
        let mut hold = true;
        let mut ask = |id: &u64| {
            let version = versions(*id);
            let asked = match random.below(20) {
                0..4 => None,
                4 => Some(version + 1),
                5 => Some(0),
                _ => Some(version),
            };
            hold &= asked.is_none_or(|asked| asked == version);
            (*id, asked)
        };
        let of = ids.iter().map(&mut ask).collect();
        Asked { of, hold }
    }

    fn version(&self, id: u64) -> Option<u64> {
        self.of.iter().find(|(of, _)| *of == id).and_then(|(_, version)| *version)
    }

    /// `if_version` of a change of payloads: one number where all points are to have the same, else an object.
    fn json(&self) -> Option<Value> {
        let all: BTreeSet<Option<u64>> = self.of.iter().map(|(_, version)| *version).collect();
        match all.first() {
            Some(Some(version)) if all.len() == 1 => Some(json!(version)),
            _ => {
                let key = |id| shown(id).as_str().map_or_else(|| id.to_string(), str::to_string);
                let entry = |&(id, version): &(u64, Option<u64>)| Some((key(id), json!(version?)));
                let entries: Map<String, Value> = self.of.iter().filter_map(entry).collect();
                (!entries.is_empty()).then_some(Value::Object(entries))
            }
        }
    }
}

/// Some ids, each once, mostly of points that there are.
fn some_ids(random: &mut Random, collection: &Collection) -> Vec<u64> {
    let ids: BTreeSet<u64> = (0..1 + random.below(3)).map(|_| some_id(random, collection)).collect();
    ids.into_iter().collect()
}

/// A write on condition of versions.
pub fn change(random: &mut Random, collection: &Collection, versions: Versions<'_>) -> Change {
    let mut ids = some_ids(random, collection);
    let kind = random.below(6);
    if kind < 2 {
        let new = any_id(random);
        ids.extend((!ids.contains(&new)).then_some(new));
    }
    let asked = Asked::any(random, &ids, versions);
    let is_met = asked.hold && asked.of.iter().any(|(_, version)| version.is_some_and(|asked| asked > 0));
    let (key, operation, body, effect) = match kind {
        0 | 1 => upsert(random, collection, &asked),
        2 => update_vectors(random, collection, &asked),
        _ => edit(random, &asked),
    };
    let hold = asked.hold;
    let checked = move |collection: &mut Collection| {
        if !hold {
            return Err("version_conflict");
        }
        effect(collection)?;
        MET.fetch_add(u64::from(is_met), Ordering::Relaxed);
        Ok(())
    };
    (key, operation, body, Box::new(checked))
}

fn upsert(random: &mut Random, collection: &Collection, asked: &Asked) -> Change {
    let fields = collection.fields();
    let points: Vec<(u64, Arc<Point>)> = asked
        .of
        .iter()
        .map(|(id, _)| {
            let point = Point { vectors: vectors(random, &fields, false), payload: payload(random) };
            (*id, Arc::new(point))
        })
        .collect();
    let body = body::upsert_if(&points, &|id| asked.version(id));
    let effect = move |collection: &mut Collection| {
        collection.points.extend(points.iter().cloned());
        Ok(())
    };
    ("upsert", "upsert_points", body, Box::new(effect))
}

fn update_vectors(random: &mut Random, collection: &Collection, asked: &Asked) -> Change {
    let fields = collection.fields();
    let updates: Vec<(u64, body::Vectors)> =
        asked.of.iter().map(|(id, _)| (*id, vectors(random, &fields, true))).collect();
    let body = body::update_vectors_if(&updates, &|id| asked.version(id));
    vector_updates(updates, body)
}

/// Sets, replaces or clears the payloads of the points.
fn edit(random: &mut Random, asked: &Asked) -> Change {
    let ids: Vec<u64> = asked.of.iter().map(|(id, _)| *id).collect();
    let points: Vec<Value> = ids.iter().copied().map(shown).collect();
    let mut body = json!({"points": points});
    if let Some(versions) = asked.json() {
        body["if_version"] = versions;
    }
    let (way, given) = (random.below(4), payload(random));
    let operation = match way {
        0 => "clear_payload",
        1 => "delete_payload",
        2 => "overwrite_payload",
        _ => "set_payload",
    };
    match way {
        0 => {}
        1 => body["keys"] = json!(["n"]),
        _ => body["payload"] = Value::Object(given.clone()),
    }
    let effect = move |collection: &mut Collection| {
        if !ids.iter().all(|id| collection.points.contains_key(id)) {
            return ABSENT;
        }
        for id in &ids {
            let point = Arc::make_mut(collection.points.get_mut(id).expect("it is there"));
            match way {
                0 => point.payload.clear(),
                1 => drop(point.payload.shift_remove("n")),
                2 => point.payload = given.clone(),
                _ => point.payload.extend(given.clone()),
            }
        }
        Ok(())
    };
    (operation, operation, body.to_string(), Box::new(effect))
}
