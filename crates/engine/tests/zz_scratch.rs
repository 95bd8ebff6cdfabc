use kithdb_engine::api;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::time::Instant;

#[test]
fn cost_of_parsing() {
    let updates: Vec<Value> = (0..400)
        .map(|at| {
            let conditions: Vec<Value> = (0..100)
                .map(|word| json!({"key": "text", "match": {"text": format!("no{at}x{word}")}}))
                .collect();
            json!({"set_payload": {"payload": {"seen": at}, "filter": {"should": conditions}}})
        })
        .collect();
    let one = json!({"operations": updates}).to_string();
    for (what, body) in [("attack-18", one)] {
        let begun = Instant::now();
        let parsed = api::batch_update(body.as_bytes(), &Limits::default());
        let took = begun.elapsed();
        println!(
            "{what}: {} bytes, {took:?}, {:?}",
            body.len(),
            parsed.as_ref().map(Vec::len).map_err(ToString::to_string)
        );
        let begun = Instant::now();
        drop(parsed);
        println!("{what}: freed in {:?}", begun.elapsed());
    }
    let limits = Limits { max_filter_conditions: usize::MAX, ..Limits::default() };
    let conditions: Vec<Value> =
        (0..1_400_000).map(|word| json!({"key": "a", "match": {"value": word}})).collect();
    let body =
        json!({"operations": [{"set_payload": {"payload": {"seen": 1}, "filter": {"should": conditions}}}]})
            .to_string();
    let begun = Instant::now();
    let parsed = api::batch_update(body.as_bytes(), &limits);
    println!(
        "64 MiB: {} bytes, {:?}, {:?}",
        body.len(),
        begun.elapsed(),
        parsed.as_ref().map(Vec::len).map_err(ToString::to_string)
    );
    let begun = Instant::now();
    drop(parsed);
    println!("freed in {:?}", begun.elapsed());
}
