//! What must hold of an engine at every moment.

use crate::body;
use crate::common::{Client, Random};
use crate::content;
use crate::expiry;
use crate::model::{
    ADDED, Collection, Filter, MULTI, Model, Point, ROW, SPARSE, Schema, read_id, shown, shown_fields,
    uuid_of,
};
use kithdb_engine::collection::View;
use kithdb_engine::field::{GraphSearch, QuantizationParams};
use kithdb_engine::index::{WalkParams, WalkScratch};
use kithdb_engine::types::{PointId, PointOffset, Row};
use kithdb_engine::vectors::VectorValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `ef_search` of a collection that does not say it.
const DEFAULT_EF_SEARCH: usize = 64;

/// Searches of all programs that walked a graph.
pub static WALKS: AtomicU64 = AtomicU64::new(0);
/// Field indexes that collections of all programs have made by themselves.
pub static AUTOMATIC: AtomicU64 = AtomicU64::new(0);
/// So many times a filter without an index is used until its cost is that of one.
const SCANS_OF_AN_INDEX: usize = 4;

/// The engine shows exactly one of the models; says which.
pub fn one_of(client: &Client, candidates: &[&Model]) -> usize {
    let mut differences = Vec::new();
    for (place, candidate) in candidates.iter().enumerate() {
        match difference(client, candidate) {
            None => return place,
            Some(difference) => differences.push(difference),
        }
    }
    panic!("the engine shows none of {} possible states:\n{}", differences.len(), differences.join("\nor\n"))
}

/// Wakes what sleeps.
pub fn wake_all(client: &Client) {
    let catalog = client.0.catalog();
    catalog.entries().iter().filter(|entry| entry.sleeping().is_some()).for_each(|entry| catalog.wake(entry));
}

/// The digest of everything, by name.
pub fn digests(client: &Client) -> BTreeMap<String, u128> {
    wake_all(client);
    let entries = client.0.catalog().entries();
    let digest = |view: Arc<View>| view.digest();
    entries
        .iter()
        .filter_map(|entry| Some((entry.name.clone(), digest(entry.collection()?.view()))))
        .collect()
}

/// How what the engine shows differs from a model, in a few lines; `None` when it does not.
fn difference(client: &Client, model: &Model) -> Option<String> {
    let list = client.ok("list_collections", "", json!(null));
    let names: BTreeSet<String> = list["collections"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["name"].as_str().expect("a name").to_string())
        .collect();
    if !names.iter().eq(model.keys()) {
        return Some(format!("collections {names:?}, not {:?}", model.keys().collect::<Vec<_>>()));
    }
    let found = client.0.catalog().aliases();
    let mut aliases: Vec<(String, String)> = model
        .iter()
        .flat_map(|(name, held)| held.aliases.iter().map(|alias| (alias.clone(), name.clone())))
        .collect();
    aliases.sort();
    if found != aliases {
        return Some(format!("aliases {found:?}, not {aliases:?}"));
    }
    wake_all(client);
    let entries = client.0.catalog().entries();
    for entry in entries {
        let (name, expected) = (&entry.name, &model[&entry.name]);
        let collection =
            entry.collection().unwrap_or_else(|| panic!("{name} is quarantined: {:?}", entry.fault()));
        assert_eq!(collection.fault(), None, "{name} takes no writes");
        let view = collection.view();
        let info = client.ok("collection_info", name, json!(null));
        let shown = collection.current_view().points_count() as u64;
        assert_eq!(info["points_count"].as_u64(), Some(shown), "points_count of {name}");
        if let Some(what) = head_difference(&info, expected).or_else(|| points_difference(&view, expected)) {
            return Some(format!("{name}: {what}"));
        }
    }
    None
}

fn head_difference(info: &Value, expected: &Collection) -> Option<String> {
    let config = &info["config"];
    let indexes: BTreeSet<&str> =
        info["payload_schema"].as_object().expect("an object").keys().map(String::as_str).collect();
    let found = (
        shown_fields(&config["params"]),
        config["metadata"]["note"].as_u64(),
        config["hnsw_config"]["m"].as_u64().expect("a number"),
        !config["quantization_config"].is_null(),
        config["wal_config"]["durability"].as_str().expect("a level"),
        info["expire_at_key"].as_str(),
        info["field_indexes"].as_str(),
        info["ids"].as_str(),
    );
    let wanted = (
        expected.described(),
        expected.note,
        expected.m,
        expected.quantized,
        expected.level.name(),
        expected.expires.then_some(expiry::KEY),
        expected.is_manual.then_some("manual"),
        expected.has_strings.then_some("string"),
    );
    if found != wanted {
        return Some(format!("{found:?}, not {wanted:?}"));
    }
    (!indexes.iter().copied().eq(expected.indexes.iter().map(String::as_str)))
        .then(|| format!("indexes on {indexes:?}, not {:?}", expected.indexes))
}

