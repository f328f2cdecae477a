//! Index of the attributes of all memories, kept only in RAM. For each attribute path it has the values at this path,
//! each with a posting list of memories. `filters::filter` defines the conditions and how they combine;
//! `filters::dictionary` stores the values of a path.
//!
//! Paths form a tree of keys and are not stored as joined texts. Metadata of 10 KiB may be nested so deeply that the
//! texts of all its paths would take megabytes. Because of this depth, no function in this file recurses either.

use std::collections::hash_map::Entry as MapEntry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::filters::dictionary::{
    Position, PostingList, SHARED, SortedIds, StoredValue, compare, kind_rank, min_sort_prefix, sort_prefix,
};
use crate::filters::filter::{Comparison, Condition, Field, FieldCondition, RangeEnd};
use crate::filters::json::{Json, Value};
use crate::filters::memory_set::MemorySet;
use crate::filters::slab::Slab;

/// Number of the path whose children are the memory's own attributes.
const ATTRIBUTES: u32 = 0;
/// Number of the path whose children are the keys of the memory's metadata.
const METADATA: u32 = 1;
/// Used instead of a path number for a JSON node that is not indexed. The nodes below it are not indexed either.
const NOT_INDEXED: u32 = u32::MAX;
/// Cost of testing the values of one memory, relative to the cost of scanning one value of a path. Chosen by hand: a
/// memory has one or two dozen values, and the path number alone rules out most of them.
const MEMORY_TEST_COST: usize = 4;
/// Number of value look-ups that are always cheap enough. It suffices for several paths with the longest list of
/// operands that a condition may have.
const LOOK_UPS_MAX: usize = 100_000;
/// Maximum number of unsorted values whose hashes are next to each other. There are more only if somebody constructs
/// values with equal hashes.
const COLLISIONS_MAX: usize = 16;

/// Whether a value is the whole value at a path, or an item of the array at that path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Role {
    #[default]
    Whole,
    Item,
}

#[derive(Debug, Default)]
struct Path {
    key: Arc<[u8]>,
    parent: u32,
    children: Option<Box<FxHashMap<Arc<[u8]>, u32>>>,
    /// The memories with a value at this path.
    exists: PostingList,
    /// Numbers of this path's entries, sorted by value, then by role.
    sorted: SortedIds,
}

/// One value at one path.
#[derive(Debug, Default)]
struct Entry {
    value: StoredValue,
    role: Role,
    path: u32,
    memories: PostingList,
}

/// A range of the sorted entries of one path; the end is exclusive.
struct EntryRange {
    path: u32,
    from: Position,
    to: Position,
}

/// Index of a project's attributes by the ordinals of its memories.
#[derive(Debug)]
pub struct AttributeIndex {
    paths: Slab<Path>,
    entries: Slab<Entry>,
    /// Numbers of entries whose owner is `SHARED`, by the hash of path, value and role. Only for speed: an entry is
    /// missing if another one has the same hash. Most values of a memory are ones that other memories have too.
    shared_entries: FxHashMap<u64, u32>,
    /// While values are not sorted: the numbers of all entries by the hash of path, value and role. If another entry
    /// has that hash, the next free one of the following integers is the key. `None` if all values are sorted.
    unsorted: Option<FxHashMap<u64, u32>>,
    /// Indexed by ordinal: numbers of the memory's entries, ascending.
    entries_of_memory: Vec<Box<[u32]>>,
    /// `created_at` of each ordinal, in ms since 1970; NaN if the memory has none. It is stored as a column because
    /// nearly every memory has a different value.
    created_at: Vec<f64>,
    /// `updated_at` of each ordinal, in ms since 1970; NaN if the memory has none.
    updated_at: Vec<f64>,
    /// Length of the longest key indexed so far, in bytes.
    key_bytes_max: usize,
}

impl Default for AttributeIndex {
    fn default() -> Self {
        let mut paths = Slab::default();
        assert_eq!((paths.insert(Path::default()), paths.insert(Path::default())), (ATTRIBUTES, METADATA));
        AttributeIndex {
            paths,
            entries: Slab::default(),
            shared_entries: FxHashMap::default(),
            unsorted: None,
            entries_of_memory: Vec::new(),
            created_at: Vec::new(),
            updated_at: Vec::new(),
            key_bytes_max: 0,
        }
    }
}

