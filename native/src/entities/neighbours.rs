//! The graph around one memory: its entities, and the memories that share some of them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::admissible_graph::{AdmissibleGraph, EntityStats};
use crate::entities::graph::{EntityId, Slot};
use crate::entities::record::{CAPITALISED, DATE, DECLARED, IDENTIFIER, PHRASE, QUOTED, TITLE};

/// Maximum number of chunks listed for an entity. The speaker of a long conversation is mentioned in all of its chunks.
const CHUNKS_MAX: usize = 100;
/// Limit of the links that are followed to neighbours. Links of the rarest entities come first. The entity at which the
/// limit is reached is still followed completely.
const EDGES_MAX: usize = 20_000;
/// Maximum number of shared entities listed for a neighbour.
const SHARED_ENTITIES_MAX: usize = 8;

/// An entity that a memory mentions.
#[derive(Debug, Clone, PartialEq)]
pub struct MentionedEntity {
    /// Id of the entity if it links passages, otherwise 0.
    pub id: EntityId,
    /// Surface form.
    pub name: String,
    /// First letter of title, capitalised, quoted, identifier, date or key phrase.
    pub kind: char,
    /// Number of mentions in the memory.
    pub mentions: u32,
    /// Number of admissible memories that mention the entity, including this memory.
    pub memories: u32,
    /// Keys of the memory's chunks that mention the entity, ascending.
    pub chunk_keys: Vec<u64>,
}

/// A memory that shares entities with another.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// Ordinal of the memory.
    pub ordinal: u32,
    /// Sum of the inverse document frequencies of the shared entities.
    pub weight: f32,
    /// Surface forms of the rarest shared entities.
    pub entities: Vec<String>,
}

/// The graph around a memory, the greatest weights first; entities with a link before those without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neighbourhood {
    pub entities: Vec<MentionedEntity>,
    pub neighbours: Vec<Neighbour>,
}

/// An entity with all its mentions in the memory.
struct Mentioned {
    entity: EntityId,
    marks: u8,
    mentions: u32,
    chunk_keys: Vec<u64>,
    stats: EntityStats,
    idf: f64,
}

/// Returns the entities of a memory and its admissible neighbours, at most `limit` of each. The result is empty if the
/// memory is not admissible.
pub(crate) fn neighbourhood(admissible: &mut AdmissibleGraph<'_>, ordinal: u32, limit: usize) -> Neighbourhood {
    let graph = admissible.graph();
    let mut slots: Vec<Slot> =
        graph.slots_of(ordinal).iter().copied().filter(|slot| admissible.admits(*slot)).collect();
    slots.sort_unstable_by_key(|slot| graph.chunk(*slot).chunk_key);
    let all = mentioned_entities(admissible, &slots);
    let neighbours = neighbours(admissible, ordinal, &all, limit);
    let entities = all.into_iter().take(limit).map(|mentioned| {
        let memories: FxHashSet<u32> = graph
            .postings(mentioned.entity)
            .filter(|posting| admissible.admits(posting.slot()))
            .map(|posting| graph.chunk(posting.slot()).ordinal)
            .collect();
        MentionedEntity {
            id: if mentioned.stats.is_linked { mentioned.entity } else { 0 },
            name: graph.surface(mentioned.entity).unwrap_or_default().to_owned(),
            kind: kind(mentioned.marks),
            mentions: mentioned.mentions,
            memories: memories.len() as u32,
            chunk_keys: mentioned.chunk_keys,
        }
    });
    Neighbourhood { entities: entities.collect(), neighbours }
}