fn points_difference(view: &View, expected: &Collection) -> Option<String> {
    let model_id = |id: &PointId| match id {
        PointId::Num(number) => *number,
        PointId::Uuid(uuid) => (uuid & 0xffff_ffff_ffff) as u64,
        PointId::Text(text) => text.with_str(|text| read_id(&json!(text))),
    };
    let ids = || {
        let offsets = view.state.indexed_offsets_from(&PointId::Num(0));
        offsets.map(|offset| (view.state.at(offset).id(), offset))
    };
    for (id, _) in ids() {
        match &*id {
            PointId::Num(_) => {}
            PointId::Uuid(uuid) => assert_eq!(*uuid, uuid_of(model_id(&id)), "an id that was never sent"),
            PointId::Text(text) => {
                let is_sent = text.with_str(|text| json!(text) == shown(model_id(&id)));
                assert!(is_sent && expected.has_strings, "an id that was never sent");
            }
        }
    }
    let found: BTreeMap<u64, PointOffset> = ids().map(|(id, offset)| (model_id(&id), offset)).collect();
    // What has come to its end is there until it is removed.
    let wanted = |id: &u64| expected.points.get(id).or_else(|| expected.expired.get(id));
    let missing: Vec<_> = expected.points.keys().filter(|id| !found.contains_key(id)).collect();
    let phantom: Vec<_> = found.keys().filter(|id| wanted(id).is_none()).collect();
    if !missing.is_empty() || !phantom.is_empty() {
        return Some(format!("{} points; missing {missing:?}, phantom {phantom:?}", found.len()));
    }
    let wrong: Vec<String> = found
        .iter()
        .filter_map(|(id, &offset)| Some(format!("{id}: {}", point_difference(view, offset, wanted(id)?)?)))
        .collect();
    (!wrong.is_empty()).then(|| format!("{} of {} points: {}", wrong.len(), found.len(), wrong.join("; ")))
}

fn point_difference(view: &View, offset: PointOffset, expected: &Point) -> Option<String> {
    let point = view.state.at(offset);
    let bytes = point.document();
    let same = expected.payload.is_empty() && bytes == b"{}" || {
        let found: Value = serde_json::from_slice(bytes).expect("payloads are JSON");
        found.as_object() == Some(&expected.payload)
    };
    if !same {
        return Some(format!("{} != {:?}", String::from_utf8_lossy(bytes), expected.payload));
    }
    for position in 0..view.state.config.positions() {
        let name = view.state.config.name_at(position);
        let found = match view.vector(point, position) {
            None => None,
            Some(VectorValue::Dense(components)) => Some(components),
            Some(VectorValue::Multi(multi)) => Some(multi.components),
            Some(VectorValue::Sparse(sparse)) => {
                let mut spread = vec![0.0; 12];
                for (index, value) in sparse.indices.iter().zip(&sparse.values) {
                    spread[*index as usize] = *value;
                }
                Some(spread)
            }
        };
        let wanted = expected.vectors.get(name);
        if found.as_deref() != wanted.map(|vector| &**vector) {
            return Some(format!("vector {name:?} is {found:?}, not {wanted:?}"));
        }
    }
    None
}