impl AttributeIndex {
    /// Replaces the attributes of a memory. `attributes` is an object whose keys are the attribute names that filters
    /// use. The attribute `metadata` is an object itself. An attribute with value `null` counts as absent. Takes some
    /// microseconds for small metadata.
    pub fn describe(&mut self, ordinal: u32, attributes: &Json) {
        self.forget(ordinal);
        if self.entries_of_memory.len() <= ordinal as usize {
            self.entries_of_memory.resize(ordinal as usize + 1, Box::default());
            self.created_at.resize(ordinal as usize + 1, f64::NAN);
            self.updated_at.resize(ordinal as usize + 1, f64::NAN);
        }
        let mut entries = Vec::new();
        let mut path_of_node = vec![ATTRIBUTES; attributes.nodes()];
        for node in 1..attributes.nodes() {
            let parent = attributes.parent(node);
            let parent_path = path_of_node[parent];
            path_of_node[node] = match attributes.key(node) {
                _ if parent_path == NOT_INDEXED => NOT_INDEXED,
                Some(b"metadata") if parent == 0 && attributes.is_object(node) => METADATA,
                Some(key) if parent == 0 && self.set_column(ordinal, key, attributes.value(node)) => NOT_INDEXED,
                Some(key) => {
                    let path = self.child_or_insert(parent_path, key);
                    self.paths[path].exists.insert(ordinal);
                    entries.push(self.add_value(ordinal, path, attributes.value(node), Role::Whole));
                    path
                }
                None => {
                    if attributes.key(parent).is_some() {
                        entries.push(self.add_value(ordinal, parent_path, attributes.value(node), Role::Item));
                    }
                    parent_path
                }
            };
        }
        entries.sort_unstable();
        entries.dedup();
        self.entries_of_memory[ordinal as usize] = entries.into();
    }

    /// From now on, new values are not sorted, until `sort` is called. Loading a whole project then takes less than
    /// half the time, because most of that time goes into finding the positions of values that only one memory has.
    /// Does nothing if the index has values. Call `sort` before `select`.
    pub fn begin_unsorted(&mut self) {
        if self.entries.is_empty() {
            self.unsorted.get_or_insert_default();
        }
    }

    /// Whether all values are sorted.
    pub fn is_sorted(&self) -> bool {
        self.unsorted.is_none()
    }

    /// Sorts the values that were added after `begin_unsorted`. Takes some microseconds per memory.
    pub fn sort(&mut self) {
        let Some(numbers) = self.unsorted.take() else { return };
        let mut values_of_path: FxHashMap<u32, Vec<(u64, u32)>> = FxHashMap::default();
        for number in numbers.into_values() {
            let Entry { value, path, .. } = &self.entries[number];
            values_of_path.entry(*path).or_default().push((sort_prefix(value.value()), number));
        }
        for (path, mut values) in values_of_path {
            // Values are often added in ascending order (ids), and a list that is sorted already is not sorted again.
            values.sort_unstable_by_key(|(_, number)| *number);
            values.sort_by(|(prefix, number), (other_prefix, other)| {
                let (entry, other) = (&self.entries[*number], &self.entries[*other]);
                let by_value = || compare(entry.value.value(), other.value.value()).then(entry.role.cmp(&other.role));
                prefix.cmp(other_prefix).then_with(by_value)
            });
            let sorted = values.iter().map(|(prefix, number)| {
                let Entry { value, role, memories, .. } = &self.entries[*number];
                let owner = memories.only().unwrap_or(SHARED);
                if owner == SHARED {
                    self.shared_entries.insert(hash_of(path, value.value(), *role), *number);
                }
                (*prefix, *number, owner)
            });
            self.paths[path].sorted = SortedIds::from_sorted(sorted);
        }
    }

    /// Removes all attributes of a memory.
    pub fn forget(&mut self, ordinal: u32) {
        let Some(entries) = self.entries_of_memory.get_mut(ordinal as usize) else { return };
        let entries = std::mem::take(entries);
        if !entries.is_empty() {
            self.sort();
        }
        self.created_at[ordinal as usize] = f64::NAN;
        self.updated_at[ordinal as usize] = f64::NAN;
        for number in entries {
            let entry = &mut self.entries[number];
            entry.memories.remove(ordinal);
            let path = entry.path;
            self.paths[path].exists.remove(ordinal);
            if self.entries[number].memories.is_empty() {
                let position = self.lower_bound(path, self.entries[number].value.value(), self.entries[number].role);
                self.paths[path].sorted.remove(position);
                self.remove_entry(number);
                self.prune(path);
            }
        }
    }

