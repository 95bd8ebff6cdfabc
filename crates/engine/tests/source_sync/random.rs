//! Random syncs of random callers, with other writes between them, compared with a model.

use crate::common::{self, Random, TestEngine};
use crate::{Caller, counts, new_engine};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// What the model has of a point.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    source: u64,
    tenant: u64,
    hash: u64,
}

const IDS: u64 = 40;

/// A sync of the model: what it does, or the code of its refusal.
fn expected(
    points: &BTreeMap<u64, Held>,
    (source, tenant): (u64, Option<u64>),
    entries: &BTreeMap<u64, (Held, bool)>,
) -> Result<(BTreeMap<u64, Held>, [u64; 4]), &'static str> {
    let reaches = |held: &Held| tenant.is_none_or(|tenant| held.tenant == tenant);
    if entries.values().any(|(held, has_content)| *has_content && held.source != source) {
        return Err("bad_request");
    }
    if entries.keys().filter_map(|id| points.get(id)).any(|held| !reaches(held)) {
        return Err("points_forbidden");
    }
    if entries.keys().filter_map(|id| points.get(id)).any(|held| held.source != source) {
        return Err("sync_conflict");
    }
    let is_same = |id: &u64, held: &Held| points.get(id).is_some_and(|stored| stored.hash == held.hash);
    if entries.iter().any(|(id, (held, has_content))| !is_same(id, held) && !has_content) {
        return Err("sync_conflict");
    }
    if entries.iter().any(|(id, (held, _))| !is_same(id, held) && !reaches(held)) {
        return Err("points_forbidden");
    }
    let (mut after, mut counts) = (points.clone(), [0; 4]);
    for (id, (held, _)) in entries {
        match points.get(id) {
            None => counts[0] += 1,
            Some(_) if !is_same(id, held) => counts[1] += 1,
            Some(_) => {
                counts[2] += 1;
                continue;
            }
        }
        after.insert(*id, held.clone());
    }
    let before = after.len();
    after.retain(|id, held| held.source != source || !reaches(held) || entries.contains_key(id));
    counts[3] = (before - after.len()) as u64;
    Ok((after, counts))
}

fn shown(id: u64, held: &Held) -> Value {
    let Held { source, tenant, hash } = held;
    json!({"id": id, "vector": [id, hash], "payload": {"tenant": tenant, "source": source, "hash": hash}})
}

fn random_held(random: &mut Random) -> Held {
    Held { source: random.below(2), tenant: random.below(2), hash: random.below(3) }
}

/// What the engine has: the points, and the version of each.
fn all(engine: &TestEngine) -> (BTreeMap<u64, Held>, BTreeMap<u64, u64>) {
    let found = engine.ok("query", "c", json!({"limit": 1000, "with_payload": true}))["points"].take();
    let number = |value: &Value| value.as_u64().expect("a number");
    let (mut points, mut versions) = (BTreeMap::new(), BTreeMap::new());
    for point in found.as_array().expect("a list") {
        let payload = &point["payload"];
        let field = |key: &str| number(&payload[key]);
        let held = Held { source: field("source"), tenant: field("tenant"), hash: field("hash") };
        points.insert(number(&point["id"]), held);
        versions.insert(number(&point["id"]), number(&point["version"]));
    }
    (points, versions)
}

/// Random syncs of random callers with other writes between them, each compared with the model.
fn run(seed: u64) {
    let (mut engine, mut random) = (new_engine(seed), Random(seed));
    let mut points: BTreeMap<u64, Held> = BTreeMap::new();
    // Each revision of a source stands for one set of points and versions.
    let mut revisions: HashMap<(u64, Option<u64>, String), BTreeMap<u64, u64>> = HashMap::new();
    let mut done = 0;
    for step in 0..60 {
        match random.below(10) {
            0 => {
                let (id, held) = (random.below(IDS), random_held(&mut random));
                engine.ok("upsert_points", "c", json!({"points": [shown(id, &held)]}));
                points.insert(id, held);
            }
            1 => {
                let id = random.below(IDS);
                engine.ok("delete_points", "c", json!({"points": [id]}));
                points.remove(&id);
            }
            2 => {
                let source = random.below(2);
                let filter = json!({"must": {"key": "source", "match": {"value": source}}});
                let hash = random.below(3);
                engine.ok("set_payload", "c", json!({"payload": {"hash": hash}, "filter": filter}));
                points.values_mut().filter(|held| held.source == source).for_each(|held| held.hash = hash);
            }
            3 if random.chance(30) => engine.power_cut(seed + step),
            3 => {
                engine.ok(
                    "create_field_index",
                    "c",
                    json!({"field_name": "source", "field_schema": "integer"}),
                );
                engine.checkpoint();
            }
            _ => done += u64::from(random_sync(&engine, &mut random, &mut points)),
        }
        let (found, versions) = all(&engine);
        assert_eq!(found, points, "seed {seed}, step {step}");
        for (source, tenant) in [(0, None), (1, None), (0, Some(1))] {
            let caller = Caller { tenant, ..Caller::default() };
            let asked = json!({"scope": {"must": {"key": "source", "match": {"value": source}}}, "hash_key": "hash", "points": []});
            let plan = caller.call(&engine, "plan_sync", &asked).expect("a plan");
            let revision = plan["revision"].as_str().expect("a revision").to_string();
            let is_in = |id: &u64| {
                let held = &points[id];
                held.source == source && tenant.is_none_or(|tenant| held.tenant == tenant)
            };
            let held: BTreeMap<u64, u64> =
                versions.iter().filter(|(id, _)| is_in(id)).map(|(id, version)| (*id, *version)).collect();
            let known = revisions.entry((source, tenant, revision)).or_insert_with(|| held.clone());
            assert_eq!(*known, held, "a revision of two states, seed {seed}, step {step}");
        }
    }
    assert!(done > 0, "no sync of seed {seed} was done");
}

