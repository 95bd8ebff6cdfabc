//! Eight kinds of operations of fixed content, of which the suites that leave nothing out make their programs.

use crate::body;
use crate::common::{Client, Random, TestEngine};
use crate::content;
use crate::model::{Collection, Level, Model, Point, Schema, shown};
use crate::program::Step;
use crate::run::THRESHOLDS;
use crate::session::Session;
use crate::turns::Work;
use kithdb_engine::error::Error;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// The collection that operations are about.
pub const NAME: &str = "c";

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Creates the collection.
    Create,
    /// Writes points, some of them anew.
    Upsert,
    /// Deletes more than half of the points.
    Delete,
    /// Changes payloads.
    Edit,
    /// Declares a field index, which is built at once.
    Declare,
    /// Indexes, then checkpoints everything.
    Checkpoint,
    /// Indexes, vacuums, checkpoints what is due, cuts the log.
    Vacuum,
    /// Deletes the collection.
    Drop,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 8] = [
        Kind::Create,
        Kind::Upsert,
        Kind::Delete,
        Kind::Edit,
        Kind::Declare,
        Kind::Checkpoint,
        Kind::Vacuum,
        Kind::Drop,
    ];

    /// The request, as the `at`-th operation of a program; `None` for background work.
    pub fn step(self, model: &Model, at: u64) -> Option<Step> {
        let held = model.get(NAME);
        let mut after = model.clone();
        let (operation, body, absent) = match self {
            Kind::Create => {
                after.insert(NAME.to_string(), Collection::new(Schema::Graph, 4, Level::Always));
                ("create_collection", Schema::Graph.creation(4, Level::Always).to_string(), Ok(after))
            }
            Kind::Upsert => {
                let points = points(at, 8 * at..8 * at + 20);
                let body = body::upsert(&points);
                if let Some(held) = after.get_mut(NAME) {
                    held.points.extend(points);
                }
                ("upsert_points", body, Err(after))
            }
            Kind::Delete => {
                let doomed: Vec<Value> = (2..22).map(shown).collect();
                if let Some(held) = after.get_mut(NAME) {
                    held.points.retain(|id, _| !(2..22).contains(id));
                }
                ("delete_points", json!({"points": doomed}).to_string(), Err(after))
            }
            Kind::Edit => {
                if let Some(held) = after.get_mut(NAME) {
                    for point in held.points.values_mut() {
                        Arc::make_mut(point).payload.insert("x".to_string(), json!(at));
                    }
                }
                let body = json!({"payload": {"x": at}, "filter": {}});
                ("set_payload", body.to_string(), Err(after))
            }
            Kind::Declare => {
                if let Some(held) = after.get_mut(NAME) {
                    held.indexes.insert("n".to_string());
                }
                let body = json!({"field_name": "n", "field_schema": "integer"});
                ("create_field_index", body.to_string(), Err(after))
            }
            Kind::Drop => {
                after.remove(NAME);
                ("delete_collection", String::new(), Ok(after))
            }
            Kind::Checkpoint | Kind::Vacuum => return None,
        };
        let outcome = match absent {
            // Creation and deletion are the only ones that need no collection.
            Ok(_) if self == Kind::Create && held.is_some() => Err("collection_exists"),
            Ok(after) => Ok(after),
            Err(after) => held.map(|_| after).ok_or("collection_not_found"),
        };
        let collection = NAME.to_string();
        Some(Step { operation, collection, target: None, wait: true, body, outcome })
    }

    /// Does it, and checks the answer.
    pub fn run(self, session: &mut Session, client: &Client, at: u64) {
        self.run_and(session, client, at, |_| {});
    }

    /// The same, and checks the error if the disk failed.
    pub fn run_and(self, session: &mut Session, client: &Client, at: u64, check: impl FnOnce(&Error)) {
        match (self.step(&session.model, at), self) {
            (Some(step), _) => {
                if let Some(error) = session.request(client, step) {
                    check(&error);
                }
            }
            (None, kind) => {
                session.may_be_poisoned |= session.armed;
                Work::Index.run(client);
                if kind == Kind::Vacuum {
                    Work::Housekeeping.run(client)
                } else {
                    Work::Checkpoint.run(client)
                }
            }
        }
    }
}

/// Points with vectors that are different in each operation.
fn points(at: u64, ids: Range<u64>) -> Vec<(u64, Arc<Point>)> {
    let mut random = Random(at);
    ids.map(|id| {
        let mut point = Point::default();
        point.vectors.insert("", content::vector(&mut random, "", 128));
        point.payload.insert("n".to_string(), json!(id + at));
        (id, Arc::new(point))
    })
    .collect()
}

/// An engine with a collection that has everything: a graph, a checkpoint, a field index, and a log behind it. From
/// here on its writes are answered at a level of durability.
pub fn prepared(level: Level) -> (TestEngine, Model) {
    let engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    let client = engine.client();
    let mut session = Session::new(1, Model::new());
    for kind in [Kind::Create, Kind::Upsert, Kind::Declare, Kind::Checkpoint, Kind::Upsert] {
        kind.run(&mut session, &client, 0);
    }
    if level != Level::Always {
        let body = json!({"wal_config": {"durability": level.name()}});
        client.ok("update_collection", NAME, body);
        session.model.get_mut(NAME).expect("it was created").level = level;
    }
    (engine, session.model)
}