    /// Returns the memories of `within` that satisfy a condition.
    pub fn select(&self, FieldCondition { field, condition }: &FieldCondition, within: &MemorySet) -> MemorySet {
        if let Some(column) = self.column(field) {
            return within.iter().filter(|ordinal| column_matches(column, *ordinal, condition)).collect();
        }
        let paths = self.paths_of(field);
        let ranges = self.ranges_to_scan(&paths, condition);
        if self.is_testing_memories_cheaper(&paths, condition, &ranges, within) {
            return within.iter().filter(|ordinal| self.memory_matches(*ordinal, &paths, condition)).collect();
        }
        let mut found = MemorySet::with_room_for(self.entries_of_memory.len());
        paths.iter().for_each(|path| self.add_looked_up(*path, condition, &mut found));
        ranges.iter().for_each(|range| self.add_scanned(range, condition, &mut found));
        let mut found = found.intersection(within);
        if condition.matches_absent() {
            let mut present = MemorySet::with_room_for(self.entries_of_memory.len());
            paths.iter().for_each(|path| self.paths[*path].exists.add_to(&mut present));
            found.add_all(&within.difference(&present));
        }
        found
    }

    /// Whether a memory satisfies a condition.
    pub fn matches(&self, FieldCondition { field, condition }: &FieldCondition, ordinal: u32) -> bool {
        match self.column(field) {
            Some(column) => column_matches(column, ordinal, condition),
            None => self.memory_matches(ordinal, &self.paths_of(field), condition),
        }
    }

    /// Returns the ranges of sorted entries that a comparison or a substring condition has to read.
    fn ranges_to_scan(&self, paths: &[u32], condition: &Condition) -> Vec<EntryRange> {
        let range = |path: &u32| match condition {
            Condition::Compares(comparison) => Some(self.comparison_range(*path, comparison)),
            Condition::Contains { substring: Some(_), .. } => Some(self.text_range(*path)),
            Condition::Contains { substring: None, .. } | Condition::Equals { .. } | Condition::Exists => None,
        };
        paths.iter().filter_map(range).collect()
    }

    /// Whether it costs less to test each memory of `within` than to look up all operands at all paths or to scan the
    /// ranges.
    fn is_testing_memories_cheaper(
        &self,
        paths: &[u32],
        condition: &Condition,
        ranges: &[EntryRange],
        within: &MemorySet,
    ) -> bool {
        let look_ups = match condition {
            Condition::Equals { values, .. } => 2 * paths.len() * values.len(),
            _ => 0,
        };
        let count = |range: &EntryRange| self.paths[range.path].sorted.count(range.from, range.to);
        let scanned: usize = ranges.iter().map(count).sum();
        look_ups > LOOK_UPS_MAX + MEMORY_TEST_COST * within.len() || within.len() * MEMORY_TEST_COST < scanned
    }

    /// Adds the memories that satisfy a condition at a path, as far as look-ups find them without a scan.
    fn add_looked_up(&self, path: u32, condition: &Condition, found: &mut MemorySet) {
        match condition {
            Condition::Exists => self.paths[path].exists.add_to(found),
            Condition::Equals { values, .. } => {
                for value in values {
                    self.add_memories_with(path, value.value(), Role::Whole, found);
                    self.add_memories_with(path, value.value(), Role::Item, found);
                }
            }
            Condition::Contains { values, .. } => {
                values.iter().for_each(|value| self.add_memories_with(path, value.value(), Role::Item, found));
            }
            Condition::Compares(_) => {}
        }
    }

    /// Adds the memories of the entries in a range. For a substring condition, only entries whose text contains the
    /// substring count.
    fn add_scanned(&self, range: &EntryRange, condition: &Condition, found: &mut MemorySet) {
        let entries = self.paths[range.path].sorted.range(range.from, range.to);
        if matches!(condition, Condition::Compares(_)) {
            for (number, owner) in entries {
                match owner {
                    SHARED => self.entries[number].memories.add_to(found),
                    ordinal => found.insert(ordinal),
                }
            }
            return;
        }
        // Entries are read in the order of their numbers, in which they are in memory. Reading them in sorted order
        // takes three times as long.
        let numbers: MemorySet = entries.map(|(number, _)| number).collect();
        for entry in numbers.iter().map(|number| &self.entries[number]) {
            if entry.role == Role::Whole && condition.is_substring_of(entry.value.value()) {
                entry.memories.add_to(found);
            }
        }
    }

