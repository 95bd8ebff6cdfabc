//! The index of string ids (C21), by parts of fifteen bytes.
//!
//! A layer is an ordered map whose keys are the parts of strings at one position, so two keys are compared as
//! two numbers. Most strings differ in their first part: the entry of such a part has the offset of the
//! point, and the point has the whole string. Where several strings share a part and go on behind it, the
//! entry has a group: a sorted list of offsets while the group is small, then a layer with their next parts.
//! This is the trie of Masstree (Mao, Kohler, Morris: "Cache craftiness for fast multicore key-value
//! storage", EuroSys 2012) with lists at its ends, because a layer of two strings would take a node of a map.

use super::super::PointTable;
use super::Range;
use crate::faults::PlantedFault;
use crate::payload::ordered_map_bytes;
use crate::types::{PointOffset, TextId};
use imbl::OrdMap;
use std::iter::Peekable;
use std::ops::Bound;
use std::slice;
use std::sync::Arc;

/// The most strings of a group that is a list; a larger group is a layer. To find a string in a list, whole
/// strings are compared, and each of them is elsewhere in memory.
const MAX_LISTED: usize = 32;

/// A part of a string: its fifteen bytes, or fewer and zeros where the string ends, and behind them how many
/// bytes it has.
///
/// Packed: an entry with its offset takes 20 bytes, not 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
struct Part(u128);

impl Part {
    /// Stands in place of the number of bytes where the string goes on behind the part. Such a part sorts
    /// after equal bytes of a string that ends.
    const GOES_ON: u8 = TextId::START_LEN as u8 + 1;

    /// The part of a string that is its key in a layer; the first layer is 0.
    fn new(text: &TextId, layer: usize) -> Part {
        let (start, rest) = text.parts();
        let (bytes, behind) = match layer.checked_sub(1) {
            None => (start, rest),
            Some(at) => {
                let left = rest.get(at * TextId::START_LEN..).unwrap_or_default();
                left.split_at(left.len().min(TextId::START_LEN))
            }
        };
        let mut number = [0; 16];
        number[..bytes.len()].copy_from_slice(bytes);
        number[TextId::START_LEN] = if behind.is_empty() { bytes.len() as u8 } else { Part::GOES_ON };
        Part(u128::from_be_bytes(number))
    }

    fn goes_on(self) -> bool {
        self.0 as u8 == Part::GOES_ON
    }
}

/// The offset of each string, in the order of the strings.
#[derive(Clone, Default)]
pub(super) struct Strings {
    first: Layer,
    len: usize,
}

/// Strings that have the same parts in the layers before this one.
#[derive(Clone, Default)]
struct Layer {
    /// The offset of the only string that has a part, or of the string that ends with it.
    single: OrdMap<Part, PointOffset>,
    /// The strings that share a part and go on behind it, at least two.
    groups: OrdMap<Part, Arc<Group>>,
}

#[derive(Clone)]
enum Group {
    /// Offsets, sorted by their strings.
    List(Vec<PointOffset>),
    Layer(Layer),
}

/// The string of the point at an offset that is in the index.
fn text_at(points: &PointTable, offset: PointOffset) -> &TextId {
    points.text(offset).expect("its point has the string that was entered")
}

/// Whether a string is that of the point at an offset with the same part. Where the part ends the string, the
/// part decides.
fn is_at(offset: PointOffset, text: &TextId, part: Part, points: &PointTable) -> bool {
    !part.goes_on() || text_at(points, offset) == text
}

impl Strings {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, text: &TextId, points: &PointTable) -> Option<PointOffset> {
        let (mut layer, mut at) = (&self.first, 0);
        loop {
            let part = Part::new(text, at);
            if let Some(&offset) = layer.single.get(&part) {
                let is_it = is_at(offset, text, part, points) || PlantedFault::EqualStartsAreEqual.is_on();
                return is_it.then_some(offset);
            }
            match &**layer.groups.get(&part)? {
                Group::List(list) => return found_in(list, text, points).ok().map(|at| list[at]),
                Group::Layer(next) => (layer, at) = (next, at + 1),
            }
        }
    }

    pub(super) fn insert(
        &mut self,
        text: &TextId,
        offset: PointOffset,
        points: &PointTable,
    ) -> Option<PointOffset> {
        let before = self.first.insert((text, offset), 0, points);
        self.len += usize::from(before.is_none());
        before
    }

    pub(super) fn remove(&mut self, text: &TextId, points: &PointTable) -> Option<PointOffset> {
        let removed = self.first.remove(text, 0, points);
        self.len -= usize::from(removed.is_some());
        removed
    }

    /// The offsets of all strings, in the order of the strings.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { steps: vec![self.first.range(Bound::Unbounded)] }
    }

    /// The offsets of a string and of all strings behind it, in the order of the strings.
    pub(super) fn from<'a>(&'a self, text: &TextId, points: &'a PointTable) -> Iter<'a> {
        let mut steps = Vec::new();
        let (mut layer, mut at) = (&self.first, 0);
        loop {
            let part = Part::new(text, at);
            let Some(group) = layer.groups.get(&part) else {
                let is_before = |offset: &PointOffset| text_at(points, *offset) < text;
                let excludes = part.goes_on() && layer.single.get(&part).is_some_and(is_before);
                let start = if excludes { Bound::Excluded(part) } else { Bound::Included(part) };
                steps.push(layer.range(start));
                return Iter { steps };
            };
            steps.push(layer.range(Bound::Excluded(part)));
            match &**group {
                Group::List(list) => {
                    let start = found_in(list, text, points).unwrap_or_else(|place| place);
                    steps.push(Step::List(list[start..].iter()));
                    return Iter { steps };
                }
                Group::Layer(next) => (layer, at) = (next, at + 1),
            }
        }
    }

    /// Estimated bytes of memory, as if each string had an entry of its own. A group with a short list takes
    /// about as much as entries of its strings, one with a long list less.
    pub(super) fn memory_bytes(&self) -> u64 {
        ordered_map_bytes(self.len, size_of::<(Part, PointOffset)>())
    }
}

