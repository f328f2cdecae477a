//! What filters are asked of: per path the values there, each with the memories that have it; in memory only.
//! What a filter asks, and how its conditions combine, is `filters::filter`'s question; how values are kept, `filters::dictionary`'s.
//!
//! Paths are a tree of keys, not texts: metadata may be nested as deep as its 10 KiB reach, and the texts of all paths into it
//! would be megabytes. Nothing here recurses.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::filters::dictionary::{Content, Order, Place, Posting, SEVERAL, compare, first_hint, hint, rank};
use crate::filters::filter::{Comparison, Condition, Field, Leaf};
use crate::filters::json::{Json, Value};
use crate::filters::memory_set::MemorySet;
use crate::filters::slab::Slab;

/// The path whose children are a memory's own attributes.
const ATTRIBUTES: u32 = 0;
/// The path whose children are the keys of its metadata.
const METADATA: u32 = 1;
/// Below what is not indexed.
const NOWHERE: u32 = u32::MAX;
/// Looking at a memory's own list of values counts as looking at this many values of a path. Chosen: a list has a dozen
/// or two, most of which are told apart by their path alone.
const OWN_LIST_COST: usize = 4;
/// Look-ups of values that are always cheap enough: several paths, and the longest list of values that a condition has.
const LOOK_UPS_MAX: usize = 100_000;

/// Whether a value is what stands at a path, or an item of the array there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The memories with a value here.
    exists: Posting,
    /// The values by content, then role.
    order: Order,
}

#[derive(Debug, Default)]
struct Entry {
    content: Content,
    role: Role,
    path: u32,
    memories: Posting,
}

/// The index of a project's attributes, by the ordinals of its memories.
#[derive(Debug)]
pub struct AttributeIndex {
    paths: Slab<Path>,
    entries: Slab<Entry>,
    /// The entries of each memory, ascending.
    own: Vec<Box<[u32]>>,
    /// `created_at` and `updated_at` in ms: columns, because nearly every memory has a value of its own; NaN for none.
    created_at: Vec<f64>,
    updated_at: Vec<f64>,
    /// The longest key so far, in bytes.
    key_bytes_max: usize,
}

impl Default for AttributeIndex {
    fn default() -> Self {
        let mut paths = Slab::default();
        assert_eq!((paths.insert(Path::default()), paths.insert(Path::default())), (ATTRIBUTES, METADATA));
        AttributeIndex {
            paths,
            entries: Slab::default(),
            own: Vec::new(),
            created_at: Vec::new(),
            updated_at: Vec::new(),
            key_bytes_max: 0,
        }
    }
}

impl AttributeIndex {
    /// Replaces what is known of a memory. `attributes` is an object of attributes by their names in filters; `metadata` is
    /// one of them, an object, and `null` is none. Some microseconds for small metadata.
    pub fn describe(&mut self, ordinal: u32, attributes: &Json) {
        self.forget(ordinal);
        if self.own.len() <= ordinal as usize {
            self.own.resize(ordinal as usize + 1, Box::default());
            self.created_at.resize(ordinal as usize + 1, f64::NAN);
            self.updated_at.resize(ordinal as usize + 1, f64::NAN);
        }
        let mut own = Vec::new();
        let mut path_of = vec![ATTRIBUTES; attributes.nodes()];
        for node in 1..attributes.nodes() {
            let parent = attributes.parent(node);
            let above = path_of[parent];
            path_of[node] = match attributes.key(node) {
                _ if above == NOWHERE => NOWHERE,
                Some(b"metadata") if parent == 0 && attributes.is_object(node) => METADATA,
                Some(key) if parent == 0 && self.set_column(ordinal, key, attributes.value(node)) => NOWHERE,
                Some(key) => {
                    let path = self.child(above, key);
                    self.paths[path].exists.insert(ordinal);
                    own.push(self.add(ordinal, path, attributes.value(node), Role::Whole));
                    path
                }
                None => {
                    if attributes.key(parent).is_some() {
                        own.push(self.add(ordinal, above, attributes.value(node), Role::Item));
                    }
                    above
                }
            };
        }
        own.sort_unstable();
        own.dedup();
        self.own[ordinal as usize] = own.into();
    }

