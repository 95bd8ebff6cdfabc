//! The groups of points as numbers: as they are kept, or else as their documents have them.

use crate::collection::State;
use crate::group_keys::{GroupId, KeyColumn, groups_of};
use crate::payload::JsonPath;
use crate::types::PointOffset;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers the groups of points.
pub(super) struct Numbering<'v, 'q> {
    state: &'v State,
    by: &'q JsonPath,
    source: Source<'v>,
}

enum Source<'v> {
    Kept(Arc<KeyColumn>),
    /// The groups that were read so far.
    Documents(HashMap<GroupId<'v>, u32>),
}

impl<'v, 'q> Numbering<'v, 'q> {
    /// By what is kept of the groups, if it is given.
    pub fn new(state: &'v State, by: &'q JsonPath, kept: Option<Arc<KeyColumn>>) -> Numbering<'v, 'q> {
        let source = kept.map_or_else(|| Source::Documents(HashMap::new()), Source::Kept);
        Numbering { state, by, source }
    }

    /// What is kept of the groups.
    pub fn kept(&self) -> Option<&Arc<KeyColumn>> {
        match &self.source {
            Source::Kept(column) => Some(column),
            Source::Documents(_) => None,
        }
    }

    /// The groups of the live point at an offset.
    pub fn read(&mut self, offset: PointOffset, groups: &mut Vec<u32>) {
        groups.clear();
        match &mut self.source {
            Source::Kept(column) => groups.extend(column.keys(offset).iter()),
            Source::Documents(known) => {
                let mut ids = Vec::new();
                groups_of(self.state.at(offset).document(), self.by, &mut ids);
                groups.extend(ids.into_iter().map(|id| {
                    let next = known.len() as u32;
                    *known.entry(id).or_insert(next)
                }));
            }
        }
    }

    /// Which of two groups stands first in the point at an offset.
    pub fn order(&self, offset: PointOffset, a: u32, b: u32) -> Ordering {
        let place = |group: u32| match &self.source {
            Source::Kept(column) => column.keys(offset).iter().position(|key| key == group),
            Source::Documents(known) => {
                let mut ids = Vec::new();
                groups_of(self.state.at(offset).document(), self.by, &mut ids);
                ids.iter().position(|id| known.get(id) == Some(&group))
            }
        };
        if a == b { Ordering::Equal } else { place(a).cmp(&place(b)) }
    }

    /// The id of a group, which the point at an offset is in.
    pub fn id(&self, group: u32, offset: PointOffset) -> Option<GroupId<'v>> {
        let mut ids = Vec::new();
        groups_of(self.state.at(offset).document(), self.by, &mut ids);
        let is_it = |id: &GroupId<'v>| match &self.source {
            Source::Kept(column) => column.number(id) == Some(group),
            Source::Documents(known) => known.get(id) == Some(&group),
        };
        // Most points are in one group.
        if ids.len() == 1 { ids.pop() } else { ids.into_iter().find(is_it) }
    }
}