impl Layer {
    fn insert(
        &mut self,
        (text, offset): (&TextId, PointOffset),
        at: usize,
        points: &PointTable,
    ) -> Option<PointOffset> {
        let part = Part::new(text, at);
        if let Some(group) = self.groups.get_mut(&part) {
            return Arc::make_mut(group).insert((text, offset), at + 1, points);
        }
        let before = self.single.insert(part, offset)?;
        if is_at(before, text, part, points) {
            return Some(before);
        }
        self.single.remove(&part);
        let pair = if text_at(points, before) < text { [before, offset] } else { [offset, before] };
        self.groups.insert(part, Arc::new(Group::List(pair.into())));
        None
    }

    fn remove(&mut self, text: &TextId, at: usize, points: &PointTable) -> Option<PointOffset> {
        let part = Part::new(text, at);
        if let Some(&offset) = self.single.get(&part) {
            return if is_at(offset, text, part, points) { self.single.remove(&part) } else { None };
        }
        let group = Arc::make_mut(self.groups.get_mut(&part)?);
        let removed = group.remove(text, at + 1, points)?;
        if let Some(last) = group.last() {
            self.groups.remove(&part);
            self.single.insert(part, last);
        }
        Some(removed)
    }

    fn range(&self, start: Bound<Part>) -> Step<'_> {
        let range = (start, Bound::Unbounded);
        let single = self.single.range(range).peekable();
        Step::Layer(Box::new(Entries { single, groups: self.groups.range(range).peekable() }))
    }
}

impl Group {
    fn insert(
        &mut self,
        (text, offset): (&TextId, PointOffset),
        at: usize,
        points: &PointTable,
    ) -> Option<PointOffset> {
        let listed = match self {
            Group::Layer(layer) => return layer.insert((text, offset), at, points),
            Group::List(list) => match found_in(list, text, points) {
                Ok(place) => return Some(std::mem::replace(&mut list[place], offset)),
                Err(place) if list.len() < MAX_LISTED => {
                    list.insert(place, offset);
                    return None;
                }
                Err(_) => std::mem::take(list),
            },
        };
        let mut layer = Layer::default();
        for listed in listed {
            layer.insert((text_at(points, listed), listed), at, points);
        }
        layer.insert((text, offset), at, points);
        *self = Group::Layer(layer);
        None
    }

    fn remove(&mut self, text: &TextId, at: usize, points: &PointTable) -> Option<PointOffset> {
        match self {
            Group::List(list) => found_in(list, text, points).ok().map(|place| list.remove(place)),
            Group::Layer(layer) => layer.remove(text, at, points),
        }
    }

    /// The offset of the only string of the group, where one is left.
    fn last(&self) -> Option<PointOffset> {
        match self {
            Group::List(list) if list.len() == 1 => list.first().copied(),
            Group::Layer(layer) if layer.groups.is_empty() && layer.single.len() == 1 => {
                layer.single.get_min().map(|(_, offset)| *offset)
            }
            _ => None,
        }
    }
}

/// The position of a string in a list; as an error the position at which it would be inserted.
fn found_in(list: &[PointOffset], text: &TextId, points: &PointTable) -> Result<usize, usize> {
    list.binary_search_by(|offset| text_at(points, *offset).cmp(text))
}

/// An iterator over offsets, in the order of their strings.
pub(super) struct Iter<'a> {
    /// The layer or list that is being read is the last; the layers before it go on when it ends.
    steps: Vec<Step<'a>>,
}

enum Step<'a> {
    Layer(Box<Entries<'a>>),
    List(slice::Iter<'a, PointOffset>),
}

/// The entries of a layer that are left to read.
struct Entries<'a> {
    single: Peekable<Range<'a, Part, PointOffset>>,
    groups: Peekable<Range<'a, Part, Arc<Group>>>,
}

impl Iterator for Iter<'_> {
    type Item = PointOffset;

    fn next(&mut self) -> Option<PointOffset> {
        loop {
            let inner = match self.steps.last_mut()? {
                Step::List(list) => match list.next() {
                    Some(offset) => return Some(*offset),
                    None => None,
                },
                Step::Layer(entries) => {
                    let group = entries.groups.peek().map(|(part, _)| **part);
                    let is_first = |(part, _): &(&Part, _)| group.is_none_or(|group| **part < group);
                    if let Some((_, offset)) = entries.single.next_if(is_first) {
                        return Some(*offset);
                    }
                    entries.groups.next().map(|(_, group)| match &**group {
                        Group::List(list) => Step::List(list.iter()),
                        Group::Layer(layer) => layer.range(Bound::Unbounded),
                    })
                }
            };
            match inner {
                Some(step) => self.steps.push(step),
                None => drop(self.steps.pop()),
            }
        }
    }
}
