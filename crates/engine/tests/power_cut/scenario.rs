//! Kinds of operations of fixed content, of which the suites that leave nothing out make their programs.

use crate::body;
use crate::common::{Client, Random, TestEngine};
use crate::content;
use crate::expiry;
use crate::interleaving::Work;
use crate::model::{ADDED, Collection, Filter, Level, Model, Point, Schema, shown};
use crate::program::Step;
use crate::run::THRESHOLDS;
use crate::session::Session;
use crate::snapshots::{self, Snapshot};
use crate::versions::{self, Versions};
use kithdb_engine::error::Error;
use kithdb_engine::storage::SimDisk;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::Arc;

/// The collection that operations are about.
pub const NAME: &str = "c";
/// A clone of it.
const CLONE: &str = "d";
/// What a recovery makes beside it.
const RECOVERED: &str = "r";
/// The folder of its snapshot.
const SNAPSHOT: &str = "snapshots/0";

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
    /// Gives the collection two aliases.
    Alias,
    /// Adds a vector name.
    AddName,
    /// Removes it.
    RemoveName,
    /// Clones the collection.
    Clone,
    /// Recovers a snapshot over the collection and beside it.
    Recover,
    /// Makes the points those of a source.
    Sync,
    /// Writes points whose time has come.
    Expire,
    /// Changes payloads on condition of versions.
    Versioned,
}

impl Kind {
    /// All of them; those that change more than the points of one collection are behind the others.
    pub const ALL: [Kind; 16] = [
        Kind::Create,
        Kind::Upsert,
        Kind::Delete,
        Kind::Edit,
        Kind::Declare,
        Kind::Checkpoint,
        Kind::Vacuum,
        Kind::Drop,
        Kind::Alias,
        Kind::AddName,
        Kind::RemoveName,
        Kind::Clone,
        Kind::Recover,
        Kind::Sync,
        Kind::Expire,
        Kind::Versioned,
    ];
    /// How many come first in [`ALL`](Self::ALL) of which there are longer programs.
    pub const FIRST: usize = 8;

    /// The request, as the `at`-th operation of a program; `None` for background work.
    fn step(self, model: &Model, at: u64, snapshots: &[Snapshot], versions: Versions<'_>) -> Option<Step> {
        let mut step = match self {
            Kind::Checkpoint | Kind::Vacuum => return None,
            Kind::Recover => recover(model, snapshots),
            Kind::Create | Kind::Drop | Kind::Alias | Kind::Clone => self.of_catalog(model),
            _ => self.of_collection(model, at, versions),
        };
        if let Ok(after) = &mut step.outcome {
            expiry::pass(after, expiry::BEGIN);
        }
        Some(step)
    }

    /// What makes, removes and names collections.
    fn of_catalog(self, model: &Model) -> Step {
        let (mut after, held) = (model.clone(), model.get(NAME));
        let (operation, body, outcome) = match self {
            Kind::Create => {
                let mut body = Schema::Graph.creation(4, Level::Always);
                body["expire_at_key"] = json!(expiry::KEY);
                let created =
                    Collection { expires: true, ..Collection::new(Schema::Graph, 4, Level::Always) };
                after.insert(NAME.to_string(), created);
                ("create_collection", body.to_string(), held.map_or(Ok(()), |_| Err("collection_exists")))
            }
            Kind::Drop => {
                after.remove(NAME);
                ("delete_collection", String::new(), Ok(()))
            }
            Kind::Clone => {
                let copy = held.map(|held| Collection { aliases: [].into(), ..held.clone() });
                let is_taken = after.contains_key(CLONE);
                let outcome = match copy {
                    None => Err("collection_not_found"),
                    Some(_) if is_taken => Err("collection_exists"),
                    Some(copy) => {
                        after.insert(CLONE.to_string(), copy);
                        Ok(())
                    }
                };
                ("clone_collection", json!({"name": CLONE}).to_string(), outcome)
            }
            _ => {
                let names = ["one", "two"];
                let outcome = after.get_mut(NAME).ok_or("collection_not_found");
                let outcome = outcome.map(|held| held.aliases.extend(names.map(String::from)));
                let create = |name| json!({"create_alias": {"alias_name": name, "collection_name": NAME}});
                ("change_aliases", json!({"actions": names.map(create)}).to_string(), outcome)
            }
        };
        let collection = if self == Kind::Alias { String::new() } else { NAME.to_string() };
        let outcome = outcome.map(|()| after);
        Step { operation, collection, target: None, wait: true, body, outcome }
    }

    /// What changes the collection, which must be there.
    fn of_collection(self, model: &Model, at: u64, versions: Versions<'_>) -> Step {
        let mut after = model.clone();
        // The body is the same where it is not there.
        let mut absent = Collection::new(Schema::Graph, 4, Level::Always);
        let held = after.get_mut(NAME).unwrap_or(&mut absent);
        let mut target = None;
        let (operation, body) = match self {
            Kind::Upsert => {
                let points = points(at, 8 * at..8 * at + 20);
                let body = body::upsert(&points);
                held.points.extend(points);
                ("upsert_points", body)
            }
            Kind::Delete => {
                let doomed: Vec<Value> = (2..22).map(shown).collect();
                held.points.retain(|id, _| !(2..22).contains(id));
                ("delete_points", json!({"points": doomed}).to_string())
            }
            Kind::Edit => {
                for point in held.points.values_mut() {
                    Arc::make_mut(point).payload.insert("x".to_string(), json!(at));
                }
                ("set_payload", json!({"payload": {"x": at}, "filter": {}}).to_string())
            }
            Kind::Declare => {
                held.indexes.insert("n".to_string());
                let body = json!({"field_name": "n", "field_schema": "integer"});
                ("create_field_index", body.to_string())
            }
            Kind::AddName => {
                held.has_added = true;
                target = Some(ADDED.0.to_string());
                ("create_vector_name", held.schema.addition(ADDED.0).to_string())
            }
            Kind::RemoveName => {
                remove_added(held);
                target = Some(ADDED.0.to_string());
                ("delete_vector_name", String::new())
            }
            Kind::Sync => ("sync_points", sync(held, at)),
            Kind::Expire => {
                let mut points = points(at, 30..36);
                for (_, point) in &mut points {
                    Arc::make_mut(point).payload.insert(expiry::KEY.to_string(), json!(1));
                }
                let body = body::upsert(&points);
                held.points.extend(points);
                ("upsert_points", body)
            }
            _ => ("set_payload", versioned(held, at, versions)),
        };
        let outcome = if model.contains_key(NAME) { Ok(after) } else { Err("collection_not_found") };
        Step { operation, collection: NAME.to_string(), target, wait: true, body, outcome }
    }