    /// Removes all that is known of a memory; it has no attributes then.
    pub fn forget(&mut self, ordinal: u32) {
        let Some(own) = self.own.get_mut(ordinal as usize) else { return };
        let own = std::mem::take(own);
        self.created_at[ordinal as usize] = f64::NAN;
        self.updated_at[ordinal as usize] = f64::NAN;
        for id in own {
            let entry = &mut self.entries[id];
            entry.memories.remove(ordinal);
            let path = entry.path;
            self.paths[path].exists.remove(ordinal);
            if self.entries[id].memories.is_empty() {
                let place = self.locate(path, self.entries[id].content.value(), self.entries[id].role);
                self.paths[path].order.remove(place);
                self.entries.remove(id);
                self.prune(path);
            }
        }
    }

    /// The memories of a set for which a condition holds.
    pub fn select(&self, leaf: &Leaf, within: &MemorySet) -> MemorySet {
        if let Some(column) = self.column(&leaf.field) {
            let holds = |ordinal: &u32| column_holds(column, *ordinal, &leaf.condition);
            return within.iter().filter(holds).collect();
        }
        let paths = self.paths_of(&leaf.field);
        let one_by_one =
            || within.iter().filter(|ordinal| self.own_list_holds(*ordinal, &paths, &leaf.condition)).collect();
        let mut found = MemorySet::with_room_for(self.own.len());
        let mut scanned = Vec::new();
        for path in &paths {
            match &leaf.condition {
                Condition::Exists => self.paths[*path].exists.add_to(&mut found),
                // as many look-ups as there are paths and values: where that is more than to look at each memory, those are
                Condition::Equals { values, .. }
                    if 2 * paths.len() * values.len() > LOOK_UPS_MAX + OWN_LIST_COST * within.len() =>
                {
                    return one_by_one();
                }
                Condition::Equals { values, .. } => {
                    for value in values {
                        self.add_memories(*path, value.value(), Role::Whole, &mut found);
                        self.add_memories(*path, value.value(), Role::Item, &mut found);
                    }
                }
                Condition::Contains { values, text } => {
                    values.iter().for_each(|value| self.add_memories(*path, value.value(), Role::Item, &mut found));
                    if text.is_some() {
                        scanned.push((*path, self.texts(*path)));
                    }
                }
                Condition::Compares(comparison) => scanned.push((*path, self.range(*path, comparison))),
            }
        }
        let scans: usize = scanned.iter().map(|(path, (from, to))| self.paths[*path].order.count(*from, *to)).sum();
        if within.len() * OWN_LIST_COST < scans {
            return one_by_one();
        }
        for (path, (from, to)) in scanned {
            let range = self.paths[path].order.range(from, to);
            if matches!(leaf.condition, Condition::Compares(_)) {
                for (id, owner) in range {
                    match owner {
                        SEVERAL => self.entries[id].memories.add_to(&mut found),
                        only => found.insert(only),
                    }
                }
                continue;
            }
            // each text is asked, in the order in which they lie in memory rather than in the dictionary's: a third of the time
            for entry in range.map(|(id, _)| id).collect::<MemorySet>().iter().map(|id| &self.entries[id]) {
                if entry.role == Role::Whole && leaf.condition.is_in_text(entry.content.value()) {
                    entry.memories.add_to(&mut found);
                }
            }
        }
        let mut found = found.intersection(within);
        if leaf.condition.holds_for_absent() {
            let mut present = MemorySet::with_room_for(self.own.len());
            paths.iter().for_each(|path| self.paths[*path].exists.add_to(&mut present));
            found.add_all(&within.difference(&present));
        }
        found
    }

    /// Whether a condition holds for a memory.
    pub fn holds(&self, leaf: &Leaf, ordinal: u32) -> bool {
        match self.column(&leaf.field) {
            Some(column) => column_holds(column, ordinal, &leaf.condition),
            None => self.own_list_holds(ordinal, &self.paths_of(&leaf.field), &leaf.condition),
        }
    }

    fn own_list_holds(&self, ordinal: u32, paths: &[u32], condition: &Condition) -> bool {
        let own = self.own.get(ordinal as usize).map_or(&[][..], |own| own);
        let mut values =
            own.iter().map(|id| &self.entries[*id]).filter(|entry| paths.binary_search(&entry.path).is_ok()).peekable();
        if values.peek().is_none() {
            return condition.holds_for_absent();
        }
        values.any(|entry| condition.holds(entry.content.value(), entry.role == Role::Item))
    }

