//! The entity graph restricted to one admissible set: decides which mentions are links there. An entity is active if it
//! is the title of a passage, or at least two passages declare it. In each passage, the longest active entities are
//! chosen from left to right without overlap, and become links if they are rare enough. Chunks outside of the
//! admissible set do not count, so that no answer depends on memories that the caller may not see. Results are computed
//! on demand and cached for one request.

use rustc_hash::FxHashMap;

use crate::entities::graph::{EntityGraph, EntityId, Slot};
use crate::entities::record::TITLE;
use crate::filters::memory_set::MemorySet;

/// An entity is too common to be a link if more admissible passages mention it than `DF_SHARE_MAX` times their number.
/// This limit is at least `DF_MIN` and at most `DF_MAX`.
const DF_MIN: f64 = 10.0;
const DF_SHARE_MAX: f64 = 0.005;
const DF_MAX: f64 = 100.0;
/// Maximum number of passages of the whole project that mention an entity, for the entity to be counted within a
/// smaller set. An entity above this limit is a word like "I" or "The": it is no link in a smaller set either.
/// Counting takes 1 ns per passage.
const COUNTED_MAX: usize = 4_096;

/// Counts and state of an entity within the admissible set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EntityStats {
    /// Document frequency: number of passages that mention the entity. Counting stops as soon as the entity is active
    /// but too common to be a link.
    pub(crate) df: u32,
    /// Whether the entity is the title of one of these passages.
    pub(crate) is_title: bool,
    /// Whether the entity is a title, or at least two passages declare it. No shorter entity within the words of an
    /// active entity becomes a link.
    pub(crate) is_active: bool,
    /// Whether the entity is active, and rare enough to be a link.
    pub(crate) is_linked: bool,
}

/// Link of a passage to an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) entity: EntityId,
    /// Term frequency: number of mentions in the passage, including its title.
    pub(crate) tf: u32,
    /// Whether the entity is the title of the passage.
    pub(crate) is_title: bool,
}

/// The graph restricted to the admissible set of one request.
pub(crate) struct AdmissibleGraph<'graph> {
    graph: &'graph EntityGraph,
    /// Bitmap of the slots of admissible passages. `None` if all live passages are admissible; then the counts of the
    /// whole graph are used.
    admissible: Option<MemorySet>,
    /// Number of admissible passages.
    passages: usize,
    /// Maximum document frequency of an entity that is a link.
    df_max: usize,
    stats: FxHashMap<EntityId, EntityStats>,
    /// Links of a passage, as a range of `link_pool` (start, exclusive end).
    links: FxHashMap<Slot, (u32, u32)>,
    link_pool: Vec<Link>,
}

impl<'graph> AdmissibleGraph<'graph> {
    /// Restricts the graph to the memories in a set. Takes some nanoseconds per memory of the set, or, for a large set,
    /// per memory outside of it.
    pub(crate) fn new(graph: &'graph EntityGraph, set: &MemorySet) -> AdmissibleGraph<'graph> {
        let passages = graph.chunks_within(set);
        let admissible = (passages < graph.live_chunks()).then(|| {
            let mut admissible = MemorySet::with_room_for(graph.slots_end());
            set.iter().flat_map(|ordinal| graph.slots_of(ordinal)).for_each(|slot| admissible.insert(*slot));
            admissible
        });
        let df_max = (DF_SHARE_MAX * passages as f64).clamp(DF_MIN, DF_MAX) as usize;
        let (stats, links, link_pool) = Default::default();
        AdmissibleGraph { graph, admissible, passages, df_max, stats, links, link_pool }
    }

    /// The unrestricted graph.
    pub(crate) fn graph(&self) -> &'graph EntityGraph {
        self.graph
    }

    /// Whether a live passage is admissible.
    #[inline]
    pub(crate) fn admits(&self, slot: Slot) -> bool {
        self.admissible.as_ref().is_none_or(|admissible| admissible.contains(slot))
    }

