//! Entity graph of a project, in memory: which chunks mention which entities. Apart from ids and surface forms, its
//! content depends only on the records stored with the live chunks (`entities::record`), not on the order in which
//! chunks were added.
//! `entities::admissible_graph` decides which mentions are links for one request, `entities::walk` follows the links.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::posting_lists::{ListHandle, PostingLists};
use crate::entities::record::{DATE, DECLARED, Mention, RecordReader, TITLE};
use crate::error::Result;
use crate::filters::memory_set::MemorySet;

/// Maximum number of chunks of a memory whose mentions are removed one by one.
const FEW_CHUNKS: usize = 4;
/// Maximum number of bytes stored of a surface form. Longer ones are truncated.
const SURFACE_BYTES_MAX: usize = 160;

/// Id of an entity. Entities are numbered from 1 in the order of their first mention since the project was opened. 0
/// means none.
pub(crate) type EntityId = u32;
/// Number of a chunk in the graph. Slots of removed chunks are reused.
pub(crate) type Slot = u32;

/// A chunk in the graph.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) chunk_key: u64,
    /// Ordinal of its memory, from `filters::memory_table`.
    pub(crate) ordinal: u32,
    /// Sorted: titles first, then by first word, then the longest first.
    pub(crate) candidates: Box<[Candidate]>,
}

/// A mention in a chunk that becomes a link if its entity is active (`entities::admissible_graph`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) entity: EntityId,
    /// Index of its first word.
    pub(crate) first: u16,
    /// Number of words.
    pub(crate) length: u8,
    /// Bits for the kinds of mention, and the bit `PROPER_NOUN`, both from `entities::record`.
    pub(crate) marks: u8,
}

/// One element of an entity's posting list: `slot · 4`, plus 1 if the entity is the chunk's title, plus 2 if the chunk
/// declares it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting(u32);

impl Posting {
    fn new(slot: Slot, marks: u8) -> Posting {
        Posting(slot * 4 + u32::from(marks & TITLE != 0) + 2 * u32::from(marks & DECLARED != 0))
    }

    pub(crate) fn slot(self) -> Slot {
        self.0 / 4
    }

    pub(crate) fn is_title(self) -> bool {
        self.0 & 1 != 0
    }

    pub(crate) fn is_declared(self) -> bool {
        self.0 & 2 != 0
    }
}

/// Counts of an entity over all live chunks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Number of chunks whose title is this entity.
    pub(crate) titles: u32,
    /// Number of chunks that declare this entity, which means that they mention it with a kind of `record::DECLARED`.
    pub(crate) declared: u32,
}

impl Counts {
    /// Whether the entity is active: the title of a chunk, or declared by at least two chunks. Only active entities
    /// can be links.
    pub(crate) fn is_active(self) -> bool {
        self.titles > 0 || self.declared > 1
    }
}

#[derive(Debug, Default)]
struct Entity {
    hash: u64,
    postings: ListHandle,
    counts: Counts,
    /// Position of its surface form in `EntityGraph::surfaces`; 0 as long as it was neither declared nor a title.
    surface: u32,
}

/// The entity graph of a project.
#[derive(Default)]
pub(crate) struct EntityGraph {
    /// Indexed by entity id. Element 0 is unused.
    entities: Vec<Entity>,
    /// Hash table with open addressing that maps `Entity::hash` to entity ids. 0 marks a free place.
    table: Vec<EntityId>,
    /// Copy of `Counts::is_active`, indexed by entity id. It fits into a processor cache, unlike `entities`.
    is_active: Vec<bool>,
    postings: PostingLists,
    /// Surface forms, each stored as a length byte followed by the text.
    surfaces: Vec<u8>,
    /// Indexed by slot.
    chunks: Vec<Option<Chunk>>,
    free_slots: Vec<Slot>,
    slot_of_chunk: FxHashMap<u64, Slot>,
    /// Indexed by the ordinal of a memory: handle of the list of its chunks' slots, which is in `slot_lists`.
    slots_of_memory: Vec<ListHandle>,
    slot_lists: PostingLists,
    live_chunks: usize,
    reader: RecordReader,
    scratch: Vec<Candidate>,
}

impl std::fmt::Debug for EntityGraph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EntityGraph").field("entities", &self.entities.len()).finish_non_exhaustive()
    }
}