    fn memory_matches(&self, ordinal: u32, paths: &[u32], condition: &Condition) -> bool {
        let numbers = self.entries_of_memory.get(ordinal as usize).map_or(&[][..], |numbers| numbers);
        let entries = numbers.iter().map(|number| &self.entries[*number]);
        let mut entries = entries.filter(|entry| paths.binary_search(&entry.path).is_ok()).peekable();
        if entries.peek().is_none() {
            return condition.matches_absent();
        }
        entries.any(|entry| condition.matches(entry.value.value(), entry.role == Role::Item))
    }

    /// Returns the paths that a field names, ascending. There can be more than one only if keys contain dots.
    fn paths_of(&self, field: &Field) -> Vec<u32> {
        match field {
            Field::Attribute(name) => self.child(ATTRIBUTES, name).into_iter().collect(),
            Field::Metadata(path) => self.metadata_paths(path),
            Field::CreatedAt | Field::UpdatedAt => Vec::new(),
        }
    }

    /// Returns all paths whose keys, joined by dots, give this text. Each path is found at most once, because its keys
    /// give only one joined text.
    fn metadata_paths(&self, joined: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![(METADATA, 0)];
        while let Some((parent, start)) = open.pop() {
            let rest = &joined[start..];
            if rest.len() <= self.key_bytes_max {
                found.extend(self.child(parent, rest));
            }
            let Some(children) = &self.paths[parent].children else { continue };
            let searched = &rest[..rest.len().min(self.key_bytes_max + 1)];
            let dots = searched.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
            if children.len() < searched.len() {
                let first_keys =
                    children.iter().filter(|(key, _)| rest.get(key.len()) == Some(&b'.') && rest.starts_with(key));
                open.extend(first_keys.map(|(key, child)| (*child, start + key.len() + 1)));
            } else {
                open.extend(dots.filter_map(|dot| Some((*children.get(&rest[..dot])?, start + dot + 1))));
            }
        }
        found.sort_unstable();
        found
    }

    fn child(&self, parent: u32, key: &[u8]) -> Option<u32> {
        self.paths[parent].children.as_ref()?.get(key).copied()
    }

    fn child_or_insert(&mut self, parent: u32, key: &[u8]) -> u32 {
        if let Some(path) = self.child(parent, key) {
            return path;
        }
        self.key_bytes_max = self.key_bytes_max.max(key.len());
        let key: Arc<[u8]> = key.into();
        let path = self.paths.insert(Path { key: Arc::clone(&key), parent, ..Path::default() });
        self.paths[parent].children.get_or_insert_default().insert(key, path);
        path
    }

    /// Removes a path if it has no entries and no children, and then each ancestor that becomes empty in this way.
    fn prune(&mut self, mut path: u32) {
        while path > METADATA && self.paths[path].sorted.is_empty() && self.paths[path].children.is_none() {
            let Path { key, parent, .. } = self.paths.remove(path);
            let children = &mut self.paths[parent].children;
            if let Some(siblings) = children {
                siblings.remove(&key);
                if siblings.is_empty() {
                    *children = None;
                }
            }
            path = parent;
        }
    }

    /// Adds a value of a memory and returns the number of its entry.
    fn add_value(&mut self, ordinal: u32, path: u32, value: Value<'_>, role: Role) -> u32 {
        let hash = hash_of(path, value, role);
        if let Some(number) = self.add_unsorted(hash, ordinal, path, value, role) {
            return number;
        }
        if let Some(number) = self.shared_entries.get(&hash).copied() {
            let entry = &mut self.entries[number];
            if entry.path == path && entry.role == role && entry.value.value() == value {
                entry.memories.insert(ordinal);
                return number;
            }
        }
        let position = self.lower_bound(path, value, role);
        let known = self.entry_at(path, position, value, role);
        let number = known.unwrap_or_else(|| {
            let entry = Entry { value: value.into(), role, path, memories: PostingList::Empty };
            let number = self.entries.insert(entry);
            self.paths[path].sorted.insert(position, sort_prefix(value), number, ordinal);
            number
        });
        if known.is_some() {
            self.paths[path].sorted.mark_shared(position);
            self.shared_entries.insert(hash, number);
        }
        self.entries[number].memories.insert(ordinal);
        number
    }

