//! Search and insertion in a graph of layers (HNSW). The base layer has all rows; each layer above has about a
//! sixteenth of the rows below it. A search descends through the upper layers, which takes few steps, and begins in the
//! base layer near the query.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::vectors::graph::layers::{Layer, LayerView, NO_SLOT};
use crate::vectors::graph::walk::{Reach, Scored, Scratch, walk};
use crate::vectors::int4_matrix::{Int4Query, Int4Vectors};

/// Maximum number of links of a slot in the layers above the base layer; twice as many in the base layer.
pub const DEGREE: usize = 16;
/// Maximum number of layers. Only one in 16^7 rows reaches the eighth.
pub const LAYERS_MAX: usize = 8;
/// Number of the most similar rows from which the links of a new row are chosen.
const INSERTION_REACH: usize = 100;
/// A slot gets at least this many quarters of its maximum number of links, if there are enough similar slots. Without
/// this minimum, rows in the middle of a cluster would have one or two links, and links to isolated rows would be lost.
/// With all four quarters, each new link to a slot would mean that all its links are chosen again.
const FILLED_QUARTERS: usize = 3;
/// Value of `Graph::entry` for a graph in which no walk can begin.
const NO_ENTRY: u64 = u64::MAX;

/// The graph of the first rows of a table. One thread adds rows, any number of threads search meanwhile.
#[derive(Debug)]
pub struct Graph {
    pub(super) layers: Vec<Layer>,
    /// The highest layer that has slots, and its slot in which walks begin: `layer << 32 | slot`.
    entry: AtomicU64,
    /// Whether searches may use the graph: it has contained all rows at some time, or most of them when it was loaded.
    is_complete: AtomicBool,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Rows that were accepted, the most similar first.
    pub rows: Vec<u32>,
    /// Whether the walk ended by itself. Otherwise it reached the limit of rows to compare.
    pub has_ended: bool,
}

impl Default for Graph {
    fn default() -> Self {
        let layers = (0..LAYERS_MAX).map(|at| Layer::new(degree_of(at), at == 0)).collect();
        Graph { layers, entry: AtomicU64::new(NO_ENTRY), is_complete: AtomicBool::new(false) }
    }
}

/// Maximum number of links of a slot of a layer.
pub fn degree_of(layer: usize) -> usize {
    if layer == 0 { 2 * DEGREE } else { DEGREE }
}

impl Graph {
    /// Number of rows that the graph has, including dead ones. They are the rows 0 to `len() - 1`.
    pub fn len(&self) -> u32 {
        self.layers[0].len()
    }

    /// Whether searches may use the graph.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Allows searches to use the graph.
    pub fn mark_complete(&self) {
        self.is_complete.store(true, Ordering::Release);
    }

    /// The rows most similar to a unit query `[dimensions]` among those that `accepts` admits.
    pub fn search(
        &self,
        vectors: Int4Vectors<'_>,
        query: &[f32],
        reach: Reach,
        accepts: impl Fn(u32) -> bool,
    ) -> Found {
        let (query, mut scratch) = (vectors.query(query), Scratch::default());
        let Some((layer, slot)) = self.entry() else { return Found { rows: Vec::new(), has_ended: true } };
        let entries = self.descend(vectors, &query, (layer, slot), 0, &mut scratch);
        // The view has a fixed number of slots, so the walk never follows a link to a row that is added meanwhile.
        let (found, has_ended) = walk(vectors, &self.layers[0].view(), &query, &entries, reach, accepts, &mut scratch);
        Found { rows: found.into_iter().map(|(_, row)| row).collect(), has_ended }
    }

    /// Adds the next row. A dead row gets a slot without links, because slots of the base layer have the numbers of
    /// rows. Only one thread may call this.
    pub fn insert(&self, vectors: Int4Vectors<'_>, is_live: bool, scratch: &mut Scratch) {
        let row = self.len();
        if !is_live {
            self.layers[0].push(row, NO_SLOT);
            return;
        }
        let level = level_of(row);
        let mut query = Int4Query::default();
        vectors.query_of_row(row, &mut query);
        let entry = self.entry();
        let mut links: Vec<Vec<u32>> = vec![Vec::new(); level + 1];
        if let Some((top, slot)) = entry {
            let lowest = level.min(top);
            let mut entries = self.descend(vectors, &query, (top, slot), lowest, scratch);
            for layer in (0..=lowest).rev() {
                let view = self.layers[layer].view();
                let reach = Reach { wanted: INSERTION_REACH, seen_max: usize::MAX };
                let (near, _) = walk(vectors, &view, &query, &entries, reach, |_| true, scratch);
                links[layer] = choose_links(vectors, &view, &near, DEGREE);
                if layer > 0 {
                    entries = near.into_iter().map(|(similarity, slot)| (similarity, view.below(slot))).collect();
                }
            }
        }
        let mut slot = NO_SLOT;
        for (at, links) in links.iter().enumerate() {
            slot = self.layers[at].push(row, slot);
            let view = self.layers[at].view();
            view.set_links(slot, links);
            links.iter().for_each(|link| link_back(vectors, &view, *link, slot));
        }
        if entry.is_none_or(|(top, _)| level > top) {
            self.set_entry(level, slot);
        }
    }

