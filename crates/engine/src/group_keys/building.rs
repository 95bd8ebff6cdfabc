//! Making a [`KeyColumn`]: from an index or from all documents at first, then from those that changed.

use super::column::{Base, CHUNK, Chunk, KeyColumn, NONE, SEVERAL};
use super::id::{GroupId, groups_of};
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::IndexSet as _;
use crate::payload::{CountedValue, FieldIndex, FieldKind, JsonPath};
use crate::point_set::PointSet;
use crate::state::{State, View};
use crate::types::PointOffset;
use imbl::OrdMap;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that a column may take at least.
const LEAST_LIMIT: u64 = 1 << 20;
/// Bytes for each point that it may take beyond that: a group and its place are eight, the rest is for long values.
const LIMIT_PER_POINT: u64 = 64;
/// Changed points and new groups before the lists of members are made anew, at least.
const LEAST_CHANGES: u64 = if cfg!(test) { 16 } else { 1024 };
/// The least number of changes as a share of the points: their number divided by this.
const CHANGES_DIVISOR: u64 = 32;
/// Nanoseconds to read a document, about.
const DOCUMENT: u64 = 200;
/// Points of an index between two looks at the deadline.
const POINTS_PER_CHECK: u64 = 1 << 14;

impl KeyColumn {
    /// The groups of all points; none where they would take too much memory. An index that has the values as they are
    /// stored says most of them, the documents say the others.
    ///
    /// # Errors
    /// `Timeout`.
    pub(super) fn of_all(
        view: &View,
        path: &JsonPath,
        deadline: &Deadline,
    ) -> Result<Option<KeyColumn>, Error> {
        let state = &view.state;
        let mut draft = Draft::new(state.points.len());
        let index = state
            .index(path)
            .filter(|index| matches!(index.schema().kind(), FieldKind::Keyword | FieldKind::Integer));
        match index {
            None => {
                deadline.expect(documents(state.points.len() as u64))?;
                let mut pace = Pace::new(deadline, 1);
                // Those that this view hides as well (`State::without`): a later view may have them unchanged.
                let all = (0..state.points.len() as u32).map(PointOffset::new);
                for offset in state.reading(all.filter(|&offset| state.at(offset).is_live())) {
                    let payload = state.at(offset).document();
                    pace.step(payload.len())?;
                    draft.read(offset, payload, path);
                    if draft.is_too_large() {
                        return Ok(None);
                    }
                }
            }
            Some(index) => draft.take_index(state, index, deadline)?,
        }
        Ok((!draft.is_too_large()).then(|| draft.finish(view)))
    }

    /// This column as of a later view; none where it would take too much memory.
    ///
    /// # Errors
    /// `Timeout`.
    pub(super) fn refreshed(
        &self,
        view: &View,
        path: &JsonPath,
        deadline: &Deadline,
    ) -> Result<Option<KeyColumn>, Error> {
        let state = &view.state;
        let mut next = KeyColumn { op: view.op, ..self.clone() };
        let changed: Vec<PointOffset> = state.changed_after(self.op).collect();
        let changed = PlantedFault::GroupKeysOutdated.forgets(changed);
        deadline.expect(documents(changed.len() as u64))?;
        let (mut pace, mut ids, mut keys) = (Pace::new(deadline, 1), Vec::new(), Vec::new());
        for offset in state.reading(changed.into_iter()) {
            let point = state.at(offset);
            keys.clear();
            if point.is_live() {
                let payload = point.document();
                pace.step(payload.len())?;
                groups_of(payload, path, &mut ids);
                keys.extend(ids.iter().map(|id| next.number_or_new(id)));
            }
            next.set(offset, &keys);
        }
        let points = state.points.len() as u64;
        if next.changed.len() + next.added.len() as u64 > LEAST_CHANGES + points / CHANGES_DIVISOR {
            next = next.rebased();
        }
        Ok((next.memory_bytes() <= limit(points)).then_some(next))
    }

