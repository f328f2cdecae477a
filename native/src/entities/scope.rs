//! Which mentions of names are links, inside what one question may see: a passage links the longest active names in it,
//! from left to right. Nothing outside of the admissible set counts, so that nobody's answers depend on what they
//! cannot see. Computed when asked for, and remembered for the question only.

use rustc_hash::FxHashMap;

use crate::entities::graph::{NameGraph, NameId, Slot};
use crate::entities::record::TITLE;
use crate::filters::memory_set::MemorySet;

/// A name that more passages mention links nothing: this many in a small scope, `DF_SHARE_MAX` of a larger one, and
/// never more than `DF_MAX`.
const DF_MIN: f64 = 10.0;
const DF_SHARE_MAX: f64 = 0.005;
const DF_MAX: f64 = 100.0;
/// A name that more passages of the whole project mention is not counted in a smaller scope: it links nothing there
/// either. It is "I" or "The", and counting takes 1 ns a passage.
const COUNTED_MAX: usize = 4_096;

/// What a name is within a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Passages that mention it; no further than is needed to know that it links nothing.
    pub(crate) df: u32,
    /// The title of one of them.
    pub(crate) is_title: bool,
    /// A title, or declared by two: it takes the words that it matches.
    pub(crate) is_active: bool,
    /// Active, and rare enough to be linked.
    pub(crate) is_linked: bool,
}

/// A passage's link to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) name: NameId,
    /// Matches, its title among them.
    pub(crate) tf: u32,
    pub(crate) is_title: bool,
}

/// The graph as one question sees it.
pub(crate) struct Scope<'graph> {
    graph: &'graph NameGraph,
    /// One bit per slot: its passage is admitted; `None` where all live ones are, so that the graph's own counts are
    /// the scope's.
    admitted: Option<MemorySet>,
    passages: usize,
    df_max: usize,
    standings: FxHashMap<NameId, Standing>,
    links: FxHashMap<Slot, (u32, u32)>,
    arena: Vec<Link>,
}

impl<'graph> Scope<'graph> {
    /// A scope over the memories of a set. 2 ns a memory.
    pub(crate) fn new(graph: &'graph NameGraph, set: &MemorySet) -> Scope<'graph> {
        let passages = set.iter().map(|ordinal| graph.slots_of(ordinal).len()).sum();
        let admitted = (passages < graph.live()).then(|| {
            let mut admitted = MemorySet::with_room_for(graph.slots_end());
            set.iter().flat_map(|ordinal| graph.slots_of(ordinal)).for_each(|slot| admitted.insert(*slot));
            admitted
        });
        let df_max = (DF_SHARE_MAX * passages as f64).clamp(DF_MIN, DF_MAX) as usize;
        let (standings, links, arena) = Default::default();
        Scope { graph, admitted, passages, df_max, standings, links, arena }
    }

    /// The graph behind it.
    pub(crate) fn graph(&self) -> &'graph NameGraph {
        self.graph
    }

    /// Whether a live passage is in it.
    #[inline]
    pub(crate) fn admits(&self, slot: Slot) -> bool {
        self.admitted.as_ref().is_none_or(|admitted| admitted.contains(slot))
    }

    /// How telling a name is that so many passages of the scope mention: ln((N + 1)/(df + .5)).
    pub(crate) fn idf(&self, standing: Standing) -> f64 {
        ((self.passages as f64 + 1.0) / (f64::from(standing.df) + 0.5)).ln()
    }

    /// What a name is here. Of one that is not even active among all live passages nothing is counted.
    pub(crate) fn standing(&mut self, name: NameId) -> Standing {
        if !self.graph.is_active(name) {
            return Standing::default();
        }
        if self.admitted.is_none() {
            return self.count(name);
        }
        if let Some(standing) = self.standings.get(&name) {
            return *standing;
        }
        let standing = self.count(name);
        self.standings.insert(name, standing);
        standing
    }

    /// The same, counted anew, for names that are not active too.
    pub(crate) fn count(&self, name: NameId) -> Standing {
        let (live, live_df) = self.graph.counts(name);
        let (mut df, mut titles, mut declared) = (live_df, live.titles, live.declared);
        if self.admitted.is_some() && live_df <= COUNTED_MAX {
            (df, titles, declared) = (0, 0, 0);
            for posting in self.graph.postings(name).filter(|posting| self.admits(posting.slot())) {
                df += 1;
                titles += u32::from(posting.is_title());
                declared += u32::from(posting.is_declared());
                if df > self.df_max && (titles > 0 || declared > 1) {
                    break;
                }
            }
        }
        let is_active = titles > 0 || declared > 1;
        Standing { df: df as u32, is_title: titles > 0, is_active, is_linked: is_active && df <= self.df_max }
    }

    /// The links of a passage, by where they first stand in it; numbers for `link`.
    pub(crate) fn links(&mut self, slot: Slot) -> std::ops::Range<usize> {
        if let Some((start, end)) = self.links.get(&slot) {
            return *start as usize..*end as usize;
        }
        let start = self.arena.len();
        let mut free_from = 0;
        for candidate in &self.graph.chunk(slot).candidates {
            let is_title = candidate.marks & TITLE != 0;
            if (!is_title && candidate.first < free_from) || !self.graph.is_active(candidate.name) {
                continue;
            }
            let standing = self.standing(candidate.name);
            if !standing.is_active {
                continue;
            }
            if !is_title {
                free_from = candidate.first + u16::from(candidate.length);
            }
            if !standing.is_linked {
                continue;
            }
            match self.arena[start..].iter_mut().find(|link| link.name == candidate.name) {
                Some(link) => link.tf += 1,
                None => self.arena.push(Link { name: candidate.name, tf: 1, is_title }),
            }
        }
        self.links.insert(slot, (start as u32, self.arena.len() as u32));
        start..self.arena.len()
    }

    /// A link that `links` numbered.
    pub(crate) fn link(&self, number: usize) -> Link {
        self.arena[number]
    }

    /// The passages that link a name, by chunk key, with 1 + .5 ln tf, and `title_bonus` more where it is the title.
    pub(crate) fn passages_of(&mut self, name: NameId, title_bonus: f64) -> Vec<(Slot, f64)> {
        let mut found = Vec::new();
        for posting in self.graph.postings(name) {
            if !self.admits(posting.slot()) {
                continue;
            }
            let links = self.links(posting.slot());
            if let Some(link) = self.arena[links].iter().find(|link| link.name == name) {
                found.push((posting.slot(), link.weight(title_bonus)));
            }
        }
        found.sort_unstable_by_key(|(slot, _)| self.graph.chunk(*slot).chunk_key);
        found
    }
}

impl Link {
    /// 1 + .5 ln tf, and `title_bonus` more where the name is the passage's title.
    pub(crate) fn weight(self, title_bonus: f64) -> f64 {
        1.0 + 0.5 * f64::from(self.tf).ln() + if self.is_title { title_bonus } else { 0.0 }
    }
}