    /// The layer and slot in which walks begin; `None` if there is no such slot.
    pub(super) fn entry(&self) -> Option<(usize, u32)> {
        let entry = self.entry.load(Ordering::Acquire);
        (entry != NO_ENTRY).then_some(((entry >> 32) as usize, entry as u32))
    }

    /// The entry as the file stores it.
    pub(super) fn raw_entry(&self) -> u64 {
        self.entry.load(Ordering::Acquire)
    }

    /// Removes the entry, so that searches find nothing.
    pub(super) fn clear_entry(&self) {
        self.entry.store(NO_ENTRY, Ordering::Release);
    }

    pub(super) fn set_entry(&self, layer: usize, slot: u32) {
        self.entry.store((layer as u64) << 32 | u64::from(slot), Ordering::Release);
    }

    /// Walks from the given slot down to the layer `lowest`, in each layer above it to the most similar slot. Returns
    /// the slot of `lowest` in which to begin.
    fn descend(
        &self,
        vectors: Int4Vectors<'_>,
        query: &Int4Query,
        (top, slot): (usize, u32),
        lowest: usize,
        scratch: &mut Scratch,
    ) -> Vec<Scored> {
        let mut similarities = Vec::new();
        vectors.similarities(query, &[self.layers[top].view().row(slot)], &mut similarities);
        let mut best = (similarities[0], slot);
        for layer in (lowest + 1..=top).rev() {
            let view = self.layers[layer].view();
            let reach = Reach { wanted: 1, seen_max: usize::MAX };
            let (found, _) = walk(vectors, &view, query, &[best], reach, |_| true, scratch);
            let (similarity, slot) = found.first().copied().unwrap_or(best);
            best = (similarity, view.below(slot));
        }
        vec![best]
    }
}

/// The highest layer of a row. It depends only on the row's number. Each layer gets about a sixteenth of the rows of
/// the layer below.
fn level_of(row: u32) -> usize {
    let mut bits = u64::from(row).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)).trailing_zeros() / DEGREE.ilog2()).min(LAYERS_MAX as u32 - 1) as usize
}

/// Chooses links among similar slots, the most similar first. A slot is left out if it is more similar to a chosen slot
/// than to the row itself, because a walk reaches it through that slot (algorithm 4 of the paper that `walk` names).
/// Copies of a chosen slot are also left out; otherwise a row with many copies would have links to nothing else. If
/// there are then fewer links than `FILLED_QUARTERS` asks for, the most similar of those left out are added.
fn choose_links(vectors: Int4Vectors<'_>, view: &LayerView, near: &[Scored], links_max: usize) -> Vec<u32> {
    let (mut left, mut chosen) = (near.to_vec(), Vec::with_capacity(links_max));
    let (mut query, mut similarities) = (Int4Query::default(), Vec::new());
    let mut rows = Vec::with_capacity(near.len());
    while let Some((_, slot)) = left.first().copied() {
        chosen.push(slot);
        if chosen.len() == links_max {
            return chosen;
        }
        vectors.query_of_row(view.row(slot), &mut query);
        rows.clear();
        rows.extend(left.iter().map(|(_, slot)| view.row(*slot)));
        vectors.similarities(&query, &rows, &mut similarities);
        let to_itself = similarities[0];
        let mut to_chosen = similarities.iter();
        left.retain(|(to_row, _)| {
            to_chosen.next().is_some_and(|to_chosen| to_chosen <= to_row && *to_chosen < to_itself)
        });
    }
    let left_out = near.iter().map(|(_, slot)| *slot).filter(|slot| !chosen.contains(slot));
    let filling: Vec<u32> = left_out.take((links_max * FILLED_QUARTERS / 4).saturating_sub(chosen.len())).collect();
    chosen.extend(filling);
    chosen
}

/// Adds a link from `slot` to `new`. If the slot then has too many links, they are chosen again.
fn link_back(vectors: Int4Vectors<'_>, view: &LayerView, slot: u32, new: u32) {
    let mut links: Vec<u32> = view.links(slot).collect();
    if links.contains(&new) {
        return;
    }
    links.push(new);
    if links.len() > view.degree() {
        let (mut query, mut similarities) = (Int4Query::default(), Vec::new());
        vectors.query_of_row(view.row(slot), &mut query);
        let rows: Vec<u32> = links.iter().map(|link| view.row(*link)).collect();
        vectors.similarities(&query, &rows, &mut similarities);
        let mut near: Vec<Scored> = similarities.into_iter().zip(links).collect();
        near.sort_unstable_by(|a, b| b.cmp(a));
        links = choose_links(vectors, view, &near, view.degree());
    }
    view.set_links(slot, &links);
}