    fn number_or_new(&mut self, id: &GroupId<'_>) -> u32 {
        self.number(id).unwrap_or_else(|| {
            let number = self.groups() as u32;
            self.added_bytes += text_bytes(id);
            self.added.insert(id.clone().into_owned(), number);
            number
        })
    }

    fn set(&mut self, offset: PointOffset, keys: &[u32]) {
        let (chunk, place) = (offset.index() / CHUNK, offset.index() % CHUNK);
        while self.chunks.len() <= chunk {
            self.chunks.push(Arc::new([NONE; CHUNK]));
        }
        let slot = &mut Arc::make_mut(&mut self.chunks[chunk])[place];
        if *slot == SEVERAL {
            self.several.remove(&offset);
        }
        *slot = match keys {
            [] => NONE,
            [one] => *one,
            several => {
                self.several.insert(offset, several.into());
                SEVERAL
            }
        };
        self.changed.insert(offset);
    }

    /// Merges the changes into a new base, and drops groups without points.
    fn rebased(self) -> KeyColumn {
        let (starts, _) = self.members_by_group(self.groups());
        let is_used = |number: u32| starts[number as usize] < starts[number as usize + 1];
        let mut renumbered = vec![NONE; self.groups()];
        let mut numbers = HashMap::new();
        let mut text = 0;
        let all = self.base.numbers.iter().chain(self.added.iter());
        for (id, &number) in all.filter(|(_, number)| is_used(**number)) {
            renumbered[number as usize] = numbers.len() as u32;
            text += text_bytes(id);
            numbers.insert(id.clone(), numbers.len() as u32);
        }
        let renumber = |&key: &u32| renumbered.get(key as usize).copied().unwrap_or(key);
        let chunk = |chunk: &Chunk| Arc::new(std::array::from_fn(|at| renumber(&chunk[at])));
        let several =
            self.several.iter().map(|(&at, keys)| (at, keys.iter().map(renumber).collect::<Arc<[u32]>>()));
        let mut column = KeyColumn {
            op: self.op,
            chunks: self.chunks.iter().map(chunk).collect(),
            several: several.collect(),
            base: Arc::default(),
            changed: PointSet::new(),
            added: OrdMap::new(),
            added_bytes: 0,
        };
        column.rest_on(numbers, text);
        column
    }

    /// Makes the base for groups of these numbers.
    fn rest_on(&mut self, numbers: HashMap<GroupId<'static>, u32>, text_bytes: u64) {
        let (starts, members) = self.members_by_group(numbers.len());
        self.base = Arc::new(Base { numbers, text_bytes, starts, members });
    }

