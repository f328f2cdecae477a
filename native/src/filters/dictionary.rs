//! How the values of one path are kept: each once, in order, with the memories that have it.
//! Which paths there are, and what becomes of a memory, is `filters::attributes`' question.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use crate::filters::json::Value;
use crate::filters::memory_set::MemorySet;

/// Ids in one run of `Order`: an insertion moves a run's rest, 8 KB at most, and a binary search finds the run.
const RUN_MAX: usize = 512;

/// A value that is kept; see `filters::json::Value` for what each is.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Content {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A double.
    Number(f64),
    /// A text in the encoding of `filters::json::Value`, whole.
    Text(Box<[u8]>),
    /// The fingerprint of an array or object.
    Composite([u64; 2]),
}

impl Content {
    /// The value, borrowed.
    pub fn value(&self) -> Value<'_> {
        match self {
            Content::Null => Value::Null,
            Content::Boolean(value) => Value::Boolean(*value),
            Content::Number(value) => Value::Number(*value),
            Content::Text(text) => Value::Text(text),
            Content::Composite(fingerprint) => Value::Composite(*fingerprint),
        }
    }
}

impl From<Value<'_>> for Content {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Content::Null,
            Value::Boolean(value) => Content::Boolean(value),
            Value::Number(value) => Content::Number(value),
            Value::Text(text) => Content::Text(text.into()),
            Value::Composite(fingerprint) => Content::Composite(fingerprint),
        }
    }
}

/// The order of values in a dictionary: by kind, then numbers by value and texts by their bytes.
pub fn compare(left: Value<'_>, right: Value<'_>) -> Ordering {
    match (left, right) {
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(&right),
        (Value::Number(left), Value::Number(right)) => left.total_cmp(&right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Composite(left), Value::Composite(right)) => left.cmp(&right),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Where values of this kind stand among the others.
pub fn rank(value: Value<'_>) -> u8 {
    match value {
        Value::Null => 0,
        Value::Boolean(_) => 1,
        Value::Number(_) => 2,
        Value::Text(_) => 3,
        Value::Composite(_) => 4,
    }
}

/// A number that rises with `compare`, though not always where that does: what it tells apart needs no look at the values.
/// The kind in three bits, then 61 of a number or fingerprint, or seven bytes of a text.
pub fn hint(value: Value<'_>) -> u64 {
    let rest = match value {
        Value::Null => 0,
        Value::Boolean(value) => value.into(),
        Value::Number(value) => {
            let bits = value.to_bits();
            (if value.is_sign_negative() { !bits } else { bits | 1 << 63 }) >> 3
        }
        Value::Text(text) => {
            let mut first = [0; 8];
            let length = text.len().min(7);
            first[1..=length].copy_from_slice(&text[..length]);
            u64::from_be_bytes(first)
        }
        Value::Composite(fingerprint) => fingerprint[0] >> 3,
    };
    first_hint(rank(value)) | rest
}

/// What no hint of a kind lies below; see `rank`.
pub fn first_hint(kind: u8) -> u64 {
    u64::from(kind) << 61
}

/// The memories that have a value: most values are one memory's alone (ids, titles), which costs no bitmap.
#[derive(Debug, Clone, Default)]
pub enum Posting {
    /// Nobody has it.
    #[default]
    Empty,
    /// One memory.
    One(u32),
    /// Two or more.
    Many(Box<RoaringBitmap>),
}

impl Posting {
    /// Adds a memory.
    pub fn insert(&mut self, ordinal: u32) {
        match self {
            Posting::Empty => *self = Posting::One(ordinal),
            Posting::One(only) if *only == ordinal => {}
            Posting::One(only) => *self = Posting::Many(Box::new([*only, ordinal].into_iter().collect())),
            Posting::Many(memories) => {
                memories.insert(ordinal);
            }
        }
    }

    /// Takes a memory out; nothing happens if it is not in.
    pub fn remove(&mut self, ordinal: u32) {
        match self {
            Posting::One(only) if *only == ordinal => *self = Posting::Empty,
            Posting::Many(memories) => {
                memories.remove(ordinal);
                if let (1, Some(only)) = (memories.len(), memories.min()) {
                    *self = Posting::One(only);
                }
            }
            Posting::Empty | Posting::One(_) => {}
        }
    }

    /// Whether nobody has it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Posting::Empty)
    }

    /// Adds the memories to a set.
    pub fn add_to(&self, set: &mut MemorySet) {
        match self {
            Posting::Empty => {}
            Posting::One(only) => set.insert(*only),
            Posting::Many(memories) => memories.iter().for_each(|ordinal| set.insert(ordinal)),
        }
    }
}

/// In place of the only memory that has a value: there are, or were, others.
pub const SEVERAL: u32 = u32::MAX;

/// A place in an `Order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    run: usize,
    at: usize,
}