    /// The paths that a field names, ascending: one, or more where keys hold dots.
    fn paths_of(&self, field: &Field) -> Vec<u32> {
        match field {
            Field::Attribute(name) => self.known_child(ATTRIBUTES, name).into_iter().collect(),
            Field::Metadata(path) => self.metadata_paths(path),
            Field::CreatedAt | Field::UpdatedAt => Vec::new(),
        }
    }

    // Ascending. Each path has one joined text, so that it is come upon once at most.
    fn metadata_paths(&self, path: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![(METADATA, 0)];
        while let Some((above, start)) = open.pop() {
            let rest = &path[start..];
            if rest.len() <= self.key_bytes_max {
                found.extend(self.known_child(above, rest));
            }
            let Some(children) = &self.paths[above].children else { continue };
            let within = &rest[..rest.len().min(self.key_bytes_max + 1)];
            let dots = within.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
            if children.len() < within.len() {
                let heads =
                    children.iter().filter(|(key, _)| rest.get(key.len()) == Some(&b'.') && rest.starts_with(key));
                open.extend(heads.map(|(key, child)| (*child, start + key.len() + 1)));
            } else {
                open.extend(dots.filter_map(|dot| Some((*children.get(&rest[..dot])?, start + dot + 1))));
            }
        }
        found.sort_unstable();
        found
    }

    fn known_child(&self, above: u32, key: &[u8]) -> Option<u32> {
        self.paths[above].children.as_ref()?.get(key).copied()
    }

    fn child(&mut self, above: u32, key: &[u8]) -> u32 {
        if let Some(path) = self.known_child(above, key) {
            return path;
        }
        self.key_bytes_max = self.key_bytes_max.max(key.len());
        let key: Arc<[u8]> = key.into();
        let path = self.paths.insert(Path { key: Arc::clone(&key), parent: above, ..Path::default() });
        self.paths[above].children.get_or_insert_default().insert(key, path);
        path
    }