    /// Where the points of each group begin among all of them, and these.
    fn members_by_group(&self, groups: usize) -> (Vec<u32>, Vec<PointOffset>) {
        let mut starts = vec![0u32; groups + 1];
        self.for_each(|group, _| starts[group as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut members = vec![PointOffset::new(0); starts.last().map_or(0, |&end| end as usize)];
        let mut next = starts.clone();
        self.for_each(|group, offset| {
            members[next[group as usize] as usize] = offset;
            next[group as usize] += 1;
        });
        (starts, members)
    }

    /// Calls `each` for each group of each point, the points ascending.
    fn for_each(&self, mut each: impl FnMut(u32, PointOffset)) {
        for (at, chunk) in self.chunks.iter().enumerate() {
            for (place, &key) in chunk.iter().enumerate().filter(|(_, key)| **key != NONE) {
                let offset = PointOffset::new((at * CHUNK + place) as u32);
                match key {
                    SEVERAL => self.keys(offset).iter().for_each(|key| each(key, offset)),
                    key => each(key, offset),
                }
            }
        }
    }
}

/// The groups of the points that were looked at so far.
struct Draft {
    points: usize,
    chunks: Vec<[u32; CHUNK]>,
    several: HashMap<PointOffset, Vec<u32>>,
    numbers: HashMap<GroupId<'static>, u32>,
    text_bytes: u64,
}

impl Draft {
    fn new(points: usize) -> Draft {
        Draft {
            points,
            chunks: vec![[NONE; CHUNK]; points.div_ceil(CHUNK)],
            several: HashMap::new(),
            numbers: HashMap::new(),
            text_bytes: 0,
        }
    }

    /// Takes the values of an index, and reads the documents of the points with others, which may be in no group and in
    /// groups that the index does not know, and of those with several, whose order it does not know.
    fn take_index(&mut self, state: &State, index: &FieldIndex, deadline: &Deadline) -> Result<(), Error> {
        let odd = &(index.uncovered() | index.null()) | index.multivalued();
        let mut pace = Pace::new(deadline, 1);
        deadline.expect(documents(odd.len()))?;
        for offset in &odd {
            let payload = state.at(offset).document();
            pace.step(payload.len())?;
            self.read(offset, payload, index.path());
        }
        let (mut outcome, mut unchecked) = (Ok(()), 0);
        index.for_each_value(|value, holders| {
            let Some(id) = id_of(value) else { return true };
            let number = self.number_of(id);
            holders.filter(|offset| !odd.contains(*offset)).for_each(|offset| {
                unchecked += 1;
                self.add(offset, number);
            });
            if unchecked >= POINTS_PER_CHECK {
                unchecked = 0;
                outcome = deadline.check();
            }
            outcome.is_ok() && !self.is_too_large()
        });
        outcome
    }

    fn read(&mut self, offset: PointOffset, payload: &[u8], path: &JsonPath) {
        let mut ids = Vec::new();
        groups_of(payload, path, &mut ids);
        for id in ids {
            let number = self.number_of(id);
            self.add(offset, number);
        }
    }

    fn number_of(&mut self, id: GroupId<'_>) -> u32 {
        if let Some(&number) = self.numbers.get(&id) {
            return number;
        }
        let number = self.numbers.len() as u32;
        self.text_bytes += text_bytes(&id);
        self.numbers.insert(id.into_owned(), number);
        number
    }

    fn add(&mut self, offset: PointOffset, key: u32) {
        let slot = &mut self.chunks[offset.index() / CHUNK][offset.index() % CHUNK];
        match *slot {
            NONE => *slot = key,
            SEVERAL => self.several.entry(offset).or_default().push(key),
            first => {
                *slot = SEVERAL;
                self.several.insert(offset, vec![first, key]);
            }
        }
    }

    fn is_too_large(&self) -> bool {
        let each = size_of::<(GroupId<'_>, u32)>() + size_of::<u32>();
        (self.numbers.len() * each) as u64 + self.text_bytes > limit(self.points as u64)
    }

    fn finish(self, view: &View) -> KeyColumn {
        let mut column = KeyColumn {
            op: view.op,
            chunks: self.chunks.into_iter().map(Arc::new).collect(),
            several: self.several.into_iter().map(|(at, keys)| (at, Arc::<[u32]>::from(keys))).collect(),
            base: Arc::default(),
            changed: PointSet::new(),
            added: OrdMap::new(),
            added_bytes: 0,
        };
        column.rest_on(self.numbers, self.text_bytes);
        column
    }
}

/// The group of a value of an index.
fn id_of(value: CountedValue<'_>) -> Option<GroupId<'_>> {
    match value {
        CountedValue::Text(text) => Some(GroupId::Text(Cow::Borrowed(text))),
        CountedValue::Integer(integer) => Some(GroupId::Integer(integer.into())),
        CountedValue::Bool(_) => None,
    }
}

fn text_bytes(id: &GroupId<'_>) -> u64 {
    match id {
        GroupId::Integer(_) => 0,
        GroupId::Text(text) => text.len() as u64,
    }
}

fn limit(points: u64) -> u64 {
    LEAST_LIMIT + LIMIT_PER_POINT * points
}

fn documents(count: u64) -> Duration {
    Duration::from_nanos(count.saturating_mul(DOCUMENT))
}