/// Counts, pages, searches and field indexes agree with the points of the model.
pub fn answers_agree(client: &Client, model: &Model, random: &mut Random) {
    for (name, collection) in model {
        let count = client.ok("count", name, json!({}));
        assert_eq!(count, json!({"count": collection.points.len()}), "count of {name}");
        pages_agree(client, name, collection, random);
        for _ in 0..2 {
            // Sometimes with the field indexes, sometimes before they are built.
            if random.chance(30) {
                client.0.catalog().collections().iter().for_each(|collection| collection.build_indexes());
            }
            let filter = content::filter(random);
            let pays_for_index = random.chance(25);
            let uses = if pays_for_index { SCANS_OF_AN_INDEX } else { 1 };
            (0..uses).for_each(|_| filtered_counts_agree(client, name, collection, &filter));
            // It is sometimes built at once, and otherwise with the next background work.
            if pays_for_index && random.chance(60) && builds_automatic(client, name) {
                filtered_counts_agree(client, name, collection, &filter);
            }
        }
        let info = client.ok("collection_info", name, json!(null));
        for field in &collection.indexes {
            let holding = |points: &BTreeMap<u64, Arc<Point>>| {
                points.values().filter(|point| point.payload.contains_key(field)).count() as u64
            };
            let (least, more) = (holding(&collection.points), holding(&collection.expired));
            let shown = info["payload_schema"][field]["points"].as_u64().expect("a number");
            // Yellow, or red where the log takes no writes.
            let is_building = info["status"] != json!("green") && shown == 0;
            assert!(
                is_building || (least..=least + more).contains(&shown),
                "index on {field} in {name} has {shown}, not {least} and up to {more} that have come to their end"
            );
        }
        walks_meet_every_row(client, name, random);
        for (field, _) in collection.fields() {
            match field {
                SPARSE => sparse_searches_agree(client, name, collection, random),
                field => searches_agree(client, name, collection, field, random),
            }
        }
    }
}

fn filtered_counts_agree(client: &Client, name: &str, collection: &Collection, filter: &Filter) {
    let expected = collection.matching(filter).count();
    let count = client.ok("count", name, json!({"filter": filter.json()}));
    if count != json!({"count": expected}) {
        let automatic = &client.ok("collection_info", name, json!(null))["auto_indexes"];
        let declared = &collection.indexes;
        panic!("{filter:?} in {name}: {count}, not {expected}; indexes {declared:?}, automatic {automatic}");
    }
}

/// Lets a collection build the field indexes that its filters have paid for; whether it has any then.
fn builds_automatic(client: &Client, name: &str) -> bool {
    let Ok(entry) = client.0.catalog().enter(name) else { return false };
    let collection = entry.collection().expect("it is served");
    let before = collection.auto_indexes();
    collection.build_auto_indexes();
    let built = collection.auto_indexes();
    AUTOMATIC.fetch_add(built.saturating_sub(before), Ordering::Relaxed);
    built > 0
}

/// A walk as wide as the graph meets every live row that the graph is said to have.
fn walks_meet_every_row(client: &Client, name: &str, random: &mut Random) {
    let Ok(entry) = client.0.catalog().enter(name) else { return };
    let snapshot = entry.collection().expect("it is served").snapshot();
    let view = &snapshot.view;
    for (field, slot) in snapshot.graphs.iter().enumerate() {
        let Some((graph, indexed)) = slot else { continue };
        let table = &view.fields[field];
        let alive = |row: Row| row < *indexed && table.alive(row, view.op);
        let expected: Vec<Row> = table.all_rows().iter().filter(|&row| alive(row)).collect();
        if expected.is_empty() {
            continue;
        }
        let mut query = Vec::new();
        table.vector(expected[random.below(expected.len() as u64) as usize], &mut query);
        let ef = 1 + graph.hnsw.len() as usize;
        let quantization = QuantizationParams::default();
        let search = GraphSearch { graph, table, query: &query, k: ef, quantization };
        let (params, scratch) = (WalkParams::wide(ef), &mut WalkScratch::new());
        let met = search.walk(&params, (&|_| true, &|_| true), &alive, |a, b| a.cmp(&b), scratch, &|| false);
        let mut met: Vec<Row> =
            met.expect("it is not stopped").best.into_iter().map(|(_, row)| row).collect();
        met.sort_unstable();
        assert_eq!(met, expected, "rows that a walk of field {field} of {name} meets");
    }
}

/// A page of a scroll has the ids, payloads and nothing else that belongs there.
fn pages_agree(client: &Client, name: &str, collection: &Collection, random: &mut Random) {
    let limit = 1 + random.below(40) as usize;
    let page = client.ok("scroll", name, json!({"limit": limit, "with_payload": true}));
    let shown = page["points"].as_array().expect("a list");
    assert_eq!(shown.len(), limit.min(collection.points.len()), "a page of {name}");
    for (shown, (id, point)) in shown.iter().zip(&collection.points) {
        assert_eq!(read_id(&shown["id"]), *id, "a page of {name}");
        assert_eq!(shown["payload"].as_object(), Some(&point.payload), "{id} on a page of {name}");
    }
}