#[derive(Debug, Clone, Default)]
struct Run {
    /// The last of `hints`, here because a search looks at it in many runs.
    last: u64,
    hints: Vec<u64>,
    ids: Vec<u32>,
    owners: Vec<u32>,
}

impl Run {
    fn of(hint: u64, id: u32, owner: u32) -> Self {
        Run { last: hint, hints: vec![hint], ids: vec![id], owners: vec![owner] }
    }

    fn insert(&mut self, at: usize, hint: u64, id: u32, owner: u32) {
        self.hints.insert(at, hint);
        self.ids.insert(at, id);
        self.owners.insert(at, owner);
        self.set_last();
    }

    fn split_off(&mut self, at: usize) -> Self {
        let mut behind = Run {
            last: 0,
            hints: self.hints.split_off(at),
            ids: self.ids.split_off(at),
            owners: self.owners.split_off(at),
        };
        self.set_last();
        behind.set_last();
        behind
    }

    fn set_last(&mut self) {
        self.last = self.hints.last().copied().unwrap_or_default();
    }
}

/// Ids in an order that the caller knows, a list in runs, so that an insertion moves little. Beside each its hint, and its
/// owner: the one memory that has the value, or `SEVERAL`. So most of a range is answered without a look at its values, which lie
/// scattered (50 % of 132,000 numbers: 9 ms with it, well below 1 ms without).
#[derive(Debug, Clone, Default)]
pub struct Order {
    runs: Vec<Run>,
}

impl Order {
    /// The first place whose id is not `before` what is looked for, the end if there is none; asked only of ids that have
    /// the same `hint` as that. Logarithmic.
    pub fn locate(&self, hint: u64, before: impl Fn(u32) -> bool) -> Place {
        let is_before =
            |other: u64, id: Option<&u32>| other < hint || other == hint && id.is_some_and(|id| before(*id));
        // what comes in rising order (keys, times) is asked one question
        if self.runs.last().is_none_or(|run| is_before(run.last, run.ids.last())) {
            return self.end();
        }
        let run = self.runs.partition_point(|run| is_before(run.last, run.ids.last()));
        let Run { hints, ids, .. } = &self.runs[run];
        let same = hints.partition_point(|other| *other < hint);
        let behind = same + hints[same..].partition_point(|other| *other == hint);
        Place { run, at: same + ids[same..behind].partition_point(|id| before(*id)) }
    }

    /// The place before all others.
    #[cfg(test)]
    pub fn start(&self) -> Place {
        Place { run: 0, at: 0 }
    }

    /// The place behind all others.
    pub fn end(&self) -> Place {
        Place { run: self.runs.len(), at: 0 }
    }

    /// The id at a place; `None` at the end.
    pub fn get(&self, Place { run, at }: Place) -> Option<u32> {
        self.runs.get(run)?.ids.get(at).copied()
    }

    /// Puts an id before what is at a place that `locate` found for its hint.
    pub fn insert(&mut self, Place { run, at }: Place, hint: u64, id: u32, owner: u32) {
        let is_full = |run: &Run| run.ids.len() >= RUN_MAX;
        if run < self.runs.len() {
            let (mut run, mut at) = (run, at);
            if is_full(&self.runs[run]) {
                let behind = self.runs[run].split_off(RUN_MAX / 2);
                self.runs.insert(run + 1, behind);
                if at > RUN_MAX / 2 {
                    (run, at) = (run + 1, at - RUN_MAX / 2);
                }
            }
            self.runs[run].insert(at, hint, id, owner);
        } else if let Some(run) = self.runs.last_mut().filter(|run| !is_full(run)) {
            run.insert(run.ids.len(), hint, id, owner);
        } else {
            self.runs.reserve_exact(1);
            self.runs.push(Run::of(hint, id, owner));
        }
    }

    /// Says that the id at a place has no only owner any more.
    pub fn share(&mut self, Place { run, at }: Place) {
        if let Some(owner) = self.runs.get_mut(run).and_then(|run| run.owners.get_mut(at)) {
            *owner = SEVERAL;
        }
    }

