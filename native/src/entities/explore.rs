//! The entities of an admissible set: their list, the surroundings of one, and the shortest path between two. Merges
//! and names that a person gave are applied first, so counts and sort orders include them.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::admissible_graph::AdmissibleGraph;
use crate::entities::graph::{Candidate, EntityId, Slot};
use crate::entities::neighbours::kind;
use crate::entities::record::{DECLARED, PHRASE, TITLE};

/// Maximum number of passages of an entity in which its neighbours are searched: the newest ones.
const PASSAGES_MAX: usize = 5_000;
/// Maximum number of passages listed for an entity.
const LISTED_PASSAGES_MAX: usize = 20;
/// Maximum number of links of a path.
const LINKS_MAX: usize = 4;
/// Maximum number of passages of one entity that the search for a path follows: the newest ones.
const PATH_PASSAGES_MAX: usize = 500;
/// Maximum number of passages that the search for a path reads. Reading them takes about 50 ms.
const PATH_VISITS_MAX: usize = 50_000;
/// Number of bits of an entity's hash in `EntityNode::order`. They order entities with equal numbers of memories.
const ORDER_BITS: u32 = 40;

/// Merges and names that a person gave to entities, which are given by their hashes.
#[derive(Debug, Clone, Default)]
pub struct Curation {
    /// Pairs (entity, the entity that it counts as). The second one is not merged itself.
    pub merged: Vec<(u64, u64)>,
    /// Pairs (entity, name that replaces its surface form).
    pub named: Vec<(u64, String)>,
}

/// Which entities a list contains.
#[derive(Debug, Clone, Default)]
pub struct EntityQuery {
    /// Only entities whose name contains this text, which is in lower case.
    pub part: Option<String>,
    /// Only entities of this kind, given as in `EntityNode::kind`.
    pub kind: Option<char>,
    /// `EntityNode::order` of the last entity of the previous page; `None` for the first page.
    pub after: Option<u64>,
    /// Maximum number of entities.
    pub limit: usize,
}

/// An entity of an admissible set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityNode {
    /// Hash of its words. It never changes.
    pub hash: u64,
    /// The name that a person gave, otherwise a surface form.
    pub name: String,
    /// First letter of title, capitalised, quoted, identifier, date or key phrase.
    pub kind: char,
    /// Number of admissible memories that mention it.
    pub memories: u32,
    /// A chunk that mentions it.
    pub chunk_key: u64,
    /// Sort key in the list, ascending: the more memories, the smaller. Bits of the hash follow.
    pub order: u64,
}

/// An entity, its neighbours, and the passages that mention it.
#[derive(Debug, Clone, PartialEq)]
pub struct Surroundings {
    pub entity: EntityNode,
    /// Entities of the same passages with their weights, the greatest first. The greatest weight is 1.
    pub neighbours: Vec<(EntityNode, f32)>,
    /// Passages that mention the entity, as (chunk key, ordinal of the memory), the newest first.
    pub passages: Vec<(u64, u32)>,
}

/// A path between two entities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityPath {
    /// Whether the set mentions the first and the last entity.
    pub known: (bool, bool),
    /// Empty if there is no path.
    pub entities: Vec<EntityNode>,
    /// For each step of the path, a passage that mentions both entities: (chunk key, ordinal of the memory).
    pub links: Vec<(u64, u32)>,
}

#[derive(Default, Clone, Copy)]
struct Counted {
    memories: u32,
    marks: u8,
    chunk_key: u64,
}

/// Reads the entities of an admissible set.
pub(crate) struct Explorer<'graph> {
    admissible: AdmissibleGraph<'graph>,
    target: FxHashMap<EntityId, EntityId>,
    members: FxHashMap<EntityId, Vec<EntityId>>,
    names: FxHashMap<EntityId, &'graph str>,
}

