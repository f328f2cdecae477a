//! Removes dead rows from a graph: replaces links to them by links to their neighbours, and renumbers rows after a
//! compaction. Both work on links alone, without computing similarities.

use crate::vectors::graph::hnsw::{Graph, LAYERS_MAX};
use crate::vectors::graph::layers::{LayerView, NO_SLOT};

impl Graph {
    /// Replaces each link to a dead row by a link to the nearest live neighbour of that row to which the slot has no
    /// link yet, if there is one. Afterwards no walk reaches a dead row. Only the thread that changes the graph may
    /// call this; searches can run meanwhile.
    pub fn bypass_dead(&self, is_live: impl Fn(u32) -> bool) {
        let mut links = Vec::new();
        for layer in &self.layers {
            let view = layer.view();
            let is_live = |slot: u32| is_live(view.row(slot));
            for slot in (0..layer.len()).filter(|slot| is_live(*slot)) {
                links.clear();
                links.extend(view.links(slot).filter(|link| is_live(*link)));
                if links.len() < view.links(slot).count() {
                    for dead in view.links(slot).filter(|link| !is_live(*link)) {
                        let past = |link: &u32| *link != slot && is_live(*link) && !links.contains(link);
                        let beyond = view.links(dead).find(past);
                        links.extend(beyond);
                    }
                    view.set_links(slot, &links);
                }
            }
        }
        let entry_is_live = self.entry().is_none_or(|(top, slot)| is_live(self.layers[top].view().row(slot)));
        if !entry_is_live {
            self.choose_entry(is_live);
        }
    }

    /// Returns a copy in which row `n` has become row `numbers[n]`. Rows without a number are left out, and so are
    /// links to them. The numbers must begin at 0 and ascend.
    pub fn renumbered(&self, numbers: &[Option<u32>]) -> Graph {
        let renumbered = Graph::default();
        let mut below: Vec<u32> = Vec::new();
        for (layer, new_layer) in self.layers.iter().zip(&renumbered.layers) {
            let view = layer.view();
            let new_row = |slot: u32| numbers[view.row(slot) as usize].unwrap_or(NO_SLOT);
            let mut new_slots = vec![NO_SLOT; layer.len() as usize];
            for slot in (0..layer.len()).filter(|slot| new_row(*slot) != NO_SLOT) {
                let new_below = if below.is_empty() { NO_SLOT } else { below[view.below(slot) as usize] };
                new_slots[slot as usize] = new_layer.push(new_row(slot), new_below);
            }
            let new_view = new_layer.view();
            copy_links(&view, &new_view, &new_slots);
            below = new_slots;
            if below.is_empty() {
                break; // The layers above are empty as well.
            }
            if let Some((top, slot)) = self.entry()
                && std::ptr::eq(layer, &self.layers[top])
                && below[slot as usize] != NO_SLOT
            {
                renumbered.set_entry(top, below[slot as usize]);
            }
        }
        if renumbered.entry().is_none() {
            renumbered.choose_entry(|_| true);
        }
        if self.is_complete() {
            renumbered.mark_complete();
        }
        renumbered
    }

    /// Makes walks begin at the first live slot of the highest layer that has one. If there is none, removes the entry.
    pub(super) fn choose_entry(&self, is_live: impl Fn(u32) -> bool) {
        let first_live = |layer: usize| {
            let view = self.layers[layer].view();
            (0..self.layers[layer].len()).find(|slot| is_live(view.row(*slot))).map(|slot| (layer, slot))
        };
        match (0..LAYERS_MAX).rev().find_map(first_live) {
            Some((layer, slot)) => self.set_entry(layer, slot),
            None => self.clear_entry(),
        }
    }
}

fn copy_links(view: &LayerView, new_view: &LayerView, new_slots: &[u32]) {
    let mut links = Vec::new();
    for (slot, new_slot) in new_slots.iter().enumerate().filter(|(_, new_slot)| **new_slot != NO_SLOT) {
        links.clear();
        let renumbered = view.links(slot as u32).map(|link| new_slots[link as usize]);
        links.extend(renumbered.filter(|link| *link != NO_SLOT));
        new_view.set_links(*new_slot, &links);
    }
}