    /// Adds a value without sorting it, and returns the number of its entry. Returns `None` without adding it if all
    /// values are sorted: they were before, or are now because of too many equal hashes.
    fn add_unsorted(&mut self, hash: u64, ordinal: u32, path: u32, value: Value<'_>, role: Role) -> Option<u32> {
        let numbers = self.unsorted.as_mut()?;
        for collisions in 0..COLLISIONS_MAX {
            match numbers.entry(hash.wrapping_add(collisions as u64)) {
                MapEntry::Vacant(place) => {
                    let entry = Entry { value: value.into(), role, path, memories: PostingList::One(ordinal) };
                    return Some(*place.insert(self.entries.insert(entry)));
                }
                MapEntry::Occupied(place) => {
                    let entry = &mut self.entries[*place.get()];
                    if entry.path == path && entry.role == role && entry.value.value() == value {
                        entry.memories.insert(ordinal);
                        return Some(*place.get());
                    }
                }
            }
        }
        self.sort();
        None
    }

    fn remove_entry(&mut self, number: u32) {
        let Entry { value, role, path, .. } = self.entries.remove(number);
        let hash = hash_of(path, value.value(), role);
        if self.shared_entries.get(&hash) == Some(&number) {
            self.shared_entries.remove(&hash);
        }
    }

    fn add_memories_with(&self, path: u32, value: Value<'_>, role: Role, found: &mut MemorySet) {
        if let Some(number) = self.entry_at(path, self.lower_bound(path, value, role), value, role) {
            self.entries[number].memories.add_to(found);
        }
    }

    fn lower_bound(&self, path: u32, value: Value<'_>, role: Role) -> Position {
        self.paths[path].sorted.lower_bound(sort_prefix(value), |number| {
            let entry = &self.entries[number];
            compare(entry.value.value(), value).then(entry.role.cmp(&role)).is_lt()
        })
    }

    /// Returns the number of the entry at a position, if the entry has this value and role.
    fn entry_at(&self, path: u32, position: Position, value: Value<'_>, role: Role) -> Option<u32> {
        let number = self.paths[path].sorted.get(position)?;
        let entry = &self.entries[number];
        (entry.role == role && entry.value.value() == value).then_some(number)
    }

    /// Returns the range of all texts of a path.
    fn text_range(&self, path: u32) -> EntryRange {
        let text = kind_rank(Value::Text(b""));
        EntryRange { path, from: self.start_of_kind(path, text), to: self.start_of_kind(path, text + 1) }
    }

    /// Returns the position of the first value of a kind. Kinds are numbered by `filters::dictionary::kind_rank`.
    fn start_of_kind(&self, path: u32, kind: u8) -> Position {
        self.paths[path].sorted.lower_bound(min_sort_prefix(kind), |_| false)
    }

    /// Returns the range of values that satisfy a comparison, in either role.
    fn comparison_range(&self, path: u32, comparison: &Comparison) -> EntryRange {
        let sorted = &self.paths[path].sorted;
        let position = |end: Option<RangeEnd<'_>>, kind: u8| match end {
            Some(RangeEnd { value, is_after_equal }) => sorted.lower_bound(sort_prefix(value), |number| {
                let ordering = compare(self.entries[number].value.value(), value);
                ordering.is_lt() || is_after_equal && ordering.is_eq()
            }),
            None => self.start_of_kind(path, kind),
        };
        let [from, to] = comparison.range_ends();
        EntryRange { path, from: position(from, comparison.kind()), to: position(to, comparison.kind() + 1) }
    }

    fn column(&self, field: &Field) -> Option<&[f64]> {
        match field {
            Field::CreatedAt => Some(&self.created_at),
            Field::UpdatedAt => Some(&self.updated_at),
            Field::Attribute(_) | Field::Metadata(_) => None,
        }
    }

    /// Stores an attribute in its column if it is a timestamp. Returns whether the attribute needs no path, because it
    /// is a timestamp or `null`.
    fn set_column(&mut self, ordinal: u32, name: &[u8], value: Value<'_>) -> bool {
        match (name, value) {
            (b"created_at", Value::Number(ms)) => self.created_at[ordinal as usize] = ms,
            (b"updated_at", Value::Number(ms)) => self.updated_at[ordinal as usize] = ms,
            (_, Value::Null) => {}
            _ => return false,
        }
        true
    }
}

fn hash_of(path: u32, value: Value<'_>, role: Role) -> u64 {
    let mut hasher = FxHasher::default();
    (path, role).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Boolean(value) => value.hash(&mut hasher),
        Value::Number(value) => value.to_bits().hash(&mut hasher),
        Value::Text(text) | Value::Integer(text) => text.hash(&mut hasher),
        Value::Composite(fingerprint) => fingerprint.hash(&mut hasher),
    }
    hasher.finish()
}

