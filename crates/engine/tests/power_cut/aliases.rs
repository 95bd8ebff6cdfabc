//! Aliases at every place where the power may go (C12): a batch of changes is there as a whole or not at all.

use crate::common::TestEngine;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::storage::Storage;
use serde_json::{Value, json};

fn engine(seed: u64) -> TestEngine {
    let engine = TestEngine::new(seed);
    for name in ["c", "d"] {
        engine.ok("create_collection", name, json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    }
    let point = |id: u64| json!({"points": [{"id": id, "vector": [id, 1.0]}]});
    engine.ok("upsert_points", "d", point(1));
    engine.ok("change_aliases", "", json!({"actions": [create("one", "c"), create("two", "c")]}));
    engine
}

fn create(alias: &str, collection: &str) -> Value {
    json!({"create_alias": {"alias_name": alias, "collection_name": collection}})
}

fn switch() -> Value {
    let rename = json!({"rename_alias": {"old_alias_name": "two", "new_alias_name": "zwei"}});
    json!({"actions": [create("one", "d"), rename, create("three", "d")]})
}

/// The aliases with their collections, and that they mean these.
fn aliases(engine: &TestEngine) -> Vec<String> {
    let list = engine.ok("list_aliases", "", json!(null));
    let text = |alias: &Value, key: &str| alias[key].as_str().expect("a name").to_string();
    let each = |alias: &Value| {
        let (name, collection) = (text(alias, "alias_name"), text(alias, "collection_name"));
        assert_eq!(
            engine.ok("count", &name, json!({})),
            engine.ok("count", &collection, json!({})),
            "{name}"
        );
        format!("{name} {collection}")
    };
    list["aliases"].as_array().expect("a list").iter().map(each).collect()
}

const BEFORE: [&str; 2] = ["one c", "two c"];
const AFTER: [&str; 3] = ["one d", "three d", "zwei c"];

#[test]
fn a_batch_of_changes_is_whole_wherever_the_power_goes_c12() {
    let mut done = [false; 2];
    for calls in 0..40 {
        let mut engine = engine(calls);
        if calls % 2 == 0 {
            engine.checkpoint();
        }
        engine.disk.crash_after(calls);
        let answer = engine.call("change_aliases", "", switch());
        engine.work(GraphPolicy::Always);
        engine.power_cut(calls);
        let found = aliases(&engine);
        assert!(
            found == AFTER || (found == BEFORE && answer.is_err()),
            "{calls} calls: {found:?}, {answer:?}"
        );
        done[usize::from(answer.is_ok())] = true;
    }
    assert_eq!(done, [true; 2], "some changes were cut short, and some were not");
}

#[test]
fn aliases_are_in_the_checkpoint_of_the_catalog_and_end_with_their_collection_c12() {
    let mut engine = engine(1);
    engine.ok("change_aliases", "", switch());
    engine.checkpoint();
    engine.kill();
    // The log is not needed for them.
    let log = engine.disk.list("log").expect("a folder");
    engine.open().expect("the directory opens");
    assert_eq!(aliases(&engine), AFTER, "{log:?}");
    engine.ok("delete_collection", "d", json!(null));
    assert_eq!(aliases(&engine), ["zwei c"]);
    engine.ok("create_collection", "one", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    for checkpointed in [false, true] {
        if checkpointed {
            engine.checkpoint();
        }
        engine.power_cut(2);
        assert_eq!(aliases(&engine), ["zwei c"], "after a checkpoint: {checkpointed}");
    }
    let taken = json!({"vectors": {"size": 2, "distance": "Dot"}});
    assert_eq!(engine.refused("create_collection", "zwei", taken).0, "alias_exists");
    let actions = json!({"actions": [create("d", "c")]});
    assert_eq!(engine.refused("change_aliases", "", actions).0, "collection_exists");
}
