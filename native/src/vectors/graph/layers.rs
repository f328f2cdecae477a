//! Memory of the graph: layers of slots, each with links to other slots of its layer. One thread adds slots and changes
//! links while any number of threads read, without locks. A link is one atomic number. A reader that meets a
//! half-written list sees some old and some new links, all of which are valid.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Marks the end of a list of links; also stands for a slot that does not exist.
pub const NO_SLOT: u32 = u32::MAX;
/// Number of slots per block of memory: half a megabyte of links in the base layer.
const SEGMENT_SLOTS: usize = 4_096;

/// Slots of a layer. They are never moved.
#[derive(Debug)]
struct Segment {
    /// Links of each slot, `[SEGMENT_SLOTS, degree]`. A list ends at `NO_SLOT` or at `degree`.
    links: Box<[AtomicU32]>,
    /// Row, and slot in the layer below, of each slot, `[SEGMENT_SLOTS, 2]`. Empty in the base layer.
    places: Box<[AtomicU32]>,
}

/// A layer that one thread changes.
#[derive(Debug)]
pub struct Layer {
    degree: usize,
    is_base: bool,
    segments: RwLock<Arc<Vec<Arc<Segment>>>>,
    len: AtomicU32,
}

/// A layer as a reader sees it: with the slots that had memory when the view was taken.
#[derive(Debug, Clone)]
pub struct LayerView {
    degree: usize,
    is_base: bool,
    segments: Arc<Vec<Arc<Segment>>>,
}

impl Layer {
    /// Creates an empty layer whose slots have at most `degree` links. In the base layer, the number of a slot is the
    /// number of its row.
    pub fn new(degree: usize, is_base: bool) -> Self {
        Layer { degree, is_base, segments: RwLock::default(), len: AtomicU32::new(0) }
    }

    /// Number of slots.
    pub fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// A view of the slots that have memory now.
    pub fn view(&self) -> LayerView {
        let segments = Arc::clone(&self.segments.read().unwrap_or_else(PoisonError::into_inner));
        LayerView { degree: self.degree, is_base: self.is_base, segments }
    }

    /// Appends a slot without links and returns its number. Only the thread that changes the layer may call this.
    pub fn push(&self, row: u32, below: u32) -> u32 {
        let slot = self.len.load(Ordering::Relaxed);
        if (slot as usize).is_multiple_of(SEGMENT_SLOTS) {
            let segment = Segment {
                links: empty(SEGMENT_SLOTS * self.degree),
                places: empty(if self.is_base { 0 } else { SEGMENT_SLOTS * 2 }),
            };
            let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
            let grown = segments.iter().cloned().chain([Arc::new(segment)]).collect();
            *segments = Arc::new(grown);
        }
        if !self.is_base {
            let view = self.view();
            let (segment, within) = view.place(slot);
            segment.places[within * 2].store(row, Ordering::Relaxed);
            segment.places[within * 2 + 1].store(below, Ordering::Relaxed);
        }
        self.len.store(slot + 1, Ordering::Release);
        slot
    }
}

impl LayerView {
    /// Maximum number of links of a slot.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of slots that have memory in this view. Links to later slots must be skipped.
    pub fn capacity(&self) -> u32 {
        (self.segments.len() * SEGMENT_SLOTS) as u32
    }

    /// The links of a slot. Those to slots that this view does not have are left out.
    pub fn links(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let (segment, within) = self.place(slot);
        let links = &segment.links[within * self.degree..][..self.degree];
        // Acquire ordering: a reader that follows a link also sees the links of the slot that it leads to.
        let links = links.iter().map(|link| link.load(Ordering::Acquire));
        let capacity = self.capacity();
        links.take_while(|link| *link != NO_SLOT).filter(move |link| *link < capacity)
    }

    /// Replaces the links of a slot by at most `degree` others. Only the thread that changes the layer may call this.
    pub fn set_links(&self, slot: u32, links: &[u32]) {
        assert!(links.len() <= self.degree, "a slot has too many links");
        let (segment, within) = self.place(slot);
        let stored = &segment.links[within * self.degree..][..self.degree];
        let ended = links.iter().copied().chain(std::iter::once(NO_SLOT));
        stored.iter().zip(ended).for_each(|(stored, link)| stored.store(link, Ordering::Release));
    }

    /// The row that a slot stands for.
    pub fn row(&self, slot: u32) -> u32 {
        if self.is_base {
            return slot;
        }
        let (segment, within) = self.place(slot);
        segment.places[within * 2].load(Ordering::Relaxed)
    }

    /// The slot of the same row in the layer below. Must not be called for the base layer.
    pub fn below(&self, slot: u32) -> u32 {
        let (segment, within) = self.place(slot);
        segment.places[within * 2 + 1].load(Ordering::Relaxed)
    }

    fn place(&self, slot: u32) -> (&Segment, usize) {
        (&self.segments[slot as usize / SEGMENT_SLOTS], slot as usize % SEGMENT_SLOTS)
    }
}

fn empty(count: usize) -> Box<[AtomicU32]> {
    std::iter::repeat_with(|| AtomicU32::new(NO_SLOT)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_their_links_and_places_beyond_a_segment() {
        let (base, upper) = (Layer::new(3, true), Layer::new(2, false));
        let slots = SEGMENT_SLOTS as u32 + 2;
        for number in 0..slots {
            assert_eq!(base.push(number, NO_SLOT), number);
            assert_eq!(upper.push(number * 2, number), number);
        }
        let old = base.view();
        for slot in [0, 1, SEGMENT_SLOTS as u32 - 1, SEGMENT_SLOTS as u32, slots - 1] {
            let links = [slot / 2, 5, 6];
            for length in [0, 1, 3, 2] {
                base.view().set_links(slot, &links[..length]);
                assert!(old.links(slot).eq(links[..length].iter().copied()), "{slot}");
            }
            assert_eq!(base.view().row(slot), slot);
            assert_eq!([upper.view().row(slot), upper.view().below(slot)], [slot * 2, slot]);
        }
        assert_eq!([base.len(), upper.len()], [slots, slots]);
    }

    #[test]
    fn a_reader_skips_links_to_slots_that_came_after_its_view() {
        let layer = Layer::new(2, true);
        layer.push(0, NO_SLOT);
        let before = layer.view();
        (1..=SEGMENT_SLOTS as u32).for_each(|row| {
            layer.push(row, NO_SLOT);
        });
        layer.view().set_links(0, &[SEGMENT_SLOTS as u32, 7]);
        assert!(before.links(0).eq([7]));
        assert!(layer.view().links(0).eq([SEGMENT_SLOTS as u32, 7]));
    }
}
