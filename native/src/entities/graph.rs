//! The knowledge graph of a project in memory: which chunks mention which names. It follows from the records stored
//! with the live chunks (`entities::record`) and from nothing else, in whatever order they came. Which mentions are
//! links inside a question's scope says `entities::scope`, what they lead to `entities::walk`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::posting_lists::{List, PostingLists};
use crate::entities::record::{DATE, DECLARED, Mention, RecordReader, TITLE};
use crate::error::Result;

/// Chunks up to which a memory's mentions are taken out one by one.
const FEW_CHUNKS: usize = 4;
/// Longer surface forms are cut.
const SURFACE_BYTES_MAX: usize = 160;

/// A name, by the order in which the open project met it. 0 is none.
pub(crate) type NameId = u32;
/// A chunk's place in the graph.
pub(crate) type Slot = u32;

/// A chunk in the graph.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) chunk_key: u64,
    /// Its memory, as `filters::candidates` numbers them.
    pub(crate) ordinal: u32,
    /// By first word, the longest first; titles before all.
    pub(crate) candidates: Box<[Candidate]>,
}

/// A place in a chunk that may become a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: NameId,
    pub(crate) first: u16,
    pub(crate) length: u8,
    /// Kinds and `PROPER`, of `entities::record`.
    pub(crate) marks: u8,
}

/// A mention of a name in a chunk: `slot · 4`, plus 1 where it is the chunk's title, plus 2 where the chunk declares
/// it.
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

/// What is known of a name over all live chunks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Chunks whose title it is.
    pub(crate) titles: u32,
    /// Chunks that declare it.
    pub(crate) declared: u32,
}

impl Counts {
    /// Whether a name may be linked at all: a title, or declared twice.
    pub(crate) fn is_active(self) -> bool {
        self.titles > 0 || self.declared > 1
    }
}

#[derive(Debug, Default)]
struct Name {
    hash: u64,
    mentions: List,
    counts: Counts,
    /// Where `surfaces` holds its length and its text; 0 while no chunk declares it.
    surface: u32,
}

/// The graph.
#[derive(Default)]
pub(crate) struct NameGraph {
    names: Vec<Name>,
    /// Open addressing: ids of `names` by hash, 0 for a free place.
    table: Vec<NameId>,
    /// By id, `Counts::is_active`: small enough for a processor's cache, unlike `names`.
    is_active: Vec<bool>,
    mentions: PostingLists,
    surfaces: Vec<u8>,
    chunks: Vec<Option<Chunk>>,
    free_slots: Vec<Slot>,
    of_chunk: FxHashMap<u64, Slot>,
    /// By ordinal, the slots of a memory, in `slots`.
    of_memory: Vec<List>,
    slots: PostingLists,
    live: usize,
    reader: RecordReader,
    scratch: Vec<Candidate>,
}

impl std::fmt::Debug for NameGraph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NameGraph").field("names", &self.names.len()).finish_non_exhaustive()
    }
}

