//! What the caller of a request may reach (C15): collections, and points within them by a filter.

use super::{Operation, Request};
use crate::config::fields::choice;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::json::Reader;
use crate::limits::Limits;
use std::sync::Arc;

/// What a caller does in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Read it.
    Read,
    /// Change it.
    Write,
}

/// A collection, or those whose names begin so.
#[derive(Clone, Debug, PartialEq)]
struct Grant {
    name: Name,
    read: bool,
    write: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Name {
    Is(Box<str>),
    BeginsWith(Box<str>),
}

/// What a caller may reach. A caller without limits may reach everything.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// All collections when absent.
    grants: Option<Vec<Grant>>,
    /// All points when absent.
    filter: Option<Arc<Filter>>,
}

impl Access {
    /// Reads `{collections?: [{name | prefix, permission}], filter?}`, which the server made.
    ///
    /// # Errors
    /// `Internal` for anything else: nothing is reached then.
    pub fn parse(json: &[u8], limits: &Limits) -> Result<Access, Error> {
        let read = || -> Result<Access, Error> {
            let mut reader = Reader::new(json)?;
            reader.ids.are_of_any = true;
            let (mut grants, mut filter) = (None, None);
            reader.object(|r, key| {
                match key {
                    "collections" => grants = Some(read_grants(r)?),
                    "filter" => filter = Some(Arc::new(Filter::parse(r, limits)?)),
                    _ => r.unknown()?,
                }
                Ok(())
            })?;
            reader.finish()?;
            Ok(Access { grants, filter })
        };
        read().map_err(|_| Error::Internal("the limits of the caller cannot be read".into()))
    }

    /// Whether something may be done in a collection.
    pub fn allows(&self, collection: &str, right: Right) -> bool {
        self.grants.as_ref().is_none_or(|grants| {
            grants.iter().any(|grant| {
                let is_it = match &grant.name {
                    Name::Is(name) => **name == *collection,
                    Name::BeginsWith(prefix) => collection.starts_with(&**prefix),
                };
                is_it && if right == Right::Write { grant.write } else { grant.read }
            })
        })
    }

    /// Refuses what may not be done in a collection, whether that exists or not.
    ///
    /// # Errors
    /// `CollectionForbidden`
    pub fn check(&self, collection: &str, right: Right) -> Result<(), Error> {
        let is_allowed = self.allows(collection, right) || PlantedFault::CollectionOutsideToken.is_on();
        if is_allowed { Ok(()) } else { Err(Error::CollectionForbidden) }
    }

    /// The points that may be reached; all when absent.
    pub fn filter(&self) -> Option<&Arc<Filter>> {
        self.filter.as_ref()
    }
}

