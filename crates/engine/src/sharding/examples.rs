//! Examples that are ids of points: their vectors are fetched and put into their places.

use super::chosen::with_vector;
use super::members::{Members, elements};
use super::pages::by_id;
use super::placement::shard_of;
use super::questions::{Task, all, no_answer};
use super::read::Context;
use super::search::Tree;
use super::similarity::text_of;
use crate::api::read_id_of;
use crate::collection::not_found;
use crate::error::Error;
use crate::json::Reader;
use crate::query::tree::{Example, Query, QueryNode, Recommend, Strategy};
use crate::types::{IdKind, PointId};
use std::collections::HashMap;

/// A vector of a collection: the collection, where it is another one, and the vector's name.
type Origin = (Option<String>, String);

/// The texts of the vectors that were fetched; none for a point that does not have the vector.
type Fetched = HashMap<(Origin, PointId), Option<String>>;

/// Replaces each example of a query that is an id by the vector of the point, and notes the points of the collection itself.
///
/// # Errors
/// `PointNotFound` with all that are absent; `PointWithoutVector`.
pub(super) async fn fetch(context: &Context, tree: &mut Tree) -> Result<(), Error> {
    let mut wanted: Vec<(Origin, Vec<PointId>)> = Vec::new();
    let mut in_order: Vec<(Origin, PointId)> = Vec::new();
    tree.for_each(&mut |tree| {
        let ids = ids_of(&tree.node);
        if !ids.is_empty() {
            let origin = origin(context, &tree.node);
            in_order.extend(ids.iter().map(|id| (origin.clone(), id.clone())));
            match wanted.iter_mut().find(|(known, _)| *known == origin) {
                Some((_, known)) => known.extend(ids),
                None => wanted.push((origin, ids)),
            }
        }
    });
    if wanted.is_empty() {
        return Ok(());
    }
    let look_up = |(origin, ids): &(Origin, Vec<PointId>)| -> Task<'_, Vec<(PointId, Option<String>)>> {
        let (origin, ids) = (origin.clone(), ids.clone());
        Box::pin(async move { vectors_of(context, &origin, &ids).await })
    };
    let found = all(wanted.iter().map(look_up).collect()).await?;
    let mut fetched = Fetched::new();
    for ((origin, _), found) in wanted.iter().zip(found) {
        fetched.extend(found.into_iter().map(|(id, text)| ((origin.clone(), id), text)));
    }
    let is_absent = |named: &(Origin, PointId)| !fetched.contains_key(named);
    let absent: Vec<PointId> = in_order.into_iter().filter(is_absent).map(|(_, id)| id).collect();
    if !absent.is_empty() {
        return Err(not_found(absent));
    }
    tree.for_each_mut(&mut |tree| put(context, tree, &fetched))
}

/// The ids among the examples of a node.
fn ids_of(node: &QueryNode) -> Vec<PointId> {
    let mut ids = Vec::new();
    node.query.for_each_example(&mut |example| {
        if let Example::Id(id) = example {
            ids.push(id.clone());
        }
    });
    ids
}

/// Where the vectors of a node's examples are.
fn origin(context: &Context, node: &QueryNode) -> Origin {
    let from = node.lookup_from.as_ref();
    let collection = from.map(|from| from.collection.clone()).filter(|name| !context.is_own(name));
    let name = from.and_then(|from| from.vector.as_deref()).unwrap_or(&node.using);
    (collection, name.to_string())
}

/// The points that there are of some ids, each with the text of its vector.
async fn vectors_of(
    context: &Context,
    (collection, name): &Origin,
    ids: &[PointId],
) -> Result<Vec<(PointId, Option<String>)>, Error> {
    let mut shown = with_vector(name);
    shown.set("with_payload", "false");
    let (found, missing) = by_id(context, collection.as_deref(), ids, &shown).await?;
    let shards = context.layout_of(collection.as_deref())?.shards;
    if ids.iter().any(|id| missing.contains(&shard_of(id, shards))) {
        return Err(no_answer("example"));
    }
    found.into_iter().map(|(id, point)| Ok((id, text_of(&point, name)?))).collect()
}

/// Puts the vectors into a node.
fn put(context: &Context, tree: &mut Tree, fetched: &Fetched) -> Result<(), Error> {
    let ids = ids_of(&tree.node);
    if ids.is_empty() {
        return Ok(());
    }
    let origin = origin(context, &tree.node);
    check(&tree.node, &origin, fetched)?;
    let kind = context.layout_of(origin.0.as_deref())?.ids;
    let texts = Texts { origin: &origin, fetched, kind };
    for name in ["query", "positive", "negative", "target", "context"] {
        if let Some(text) = tree.members.get(name) {
            let text = texts.of_member(name, text)?;
            tree.members.set(name, text);
        }
    }
    if origin.0.is_none() {
        tree.named = ids;
        tree.named.sort_unstable();
        tree.named.dedup();
    }
    Ok(())
}

