//! The walk through one layer of the graph: it begins at given slots and goes to neighbours that are more similar to
//! the query, until it has looked at the neighbours of all the best slots (Malkov and Yashunin, Efficient and robust
//! approximate nearest neighbor search using Hierarchical Navigable Small World graphs, 2016, algorithm 2).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vectors::graph::layers::{LayerView, NO_SLOT};
use crate::vectors::int4_matrix::{Int4Query, Int4Vectors};

/// A pair (similarity to the query, slot). Pairs are ordered by similarity.
pub type Scored = (i32, u32);

/// The slots that a walk has seen, as a hash table with open addressing. Each walk begins with an empty one.
#[derive(Debug)]
pub struct Seen {
    table: Vec<u32>,
    count: usize,
}

/// Memory that is reused from walk to walk.
#[derive(Debug)]
pub struct Scratch {
    seen: Seen,
    slots: Vec<u32>,
    rows: Vec<u32>,
    similarities: Vec<i32>,
}

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// Number of slots to find.
    pub wanted: usize,
    /// Maximum number of slots to compare with the query. A walk that needs more finds fewer or less similar ones.
    pub seen_max: usize,
}

impl Default for Scratch {
    fn default() -> Self {
        let seen = Seen { table: vec![NO_SLOT; SEEN_MIN], count: 0 };
        Scratch { seen, slots: Vec::new(), rows: Vec::new(), similarities: Vec::new() }
    }
}

/// Initial number of places of `Seen`. An insertion sees about two thousand slots.
const SEEN_MIN: usize = 8_192;

impl Seen {
    fn clear(&mut self) {
        self.table.fill(NO_SLOT);
        self.count = 0;
    }

    /// Adds a slot. Returns whether it is new.
    fn insert(&mut self, slot: u32) -> bool {
        if self.count * 2 >= self.table.len() {
            let larger = vec![NO_SLOT; self.table.len() * 4];
            let slots = std::mem::replace(&mut self.table, larger);
            for slot in slots.into_iter().filter(|slot| *slot != NO_SLOT) {
                let place = self.place(slot);
                self.table[place] = slot;
            }
        }
        let place = self.place(slot);
        let is_new = self.table[place] == NO_SLOT;
        self.table[place] = slot;
        self.count += usize::from(is_new);
        is_new
    }

    /// The place of a slot, or the free place for it.
    fn place(&self, slot: u32) -> usize {
        let mask = self.table.len() - 1;
        // Multiplication by 2^32 divided by the golden ratio spreads neighbouring numbers.
        let mut place = (slot.wrapping_mul(0x9E37_79B9) >> 7) as usize & mask;
        while self.table[place] != slot && self.table[place] != NO_SLOT {
            place = (place + 1) & mask;
        }
        place
    }
}

/// The slots of a layer that are most similar to a query, best first, among those that `accepts` admits. The walk also
/// goes through slots that are not admitted. `entries` are the slots in which it begins, with their similarities. The
/// second returned value is false if the walk was cut off at `seen_max`.
pub fn walk(
    vectors: Int4Vectors<'_>,
    layer: &LayerView,
    query: &Int4Query,
    entries: &[Scored],
    reach: Reach,
    accepts: impl Fn(u32) -> bool,
    scratch: &mut Scratch,
) -> (Vec<Scored>, bool) {
    let Scratch { seen, slots, rows, similarities } = scratch;
    seen.clear();
    let mut open: BinaryHeap<Scored> = BinaryHeap::new();
    let mut found: BinaryHeap<Reverse<Scored>> = BinaryHeap::with_capacity(reach.wanted + 1);
    let mut offer = |open: &mut BinaryHeap<Scored>, scored: Scored| {
        let is_full = found.len() >= reach.wanted;
        if is_full && found.peek().is_some_and(|Reverse(worst)| scored.0 <= worst.0) {
            return found.peek().map_or(i32::MIN, |Reverse(worst)| worst.0);
        }
        open.push(scored);
        if accepts(scored.1) {
            found.push(Reverse(scored));
            if is_full {
                found.pop();
            }
        }
        if found.len() < reach.wanted { i32::MIN } else { found.peek().map_or(i32::MIN, |Reverse(worst)| worst.0) }
    };
    let mut floor = i32::MIN;
    for entry in entries.iter().filter(|entry| entry.1 < layer.capacity()) {
        if seen.insert(entry.1) {
            floor = offer(&mut open, *entry);
        }
    }
    let mut has_ended = true;
    while let Some((similarity, slot)) = open.pop() {
        if similarity < floor {
            break;
        }
        if seen.count >= reach.seen_max {
            has_ended = false;
            break;
        }
        slots.clear();
        slots.extend(layer.links(slot).filter(|link| seen.insert(*link)));
        rows.clear();
        rows.extend(slots.iter().map(|slot| layer.row(*slot)));
        vectors.similarities(query, rows, similarities);
        for (slot, similarity) in slots.iter().zip(similarities.iter()) {
            floor = offer(&mut open, (*similarity, *slot));
        }
    }
    let found = found.into_sorted_vec();
    (found.into_iter().map(|Reverse(scored)| scored).collect(), has_ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;
    use std::collections::BTreeSet;

    #[test]
    fn a_slot_is_new_once_however_many_there_are() {
        let mut chance = Chance::new();
        let mut seen = Scratch::default().seen;
        for _ in 0..3 {
            seen.clear();
            let mut expected = BTreeSet::new();
            for _ in 0..20_000 {
                let slot = chance.below(30_000) as u32;
                assert_eq!(seen.insert(slot), expected.insert(slot));
            }
            assert_eq!(seen.count, expected.len());
        }
    }
}
