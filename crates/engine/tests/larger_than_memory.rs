//! Data that do not fit into the memory limit.

mod common;

use common::{Client, SHORT_FILES, request, result_of};
use kithdb_engine::MemoryLimit;
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, mpsc};

/// Chunks of the usual size, so that most rows are in maps and few files are mapped.
const LARGE_CHUNKS: Thresholds = Thresholds { row_chunk_bytes: 1 << 20, ..SHORT_FILES };

fn open(dir: &Path, mode: Mode, memory: MemoryLimit) -> Client {
    let options = Options { mode, memory, thresholds: LARGE_CHUNKS, ..Options::default() };
    let disk = RealDisk::open(dir).expect("a folder");
    Client(Arc::new(Engine::open(Arc::new(disk), options).expect("a data directory")))
}

/// A collection that a start opens and does not leave asleep.
fn fill(client: &Client, name: &str, points: u64, size: u64) {
    let vectors = json!({"size": size, "distance": "Euclid"});
    client.ok(
        "create_collection",
        name,
        json!({"vectors": vectors, "hnsw_config": {"full_scan_threshold": 10}, "residency": "hot"}),
    );
    let point = |id: u64| {
        let vector: Vec<u64> = (0..size).map(|at| (id * 31 + at * 7 + id * at) % 251).collect();
        json!({"id": id, "vector": vector, "payload": {"n": id % 7, "text": "payload ".repeat(20)}})
    };
    for from in (0..points).step_by(500) {
        let points: Vec<Value> = (from..points.min(from + 500)).map(point).collect();
        client.ok("upsert_points", name, json!({"points": points}));
    }
}

#[test]
fn a_start_opens_no_collection_for_which_the_limit_leaves_no_room_c10_2() {
    let dir = tempfile::tempdir().expect("a folder");
    let inline = Mode::Inline { seed: 1 };
    let client = open(dir.path(), inline, MemoryLimit::None);
    fill(&client, "large", 2000, 4);
    fill(&client, "small", 20, 4);
    client.0.work_in_background(GraphPolicy::Always);
    client.0.close();
    drop(client);

    // The process alone exceeds this limit, so requests for points would be refused; the info of a collection is not.
    let client = open(dir.path(), inline, MemoryLimit::Bytes(160_000));
    let fault =
        |name: &str| client.ok("collection_info", name, json!(null))["optimizer_status"]["error"].to_string();
    assert_eq!(fault("small"), "null");
    let large = fault("large");
    assert!(
        large.contains("the collection cannot be opened now: it takes 1 MiB of memory at least"),
        "{large}"
    );
    client.0.close();
    drop(client);

    let client = open(dir.path(), inline, MemoryLimit::None);
    assert_eq!(client.ok("count", "large", json!({"exact": true}))["count"], 2000);
}

/// The answer of an engine with threads.
#[cfg(target_os = "linux")]
fn answer(client: &Client, operation: &str, body: &Value) -> Value {
    let (sender, receiver) = mpsc::channel();
    client.0.execute(request(operation, "c", body), Box::new(move |result| drop(sender.send(result))));
    result_of(&receiver.recv().expect("an answer").expect("a result"))
}

/// Flags of the maps of data files under a folder, as Linux writes them.
#[cfg(target_os = "linux")]
fn flags_of_maps(dir: &Path) -> Vec<String> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
    let (mut found, mut is_ours) = (Vec::new(), false);
    let folder = dir.to_str().expect("a path in UTF-8");
    for line in smaps.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            found.extend(is_ours.then(|| flags.to_string()));
        } else if line.split(' ').next().is_some_and(|range| range.contains('-')) {
            is_ours = line.contains(folder) && line.ends_with(".data");
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it says so");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

/// Linux tells what it was advised.
#[cfg(target_os = "linux")]
#[test]
fn single_pages_are_read_of_files_that_exceed_memory_and_answers_are_the_same() {
    let dir = tempfile::tempdir().expect("a folder");
    let inline = Mode::Inline { seed: 1 };
    let client = open(dir.path(), inline, MemoryLimit::None);
    fill(&client, "c", 6000, 1024);
    client.0.work_in_background(GraphPolicy::Always);
    let query: Vec<u64> = (0..1024).map(|at| at * 13 % 251).collect();
    let requests = [
        ("search", json!({"vector": query, "limit": 10, "with_payload": true})),
        ("search", json!({"vector": query, "limit": 10, "params": {"exact": true}})),
        (
            "search",
            json!({"vector": query, "limit": 10, "filter": {"must": {"key": "n", "match": {"value": 3}}}}),
        ),
        (
            "search_batch",
            json!({"searches": vec![json!({"vector": query, "limit": 5, "params": {"exact": true}}); 8]}),
        ),
        ("query", json!({"query": {"recommend": {"positive": [1, 2], "strategy": "best_score"}}})),
        ("query", json!({"query": {"order_by": "n"}, "limit": 5})),
        ("query_groups", json!({"query": query, "group_by": "n", "limit": 3})),
        ("scroll", json!({"limit": 3, "filter": {"must": {"key": "n", "match": {"value": 5}}}})),
        ("count", json!({"exact": true, "filter": {"must": {"key": "n", "match": {"value": 6}}}})),
    ];
    let before = requests.clone().map(|(operation, body)| client.ok(operation, "c", body));
    client.0.close();
    drop(client);

    let files = std::fs::read_dir(dir.path().join("collections/0000000000000001")).expect("its folder");
    let bytes: u64 = files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum();
    let client = open(dir.path(), Mode::Threaded, MemoryLimit::Bytes(bytes + anonymous_bytes() / 2));
    let is_random = |flags: &String| flags.split(' ').any(|flag| flag == "rr");
    let mut looks = 0;
    while !flags_of_maps(dir.path()).iter().all(is_random) {
        looks += 1;
        assert!(looks < 600, "the maps were not advised: {:?}", flags_of_maps(dir.path()));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(!flags_of_maps(dir.path()).is_empty(), "rows are read from maps");
    let after = requests.map(|(operation, body)| answer(&client, operation, &body));
    assert_eq!(after, before);
    client.0.close();
}
