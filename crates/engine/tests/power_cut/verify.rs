//! What must hold of an engine at every moment, whatever happened before.

use crate::common::{Random, TestEngine};
use crate::model::{Collection, Model, SPARSE, difference, read_id};
use crate::program;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Everything that the engine shows, as a model.
pub fn observe(engine: &TestEngine) -> Model {
    let list = engine.ok("list_collections", "", json!(null));
    let names = list["collections"].as_array().expect("a list").iter();
    names
        .map(|entry| {
            let name = entry["name"].as_str().expect("a name");
            let info = engine.ok("collection_info", name, json!(null));
            assert_eq!(info["optimizer_status"], json!("ok"), "{name} is quarantined");
            (name.to_string(), Collection::read(&info, &engine.digest(name)))
        })
        .collect::<BTreeMap<_, _>>()
}

/// The engine shows exactly one of the models; says which.
pub fn one_of(engine: &TestEngine, candidates: &[Model]) -> usize {
    let found = observe(engine);
    let place = candidates.iter().position(|candidate| *candidate == found);
    place.unwrap_or_else(|| {
        let all: Vec<String> = candidates.iter().map(|candidate| difference(&found, candidate)).collect();
        panic!("the engine shows none of {} possible states:\n{}", all.len(), all.join("or\n"))
    })
}

/// Counts, searches and field indexes agree with the points of the model.
pub fn answers_agree(engine: &TestEngine, model: &Model, random: &mut Random) {
    for (name, collection) in model {
        let count = engine.ok("count", name, json!({}));
        assert_eq!(count, json!({"count": collection.points.len()}), "count of {name}");
        for _ in 0..2 {
            let filter = program::filter(random);
            let expected = collection.points.values().filter(|point| point.matches(&filter)).count();
            let count = engine.ok("count", name, json!({"filter": filter.json()}));
            assert_eq!(
                count,
                json!({"count": expected}),
                "{filter:?} in {name}, indexes {:?}",
                collection.indexes
            );
        }
        let info = engine.ok("collection_info", name, json!(null));
        for field in &collection.indexes {
            let expected =
                collection.points.values().filter(|point| point.payload.contains_key(field)).count();
            assert_eq!(
                info["payload_schema"][field]["points"],
                json!(expected),
                "index on {field} in {name}"
            );
        }
        for (field, _) in collection.schema.fields() {
            match *field {
                SPARSE => sparse_searches_agree(engine, name, collection, random),
                field => searches_agree(engine, name, collection, field, random),
            }
        }
    }
}

/// A search finds the points that share an index with it, each with the sum of their products.
fn sparse_searches_agree(engine: &TestEngine, name: &str, collection: &Collection, random: &mut Random) {
    let holders: Vec<(u64, &Vec<f32>)> =
        collection.points.iter().filter_map(|(id, point)| Some((*id, point.vectors.get(SPARSE)?))).collect();
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
    let vector = program::shown_vector(SPARSE, query);
    let body = json!({"vector": {"name": SPARSE, "vector": vector}, "limit": holders.len() + 1});
    let hits = engine.ok("search", name, body);
    let hits = hits.as_array().expect("hits").iter();
    let found: BTreeMap<u64, f32> =
        hits.map(|hit| (read_id(&hit["id"]), hit["score"].as_f64().expect("a score") as f32)).collect();
    assert_eq!(found, expected, "a search of {name}/{SPARSE}");
}

/// A point finds itself, by a scan and through the graph, which reaches every point.
fn searches_agree(
    engine: &TestEngine,
    name: &str,
    collection: &Collection,
    field: &str,
    random: &mut Random,
) {
    let holders: Vec<(&u64, &Vec<f32>)> =
        collection.points.iter().filter_map(|(id, point)| Some((id, point.vectors.get(field)?))).collect();
    if holders.is_empty() {
        return;
    }
    let (id, vector) = holders[random.below(holders.len() as u64) as usize];
    let ask = |exact: bool, limit: usize| {
        let vector = if field.is_empty() { json!(vector) } else { json!({"name": field, "vector": vector}) };
        let params = json!({"exact": exact, "hnsw_ef": 1000});
        let found = engine.ok("search", name, json!({"vector": vector, "limit": limit, "params": params}));
        found.as_array().expect("hits").clone()
    };
    let all = ask(true, holders.len() + 1);
    assert_eq!(all.len(), holders.len(), "an exact search of {name}/{field} finds every vector");
    assert!(all.iter().any(|hit| read_id(&hit["id"]) == *id), "{id} of {name}/{field} finds itself");
    // One less than all, or the planner would not take the graph.
    let limit = (holders.len() - 1).max(1);
    let scores = |hits: &[Value]| hits.iter().take(limit).map(|hit| hit["score"].clone()).collect::<Vec<_>>();
    assert_eq!(scores(&ask(false, limit)), scores(&all), "graph and scan of {name}/{field} agree");
}
