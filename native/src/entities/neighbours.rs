//! What a memory speaks of, and which other memories speak of the same: the graph around one memory.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::graph::{NameId, Slot};
use crate::entities::record::{CAPITALISED, DATE, DECLARED, IDENTIFIER, PHRASE, QUOTED, TITLE};
use crate::entities::scope::{Scope, Standing};

/// Chunks of a memory that are told for each of its names: the speaker of a long conversation stands in all of them.
const CHUNKS_MAX: usize = 100;
/// Links that are followed to neighbours, the most telling names first.
const EDGES_MAX: usize = 20_000;
/// Shared names that are told of a neighbour.
const SHARED_NAMES_MAX: usize = 8;

/// A name that a memory mentions.
#[derive(Debug, Clone, PartialEq)]
pub struct MentionedName {
    /// Where it links anything; 0 else.
    pub id: NameId,
    /// As it is written.
    pub name: String,
    /// `t`itle, `c`apitalised, `q`uoted, `i`dentifier, `d`ate, `k`ey phrase.
    pub kind: char,
    /// How often the memory mentions it.
    pub mentions: u32,
    /// Memories of the scope that mention it, this one among them.
    pub memories: u32,
    /// The memory's chunks that mention it, ascending.
    pub chunk_keys: Vec<u64>,
}

/// A memory that shares names with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The memory.
    pub ordinal: u32,
    /// The shared names' idf, added up.
    pub weight: f32,
    /// The most telling of the shared names.
    pub names: Vec<String>,
}

/// The graph around a memory, most telling first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neighbourhood {
    pub names: Vec<MentionedName>,
    pub neighbours: Vec<Neighbour>,
}

struct Mentioned {
    name: NameId,
    marks: u8,
    mentions: u32,
    chunk_keys: Vec<u64>,
    standing: Standing,
    idf: f64,
}

/// The names of a memory of the scope and its neighbours in it, at most `limit` of each. Nothing for one outside of it.
pub(crate) fn neighbourhood(scope: &mut Scope<'_>, ordinal: u32, limit: usize) -> Neighbourhood {
    let graph = scope.graph();
    let mut slots: Vec<Slot> = graph.slots_of(ordinal).iter().copied().filter(|slot| scope.admits(*slot)).collect();
    slots.sort_unstable_by_key(|slot| graph.chunk(*slot).chunk_key);
    let names = mentioned(scope, &slots);
    let neighbours = neighbours(scope, ordinal, &names, limit);
    let names = names.into_iter().take(limit).map(|mentioned| {
        let memories: FxHashSet<u32> = graph
            .postings(mentioned.name)
            .filter(|posting| scope.admits(posting.slot()))
            .map(|posting| graph.chunk(posting.slot()).ordinal)
            .collect();
        MentionedName {
            id: if mentioned.standing.is_linked { mentioned.name } else { 0 },
            name: graph.surface(mentioned.name).unwrap_or_default().to_owned(),
            kind: kind(mentioned.marks),
            mentions: mentioned.mentions,
            memories: memories.len() as u32,
            chunk_keys: mentioned.chunk_keys,
        }
    });
    Neighbourhood { names: names.collect(), neighbours }
}

/// Those that link first; then by idf, how often, and whether it is the title; equal ones by hash.
fn mentioned(scope: &mut Scope<'_>, slots: &[Slot]) -> Vec<Mentioned> {
    let graph = scope.graph();
    let mut found: FxHashMap<NameId, Mentioned> = FxHashMap::default();
    for slot in slots {
        let links = scope.links(*slot);
        let linked: FxHashSet<NameId> = links.map(|number| scope.link(number).name).collect();
        let chunk = graph.chunk(*slot);
        for candidate in &chunk.candidates {
            if candidate.marks & (TITLE | DECLARED) == 0 && !linked.contains(&candidate.name) {
                continue;
            }
            let name = candidate.name;
            let mentioned = found.entry(name).or_insert_with(|| {
                let standing = scope.count(name);
                let idf = scope.idf(standing);
                Mentioned { name, marks: 0, mentions: 0, chunk_keys: Vec::new(), standing, idf }
            });
            mentioned.marks |= candidate.marks;
            mentioned.mentions += 1;
            let is_new = mentioned.chunk_keys.last() != Some(&chunk.chunk_key);
            if is_new && mentioned.chunk_keys.len() < CHUNKS_MAX {
                mentioned.chunk_keys.push(chunk.chunk_key);
            }
        }
    }
    let mut names: Vec<Mentioned> = found.into_values().collect();
    let weight =
        |m: &Mentioned| m.idf * (1.0 + 0.5 * f64::from(m.mentions).ln() + f64::from(u8::from(m.marks & TITLE != 0)));
    names.sort_by(|a, b| {
        let by_link = b.standing.is_linked.cmp(&a.standing.is_linked);
        by_link.then(weight(b).total_cmp(&weight(a))).then_with(|| graph.hash(a.name).cmp(&graph.hash(b.name)))
    });
    names
}

fn neighbours(scope: &mut Scope<'_>, ordinal: u32, names: &[Mentioned], limit: usize) -> Vec<Neighbour> {
    let graph = scope.graph();
    let mut found: FxHashMap<u32, (f64, Vec<NameId>)> = FxHashMap::default();
    let mut linked: Vec<&Mentioned> = names.iter().filter(|mentioned| mentioned.standing.is_linked).collect();
    linked.sort_by(|a, b| b.idf.total_cmp(&a.idf).then_with(|| graph.hash(a.name).cmp(&graph.hash(b.name))));
    let mut edges = 0;
    for Mentioned { name, idf, .. } in linked {
        let passages = scope.passages_of(*name, 0.0);
        edges += passages.len();
        let sharing: FxHashSet<u32> = passages.iter().map(|(slot, _)| graph.chunk(*slot).ordinal).collect();
        if sharing.contains(&ordinal) {
            for other in sharing.into_iter().filter(|other| *other != ordinal) {
                let (weight, shared) = found.entry(other).or_default();
                *weight += idf;
                shared.push(*name);
            }
        }
        if edges >= EDGES_MAX {
            break;
        }
    }
    let mut neighbours: Vec<(u64, Neighbour)> = Vec::with_capacity(found.len());
    for (other, (weight, shared)) in found {
        let first_key = graph.slots_of(other).iter().map(|slot| graph.chunk(*slot).chunk_key).min().unwrap_or_default();
        let told = shared.iter().take(SHARED_NAMES_MAX).filter_map(|name| graph.surface(*name));
        let names = told.map(str::to_owned).collect();
        neighbours.push((first_key, Neighbour { ordinal: other, weight: weight as f32, names }));
    }
    neighbours.sort_unstable_by(|a, b| b.1.weight.total_cmp(&a.1.weight).then(a.0.cmp(&b.0)));
    neighbours.truncate(limit);
    neighbours.into_iter().map(|(_, neighbour)| neighbour).collect()
}

fn kind(marks: u8) -> char {
    let kinds = [(TITLE, 't'), (DATE, 'd'), (IDENTIFIER, 'i'), (QUOTED, 'q'), (CAPITALISED, 'c'), (PHRASE, 'k')];
    kinds.iter().find(|(mark, _)| marks & mark != 0).map_or('c', |(_, letter)| *letter)
}