/// Sends a random sync; says whether it was done.
fn random_sync(engine: &TestEngine, random: &mut Random, points: &mut BTreeMap<u64, Held>) -> bool {
    let source = random.below(2);
    let tenant = random.chance(30).then(|| random.below(2));
    let mut entries = BTreeMap::new();
    let is_wild = random.chance(15);
    for id in 0..IDS {
        let mut held = random_held(random);
        held.tenant = tenant.filter(|_| !is_wild).unwrap_or(held.tenant);
        held.source = if is_wild && random.chance(4) { held.source } else { source };
        let stored = points.get(&id);
        let fits =
            |stored: &Held| stored.source == source && tenant.is_none_or(|tenant| stored.tenant == tenant);
        if random.chance(40) || stored.is_some_and(|stored| !fits(stored)) && !(is_wild && random.chance(10))
        {
            continue;
        }
        let is_same = stored.is_some() && random.chance(60);
        held.hash = stored.filter(|_| is_same).map_or(held.hash, |stored| stored.hash);
        let is_bare = is_same && random.chance(70) || is_wild && random.chance(5);
        entries.insert(id, (held, !is_bare));
    }
    let list: Vec<Value> = entries
        .iter()
        .map(|(id, (held, has_content))| match has_content {
            true => shown(*id, held),
            false => json!({"id": id, "hash": held.hash}),
        })
        .collect();
    let caller = Caller { tenant, name: "who", ..Caller::default() };
    let base = json!({"scope": {"must": {"key": "source", "match": {"value": source}}}, "hash_key": "hash"});
    let with = |points: &[Value], more: Value| {
        let mut body = base.clone();
        body["points"] = json!(points);
        more.as_object().expect("an object").iter().for_each(|(key, value)| body[key] = value.clone());
        body
    };
    let answer = if random.chance(30) {
        let at = random.below(list.len() as u64 + 1) as usize;
        let staged = caller.call(engine, "sync_points", &with(&list[..at], json!({"sync_id": "s"})));
        assert_eq!(staged.expect("it is staged"), json!({"staged": at}));
        let last = with(&list[at..], json!({"sync_id": "s", "last": true, "staged": at}));
        let answer = caller.call(engine, "sync_points", &last);
        if answer.is_err() {
            // What is staged is not for the next sync of that name.
            let wrong = with(&[], json!({"sync_id": "s", "last": true, "staged": 1_u64 << 40}));
            assert_eq!(caller.refused(engine, "sync_points", &wrong).0, "sync_conflict");
        }
        answer
    } else {
        caller.call(engine, "sync_points", &with(&list, json!({})))
    };
    match (answer, expected(points, (source, tenant), &entries)) {
        (Ok(answer), Ok((after, of_model))) => {
            assert_eq!(counts(&answer), of_model, "{list:?}");
            let plan = caller.call(engine, "plan_sync", &with(&[], json!({}))).expect("a plan");
            assert_eq!(answer["revision"], plan["revision"]);
            *points = after;
            true
        }
        (Err(error), Err(code)) => {
            assert_eq!(error.code(), code, "{list:?}");
            false
        }
        (answer, outcome) => panic!("{answer:?}, not {outcome:?}: {list:?} on {points:?}"),
    }
}

#[test]
fn random_syncs_do_what_the_model_does_c20() {
    let seeds = common::setting("KITHDB_SYNC_SEEDS").unwrap_or(60);
    (0..seeds).for_each(run);
}
