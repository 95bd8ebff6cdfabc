//! The reads of a collection of several shards.

use super::groups::{self, Grouped};
use super::matrix;
use super::members::{Members, elements};
use super::pages;
use super::questions::{Answer, Ask, Desk, Task, all};
use super::request::{Layout, ShardedRequest, unavailable};
use super::search::{self, Root};
use super::values;
use crate::api::response::{Envelope, write_list};
use crate::api::{self, BodyWithWarnings, Operation, Strictness, path_id};
use crate::error::Error;
use crate::limits::Limits;
use crate::query::request::{FacetRequest, MatrixRequest, RetrieveRequest, ScrollRequest};
use crate::query::tree::QueryRequest;
use crate::types::{IdKind, PointId};
use std::collections::HashMap;
use std::time::Instant;

/// What all parts of a read need.
pub(super) struct Context {
    /// All names of the collection.
    pub names: Vec<String>,
    pub layout: Layout,
    /// The layouts of the other collections that it names.
    pub others: HashMap<String, Layout>,
    pub strictness: Strictness,
    pub limits: Limits,
    pub desk: Desk,
}

impl Context {
    /// The numbers of the shards.
    pub fn shards(&self) -> std::ops::Range<u32> {
        0..self.layout.shards
    }

    /// A question to a shard.
    pub fn question(&self, shard: u32, operation: Operation, body: Vec<u8>) -> Ask {
        Ask { shard, collection: None, operation, target: None, body, strictness: self.strictness }
    }

    /// What each shard answers to the same question; nothing of those that are left out.
    pub async fn ask_all(&self, operation: Operation, body: Vec<u8>) -> Vec<Answer> {
        self.ask_each(operation, body).await.into_iter().map(|(_, answer)| answer).collect()
    }

    /// The same with the number of each shard that answers.
    pub async fn ask_each(&self, operation: Operation, body: Vec<u8>) -> Vec<(u32, Answer)> {
        let ask = |shard| self.question(shard, operation, body.clone());
        let answers = self.desk.ask(self.shards().map(ask).collect()).await;
        self.shards().zip(answers).filter_map(|(shard, answer)| Some((shard, answer?))).collect()
    }

    /// Whether a name is one of the collection itself.
    pub fn is_own(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// The layout of a collection that the request names.
    pub fn layout_of(&self, collection: Option<&str>) -> Result<&Layout, Error> {
        match collection.filter(|name| !self.is_own(name)) {
            None => Ok(&self.layout),
            Some(name) => self.others.get(name).ok_or_else(|| Error::CollectionNotFound(name.to_string())),
        }
    }
}

/// A read whose body was read.
pub(super) struct Parsed {
    context: Context,
    warnings: Vec<String>,
    what: What,
}

enum What {
    /// A point by the id in the path.
    Point(PointId, String),
    /// Points by their ids; the first alone for an operation that answers one.
    Points {
        request: RetrieveRequest,
        members: Members<'static>,
        is_one: bool,
    },
    Page(Box<ScrollRequest>, Vec<u8>),
    Count(Vec<u8>),
    Facet(Box<FacetRequest>, Members<'static>),
    Matrix {
        request: Box<MatrixRequest>,
        members: Members<'static>,
        is_pairs: bool,
    },
    Search {
        roots: Vec<Root>,
        is_batch: bool,
        is_list: bool,
    },
    Groups(Box<Grouped>),
}

impl Parsed {
    /// Reads the body of a request as the engine does.
    pub fn of(
        request: &ShardedRequest<'_>,
        layout: &Layout,
        other: &dyn Fn(&str) -> Option<Layout>,
        desk: Desk,
    ) -> Result<Parsed, Error> {
        request.check_form()?;
        let is_own = |name: &str| request.names(name);
        let kind_of = |name: &str| match is_own(name) {
            true => layout.ids,
            false => other(name).map_or(IdKind::Default, |layout| layout.ids),
        };
        let body = request.parsed_body(layout, &kind_of)?;
        let what = parse(request, layout, &body)?;
        let mut others = HashMap::new();
        for name in what.named_collections().into_iter().filter(|name| !is_own(name)) {
            let layout = other(name).ok_or_else(|| Error::CollectionNotFound(name.to_string()))?;
            others.insert(name.to_string(), layout);
        }
        let context = Context {
            names: [request.collection.to_string()]
                .into_iter()
                .chain(request.other_names.iter().cloned())
                .collect(),
            layout: layout.clone(),
            others,
            strictness: request.strictness,
            limits: *request.limits,
            desk,
        };
        Ok(Parsed { context, warnings: body.into_warnings(), what })
    }