    /// Takes out the id at a place.
    pub fn remove(&mut self, Place { run, at }: Place) {
        if let Some(ids) = self.runs.get_mut(run) {
            ids.hints.remove(at);
            ids.ids.remove(at);
            ids.owners.remove(at);
            ids.set_last();
            if ids.ids.is_empty() {
                self.runs.remove(run);
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many ids lie from one place up to another, that one not included.
    pub fn count(&self, from: Place, to: Place) -> usize {
        let before = |place: Place| place.at + self.runs[..place.run].iter().map(|run| run.ids.len()).sum::<usize>();
        before(to).saturating_sub(before(from))
    }

    /// The ids and their owners from one place up to another, that one not included.
    pub fn range(&self, from: Place, to: Place) -> impl Iterator<Item = (u32, u32)> + '_ {
        let runs = self.runs.iter().enumerate().take(to.run + 1).skip(from.run);
        runs.flat_map(move |(run, Run { ids, owners, .. })| {
            let start = if run == from.run { from.at } else { 0 };
            let end = if run == to.run { to.at } else { ids.len() };
            let part = start.min(end)..end;
            ids[part.clone()].iter().copied().zip(owners[part].iter().copied())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;
    use std::collections::BTreeSet;

    // several ids of one hint
    fn hint_of(id: u32) -> u64 {
        u64::from(id / 7)
    }

    fn owner_of(id: u32) -> u32 {
        if id.is_multiple_of(3) { SEVERAL } else { id + 1 }
    }

    fn locate(order: &Order, id: u32) -> Place {
        order.locate(hint_of(id), |other| other < id)
    }

    #[test]
    fn hints_rise_with_the_values() {
        let texts: Vec<&[u8]> =
            vec![b"", b"\0", b"\0\0", b"a", b"a\0", b"abcdef", b"abcdefg", b"abcdefgh", b"b", b"\xf0\xbf\xbf"];
        let numbers =
            [f64::NEG_INFINITY, -1e308, -1.5, -5e-324, 0.0, 5e-324, 1.0, 1.0 + f64::EPSILON, 2e9, f64::INFINITY];
        let rising = [Value::Null, Value::Boolean(false), Value::Boolean(true)]
            .into_iter()
            .chain(numbers.into_iter().map(Value::Number))
            .chain(texts.into_iter().map(Value::Text))
            .chain([Value::Composite([0, 5]), Value::Composite([1, 0]), Value::Composite([u64::MAX, 0])]);
        for pair in rising.collect::<Vec<_>>().windows(2) {
            assert!(compare(pair[0], pair[1]).is_lt(), "{pair:?}");
            assert!(hint(pair[0]) <= hint(pair[1]), "{pair:?}");
            let is_next_kind = rank(pair[0]) < rank(pair[1]);
            assert!(!is_next_kind || hint(pair[0]) < first_hint(rank(pair[1])), "{pair:?}");
            assert!(hint(pair[1]) >= first_hint(rank(pair[1])), "{pair:?}");
        }
    }

    #[test]
    fn an_order_behaves_as_a_sorted_list() {
        let mut chance = Chance::new();
        for is_rising in [true, false] {
            let (mut order, mut model) = (Order::default(), BTreeSet::new());
            for step in 0..6_000 {
                let id = if is_rising { step } else { chance.below(5_000) as u32 };
                let place = locate(&order, id);
                assert_eq!(order.get(place), model.range(id..).next().copied());
                let is_in = order.get(place) == Some(id);
                if is_in && chance.below(2) == 0 {
                    order.remove(place);
                    model.remove(&id);
                } else if !is_in {
                    order.insert(place, hint_of(id), id, id + 1);
                    if owner_of(id) == SEVERAL {
                        order.share(locate(&order, id));
                    }
                    model.insert(id);
                }
                if step % 100 == 0 {
                    let mut ends = [chance.below(6_000) as u32, chance.below(6_000) as u32];
                    ends.sort_unstable();
                    let [from, to] = ends.map(|end| locate(&order, end));
                    let expected: Vec<(u32, u32)> =
                        model.range(ends[0]..ends[1]).map(|id| (*id, owner_of(*id))).collect();
                    assert_eq!(order.range(from, to).collect::<Vec<_>>(), expected);
                    assert_eq!(order.count(from, to), expected.len());
                }
            }
            assert!(order.range(order.start(), order.end()).map(|(id, _)| id).eq(model.iter().copied()));
            for id in model {
                order.remove(locate(&order, id));
            }
            assert!(order.is_empty());
        }
    }

    #[test]
    fn a_posting_behaves_as_a_set() {
        let mut chance = Chance::new();
        let (mut posting, mut model) = (Posting::default(), BTreeSet::new());
        for _ in 0..2_000 {
            let ordinal = chance.below(4) as u32;
            if chance.below(2) == 0 {
                posting.insert(ordinal);
                model.insert(ordinal);
            } else {
                posting.remove(ordinal);
                model.remove(&ordinal);
            }
            let mut set = MemorySet::default();
            posting.add_to(&mut set);
            assert!(set.iter().eq(model.iter().copied()));
            assert_eq!(posting.is_empty(), model.is_empty());
        }
    }
}
