//! The universal query (C6.3) as a tree: what is asked for, over which candidates. Parsed and checked as far as that
//! goes without the collection.

use super::formula::Formula;
use super::request::{CursorRequest, OrderBy, Selectors};
use crate::config::{CollectionConfig, NamedModels, VectorModels};
use crate::error::Error;
pub use crate::field::QuantizationParams;
use crate::filter::Filter;
use crate::types::PointId;
use crate::vectors::VectorValue;
use std::sync::Arc;

/// `params` of a search (C6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchParams {
    /// Width of the graph search, at least 1; the collection's `ef_search` when absent.
    pub hnsw_ef: Option<usize>,
    /// Recall that the width is chosen for (C14), from 0.5 to 0.999; that of the collection when absent.
    pub target_recall: Option<f64>,
    /// Exact scan.
    pub exact: bool,
    /// Leave out what is not yet in the graph.
    pub indexed_only: bool,
    /// What the codes are used for.
    pub quantization: QuantizationParams,
    /// Compare the codes of all matches, whatever a walk would cost.
    pub scans_codes: bool,
}

/// What a search is to say of itself beside its hits (C13).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRequest {
    /// Points of which it says why they are, or are not, among the hits.
    pub why: Vec<PointId>,
}

/// The points whose document frequencies weigh the query of a sparse vector with the modifier `idf`: `params.idf`.
#[derive(Clone, Debug, PartialEq)]
pub enum Idf {
    /// All points, as without it.
    Global,
    /// Those that match, whatever the filter of the search.
    Corpus(Arc<Filter>),
}

/// A vector, or the point whose vector is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Example {
    /// As sent, with the model that made it, where the request has its text.
    Vector(VectorValue, Option<Box<str>>),
    /// The vector of a point, which is left out of all results if it is one of the searched collection.
    Id(PointId),
}

/// The nearest, chosen so that they differ from each other: maximal marginal relevance.
#[derive(Clone, Debug, PartialEq)]
pub struct Mmr {
    /// What the candidates are nearest to.
    pub nearest: Example,
    /// How much a difference from what is chosen counts, 0 to 1; relevance counts for the rest.
    pub diversity: f32,
    /// Candidates to choose from; as many as hits are wanted when absent.
    pub candidates: Option<usize>,
}

/// How the examples of a recommendation make a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One search with a mean.
    AverageVector,
    /// By the most similar example on either side.
    BestScore,
    /// By the sum over all examples.
    SumScores,
}

/// What is like some examples and unlike others. There is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommend {
    /// Examples to be like.
    pub positive: Vec<Example>,
    /// Examples to be unlike.
    pub negative: Vec<Example>,
    /// How they are put together.
    pub strategy: Strategy,
}

/// Two examples: what is nearer to the first than to the second is on the right side.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The side to be on.
    pub positive: Example,
    /// The other side.
    pub negative: Example,
}

impl Pair {
    /// The positive example, then the negative one.
    pub fn both(&self) -> [&Example; 2] {
        [&self.positive, &self.negative]
    }
}

/// What is near a target, on the right side of as many pairs as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Discover {
    /// What to be near.
    pub target: Example,
    /// The pairs; may be none.
    pub context: Vec<Pair>,
}

/// What is near a target, by what a model says of other examples: Qdrant's naive strategy of relevance feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// What to be near.
    pub target: Example,
    /// Examples, each with the score that the model gives it. There is at least one.
    pub items: Vec<(Example, f32)>,
    /// How much the similarity to the target counts.
    pub a: f32,
    /// The power of a difference of scores, at least 0.
    pub b: f32,
    /// How much the similarities to the examples count.
    pub c: f32,
}

/// How the lists of several prefetches become one.
#[derive(Clone, Debug, PartialEq)]
pub enum Fusion {
    /// By their places in the lists: reciprocal rank fusion.
    Rrf {
        /// How slowly what a place is worth falls, at least 1.
        k: f64,
        /// How much each list counts; all the same when empty.
        weights: Vec<f64>,
    },
    /// By their scores, brought to one scale: distribution-based score fusion.
    Dbsf,
}

/// What a query asks for.
#[derive(Clone, Debug)]
pub enum Query {
    /// The nearest to a vector.
    Nearest(Example),
    /// The nearest, different from each other.
    Mmr(Mmr),
    /// What is like examples.
    Recommend(Recommend),
    /// What is near a target within a context.
    Discover(Discover),
    /// What is on the right side of pairs. There is at least one.
    Context(Vec<Pair>),
    /// What is near a target, by what a model says of other examples.
    Feedback(Feedback),
    /// By the value of a field.
    OrderBy(OrderBy),
    /// The lists of the prefetches as one. There is at least one prefetch.
    Fusion(Fusion),
    /// What the prefetches have found, by a formula. There is at least one prefetch.
    Formula(Arc<Formula>),
    /// A uniform random sample.
    Sample,
    /// By id, ascending: no `query` at all. There is no prefetch.
    ById,
}

impl Query {
    /// Calls `each` for every example in it.
    pub fn for_each_example<'q>(&'q self, each: &mut impl FnMut(&'q Example)) {
        match self {
            Query::Nearest(example) => each(example),
            Query::Mmr(mmr) => each(&mmr.nearest),
            Query::Recommend(Recommend { positive, negative, .. }) => {
                positive.iter().chain(negative).for_each(each);
            }
            Query::Discover(discover) => {
                each(&discover.target);
                discover.context.iter().flat_map(Pair::both).for_each(each);
            }
            Query::Context(pairs) => pairs.iter().flat_map(Pair::both).for_each(each),
            Query::Feedback(feedback) => {
                each(&feedback.target);
                feedback.items.iter().for_each(|(example, _)| each(example));
            }
            Query::OrderBy(_) | Query::Fusion(_) | Query::Formula(_) | Query::Sample | Query::ById => {}
        }
    }