impl EntityGraph {
    /// Adds a chunk with its record (`entities::record`). The graph must not contain the chunk yet. Takes about 5 µs.
    pub(crate) fn add(&mut self, chunk_key: u64, ordinal: u32, record: &[u8]) -> Result<()> {
        let mut candidates = std::mem::take(&mut self.scratch);
        let mut reader = std::mem::take(&mut self.reader);
        candidates.clear();
        let read = reader.each_mention(record, |mention| {
            let entity = self.id_of(&mention);
            let Mention { first, length, marks, .. } = mention;
            candidates.push(Candidate { entity, first, length, marks });
        });
        self.reader = reader;
        read?;
        sort_and_merge(&mut candidates);
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.chunks.push(None);
            u32::try_from(self.chunks.len() - 1).expect("a project has fewer than 2^30 chunks")
        });
        let chunk = Chunk { chunk_key, ordinal, candidates: candidates.as_slice().into() };
        self.scratch = candidates;
        for (id, marks) in marks_of_entities(&chunk) {
            let entity = &mut self.entities[id as usize];
            self.postings.push(&mut entity.postings, Posting::new(slot, marks).0);
            entity.counts.titles += u32::from(marks & TITLE != 0);
            entity.counts.declared += u32::from(marks & DECLARED != 0);
            self.is_active[id as usize] = entity.counts.is_active();
        }
        self.slot_of_chunk.insert(chunk_key, slot);
        if ordinal as usize >= self.slots_of_memory.len() {
            self.slots_of_memory.resize(ordinal as usize + 1, ListHandle::default());
        }
        self.slot_lists.push(&mut self.slots_of_memory[ordinal as usize], slot);
        self.live_chunks += 1;
        self.chunks[slot as usize] = Some(chunk);
        Ok(())
    }

    /// Removes all chunks of a memory.
    pub(crate) fn remove_memory(&mut self, ordinal: u32) {
        let Some(list) = self.slots_of_memory.get_mut(ordinal as usize) else { return };
        let slots = self.slot_lists.get(list).to_vec();
        self.slot_lists.retain(list, |_| false);
        // For a long memory, each posting list is filtered once at the end. Removing postings one by one would search
        // an entity's list once for each chunk that mentions the entity.
        let are_many = slots.len() > FEW_CHUNKS;
        let mut mentioned: FxHashSet<EntityId> = FxHashSet::default();
        for slot in slots.iter().copied() {
            let Some(chunk) = self.chunks[slot as usize].take() else { continue };
            for (id, marks) in marks_of_entities(&chunk) {
                let entity = &mut self.entities[id as usize];
                if are_many {
                    mentioned.insert(id);
                } else {
                    self.postings.remove(&mut entity.postings, Posting::new(slot, marks).0);
                }
                entity.counts.titles -= u32::from(marks & TITLE != 0);
                entity.counts.declared -= u32::from(marks & DECLARED != 0);
                self.is_active[id as usize] = entity.counts.is_active();
            }
            if self.slot_of_chunk.get(&chunk.chunk_key) == Some(&slot) {
                self.slot_of_chunk.remove(&chunk.chunk_key);
            }
            self.live_chunks -= 1;
            self.free_slots.push(slot);
        }
        if are_many {
            let removed: FxHashSet<Slot> = slots.into_iter().collect();
            for id in mentioned {
                let is_kept = |posting: u32| !removed.contains(&Posting(posting).slot());
                self.postings.retain(&mut self.entities[id as usize].postings, is_kept);
            }
        }
    }

    /// Returns the chunk in a slot. The slot must come from a posting, `slot_of` or `slots_of`.
    pub(crate) fn chunk(&self, slot: Slot) -> &Chunk {
        self.chunks[slot as usize].as_ref().expect("postings refer to live slots only")
    }

    /// The slot of a live chunk.
    pub(crate) fn slot_of(&self, chunk_key: u64) -> Option<Slot> {
        self.slot_of_chunk.get(&chunk_key).copied()
    }

    /// The slots of a memory's live chunks.
    pub(crate) fn slots_of(&self, ordinal: u32) -> &[Slot] {
        self.slots_of_memory.get(ordinal as usize).map_or(&[], |list| self.slot_lists.get(list))
    }

    /// Number of live chunks of the memories in a set.
    pub(crate) fn chunks_within(&self, set: &MemorySet) -> usize {
        let chunks_of = |ordinal: u32| self.slots_of(ordinal).len();
        let memories = self.slots_of_memory.len();
        if set.len() * 2 < memories {
            return set.iter().map(chunks_of).sum();
        }
        self.live_chunks - set.iter_missing(memories as u32).map(chunks_of).sum::<usize>()
    }

    /// Number of live chunks.
    pub(crate) fn live_chunks(&self) -> usize {
        self.live_chunks
    }

    /// Number that is greater than every slot.
    pub(crate) fn slots_end(&self) -> usize {
        self.chunks.len()
    }

    /// Returns the id of the entity with a hash. `None` if no chunk has mentioned the entity since the project was
    /// opened.
    pub(crate) fn find(&self, hash: u64) -> Option<EntityId> {
        self.probe(hash).ok()
    }

    /// Whether an entity is active if all live chunks are counted.
    #[inline]
    pub(crate) fn is_active(&self, entity: EntityId) -> bool {
        self.is_active[entity as usize]
    }

    /// Returns an entity's counts over all live chunks, and the number of live chunks that mention the entity.
    pub(crate) fn counts(&self, entity: EntityId) -> (Counts, usize) {
        let entity = &self.entities[entity as usize];
        (entity.counts, entity.postings.len())
    }

    /// The live chunks that mention an entity, in no particular order.
    pub(crate) fn postings(&self, entity: EntityId) -> impl ExactSizeIterator<Item = Posting> + '_ {
        self.postings.get(&self.entities[entity as usize].postings).iter().map(|posting| Posting(*posting))
    }

    /// Hash of an entity's words. Unlike its id, it does not depend on the order in which chunks were added.
    pub(crate) fn hash(&self, entity: EntityId) -> u64 {
        self.entities[entity as usize].hash
    }

    /// Surface form of an entity in the first chunk that declared it or had it as its title. `None` if there is no such
    /// chunk, or if the id is unknown.
    pub(crate) fn surface(&self, entity: EntityId) -> Option<&str> {
        let at = self.entities.get(entity as usize)?.surface as usize;
        let length = *self.surfaces.get(at)? as usize;
        std::str::from_utf8(&self.surfaces[at + 1..at + 1 + length]).ok().filter(|text| !text.is_empty())
    }

    /// Returns the id of a mention's entity. A new entity gets a new id.
    fn id_of(&mut self, mention: &Mention<'_>) -> EntityId {
        if (self.entities.len() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let id = match self.probe(mention.hash) {
            Ok(id) => id,
            Err(place) => {
                let id = u32::try_from(self.entities.len()).expect("a project has fewer than 2^32 entities");
                self.entities.push(Entity { hash: mention.hash, ..Entity::default() });
                self.is_active.push(false);
                self.table[place] = id;
                id
            }
        };
        if mention.marks & (TITLE | DECLARED) != 0 && self.entities[id as usize].surface == 0 {
            let text = &mention.surface[..mention.surface.floor_char_boundary(SURFACE_BYTES_MAX)];
            self.entities[id as usize].surface = self.surfaces.len() as u32;
            self.surfaces.push(text.len() as u8);
            self.surfaces.extend_from_slice(text.as_bytes());
            // Surface forms end with a word, so "Dark River (2017 film)" has lost its closing bracket.
            if text.contains('(') && !text.contains(')') {
                self.surfaces.push(b')');
                self.surfaces[self.entities[id as usize].surface as usize] += 1;
            }
        }
        id
    }

    /// Returns the id of the entity with a hash, or as an error the free place in the table for this hash.
    fn probe(&self, hash: u64) -> std::result::Result<EntityId, usize> {
        let mask = self.table.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            match self.table.get(at) {
                Some(0) => return Err(at),
                None => return Err(0),
                Some(id) if self.entities[*id as usize].hash == hash => return Ok(*id),
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    /// Doubles the hash table.
    fn grow(&mut self) {
        if self.entities.is_empty() {
            self.entities.push(Entity::default());
            self.is_active.push(false);
            self.surfaces.push(0);
        }
        self.table = vec![0; (self.table.len() * 2).max(1_024)];
        let mask = self.table.len() - 1;
        for (id, entity) in (0u32..).zip(&self.entities).skip(1) {
            let mut at = entity.hash as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = id;
        }
    }
}

/// Sorts candidates as `Chunk::candidates` requires, and merges candidates of the same entity at the same words.
fn sort_and_merge(candidates: &mut Vec<Candidate>) {
    let rank = |candidate: &Candidate| (candidate.marks & TITLE == 0, candidate.first, u8::MAX - candidate.length);
    candidates.sort_unstable_by_key(|candidate| (rank(candidate), candidate.entity));
    candidates.dedup_by(|later, earlier| {
        let is_same = (later.entity, later.first, later.length) == (earlier.entity, earlier.first, earlier.length);
        if is_same {
            earlier.marks |= later.marks;
        }
        is_same
    });
    // Two entities can have the same words only if one of them is a date. The date is sorted first.
    candidates.sort_by_key(|candidate| (rank(candidate), candidate.marks & DATE == 0));
}

/// Returns each entity of a chunk once, with the combined marks of all its candidates.
fn marks_of_entities(chunk: &Chunk) -> Vec<(EntityId, u8)> {
    let mut entities: Vec<(EntityId, u8)> =
        chunk.candidates.iter().map(|candidate| (candidate.entity, candidate.marks)).collect();
    entities.sort_unstable();
    entities.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            earlier.1 |= later.1;
        }
        is_same
    });
    entities
}