fn column_matches(column: &[f64], ordinal: u32, condition: &Condition) -> bool {
    match column.get(ordinal as usize) {
        Some(ms) if !ms.is_nan() => condition.matches(Value::Number(*ms), false),
        _ => condition.matches_absent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::filter::Filter;
    use mneme_testing::Chance;

    fn select(index: &AttributeIndex, filter: &str) -> Vec<u32> {
        let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let all = (0..index.entries_of_memory.len() as u32).collect();
        let found = filter.select(&all, &mut |condition, within| index.select(condition, within));
        let matching = all.iter().filter(|ordinal| filter.matches(&mut |condition| index.matches(condition, *ordinal)));
        assert!(found.iter().eq(matching), "both ways of evaluation agree");
        found.iter().collect()
    }

    fn index_of(memories: &[&str]) -> AttributeIndex {
        let mut index = AttributeIndex::default();
        for (ordinal, attributes) in memories.iter().enumerate() {
            index.describe(ordinal as u32, &Json::parse(attributes).expect("JSON"));
        }
        index
    }

    fn at(path: &str, condition: &str) -> String {
        format!(r#"{{"kind":"field","field":{{"metadataPath":"{path}"}},"condition":{condition}}}"#)
    }

    const EXISTS: &str = r#"{"kind":"exists"}"#;

    #[test]
    fn paths_lead_through_objects_array_items_and_keys_with_dots() {
        let index = index_of(&[
            r#"{"metadata":{"a":{"b":{"c":1}}}}"#,
            r#"{"metadata":{"a.b.c":1}}"#,
            r#"{"metadata":{"a":[[{"b.c":1}],2]}}"#,
            r#"{"metadata":{"a.b":[{"c":null}]}}"#,
            r#"{"metadata":{"":{"":3},"a":{"c":1}},"a":{"b":{"c":1}}}"#,
        ]);
        assert_eq!(select(&index, &at("a.b.c", EXISTS)), [0, 1, 2, 3]);
        assert_eq!(select(&index, &at("a.b", EXISTS)), [0, 3]);
        assert_eq!(select(&index, &at(".", EXISTS)), [4]);
        assert_eq!(select(&index, &at("a.b.c.", EXISTS)), [0u32; 0]);
        let long = ["a"; 100_000].join(".");
        assert_eq!(select(&index, &at(&long, EXISTS)), [0u32; 0]);
    }

    #[test]
    fn deep_nesting_needs_one_path_per_key() {
        let deep = format!(r#"{{"metadata":{}1{}}}"#, r#"{"a":"#.repeat(2_000), "}".repeat(2_000));
        let index = index_of(&[&deep]);
        assert_eq!((index.paths.len(), index.entries.len()), (2_002, 2_000));
        assert_eq!(select(&index, &at(&["a"; 2_000].join("."), EXISTS)), [0]);
        assert_eq!(select(&index, &at(&["a"; 2_001].join("."), EXISTS)), [0u32; 0]);
    }

    #[test]
    fn forgotten_and_replaced_attributes_leave_nothing_behind() {
        let mut chance = Chance::new();
        let mut index = AttributeIndex::default();
        for _ in 0..3_000 {
            let ordinal = chance.below(20) as u32;
            if chance.below(3) == 0 {
                index.forget(ordinal);
                continue;
            }
            let value =
                |chance: &mut Chance| ["1", "[1,1,\"x\"]", "{\"b\":[{\"c\":2}]}", "null", "\"x\""][chance.below(5)];
            let (one, two, key) = (value(&mut chance), value(&mut chance), ["a", "b", "a.b"][chance.below(3)]);
            let text = format!(r#"{{"type":{one},"created_at":5,"metadata":{{"{key}":{two},"k":{one}}}}}"#);
            index.describe(ordinal, &Json::parse(&text).expect("JSON"));
        }
        (0..40).for_each(|ordinal| index.forget(ordinal));
        assert_eq!((index.paths.len(), index.entries.len()), (2, 0));
        assert!(index.entries_of_memory.iter().all(|entries| entries.is_empty()));
        assert!(index.shared_entries.is_empty());
        assert!(index.created_at.iter().all(|ms| ms.is_nan()));
        assert!(index.paths[ATTRIBUTES].children.is_none() && index.paths[METADATA].children.is_none());
    }

    #[test]
    fn values_that_were_added_unsorted_are_found_like_sorted_ones() {
        let mut chance = Chance::new();
        let tag = |chance: &mut Chance| format!("\"common prefix {}\"", chance.below(60));
        let memories: Vec<String> = (0..400)
            .map(|ordinal| {
                let (one, two) = (tag(&mut chance), tag(&mut chance));
                let n = ["true", "null", "1", "2.5", "[1,2]", "{\"a\":[3]}"][chance.below(6)];
                format!(
                    r#"{{"type":"type {}","tags":[{one},{two}],"memory_id":"memory {ordinal:03}","metadata":{{"n":{n}}}}}"#,
                    ordinal % 7
                )
            })
            .collect();
        let sorted = index_of(&memories.iter().map(String::as_str).collect::<Vec<_>>());
        let mut unsorted = AttributeIndex::default();
        for (ordinal, attributes) in memories.iter().enumerate() {
            unsorted.begin_unsorted();
            unsorted.describe(ordinal as u32, &Json::parse(attributes).expect("JSON"));
            assert!(!unsorted.is_sorted());
        }
        unsorted.sort();
        let field = |name: &str, condition: &str| {
            format!(r#"{{"kind":"field","field":{{"attribute":"{name}"}},"condition":{condition}}}"#)
        };
        let filters = [
            field("type", r#"{"kind":"equals","scalars":["type 3"],"composites":[]}"#),
            field("memory_id", r#"{"kind":"compares","operator":"$lt","text":"memory 123"}"#),
            field("tags", r#"{"kind":"contains","text":"prefix 1","scalars":["common prefix 7"],"composites":[]}"#),
            field("tags", r#"{"kind":"equals","scalars":["common prefix 9"],"composites":[]}"#),
            at("n", r#"{"kind":"compares","operator":"$gte","number":"2"}"#),
            at("n", r#"{"kind":"equals","scalars":[],"composites":[[1,2]]}"#),
            at("n.a", EXISTS),
        ];
        let check = |one: &AttributeIndex, other: &AttributeIndex| {
            for filter in &filters {
                assert_eq!(select(one, filter), select(other, filter), "{filter}");
            }
        };
        check(&sorted, &unsorted);
        assert!(!select(&unsorted, &filters[1]).is_empty());
        assert_eq!(sorted.shared_entries.len(), unsorted.shared_entries.len());

        // both change in the same way afterwards, and leave nothing behind
        let mut both = [sorted, unsorted];
        for _ in 0..500 {
            let ordinal = chance.below(memories.len());
            let attributes = Json::parse(&memories[chance.below(memories.len())]).expect("JSON");
            let forgets = chance.below(3) == 0;
            for index in &mut both {
                if forgets { index.forget(ordinal as u32) } else { index.describe(ordinal as u32, &attributes) }
            }
        }
        check(&both[0], &both[1]);
        for index in &mut both {
            (0..memories.len()).for_each(|ordinal| index.forget(ordinal as u32));
            assert_eq!((index.paths.len(), index.entries.len(), index.shared_entries.len()), (2, 0, 0));
        }
    }

    #[test]
    fn values_are_sorted_as_soon_as_one_is_removed_or_too_many_have_the_same_hash() {
        let attributes = |text: &str| Json::parse(text).expect("JSON");
        let mut index = AttributeIndex::default();
        index.begin_unsorted();
        index.describe(0, &attributes(r#"{"metadata":{"n":1},"created_at":5}"#));
        index.describe(1, &attributes(r#"{"created_at":5}"#));
        index.forget(1); // it has no value
        assert!(!index.is_sorted() && index.created_at[1].is_nan());
        index.forget(0);
        assert!(index.is_sorted() && index.entries.is_empty());

        index.begin_unsorted();
        index.describe(0, &attributes(r#"{"metadata":{"n":1}}"#));
        let path = index.child(METADATA, b"n").expect("a path");
        let number = index.entries_of_memory[0][0];
        let hash = hash_of(path, Value::Number(2.0), Role::Whole);
        let numbers = index.unsorted.as_mut().expect("unsorted");
        numbers.clear();
        numbers.extend((0..COLLISIONS_MAX as u64).map(|step| (hash.wrapping_add(step), number)));
        index.describe(1, &attributes(r#"{"metadata":{"n":2}}"#));
        assert!(index.is_sorted());
        assert_eq!(select(&index, &at("n", r#"{"kind":"equals","scalars":[2],"composites":[]}"#)), [1]);

        index.describe(2, &attributes(r#"{"metadata":{"n":3}}"#));
        index.begin_unsorted(); // the index has values
        assert!(index.is_sorted());
        index.describe(3, &attributes(r#"{"metadata":{"n":4}}"#));
        assert_eq!(select(&index, &at("n", r#"{"kind":"compares","operator":"$gte","number":"3"}"#)), [2, 3]);
    }

    #[test]
    fn an_index_that_changed_selects_the_same_as_a_new_one() {
        let mut chance = Chance::new();
        let mut index = AttributeIndex::default();
        let mut current = vec!["{}".to_owned(); 12];
        let filters = [
            at("n", r#"{"kind":"compares","operator":"$gte","number":"2"}"#),
            at("n", r#"{"kind":"equals","scalars":[1],"composites":[]}"#),
            at("n", r#"{"kind":"equals","scalars":[],"composites":[[1,2]]}"#),
            at("t", r#"{"kind":"contains","text":"xy","scalars":["xy"],"composites":[]}"#),
            at("t", r#"{"kind":"compares","operator":"$lt","text":"common prefix 2"}"#),
            at("t", EXISTS),
            format!(r#"{{"kind":"not","filter":{}}}"#, at("t", EXISTS)),
        ];
        for _ in 0..1_500 {
            let ordinal = chance.below(current.len());
            let n = ["0", "1", "2", "[1,2]", "[2,[1,2]]", "true", "\"1\""][chance.below(7)];
            let t = ["\"xy\"", "\"axyb\"", "\"common prefix 1\"", "[\"common prefix 1\",\"common prefix 3\",\"xy\"]"];
            let t = t[chance.below(4)];
            current[ordinal] = match chance.below(4) {
                0 => "{}".to_owned(),
                1 => format!(r#"{{"metadata":{{"n":{n}}}}}"#),
                _ => format!(r#"{{"metadata":{{"n":{n},"t":{t}}}}}"#),
            };
            if current[ordinal] == "{}" && chance.below(2) == 0 {
                index.forget(ordinal as u32);
            } else {
                index.describe(ordinal as u32, &Json::parse(&current[ordinal]).expect("JSON"));
            }
            let new = index_of(&current.iter().map(String::as_str).collect::<Vec<_>>());
            let known = index.entries_of_memory.len() as u32;
            for filter in &filters {
                let expected: Vec<u32> = select(&new, filter).into_iter().filter(|at| *at < known).collect();
                assert_eq!(select(&index, filter), expected, "{filter} of {current:?}");
            }
            for (hash, number) in &index.shared_entries {
                let Entry { value, role, path, .. } = &index.entries[*number];
                assert_eq!(hash_of(*path, value.value(), *role), *hash);
            }
        }
    }

    #[test]
    fn testing_memories_and_scanning_values_select_the_same() {
        let texts: Vec<String> = (0..400)
            .map(|at| format!(r#"{{"title":"kite {at}","metadata":{{"n":{at},"rare":{}}}}}"#, at % 100))
            .collect();
        let index = index_of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let rare = at("rare", r#"{"kind":"equals","scalars":[7],"composites":[]}"#);
        for expensive in [
            r#"{"kind":"field","field":{"attribute":"title"},
                "condition":{"kind":"contains","text":"kite 1","scalars":["kite 1"],"composites":[]}}"#,
            &at("n", r#"{"kind":"compares","operator":"$gte","number":"100"}"#),
        ] {
            let alone = select(&index, expensive);
            assert!(alone.len() > 100);
            let both = select(&index, &format!(r#"{{"kind":"and","filters":[{expensive},{rare}]}}"#));
            let expected: Vec<u32> = alone.into_iter().filter(|ordinal| ordinal % 100 == 7).collect();
            assert_eq!(both, expected);
            assert!(!both.is_empty());
        }
    }

    #[test]
    fn invalid_filters_are_refused() {
        let deep = format!("{}{}{}", r#"{"kind":"not","filter":"#.repeat(70), at("a", EXISTS), "}".repeat(70));
        for text in [
            "",
            "[]",
            "{}",
            r#"{"kind":"nor","filters":[]}"#,
            r#"{"kind":"and"}"#,
            r#"{"kind":"field","field":{},"condition":{"kind":"exists"}}"#,
            &at("a", r#"{"kind":"exist"}"#),
            &at("a", r#"{"kind":"equals","scalars":[]}"#),
            &at("a", r#"{"kind":"equals","scalars":[],"composites":["x"]}"#),
            &at("a", r#"{"kind":"compares","operator":"$eq","number":"1"}"#),
            &at("a", r#"{"kind":"compares","operator":"$gt","number":"NaN"}"#),
            &at("a", r#"{"kind":"compares","operator":"$gt","number":"x"}"#),
            &at("a", r#"{"kind":"compares","operator":"$gt","text":1}"#),
            &deep,
        ] {
            assert_eq!(Filter::parse(text).expect_err(text).code(), "invalid");
        }
    }
}
