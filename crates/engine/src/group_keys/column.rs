//! The groups of the points of one view, by one field.

use super::id::GroupId;
use crate::point_set::PointSet;
use crate::types::{OpNumber, PointOffset};
use imbl::OrdMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Points of a chunk, which is copied when one of them changes.
pub(super) const CHUNK: usize = 1024;
/// In place of a group: the point is in none.
pub(super) const NONE: u32 = u32::MAX;
/// In place of a group: the point is in several.
pub(super) const SEVERAL: u32 = u32::MAX - 1;

pub(super) type Chunk = Arc<[u32; CHUNK]>;

/// The groups of the points of one view, by one field. Groups are numbered. A clone shares almost everything.
#[derive(Clone)]
pub struct KeyColumn {
    pub(super) op: OpNumber,
    /// By offset: the group, [`NONE`] or [`SEVERAL`].
    pub(super) chunks: Vec<Chunk>,
    /// The groups of the points that are in several.
    pub(super) several: OrdMap<PointOffset, Arc<[u32]>>,
    pub(super) base: Arc<Base>,
    /// Points that changed since the base was made.
    pub(super) changed: PointSet,
    /// Groups that came since then.
    pub(super) added: OrdMap<GroupId<'static>, u32>,
    /// Bytes of the strings among these.
    pub(super) added_bytes: u64,
}

/// Groups and their points as of one operation.
#[derive(Default)]
pub(super) struct Base {
    pub numbers: HashMap<GroupId<'static>, u32>,
    /// Bytes of the strings among the groups.
    pub text_bytes: u64,
    /// Where the points of each group begin, and the end of the last.
    pub starts: Vec<u32>,
    /// The points of one group after the other, each ascending.
    pub members: Vec<PointOffset>,
}

/// The groups of one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'a> {
    /// At most one.
    One(Option<u32>),
    /// Several.
    Several(&'a [u32]),
}

impl<'a> Keys<'a> {
    /// The numbers of the groups.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = u32> + use<'a> {
        let (one, several) = match self {
            Keys::One(one) => (one, &[][..]),
            Keys::Several(several) => (None, several),
        };
        one.into_iter().chain(several.iter().copied())
    }
}

impl KeyColumn {
    /// Groups with so many points each, for tests: the first points are those of the first group.
    #[cfg(test)]
    pub fn of_sizes(sizes: &[u32]) -> KeyColumn {
        let numbers = (0..sizes.len()).map(|group| (GroupId::Integer(group as i128), group as u32)).collect();
        let ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let members = (0..starts[sizes.len()]).map(PointOffset::new).collect();
        KeyColumn {
            op: OpNumber::new(0),
            chunks: Vec::new(),
            several: OrdMap::new(),
            base: Arc::new(Base { numbers, text_bytes: 0, starts, members }),
            changed: PointSet::default(),
            added: OrdMap::new(),
            added_bytes: 0,
        }
    }

    /// The operation of its view.
    pub fn op(&self) -> OpNumber {
        self.op
    }

    /// The groups of the point at an offset of the view.
    #[inline(always)]
    pub fn keys(&self, offset: PointOffset) -> Keys<'_> {
        let index = offset.index();
        match self.chunks.get(index / CHUNK).map_or(NONE, |chunk| chunk[index % CHUNK]) {
            NONE => Keys::One(None),
            SEVERAL => Keys::Several(self.several.get(&offset).map_or(&[], |keys| keys)),
            one => Keys::One(Some(one)),
        }
    }

    /// The number of a group.
    pub fn number(&self, id: &GroupId<'_>) -> Option<u32> {
        self.base.numbers.get(id).or_else(|| self.added.get(id)).copied()
    }

    /// The most groups that there are.
    pub fn groups(&self) -> usize {
        self.base.numbers.len() + self.added.len()
    }

    /// The most points that a group has.
    pub fn at_most(&self, group: u32) -> u64 {
        self.base.of(group).len() as u64 + self.changed.len()
    }

    /// The points of a group, in no order, dead ones excluded as of the view.
    pub fn members(&self, group: u32) -> impl Iterator<Item = PointOffset> + '_ {
        let is_stable = self.changed.is_empty();
        let kept =
            self.base.of(group).iter().copied().filter(move |&at| is_stable || !self.changed.contains(at));
        let changed =
            self.changed.iter().filter(move |&offset| self.keys(offset).iter().any(|key| key == group));
        kept.chain(changed)
    }

    /// Bytes in memory, about.
    pub fn memory_bytes(&self) -> u64 {
        let several = self.several.len() * (size_of::<(PointOffset, Arc<[u32]>)>() + 16);
        let added = self.added.len() * size_of::<(GroupId<'_>, u32)>();
        let chunks = self.chunks.len() * size_of::<[u32; CHUNK]>();
        (several + added + chunks) as u64
            + self.added_bytes
            + self.changed.memory_bytes()
            + self.base.memory_bytes()
    }
}

impl Base {
    /// The points of a group.
    fn of(&self, group: u32) -> &[PointOffset] {
        let bounds = self.starts.get(group as usize).zip(self.starts.get(group as usize + 1));
        bounds.map_or(&[], |(&start, &end)| &self.members[start as usize..end as usize])
    }

    fn memory_bytes(&self) -> u64 {
        let numbers = self.numbers.capacity() * (size_of::<(GroupId<'_>, u32)>() + 1);
        (numbers + (self.starts.len() + self.members.len()) * size_of::<u32>()) as u64 + self.text_bytes
    }
}