    /// Removes a path that leads to nothing any more, and those above it that then do neither.
    fn prune(&mut self, mut path: u32) {
        while path > METADATA && self.paths[path].order.is_empty() && self.paths[path].children.is_none() {
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

    /// Enters a value of a memory; returns its entry.
    fn add(&mut self, ordinal: u32, path: u32, value: Value<'_>, role: Role) -> u32 {
        let place = self.locate(path, value, role);
        let known = self.at(path, place, value, role);
        let id = known.unwrap_or_else(|| {
            let id = self.entries.insert(Entry { content: value.into(), role, path, memories: Posting::Empty });
            self.paths[path].order.insert(place, hint(value), id, ordinal);
            id
        });
        if known.is_some() {
            self.paths[path].order.share(place);
        }
        self.entries[id].memories.insert(ordinal);
        id
    }

    fn add_memories(&self, path: u32, value: Value<'_>, role: Role, found: &mut MemorySet) {
        if let Some(id) = self.at(path, self.locate(path, value, role), value, role) {
            self.entries[id].memories.add_to(found);
        }
    }

    fn locate(&self, path: u32, value: Value<'_>, role: Role) -> Place {
        self.paths[path].order.locate(hint(value), |id| {
            let entry = &self.entries[id];
            compare(entry.content.value(), value).then(entry.role.cmp(&role)).is_lt()
        })
    }

    fn at(&self, path: u32, place: Place, value: Value<'_>, role: Role) -> Option<u32> {
        let id = self.paths[path].order.get(place)?;
        let entry = &self.entries[id];
        (entry.role == role && entry.content.value() == value).then_some(id)
    }

    fn texts(&self, path: u32) -> (Place, Place) {
        let text = rank(Value::Text(b""));
        (self.first_of(path, text), self.first_of(path, text + 1))
    }

    /// Where the values of a kind begin, see `filters::dictionary::rank`.
    fn first_of(&self, path: u32, kind: u8) -> Place {
        self.paths[path].order.locate(first_hint(kind), |_| false)
    }

    /// The values for which a comparison holds, whatever their role.
    fn range(&self, path: u32, comparison: &Comparison) -> (Place, Place) {
        let order = &self.paths[path].order;
        let [from, to] = comparison.ends();
        let place = |end: Option<(Value<'_>, bool)>, kind: u8| match end {
            Some((value, is_behind)) => order.locate(hint(value), |id| {
                let ordering = compare(self.entries[id].content.value(), value);
                ordering.is_lt() || is_behind && ordering.is_eq()
            }),
            None => self.first_of(path, kind),
        };
        (place(from, comparison.kind()), place(to, comparison.kind() + 1))
    }

    fn column(&self, field: &Field) -> Option<&[f64]> {
        match field {
            Field::CreatedAt => Some(&self.created_at),
            Field::UpdatedAt => Some(&self.updated_at),
            Field::Attribute(_) | Field::Metadata(_) => None,
        }
    }

    /// Whether an attribute needs no path: a moment that has its column, or none at all.
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

fn column_holds(column: &[f64], ordinal: u32, condition: &Condition) -> bool {
    match column.get(ordinal as usize) {
        Some(ms) if !ms.is_nan() => condition.holds(Value::Number(*ms), false),
        _ => condition.holds_for_absent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::filter::Filter;
    use mneme_testing::Chance;

    fn select(index: &AttributeIndex, filter: &str) -> Vec<u32> {
        let filter = Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        let all = (0..index.own.len() as u32).collect();
        let found = filter.confine(&all, &mut |leaf, within| index.select(leaf, within));
        let matching = all.iter().filter(|ordinal| filter.matches(&mut |leaf| index.holds(leaf, *ordinal)));
        assert!(found.iter().eq(matching), "by condition and by memory");
        found.iter().collect()
    }

    fn described(of: &[&str]) -> AttributeIndex {
        let mut index = AttributeIndex::default();
        for (ordinal, attributes) in of.iter().enumerate() {
            index.describe(ordinal as u32, &Json::parse(attributes).expect("JSON"));
        }
        index
    }

    fn at(path: &str, condition: &str) -> String {
        format!(r#"{{"kind":"field","field":{{"metadataPath":"{path}"}},"condition":{condition}}}"#)
    }

    const EXISTS: &str = r#"{"kind":"exists"}"#;

    #[test]
    fn paths_lead_through_objects_and_items_and_keys_with_dots() {
        let index = described(&[
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
    fn nesting_of_any_depth_costs_what_its_keys_do() {
        let deep = format!(r#"{{"metadata":{}1{}}}"#, r#"{"a":"#.repeat(2_000), "}".repeat(2_000));
        let index = described(&[&deep]);
        assert_eq!((index.paths.len(), index.entries.len()), (2_002, 2_000));
        assert_eq!(select(&index, &at(&["a"; 2_000].join("."), EXISTS)), [0]);
        assert_eq!(select(&index, &at(&["a"; 2_001].join("."), EXISTS)), [0u32; 0]);
    }

    #[test]
    fn nothing_is_left_of_what_was_forgotten_or_replaced() {
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
        assert!(index.own.iter().all(|own| own.is_empty()));
        assert!(index.created_at.iter().all(|ms| ms.is_nan()));
        assert!(index.paths[ATTRIBUTES].children.is_none() && index.paths[METADATA].children.is_none());
    }

    #[test]
    fn few_memories_are_asked_one_by_one_and_many_by_the_values_with_one_verdict() {
        let texts: Vec<String> = (0..400)
            .map(|at| format!(r#"{{"title":"kite {at}","metadata":{{"n":{at},"rare":{}}}}}"#, at % 100))
            .collect();
        let index = described(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let rare = at("rare", r#"{"kind":"equals","scalars":[7],"composites":[]}"#);
        for dear in [
            r#"{"kind":"field","field":{"attribute":"title"},
                "condition":{"kind":"contains","text":"kite 1","scalars":["kite 1"],"composites":[]}}"#,
            &at("n", r#"{"kind":"compares","operator":"$gte","number":"100"}"#),
        ] {
            let alone = select(&index, dear);
            assert!(alone.len() > 100);
            let both = select(&index, &format!(r#"{{"kind":"and","filters":[{dear},{rare}]}}"#));
            let expected: Vec<u32> = alone.into_iter().filter(|ordinal| ordinal % 100 == 7).collect();
            assert_eq!(both, expected);
            assert!(!both.is_empty());
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
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