fn read_grants(reader: &mut Reader<'_>) -> Result<Vec<Grant>, Error> {
    let mut grants = Vec::new();
    reader.array(|r, _| {
        let (mut name, mut rights) = (None, None);
        r.object(|r, key| {
            match key {
                "name" => name = Some(Name::Is(r.string()?.as_ref().into())),
                "prefix" => name = Some(Name::BeginsWith(r.string()?.as_ref().into())),
                "permission" => {
                    let choices =
                        [("read", (true, false)), ("write", (false, true)), ("read,write", (true, true))];
                    rights = Some(choice(r, &choices)?);
                }
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let name = name.ok_or_else(|| r.missing("name"))?;
        let (read, write) = rights.ok_or_else(|| r.missing("permission"))?;
        grants.push(Grant { name, read, write });
        Ok(())
    })?;
    Ok(grants)
}

/// What is wrong with a filter that is to limit a caller; `None` when it can.
pub fn filter_problem(json: &str) -> Option<String> {
    let read = || {
        let mut reader = Reader::new(json.as_bytes())?;
        reader.ids.are_of_any = true;
        let filter = reader.in_filter(|r| Filter::parse(r, &Limits::default()))?;
        reader.finish()?;
        Ok(filter)
    };
    match read() {
        Err(Error::FilterParse(why) | Error::BadRequest(why)) => Some(format!("filter: {why}")),
        Err(error) => Some(format!("filter: {error}")),
        Ok(filter) if !filter.restricts() => Some("filter must have a condition".into()),
        Ok(filter) if filter.has_text_conditions() => Some(
            "filter must have no conditions on texts, whose meaning depends on the indexes of a collection"
                .into(),
        ),
        Ok(_) => None,
    }
}

/// What an operation does with the data, for callers with limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Points of its collection: the filter of the caller is applied.
    Points(Right),
    /// What is said of its collection, without counts for a caller with a filter.
    Description,
    /// Its collection as a whole: not for callers with a filter.
    Collection(Right),
    /// The names of collections: those that the caller may read.
    List,
    /// More than that: not for callers with limits.
    Server,
}

fn reach_of(operation: Operation) -> Reach {
    use Operation::*;
    match operation {
        ListCollections | ListAliases => Reach::List,
        CollectionInfo | CollectionExists => Reach::Description,
        CreateCollection | CloneCollection | UpdateCollection | DeleteCollection | CreateFieldIndex
        | DeleteFieldIndex | CreateVectorName | DeleteVectorName | ReembedVectors | CommitReembedding
        | AbortReembedding | Flush | Optimize | RebuildIndex => Reach::Collection(Right::Write),
        CollectionStatus | Optimizations | CollectionAliases | Reembedding => Reach::Collection(Right::Read),
        // An alias may stand for any collection.
        CollectionClusterInfo
        | ChangeAliases
        | LinkSnapshot
        | AdoptFolders
        | ReplicaState
        | RemoveExpired
        | ListReembeddings
        | NextTexts
        | FillVectors => Reach::Server,
        UpsertPoints | DeletePoints | UpdateVectors | DeleteVectors | SetPayload | OverwritePayload
        | DeletePayload | ClearPayload | BatchUpdate | SyncPoints => Reach::Points(Right::Write),
        RetrievePoints | GetPoint | Search | SearchBatch | Query | QueryBatch | Scroll | Count
        | Recommend | RecommendBatch | Discover | DiscoverBatch | Facet | MatrixPairs | MatrixOffsets
        | SearchGroups | QueryGroups | RecommendGroups | ProjectPoints | PlanSync => {
            Reach::Points(Right::Read)
        }
    }
}

/// Refuses a request that its caller may not make.
///
/// The server has checked the collection of the path already, before it read the body. It is checked again where the
/// collection is known, which the path may name by an alias.
///
/// # Errors
/// `CollectionForbidden`
pub fn check(request: &Request) -> Result<(), Error> {
    let Some(access) = &request.access else { return Ok(()) };
    let whole = |access: &Access| match access.filter {
        None => Ok(()),
        Some(_) => Err(Error::CollectionForbidden),
    };
    match reach_of(request.operation) {
        Reach::List => Ok(()),
        Reach::Server => Err(Error::CollectionForbidden),
        Reach::Description => access.check(&request.collection, Right::Read),
        Reach::Points(right) => access.check(&request.collection, right),
        Reach::Collection(right) => {
            access.check(&request.collection, right)?;
            whole(access)
        }
    }
}

/// What of the matches of a filter the caller may reach. The places of the conditions of the filter stay as they are.
pub fn reached(access: Option<&Arc<Access>>, filter: Option<Filter>) -> Option<Filter> {
    match access.and_then(|access| access.filter()) {
        Some(within) => Some(filter.unwrap_or_default().within(Arc::clone(within))),
        None => filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(json: &str) -> Access {
        Access::parse(json.as_bytes(), &Limits::default()).expect("it is read")
    }

    #[test]
    fn rights_are_by_name_and_by_prefix_c15() {
        let access = access(
            r#"{"collections": [{"name": "docs", "permission": "read"}, {"prefix": "a-", "permission": "read,write"},
                {"prefix": "a-b", "permission": "read"}]}"#,
        );
        let rights = |name| (access.allows(name, Right::Read), access.allows(name, Right::Write));
        assert_eq!(rights("docs"), (true, false));
        assert_eq!(rights("a-b"), (true, true));
        for name in ["doc", "docs2", "a", "", "/"] {
            assert_eq!(rights(name), (false, false), "{name}");
        }
        assert!(self::access(r#"{"filter": {"must": {"has_id": [1]}}}"#).allows("any", Right::Write));
    }

    #[test]
    fn what_cannot_be_read_reaches_nothing_c15() {
        for json in
            ["", "[]", r#"{"collection": []}"#, r#"{"collections": [{"name": "a"}]}"#, r#"{"filter": 1}"#]
        {
            let error = Access::parse(json.as_bytes(), &Limits::default()).expect_err(json);
            assert_eq!(error.code(), "internal", "{json}");
        }
    }

    #[test]
    fn a_filter_must_have_conditions_and_none_on_texts_c15() {
        for json in [
            r#"{"must": {"key": "tenant", "match": {"value": 7}}}"#,
            r#"{"must_not": [{}]}"#,
            r#"{"min_should": {"conditions": [{}, {"key": "a", "match": {"value": 1}}], "min_count": 2}}"#,
        ] {
            assert_eq!(filter_problem(json), None, "{json}");
        }
        for (json, why) in [
            ("{}", "must have a condition"),
            (r#"{"must": []}"#, "must have a condition"),
            (r#"{"must": [{}]}"#, "must have a condition"),
            (r#"{"must": {"must_not": []}}"#, "must have a condition"),
            (r#"{"should": [{"must": {}}, {"key": "a", "match": {"value": 1}}]}"#, "must have a condition"),
            (
                r#"{"min_should": {"conditions": [{}, {"key": "a", "match": {"value": 1}}], "min_count": 1}}"#,
                "must have a condition",
            ),
            (r#"{"must": {"key": "a", "match": {"text": "b"}}}"#, "no conditions on texts"),
            (
                r#"{"must_not": {"nested": {"key": "l", "filter": {"should": {"key": "a", "match": {"phrase": "b"}}}}}}"#,
                "no conditions on texts",
            ),
            (r#"{"mst": []}"#, "mst"),
            ("[]", "filter"),
        ] {
            let problem = filter_problem(json).expect(json);
            assert!(problem.contains(why), "{json}: {problem}");
        }
    }
}