impl<'graph> Explorer<'graph> {
    pub(crate) fn new(admissible: AdmissibleGraph<'graph>, curation: &'graph Curation) -> Explorer<'graph> {
        let graph = admissible.graph();
        let is_mentioned = |entity: EntityId| graph.postings(entity).any(|posting| admissible.admits(posting.slot()));
        let mut target = FxHashMap::default();
        let mut members: FxHashMap<EntityId, Vec<EntityId>> = FxHashMap::default();
        for (merged, into) in &curation.merged {
            let (Some(merged), Some(into)) = (graph.find(*merged), graph.find(*into)) else { continue };
            // The caller may not see `into` if its memories are not admissible. Then the merged entity stays on its
            // own.
            if is_mentioned(into) {
                target.insert(merged, into);
                members.entry(into).or_default().push(merged);
            }
        }
        let named = curation.named.iter();
        let names = named.filter_map(|(hash, name)| Some((graph.find(*hash)?, name.as_str()))).collect();
        Explorer { admissible, target, members, names }
    }

    /// Lists the entities of the memories with these ordinals, those with the most memories first.
    pub(crate) fn list(&mut self, ordinals: impl Iterator<Item = u32>, query: &EntityQuery) -> Vec<EntityNode> {
        let graph = self.admissible.graph();
        let mut found: FxHashMap<EntityId, Counted> = FxHashMap::default();
        let mut of_memory: FxHashMap<EntityId, (u8, u64)> = FxHashMap::default();
        for ordinal in ordinals {
            of_memory.clear();
            for slot in graph.slots_of(ordinal) {
                for (entity, marks) in self.entities_of(*slot) {
                    let (all, chunk_key) = of_memory.entry(entity).or_default();
                    *all |= marks;
                    *chunk_key = graph.chunk(*slot).chunk_key;
                }
            }
            for (entity, (marks, chunk_key)) in &of_memory {
                let counted = found.entry(*entity).or_default();
                counted.memories += 1;
                counted.marks |= marks;
                counted.chunk_key = counted.chunk_key.max(*chunk_key);
            }
        }
        let mut ordered: Vec<(u64, EntityId)> =
            found.iter().map(|(entity, counted)| (self.order(*entity, counted.memories), *entity)).collect();
        ordered.retain(|(order, _)| query.after.is_none_or(|after| *order > after));
        ordered.sort_unstable();
        let nodes = ordered.into_iter().map(|(_, entity)| self.node(entity, found[&entity]));
        let is_asked = |node: &EntityNode| {
            query.kind.is_none_or(|kind| kind == node.kind)
                && query.part.as_ref().is_none_or(|part| node.name.to_lowercase().contains(part))
        };
        nodes.filter(is_asked).take(query.limit).collect()
    }

    /// The surroundings of an entity, with at most `limit` neighbours. `None` if the set does not mention it.
    pub(crate) fn surroundings(&mut self, hash: u64, limit: usize) -> Option<Surroundings> {
        let entity = self.find(hash)?;
        let graph = self.admissible.graph();
        let passages = self.passages_of(entity, usize::MAX);
        let mut own = Counted { memories: self.memories_in(&passages), ..Counted::default() };
        let mut found: FxHashMap<EntityId, (u32, Counted)> = FxHashMap::default();
        for slot in passages.iter().take(PASSAGES_MAX) {
            let chunk_key = graph.chunk(*slot).chunk_key;
            for (other, marks) in self.entities_of(*slot) {
                if other == entity {
                    own.marks |= marks;
                    own.chunk_key = own.chunk_key.max(chunk_key);
                } else {
                    let (shared, counted) = found.entry(other).or_default();
                    *shared += 1;
                    counted.marks |= marks;
                    counted.chunk_key = counted.chunk_key.max(chunk_key);
                }
            }
        }
        let mut weighed: Vec<(f64, u64, EntityId, Counted)> = Vec::with_capacity(found.len());
        for (other, (shared, counted)) in found {
            let stats = self.admissible.count(other);
            weighed.push((f64::from(shared) * self.admissible.idf(stats).max(0.1), graph.hash(other), other, counted));
        }
        weighed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        weighed.truncate(limit);
        let greatest = weighed.first().map_or(1.0, |(weight, ..)| *weight);
        let neighbours = weighed.into_iter().map(|(weight, _, other, counted)| {
            let slots = self.passages_of(other, PASSAGES_MAX);
            let counted = Counted { memories: self.memories_in(&slots), ..counted };
            (self.node(other, counted), (weight / greatest) as f32)
        });
        let neighbours = neighbours.collect();
        let listed = passages.iter().take(LISTED_PASSAGES_MAX).map(|slot| graph.chunk(*slot));
        let listed = listed.map(|chunk| (chunk.chunk_key, chunk.ordinal)).collect();
        Some(Surroundings { entity: self.node(entity, own), neighbours, passages: listed })
    }

    /// Returns a shortest path between two entities. Each step goes from an entity to another one in the same passage.
    pub(crate) fn path(&mut self, from: u64, to: u64) -> EntityPath {
        let graph = self.admissible.graph();
        let (start, end) = (self.find(from), self.find(to));
        let known = (start.is_some(), end.is_some());
        let (Some(start), Some(end)) = (start, end) else { return EntityPath { known, ..EntityPath::default() } };
        let mut reached: FxHashMap<EntityId, (EntityId, Slot)> = FxHashMap::default();
        let mut seen: FxHashSet<Slot> = FxHashSet::default();
        let mut frontier = vec![start];
        for _ in 0..LINKS_MAX {
            if start == end || reached.contains_key(&end) {
                break;
            }
            let mut next = Vec::new();
            for entity in frontier {
                if seen.len() >= PATH_VISITS_MAX || reached.contains_key(&end) {
                    break;
                }
                for slot in self.passages_of(entity, PATH_PASSAGES_MAX) {
                    if !seen.insert(slot) {
                        continue;
                    }
                    for (other, _) in self.entities_of(slot) {
                        if other != start && !reached.contains_key(&other) {
                            reached.insert(other, (entity, slot));
                            next.push(other);
                        }
                    }
                }
            }
            next.sort_unstable_by_key(|entity| graph.hash(*entity));
            frontier = next;
        }
        if start != end && !reached.contains_key(&end) {
            return EntityPath { known, ..EntityPath::default() };
        }
        let (mut entities, mut links) = (vec![end], Vec::new());
        while let Some((before, slot)) = reached.get(entities.last().unwrap_or(&end)).filter(|_| start != end) {
            entities.push(*before);
            let chunk = graph.chunk(*slot);
            links.push((chunk.chunk_key, chunk.ordinal));
        }
        entities.reverse();
        links.reverse();
        let entities = entities.into_iter().map(|entity| {
            let slots = self.passages_of(entity, PASSAGES_MAX);
            let mut counted = Counted { memories: self.memories_in(&slots), ..Counted::default() };
            if let Some(slot) = slots.first() {
                counted.chunk_key = graph.chunk(*slot).chunk_key;
                let of_slot = self.entities_of(*slot);
                counted.marks = of_slot.iter().find(|(other, _)| *other == entity).map_or(0, |(_, marks)| *marks);
            }
            self.node(entity, counted)
        });
        EntityPath { known, entities: entities.collect(), links }
    }

    /// The entity with a hash, or the one that it was merged into; `None` if the set does not mention it.
    fn find(&mut self, hash: u64) -> Option<EntityId> {
        let id = self.admissible.graph().find(hash)?;
        let entity = self.target.get(&id).copied().unwrap_or(id);
        (!self.passages_of(entity, 1).is_empty()).then_some(entity)
    }

    /// Admissible passages that mention an entity, the newest first.
    fn passages_of(&mut self, entity: EntityId, limit: usize) -> Vec<Slot> {
        let graph = self.admissible.graph();
        let members = self.members.get(&entity).into_iter().flatten().copied();
        let all: Vec<EntityId> = std::iter::once(entity).chain(members).collect();
        let mut slots: Vec<Slot> = all
            .into_iter()
            .flat_map(|member| graph.postings(member))
            .map(|posting| posting.slot())
            .filter(|slot| self.admissible.admits(*slot))
            .collect();
        slots.sort_unstable_by_key(|slot| std::cmp::Reverse((graph.chunk(*slot).chunk_key, *slot)));
        slots.dedup();
        let mut mentioning = Vec::new();
        for slot in slots {
            if mentioning.len() >= limit {
                break;
            }
            if self.entities_of(slot).iter().any(|(other, _)| *other == entity) {
                mentioning.push(slot);
            }
        }
        mentioning
    }

    /// Number of memories that passages belong to.
    fn memories_in(&self, passages: &[Slot]) -> u32 {
        let graph = self.admissible.graph();
        let ordinals: FxHashSet<u32> = passages.iter().map(|slot| graph.chunk(*slot).ordinal).collect();
        ordinals.len() as u32
    }

    /// The entities of a passage, each with its marks. Active entities come first, the longest ones from left to right.
    /// Where they leave words free, names follow, then phrases.
    fn entities_of(&mut self, slot: Slot) -> Vec<(EntityId, u8)> {
        let candidates = &self.admissible.graph().chunk(slot).candidates;
        let mut chosen: Vec<Candidate> = Vec::new();
        let mut free_from = 0;
        for candidate in candidates {
            let is_title = candidate.marks & TITLE != 0;
            let stats = self.admissible.stats(candidate.entity);
            // A title that no other passage mentions connects nothing.
            let is_lone_title = is_title && stats.df == 1;
            if (!is_title && candidate.first < free_from) || !stats.is_active || is_lone_title {
                continue;
            }
            if !is_title {
                free_from = end_of(candidate);
            }
            chosen.push(*candidate);
        }
        // Names go before phrases: a name within a phrase says more than the phrase.
        for kinds in [DECLARED & !PHRASE, PHRASE] {
            for candidate in candidates.iter().filter(|candidate| candidate.marks & kinds != 0) {
                let mut others = chosen.iter().filter(|other| other.marks & TITLE == 0);
                if !others.any(|other| candidate.first < end_of(other) && other.first < end_of(candidate)) {
                    chosen.push(*candidate);
                }
            }
        }
        let mut entities: Vec<(EntityId, u8)> = Vec::with_capacity(chosen.len());
        for candidate in chosen {
            let entity = self.target.get(&candidate.entity).copied().unwrap_or(candidate.entity);
            match entities.iter_mut().find(|(other, _)| *other == entity) {
                Some((_, marks)) => *marks |= candidate.marks,
                None => entities.push((entity, candidate.marks)),
            }
        }
        entities
    }

    fn order(&self, entity: EntityId, memories: u32) -> u64 {
        let most = (1u64 << (62 - ORDER_BITS)) - 1;
        let rank = most - u64::from(memories).min(most);
        (rank << ORDER_BITS) | (self.admissible.graph().hash(entity) >> (64 - ORDER_BITS))
    }

    fn node(&self, entity: EntityId, Counted { memories, marks, chunk_key }: Counted) -> EntityNode {
        let graph = self.admissible.graph();
        let name = self.names.get(&entity).copied().or_else(|| graph.surface(entity)).unwrap_or_default().to_owned();
        let order = self.order(entity, memories);
        EntityNode { hash: graph.hash(entity), name, kind: kind(marks), memories, chunk_key, order }
    }
}

fn end_of(candidate: &Candidate) -> u16 {
    candidate.first + u16::from(candidate.length)
}