/// Returns the declared and linked entities of a memory. Linked entities come first; within each group, entities are
/// sorted by weight, the greatest first, then by hash. The weight combines idf, the number of mentions, and whether
/// the entity is the title.
fn mentioned_entities(admissible: &mut AdmissibleGraph<'_>, slots: &[Slot]) -> Vec<Mentioned> {
    let graph = admissible.graph();
    let mut found: FxHashMap<EntityId, Mentioned> = FxHashMap::default();
    for slot in slots {
        let links = admissible.links(*slot);
        let linked: FxHashSet<EntityId> = links.map(|number| admissible.link(number).entity).collect();
        let chunk = graph.chunk(*slot);
        for candidate in &chunk.candidates {
            if candidate.marks & (TITLE | DECLARED) == 0 && !linked.contains(&candidate.entity) {
                continue;
            }
            let entity = candidate.entity;
            let mentioned = found.entry(entity).or_insert_with(|| {
                let stats = admissible.count(entity);
                let idf = admissible.idf(stats);
                Mentioned { entity, marks: 0, mentions: 0, chunk_keys: Vec::new(), stats, idf }
            });
            mentioned.marks |= candidate.marks;
            mentioned.mentions += 1;
            let is_new = mentioned.chunk_keys.last() != Some(&chunk.chunk_key);
            if is_new && mentioned.chunk_keys.len() < CHUNKS_MAX {
                mentioned.chunk_keys.push(chunk.chunk_key);
            }
        }
    }
    let mut entities: Vec<Mentioned> = found.into_values().collect();
    let weight =
        |m: &Mentioned| m.idf * (1.0 + 0.5 * f64::from(m.mentions).ln() + f64::from(u8::from(m.marks & TITLE != 0)));
    entities.sort_by(|a, b| {
        let by_link = b.stats.is_linked.cmp(&a.stats.is_linked);
        by_link.then(weight(b).total_cmp(&weight(a))).then_with(|| graph.hash(a.entity).cmp(&graph.hash(b.entity)))
    });
    entities
}

/// Returns the memories that share linked entities with a memory, the greatest weight first. Memories of equal weight
/// are sorted by their lowest chunk key.
fn neighbours(
    admissible: &mut AdmissibleGraph<'_>,
    ordinal: u32,
    entities: &[Mentioned],
    limit: usize,
) -> Vec<Neighbour> {
    let graph = admissible.graph();
    let mut found: FxHashMap<u32, (f64, Vec<EntityId>)> = FxHashMap::default();
    let mut linked: Vec<&Mentioned> = entities.iter().filter(|mentioned| mentioned.stats.is_linked).collect();
    linked.sort_by(|a, b| b.idf.total_cmp(&a.idf).then_with(|| graph.hash(a.entity).cmp(&graph.hash(b.entity))));
    let mut edges = 0;
    for Mentioned { entity, idf, .. } in linked {
        let passages = admissible.passages_of(*entity, 0.0);
        edges += passages.len();
        let sharing: FxHashSet<u32> = passages.iter().map(|(slot, _)| graph.chunk(*slot).ordinal).collect();
        if sharing.contains(&ordinal) {
            for other in sharing.into_iter().filter(|other| *other != ordinal) {
                let (weight, shared) = found.entry(other).or_default();
                *weight += idf;
                shared.push(*entity);
            }
        }
        if edges >= EDGES_MAX {
            break;
        }
    }
    let mut neighbours: Vec<(u64, Neighbour)> = Vec::with_capacity(found.len());
    for (other, (weight, shared)) in found {
        let first_key = graph.slots_of(other).iter().map(|slot| graph.chunk(*slot).chunk_key).min().unwrap_or_default();
        let surfaces = shared.iter().take(SHARED_ENTITIES_MAX).filter_map(|entity| graph.surface(*entity));
        let entities = surfaces.map(str::to_owned).collect();
        neighbours.push((first_key, Neighbour { ordinal: other, weight: weight as f32, entities }));
    }
    neighbours.sort_unstable_by(|a, b| b.1.weight.total_cmp(&a.1.weight).then(a.0.cmp(&b.0)));
    neighbours.truncate(limit);
    neighbours.into_iter().map(|(_, neighbour)| neighbour).collect()
}

/// Returns the letter of the most specific kind among the marks.
pub(crate) fn kind(marks: u8) -> char {
    let kinds = [(TITLE, 't'), (DATE, 'd'), (IDENTIFIER, 'i'), (QUOTED, 'q'), (CAPITALISED, 'c'), (PHRASE, 'k')];
    kinds.iter().find(|(mark, _)| marks & mark != 0).map_or('c', |(_, letter)| *letter)
}