/// Checks that the points have the vector. Of a recommendation, a point without is no example, but one must have it.
fn check(node: &QueryNode, origin: &Origin, fetched: &Fetched) -> Result<(), Error> {
    let has = |example: &Example| match example {
        Example::Id(id) => fetched.get(&(origin.clone(), id.clone())).is_some_and(Option::is_some),
        Example::Vector(..) => true,
    };
    let bad = |why: &str| Err(Error::bad(format!("{}: {why}", node.path_of_form("recommend"))));
    if let Query::Recommend(Recommend { positive, negative, strategy }) = &node.query {
        let is_average = *strategy == Strategy::AverageVector;
        return match (positive.iter().any(has), negative.iter().any(has)) {
            (true, _) => Ok(()),
            (false, _) if is_average => {
                bad("no point of the positive examples has the vector, and the average strategy needs one")
            }
            (false, true) => Ok(()),
            (false, false) => bad("no point of the examples has the vector"),
        };
    }
    let mut without = None;
    node.query.for_each_example(&mut |example| {
        if let Example::Id(id) = example
            && without.is_none()
            && !has(example)
        {
            let error = Error::PointWithoutVector(id.clone(), origin.1.clone());
            without = Some(error.within(node.path_of(example)));
        }
    });
    without.map_or(Ok(()), Err)
}

/// The texts of a query with vectors in the place of ids.
struct Texts<'f> {
    origin: &'f Origin,
    fetched: &'f Fetched,
    kind: IdKind,
}

impl Texts<'_> {
    /// A member of a query, or of a recommendation or a discovery of an endpoint of its own.
    fn of_member(&self, name: &str, text: &str) -> Result<String, Error> {
        Ok(match name {
            "positive" | "negative" => self.list(text)?,
            "context" => self.pairs(text)?,
            "target" => self.example(text)?.unwrap_or_default(),
            _ if !text.starts_with('{') => self.example(text)?.unwrap_or_default(),
            _ => self.members(text, |key, value| match key {
                "nearest" => self.example(value),
                "context" => self.pairs(value).map(Some),
                "recommend" => self.members(value, |_, list| self.list_or_text(list)).map(Some),
                "discover" => self
                    .members(value, |key, value| match key {
                        "context" => self.pairs(value).map(Some),
                        _ => self.example(value),
                    })
                    .map(Some),
                "relevance_feedback" => self.members(value, |key, value| self.feedback(key, value)).map(Some),
                _ => Ok(Some(value.to_string())),
            })?,
        })
    }

    /// An example; nothing for a point without the vector.
    fn example(&self, text: &str) -> Result<Option<String>, Error> {
        if !text.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()) {
            return Ok(Some(text.to_string()));
        }
        let id = read_id_of(&mut Reader::new(text.as_bytes())?, self.kind)?;
        Ok(self.fetched.get(&(self.origin.clone(), id)).cloned().flatten())
    }

    /// A list of examples, without points that do not have the vector.
    fn list(&self, text: &str) -> Result<String, Error> {
        if text == "null" {
            return Ok(text.to_string());
        }
        let examples = elements(text)?.into_iter().map(|text| self.example(text));
        let examples: Vec<String> = examples.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(format!("[{}]", examples.join(",")))
    }

    fn list_or_text(&self, text: &str) -> Result<Option<String>, Error> {
        // The strategy is a text.
        if text.starts_with('[') { self.list(text).map(Some) } else { Ok(Some(text.to_string())) }
    }

    fn pairs(&self, text: &str) -> Result<String, Error> {
        if text == "null" {
            return Ok(text.to_string());
        }
        let pair = |text: &str| self.members(text, |_, example| self.example(example));
        if !text.starts_with('[') {
            return pair(text);
        }
        let pairs = elements(text)?.into_iter().map(pair).collect::<Result<Vec<String>, Error>>()?;
        Ok(format!("[{}]", pairs.join(",")))
    }

    fn feedback(&self, key: &str, value: &str) -> Result<Option<String>, Error> {
        let item = |text: &str| {
            self.members(text, |key, value| match key {
                "example" => self.example(value),
                _ => Ok(Some(value.to_string())),
            })
        };
        match key {
            "target" => self.example(value),
            "feedback" if value.starts_with('[') => {
                let items = elements(value)?.into_iter().map(item).collect::<Result<Vec<String>, Error>>()?;
                Ok(Some(format!("[{}]", items.join(","))))
            }
            _ => Ok(Some(value.to_string())),
        }
    }

    /// An object, each of whose members is made anew; one that is nothing is left out.
    fn members(
        &self,
        text: &str,
        made: impl Fn(&str, &str) -> Result<Option<String>, Error>,
    ) -> Result<String, Error> {
        if text == "null" {
            return Ok(text.to_string());
        }
        let mut out = Members::default();
        for (key, value) in Members::parse(text.as_bytes())?.iter() {
            if let Some(value) = made(key, value)? {
                out.add(key, &value);
            }
        }
        Ok(out.text())
    }
}