    /// Where one of its examples, by identity, stands in it; empty where it is all of the query.
    fn place_of(&self, example: &Example) -> String {
        let is_it = |one: &Example| std::ptr::eq(one, example);
        let in_list = |name: &str, list: &[Example]| {
            list.iter().position(is_it).map(|at| format!(".recommend.{name}[{at}]"))
        };
        let in_pairs = |pairs: &[Pair]| {
            let at = pairs.iter().position(|pair| pair.both().into_iter().any(is_it))?;
            let side = if is_it(&pairs[at].positive) { "positive" } else { "negative" };
            Some(format!(".context[{at}].{side}"))
        };
        let place = match self {
            Query::Mmr(_) => Some(".nearest".to_string()),
            Query::Recommend(Recommend { positive, negative, .. }) => {
                in_list("positive", positive).or_else(|| in_list("negative", negative))
            }
            Query::Discover(Discover { context, .. }) => {
                let below = in_pairs(context).unwrap_or_else(|| ".target".to_string());
                Some(format!(".discover{below}"))
            }
            Query::Context(pairs) => in_pairs(pairs),
            Query::Feedback(Feedback { items, .. }) => {
                let at = items.iter().position(|(one, _)| is_it(one));
                let below = at.map_or(".target".to_string(), |at| format!(".feedback[{at}].example"));
                Some(format!(".relevance_feedback{below}"))
            }
            _ => None,
        };
        place.unwrap_or_default()
    }
}

/// Where the vectors of example ids are looked up (C6.3).
#[derive(Clone, Debug, PartialEq)]
pub struct LookupFrom {
    /// The collection.
    pub collection: String,
    /// The vector's name there; that of `using` when absent.
    pub vector: Option<Box<str>>,
}

/// A query, or one of the prefetches that its candidates come from.
#[derive(Clone, Debug)]
pub struct QueryNode {
    /// Where it stands in the body: empty, or like `searches[1].prefetch[0]`.
    pub place: Box<str>,
    /// What is asked for.
    pub query: Query,
    /// Where that stands in it: `query`, or what a search has in its place; empty where its fields are those of the body.
    pub query_field: &'static str,
    /// Name of the vector; `""` for the unnamed one.
    pub using: Box<str>,
    /// Which points take part. Those of a prefetch pass the filters of all that it is inside of, too.
    pub filter: Option<Arc<Filter>>,
    /// How to search.
    pub params: SearchParams,
    /// Which points weigh a sparse vector.
    pub idf: Option<Idf>,
    /// Scores worse than this are left out. Never where nothing is scored.
    pub score_threshold: Option<f32>,
    /// Hits to find, at least 1.
    pub limit: usize,
    /// Where example ids are looked up; the collection itself when absent.
    pub lookup_from: Option<LookupFrom>,
    /// What the candidates are, if they are not all points.
    pub prefetch: Vec<QueryNode>,
    /// The models of the vectors that were sent.
    pub models: VectorModels,
    /// What is to be explained; nothing in most requests, and never of a prefetch.
    pub explain: Option<ExplainRequest>,
}

impl QueryNode {
    /// Compares the models of its vectors, and of those of its prefetches, with what the collection declares (C19).
    ///
    /// # Errors
    /// As [`VectorModels::check`].
    pub fn check_models(&self, config: &CollectionConfig) -> Result<(), Error> {
        self.models.check(config)?;
        self.prefetch.iter().try_for_each(|source| source.check_models(config))
    }

    /// The models of its vectors; `named` says those of vectors that are no texts.
    pub(crate) fn vector_models(&self, named: &NamedModels) -> VectorModels {
        let mut models = VectorModels::default();
        self.query.for_each_example(&mut |example| {
            if let Example::Vector(_, model) = example {
                models.note(&self.using, model.as_deref(), || self.path_of(example));
            }
        });
        models.naming(named)
    }

    /// The collections that it and all below it look examples up in.
    pub fn lookups(&self) -> Vec<&str> {
        let own = self.lookup_from.iter().map(|from| from.collection.as_str());
        own.chain(self.prefetch.iter().flat_map(QueryNode::lookups)).collect()
    }

    /// Where a field of it stands in the body.
    pub fn path(&self, field: &str) -> String {
        if self.place.is_empty() { field.to_string() } else { format!("{}.{field}", self.place) }
    }

    /// Where an example of its query stands in the body.
    pub fn path_of(&self, example: &Example) -> String {
        let place = self.query.place_of(example);
        if !self.query_field.is_empty() {
            return self.path(&format!("{}{place}", self.query_field));
        }
        // Without the name of the form, `.recommend` or `.discover`.
        let below = place.strip_prefix(".recommend.").or_else(|| place.strip_prefix(".discover."));
        self.path(below.unwrap_or_else(|| place.trim_start_matches('.')))
    }

    /// Where a form of its query stands in the body, for errors about the whole of it.
    pub fn path_of_form(&self, form: &str) -> String {
        match (self.query_field, &*self.place) {
            ("", "") => "body".to_string(),
            ("", place) => place.to_string(),
            _ => self.path(&format!("query.{form}")),
        }
    }
}

/// A search or a query.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked for.
    pub node: QueryNode,
    /// Hits to leave out at the front.
    pub offset: usize,
    /// What each hit shows.
    pub with: Selectors,
    /// Whether there are to be further pages of the same view.
    pub cursor: Option<CursorRequest>,
}

impl QueryRequest {
    /// How many hits the request reaches over.
    pub fn window(&self) -> usize {
        self.node.limit.saturating_add(self.offset)
    }
}