    /// Does it, and checks the answer.
    pub fn run(self, session: &mut Session, client: &Client, at: u64) {
        self.run_and(session, client, at, |_| {});
    }

    /// Runs the step as `run` does, and checks the error if the disk failed.
    pub fn run_and(self, session: &mut Session, client: &Client, at: u64, check: impl FnOnce(&Error)) {
        let versions = versions::of(client, NAME);
        match (self.step(&session.model, at, &session.snapshots, &versions), self) {
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

/// A recovery of the snapshot; of a folder that is not there where there is none.
fn recover(model: &Model, snapshots: &[Snapshot]) -> Step {
    let absent = Snapshot::new(SNAPSHOT.to_string(), &Collection::new(Schema::Graph, 4, Level::Always));
    let step = snapshots::recover(model, snapshots.first().unwrap_or(&absent), &[NAME, RECOVERED]);
    if snapshots.is_empty() { Step { outcome: Err("bad_request"), ..step } } else { step }
}

fn remove_added(held: &mut Collection) {
    held.has_added = false;
    let all = held.points.values_mut().chain(held.expired.values_mut());
    for point in all.filter(|point| point.vectors.contains_key(ADDED.0)) {
        Arc::make_mut(point).vectors.remove(ADDED.0);
    }
}

/// A sync of all points that have a number: some stay, some are changed, some are new, and the rest goes.
fn sync(held: &mut Collection, at: u64) -> String {
    let scope = Filter::AtLeast(0);
    let mut source = points(at, 10..24);
    if held.has_added {
        for (id, point) in &mut source {
            let vector = content::vector(&mut Random(*id), ADDED.0, ADDED.1);
            Arc::make_mut(point).vectors.insert(ADDED.0, vector);
        }
    }
    let number = |point: &Point| point.payload.get("n").cloned();
    let in_scope: Vec<u64> = held.matching(&scope).collect();
    held.points.retain(|id, _| !in_scope.contains(id) || source.iter().any(|(of, _)| of == id));
    for (id, point) in &source {
        let is_same = held.points.get(id).is_some_and(|stored| number(stored) == number(point));
        if !is_same {
            held.points.insert(*id, Arc::clone(point));
        }
    }
    let points: Vec<String> = source.iter().map(|(id, point)| body::point(*id, point)).collect();
    format!("{{\"scope\":{},\"hash_key\":\"n\",\"points\":[{}]}}", scope.json(), points.join(","))
}

/// A change of the payloads of some points that must have the versions that they have.
fn versioned(held: &mut Collection, at: u64, versions: Versions<'_>) -> String {
    let ids: Vec<u64> = held.points.keys().copied().take(3).collect();
    if ids.is_empty() {
        return json!({"payload": {"v": at}, "filter": {}}).to_string();
    }
    for id in &ids {
        let point = Arc::make_mut(held.points.get_mut(id).expect("it is there"));
        point.payload.insert("v".to_string(), json!(at));
    }
    let asked: Map<String, Value> = ids.iter().map(|id| (id.to_string(), json!(versions(*id)))).collect();
    json!({"payload": {"v": at}, "points": ids, "if_version": asked}).to_string()
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

/// An engine, what it must show, and the snapshots that were taken of it.
pub struct Prepared {
    pub engine: TestEngine,
    pub model: Model,
    pub snapshots: Vec<Snapshot>,
}

impl Prepared {
    /// One in which there is nothing.
    pub fn empty() -> Prepared {
        let engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
        Prepared { engine, model: Model::new(), snapshots: Vec::new() }
    }

    /// A client's side of it.
    pub fn session(&self, seed: u64) -> Session {
        let mut session = Session::new(seed, self.model.clone());
        session.snapshots.clone_from(&self.snapshots);
        session
    }
}

/// An engine with a collection that has everything: a graph, a checkpoint, a field index, a snapshot of what it was then,
/// and a log behind it. From here on its writes are answered at a level of durability.
pub fn prepared(level: Level) -> Prepared {
    let Prepared { engine, model, .. } = Prepared::empty();
    let client = engine.client();
    let mut session = Session::new(1, model);
    for kind in [Kind::Create, Kind::Upsert, Kind::Declare, Kind::Checkpoint] {
        kind.run(&mut session, &client, 0);
    }
    snapshots::link(&client, NAME, SNAPSHOT);
    let snapshots = vec![Snapshot::new(SNAPSHOT.to_string(), &session.model[NAME])];
    Kind::Upsert.run(&mut session, &client, 0);
    if level != Level::Always {
        let body = json!({"wal_config": {"durability": level.name()}});
        client.ok("update_collection", NAME, body);
        session.model.get_mut(NAME).expect("it was created").level = level;
    }
    Prepared { engine, model: session.model, snapshots }
}
