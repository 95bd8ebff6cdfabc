//! What strict mode asks of a formula: the filters that are its conditions, and the field indexes that it needs.

use super::{Expression, Formula, Term};
use crate::filter::{Filter, Kinds, Unindexed};
use crate::payload::{FieldKind, JsonPath};

/// Says of what kind the field index of a path is.
type KindAt<'k> = &'k dyn Fn(&JsonPath) -> Option<FieldKind>;

impl Formula {
    /// The first field that it reads and that has no index of a kind that holds such values, one with a default too.
    pub fn unindexed(&self, kind_at: KindAt<'_>) -> Option<Unindexed> {
        self.root.unindexed(kind_at)
    }

    /// The filters that are its conditions.
    pub fn filters(&self) -> Vec<&Filter> {
        let mut filters = Vec::new();
        self.root.add_filters(&mut filters);
        filters
    }
}

impl Term {
    fn add_filters<'f>(&'f self, filters: &mut Vec<&'f Filter>) {
        match &self.expression {
            Expression::Condition(filter) => filters.push(filter),
            Expression::Sum(terms) | Expression::Product(terms) => {
                terms.iter().for_each(|term| term.add_filters(filters));
            }
            Expression::Function(_, term) => term.add_filters(filters),
            Expression::Quotient(of) => {
                [&of.left, &of.right].iter().for_each(|term| term.add_filters(filters))
            }
            Expression::Power(of) => {
                [&of.base, &of.exponent].iter().for_each(|term| term.add_filters(filters))
            }
            Expression::Decay(of) => {
                let terms = [Some(&of.x), of.target.as_ref()];
                terms.into_iter().flatten().for_each(|term| term.add_filters(filters));
            }
            Expression::Constant(_)
            | Expression::Score(_)
            | Expression::Number(_)
            | Expression::Distance { .. }
            | Expression::Datetime(_) => {}
        }
    }

    fn unindexed(&self, kind_at: KindAt<'_>) -> Option<Unindexed> {
        let field = |key: &JsonPath, kinds: Kinds| {
            let is_held = kind_at(key).is_some_and(|kind| kinds.contains(&kind));
            (!is_held).then(|| Unindexed { key: key.clone(), kinds })
        };
        match &self.expression {
            Expression::Constant(_) | Expression::Score(_) => None,
            Expression::Number(key) => field(key, &[FieldKind::Integer, FieldKind::Float]),
            Expression::Condition(filter) => filter.unindexed(kind_at),
            Expression::Sum(terms) | Expression::Product(terms) => {
                terms.iter().find_map(|term| term.unindexed(kind_at))
            }
            Expression::Function(_, term) => term.unindexed(kind_at),
            Expression::Quotient(of) => of.left.unindexed(kind_at).or_else(|| of.right.unindexed(kind_at)),
            Expression::Power(of) => of.base.unindexed(kind_at).or_else(|| of.exponent.unindexed(kind_at)),
            Expression::Distance { to, .. } => field(to, &[FieldKind::Geo]),
            Expression::Datetime(key) => field(key, &[FieldKind::Datetime]),
            Expression::Decay(of) => {
                let target = of.target.as_ref();
                of.x.unindexed(kind_at).or_else(|| target.and_then(|target| target.unindexed(kind_at)))
            }
        }
    }
}