    /// Inverse document frequency: ln((admissible passages + 1) / (document frequency + 0.5)).
    pub(crate) fn idf(&self, stats: EntityStats) -> f64 {
        ((self.passages as f64 + 1.0) / (f64::from(stats.df) + 0.5)).ln()
    }

    /// Returns counts and state of an entity. They are all zero if the entity is not active among all live passages.
    pub(crate) fn stats(&mut self, entity: EntityId) -> EntityStats {
        if !self.graph.is_active(entity) {
            return EntityStats::default();
        }
        if self.admissible.is_none() {
            return self.count(entity);
        }
        if let Some(stats) = self.stats.get(&entity) {
            return *stats;
        }
        let stats = self.count(entity);
        self.stats.insert(entity, stats);
        stats
    }

    /// Like `stats`, but without the cache, and also for entities that are not active.
    pub(crate) fn count(&self, entity: EntityId) -> EntityStats {
        let (live, live_df) = self.graph.counts(entity);
        let (mut df, mut titles, mut declared) = (live_df, live.titles, live.declared);
        if self.admissible.is_some() && live_df <= COUNTED_MAX {
            (df, titles, declared) = (0, 0, 0);
            for posting in self.graph.postings(entity).filter(|posting| self.admits(posting.slot())) {
                df += 1;
                titles += u32::from(posting.is_title());
                declared += u32::from(posting.is_declared());
                if df > self.df_max && (titles > 0 || declared > 1) {
                    break;
                }
            }
        }
        let is_active = titles > 0 || declared > 1;
        EntityStats { df: df as u32, is_title: titles > 0, is_active, is_linked: is_active && df <= self.df_max }
    }

    /// Returns the links of a passage, sorted like `Chunk::candidates`, as numbers for `link`.
    pub(crate) fn links(&mut self, slot: Slot) -> std::ops::Range<usize> {
        if let Some((start, end)) = self.links.get(&slot) {
            return *start as usize..*end as usize;
        }
        let start = self.link_pool.len();
        // Index of the first word after the last active entity found.
        let mut free_from = 0;
        for candidate in &self.graph.chunk(slot).candidates {
            let is_title = candidate.marks & TITLE != 0;
            if (!is_title && candidate.first < free_from) || !self.graph.is_active(candidate.entity) {
                continue;
            }
            let stats = self.stats(candidate.entity);
            if !stats.is_active {
                continue;
            }
            if !is_title {
                free_from = candidate.first + u16::from(candidate.length);
            }
            if !stats.is_linked {
                continue;
            }
            match self.link_pool[start..].iter_mut().find(|link| link.entity == candidate.entity) {
                Some(link) => link.tf += 1,
                None => self.link_pool.push(Link { entity: candidate.entity, tf: 1, is_title }),
            }
        }
        self.links.insert(slot, (start as u32, self.link_pool.len() as u32));
        start..self.link_pool.len()
    }

    /// Returns the link with a number that `links` returned.
    pub(crate) fn link(&self, number: usize) -> Link {
        self.link_pool[number]
    }

    /// Returns the passages that have a link to an entity, each with its `Link::weight`, sorted by chunk key.
    pub(crate) fn passages_of(&mut self, entity: EntityId, title_bonus: f64) -> Vec<(Slot, f64)> {
        let mut found = Vec::new();
        for posting in self.graph.postings(entity) {
            if !self.admits(posting.slot()) {
                continue;
            }
            let links = self.links(posting.slot());
            if let Some(link) = self.link_pool[links].iter().find(|link| link.entity == entity) {
                found.push((posting.slot(), link.weight(title_bonus)));
            }
        }
        found.sort_unstable_by_key(|(slot, _)| self.graph.chunk(*slot).chunk_key);
        found
    }
}

impl Link {
    /// Weight of the link: 1 + 0.5 ln(term frequency), plus `title_bonus` if the entity is the passage's title.
    pub(crate) fn weight(self, title_bonus: f64) -> f64 {
        1.0 + 0.5 * f64::from(self.tf).ln() + if self.is_title { title_bonus } else { 0.0 }
    }
}