/// A hit's id and score.
fn hits(answer: &Value) -> Vec<(u64, f32)> {
    let hits = answer.get("points").unwrap_or(answer).as_array().expect("hits");
    hits.iter().map(|hit| (read_id(&hit["id"]), hit["score"].as_f64().expect("a score") as f32)).collect()
}

fn search(
    client: &Client,
    name: &str,
    field: &str,
    vector: &[f32],
    limit: usize,
    exact: bool,
) -> Vec<(u64, f32)> {
    let (operation, body) = body::search(field, vector, limit, exact);
    let answer = client.execute(operation, name, None, true, body.into_bytes());
    hits(&answer.unwrap_or_else(|error| panic!("a search of {name}/{field}: {error}")))
}

/// A search finds the points that share an index with it, each with the sum of their products.
fn sparse_searches_agree(client: &Client, name: &str, collection: &Collection, random: &mut Random) {
    let holders: Vec<(u64, &[f32])> = collection
        .points
        .iter()
        .filter_map(|(id, point)| Some((*id, &**point.vectors.get(SPARSE)?)))
        .collect();
    if holders.is_empty() {
        return;
    }
    let query = holders[random.below(holders.len() as u64) as usize].1;
    let products = |vector: &[f32]| -> Vec<f32> {
        query.iter().zip(vector).map(|(a, b)| a * b).filter(|product| *product != 0.0).collect()
    };
    let expected: BTreeMap<u64, f32> = holders
        .iter()
        .map(|(id, vector)| (*id, products(vector)))
        .filter(|(_, products)| !products.is_empty())
        .map(|(id, products)| (id, products.iter().fold(0.0, |sum, product| sum + product)))
        .collect();
    let found = search(client, name, SPARSE, query, holders.len() + 1, false);
    assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected, "a search of {name}/{SPARSE}");
}

/// A point finds itself, by a scan and through the graph, which reaches every point.
fn searches_agree(
    client: &Client,
    name: &str,
    collection: &Collection,
    field: &'static str,
    random: &mut Random,
) {
    let holders: Vec<(u64, &[f32])> = collection
        .points
        .iter()
        .filter_map(|(id, point)| Some((*id, &**point.vectors.get(field)?)))
        .collect();
    if holders.is_empty() {
        return;
    }
    let (id, vector) = holders[random.below(holders.len() as u64) as usize];
    let all = search(client, name, field, vector, holders.len() + 1, true);
    let ids: BTreeSet<u64> = all.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, holders.iter().map(|(id, _)| *id).collect(), "an exact search of {name}/{field}");
    // Where nearly all are wanted a search that misses some is
    // followed by a scan; where few are, nothing makes up for a point that the graph lacks.
    let few = !collection.quantized && random.chance(60);
    let limit = if few { 1 + random.below(5) as usize } else { holders.len() - 1 };
    let limit = limit.clamp(1, (holders.len() - 1).max(1));
    let near = || search(client, name, field, vector, limit, false);
    let found = if client.has_graph(name, field) {
        WALKS.fetch_add(1, Ordering::Relaxed);
        client.walking(near)
    } else {
        near()
    };
    assert_eq!(found.len(), limit, "a search of {name}/{field} through the graph");
    // A walk keeps so many rows. Of a point with several, the few that are near may all be behind those of others.
    let rows = holders.iter().map(|(_, vector)| vector.len()).sum::<usize>() / ROW;
    let is_estimate = field == MULTI && rows > DEFAULT_EF_SEARCH;
    if !collection.quantized && !is_estimate {
        let scores = |hits: &[(u64, f32)]| hits.iter().take(limit).map(|hit| hit.1).collect::<Vec<_>>();
        assert_eq!(scores(&found), scores(&all), "graph and scan of {name}/{field} agree");
    }
    // By a product another point may be nearer to a vector than its own.
    let is_distance = field != MULTI && (collection.schema != Schema::Small || field == ADDED.0);
    let score = all.iter().find(|hit| hit.0 == id).expect("it is among all").1;
    let has_equal = all.iter().filter(|hit| hit.1 == score).count() > 1;
    let finds_itself = found.iter().any(|hit| hit.0 == id);
    assert!(!is_distance || has_equal || finds_itself, "{id} of {name}/{field} does not find itself");
}