impl NameGraph {
    /// Adds a chunk that is not in it; `record` is of `entities::record`. About 5 µs.
    pub(crate) fn add(&mut self, chunk_key: u64, ordinal: u32, record: &[u8]) -> Result<()> {
        let mut candidates = std::mem::take(&mut self.scratch);
        let mut reader = std::mem::take(&mut self.reader);
        candidates.clear();
        let read = reader.each_mention(record, |mention| {
            let name = self.name(&mention);
            let Mention { first, length, marks, .. } = mention;
            candidates.push(Candidate { name, first, length, marks });
        });
        self.reader = reader;
        read?;
        let place = |c: &Candidate| (c.marks & TITLE == 0, c.first, u8::MAX - c.length);
        candidates.sort_unstable_by_key(|c| (place(c), c.name));
        candidates.dedup_by(|later, earlier| {
            let is_same = (later.name, later.first, later.length) == (earlier.name, earlier.first, earlier.length);
            if is_same {
                earlier.marks |= later.marks;
            }
            is_same
        });
        // Two names can have the same words only where one is their date, which then comes first.
        candidates.sort_by_key(|c| (place(c), c.marks & DATE == 0));
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.chunks.push(None);
            u32::try_from(self.chunks.len() - 1).expect("a project has fewer than 2^30 chunks")
        });
        let chunk = Chunk { chunk_key, ordinal, candidates: candidates.as_slice().into() };
        self.scratch = candidates;
        for (id, marks) in marks_of_names(&chunk) {
            let name = &mut self.names[id as usize];
            self.mentions.push(&mut name.mentions, Posting::new(slot, marks).0);
            name.counts.titles += u32::from(marks & TITLE != 0);
            name.counts.declared += u32::from(marks & DECLARED != 0);
            self.is_active[id as usize] = name.counts.is_active();
        }
        self.of_chunk.insert(chunk_key, slot);
        if ordinal as usize >= self.of_memory.len() {
            self.of_memory.resize(ordinal as usize + 1, List::default());
        }
        self.slots.push(&mut self.of_memory[ordinal as usize], slot);
        self.live += 1;
        self.chunks[slot as usize] = Some(chunk);
        Ok(())
    }

    /// Removes all chunks of a memory.
    pub(crate) fn remove_memory(&mut self, ordinal: u32) {
        let Some(list) = self.of_memory.get_mut(ordinal as usize) else { return };
        let slots = self.slots.get(list).to_vec();
        self.slots.retain(list, |_| false);
        // One by one, a name in all chunks of a long memory would be looked for in its list again and again.
        let are_many = slots.len() > FEW_CHUNKS;
        let mut names_of_all: FxHashSet<NameId> = FxHashSet::default();
        for slot in slots.iter().copied() {
            let Some(chunk) = self.chunks[slot as usize].take() else { continue };
            for (id, marks) in marks_of_names(&chunk) {
                let name = &mut self.names[id as usize];
                if are_many {
                    names_of_all.insert(id);
                } else {
                    self.mentions.remove(&mut name.mentions, Posting::new(slot, marks).0);
                }
                name.counts.titles -= u32::from(marks & TITLE != 0);
                name.counts.declared -= u32::from(marks & DECLARED != 0);
                self.is_active[id as usize] = name.counts.is_active();
            }
            if self.of_chunk.get(&chunk.chunk_key) == Some(&slot) {
                self.of_chunk.remove(&chunk.chunk_key);
            }
            self.live -= 1;
            self.free_slots.push(slot);
        }
        if are_many {
            let gone: FxHashSet<Slot> = slots.into_iter().collect();
            for id in names_of_all {
                let is_kept = |posting: u32| !gone.contains(&Posting(posting).slot());
                self.mentions.retain(&mut self.names[id as usize].mentions, is_kept);
            }
        }
    }

    /// The chunk in a slot that a posting, `slot_of` or `slots_of` named.
    pub(crate) fn chunk(&self, slot: Slot) -> &Chunk {
        self.chunks[slot as usize].as_ref().expect("postings name live slots only")
    }

    /// Where a live chunk is.
    pub(crate) fn slot_of(&self, chunk_key: u64) -> Option<Slot> {
        self.of_chunk.get(&chunk_key).copied()
    }

    /// The live chunks of a memory.
    pub(crate) fn slots_of(&self, ordinal: u32) -> &[Slot] {
        self.of_memory.get(ordinal as usize).map_or(&[], |list| self.slots.get(list))
    }

    /// How many chunks are live.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Slots are below this.
    pub(crate) fn slots_end(&self) -> usize {
        self.chunks.len()
    }

    /// The id of a name that was ever met.
    pub(crate) fn find(&self, hash: u64) -> Option<NameId> {
        self.place(hash).ok()
    }

    /// Whether a name is active over all live chunks.
    #[inline]
    pub(crate) fn is_active(&self, name: NameId) -> bool {
        self.is_active[name as usize]
    }

    /// A name's counts over all live chunks, and how many mention it.
    pub(crate) fn counts(&self, name: NameId) -> (Counts, usize) {
        let name = &self.names[name as usize];
        (name.counts, name.mentions.len())
    }

    /// The live chunks that mention a name, in no particular order.
    pub(crate) fn postings(&self, name: NameId) -> impl ExactSizeIterator<Item = Posting> + '_ {
        self.mentions.get(&self.names[name as usize].mentions).iter().map(|posting| Posting(*posting))
    }

    /// A number that tells names apart in the same way whatever order they came in.
    pub(crate) fn hash(&self, name: NameId) -> u64 {
        self.names[name as usize].hash
    }

    /// A name as the first chunk that declared it wrote it; `None` for no name, or one that none declared.
    pub(crate) fn surface(&self, name: NameId) -> Option<&str> {
        let at = self.names.get(name as usize)?.surface as usize;
        let length = *self.surfaces.get(at)? as usize;
        std::str::from_utf8(&self.surfaces[at + 1..at + 1 + length]).ok().filter(|text| !text.is_empty())
    }

    /// The id of a mention's name, a new one if it was never met.
    fn name(&mut self, mention: &Mention<'_>) -> NameId {
        if (self.names.len() + 1) * 4 > self.table.len() * 3 {
            self.grow();
        }
        let id = match self.place(mention.hash) {
            Ok(id) => id,
            Err(place) => {
                let id = u32::try_from(self.names.len()).expect("a project has fewer than 2^32 names");
                self.names.push(Name { hash: mention.hash, ..Name::default() });
                self.is_active.push(false);
                self.table[place] = id;
                id
            }
        };
        if mention.marks & (TITLE | DECLARED) != 0 && self.names[id as usize].surface == 0 {
            let text = &mention.surface[..mention.surface.floor_char_boundary(SURFACE_BYTES_MAX)];
            self.names[id as usize].surface = self.surfaces.len() as u32;
            self.surfaces.push(text.len() as u8);
            self.surfaces.extend_from_slice(text.as_bytes());
            // The words of "Dark River (2017 film)" end before the bracket does.
            if text.contains('(') && !text.contains(')') {
                self.surfaces.push(b')');
                self.surfaces[self.names[id as usize].surface as usize] += 1;
            }
        }
        id
    }

    /// The id under a hash, or the free place where it would go.
    fn place(&self, hash: u64) -> std::result::Result<NameId, usize> {
        let mask = self.table.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            match self.table.get(at) {
                Some(0) => return Err(at),
                None => return Err(0),
                Some(id) if self.names[*id as usize].hash == hash => return Ok(*id),
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        if self.names.is_empty() {
            self.names.push(Name::default());
            self.is_active.push(false);
            self.surfaces.push(0);
        }
        self.table = vec![0; (self.table.len() * 2).max(1_024)];
        let mask = self.table.len() - 1;
        for (id, name) in (0u32..).zip(&self.names).skip(1) {
            let mut at = name.hash as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = id;
        }
    }
}

/// Each name of a chunk once, with the marks of all its candidates.
fn marks_of_names(chunk: &Chunk) -> Vec<(NameId, u8)> {
    let mut names: Vec<(NameId, u8)> = chunk.candidates.iter().map(|c| (c.name, c.marks)).collect();
    names.sort_unstable();
    names.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            earlier.1 |= later.1;
        }
        is_same
    });
    names
}