    /// Whether it looks examples or groups up in a collection that it names.
    pub fn names_collections(&self) -> bool {
        !self.what.named_collections().is_empty()
    }
}

impl What {
    /// The collections that examples and groups are looked up in.
    fn named_collections(&self) -> Vec<&str> {
        match self {
            What::Search { roots, .. } => roots.iter().flat_map(|root| root.tree.lookups()).collect(),
            What::Groups(grouped) => grouped.named_collections(),
            _ => Vec::new(),
        }
    }
}

fn parse(request: &ShardedRequest<'_>, layout: &Layout, body: &BodyWithWarnings<'_>) -> Result<What, Error> {
    use Operation::*;
    let (limits, operation) = (request.limits, request.operation);
    let members = || Members::parse(request.body).map(Members::into_owned);
    if matches!(operation, Search | Query | Scroll) && api::next_page(body)?.is_some() {
        return Err(cursor());
    }
    Ok(match operation {
        GetPoint if request.target.is_some() => {
            let target = request.target.unwrap_or_default();
            What::Point(path_id(target, layout.ids)?, target.to_string())
        }
        GetPoint | RetrievePoints => {
            let (parsed, is_one) = (api::retrieve(body, limits)?, operation == GetPoint);
            What::Points { request: parsed, members: members()?, is_one }
        }
        Scroll => {
            let parsed = api::scroll(body, limits)?;
            if parsed.cursor.is_some() {
                return Err(cursor());
            }
            What::Page(Box::new(parsed), request.body.to_vec())
        }
        Count => {
            api::count(body, limits)?;
            What::Count(request.body.to_vec())
        }
        Facet => What::Facet(Box::new(api::facet(body, limits)?), members()?),
        MatrixPairs | MatrixOffsets => {
            let is_pairs = operation == MatrixPairs;
            What::Matrix { request: Box::new(api::matrix(body, limits)?), members: members()?, is_pairs }
        }
        SearchGroups | QueryGroups | RecommendGroups => {
            What::Groups(Box::new(Grouped::of(operation, body, limits, members()?)?))
        }
        _ => parse_search(request, body)?,
    })
}

fn parse_search(request: &ShardedRequest<'_>, body: &BodyWithWarnings<'_>) -> Result<What, Error> {
    use Operation::*;
    let limits = request.limits;
    let (operation, requests, is_batch) = match request.operation {
        Search => (Search, vec![api::search(body, limits)?], false),
        Query => (Query, vec![api::query(body, limits)?], false),
        Recommend => (Recommend, vec![api::recommend(body, limits)?], false),
        Discover => (Discover, vec![api::discover(body, limits)?], false),
        SearchBatch => (Search, api::search_batch(body, limits)?, true),
        QueryBatch => (Query, api::query_batch(body, limits)?, true),
        RecommendBatch => (Recommend, api::recommend_batch(body, limits)?, true),
        DiscoverBatch => (Discover, api::discover_batch(body, limits)?, true),
        other => return Err(unavailable(other.title())),
    };
    let members = Members::parse(request.body)?;
    let root = |(parsed, members): (QueryRequest, Members<'_>)| {
        if parsed.cursor.is_some() {
            return Err(cursor());
        }
        Root::of(operation, parsed, members.into_owned())
    };
    let bodies = match is_batch {
        false => vec![members],
        true => elements(members.get("searches").unwrap_or("[]"))?
            .into_iter()
            .map(|text| Members::parse(text.as_bytes()).map(Members::into_owned))
            .collect::<Result<_, _>>()?,
    };
    let roots = requests.into_iter().zip(bodies).map(root).collect::<Result<_, _>>()?;
    Ok(What::Search { roots, is_batch, is_list: operation != Query })
}

fn cursor() -> Error {
    unavailable("A cursor")
}

/// The whole envelope of a read.
pub(super) async fn answer(parsed: Parsed, start: Instant) -> Result<Vec<u8>, Error> {
    let Parsed { context, warnings, what } = parsed;
    let mut out = Vec::new();
    let envelope = Envelope::start(&mut out);
    match what {
        What::Point(id, target) => pages::point(&context, &mut out, &id, target).await?,
        What::Points { request, members, is_one } => {
            pages::retrieve(&context, &mut out, &request, &members, is_one).await?;
        }
        What::Page(request, body) => pages::scroll(&context, &mut out, &request, body).await?,
        What::Count(body) => values::count(&context, &mut out, body).await?,
        What::Facet(request, members) => values::facet(&context, &mut out, &request, members).await?,
        What::Matrix { request, members, is_pairs } => {
            matrix::matrix(&context, &mut out, &request, &members, is_pairs).await?;
        }
        What::Search { roots, is_batch: false, is_list } => {
            for root in roots {
                search::write(&mut out, &search::hits(&context, root).await?, is_list);
            }
        }
        What::Search { roots, is_list, .. } => {
            let context = &context;
            let task = |(at, root): (usize, Root)| -> Task<'_, _> {
                Box::pin(async move {
                    let hits = search::hits(context, root).await;
                    hits.map_err(|error| error.within(format!("searches[{at}]")))
                })
            };
            let found = all(roots.into_iter().enumerate().map(task).collect()).await?;
            write_list(&mut out, found, |out, hits| search::write(out, &hits, is_list));
        }
        What::Groups(grouped) => groups::answer(&context, &mut out, *grouped).await?,
    }
    envelope.finish_warning(&mut out, &warnings, start.elapsed());
    Ok(out)
}
