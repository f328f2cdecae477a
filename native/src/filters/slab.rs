//! List of items with fixed numbers. An item keeps its number until it is removed; then the number is reused.

use std::ops::{Index, IndexMut};

/// List whose free places are reused.
#[derive(Debug, Clone)]
pub struct Slab<Item> {
    items: Vec<Item>,
    free: Vec<u32>,
}

impl<Item> Default for Slab<Item> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<Item: Default> Slab<Item> {
    /// Stores an item and returns its number.
    pub fn insert(&mut self, item: Item) -> u32 {
        if let Some(number) = self.free.pop() {
            self.items[number as usize] = item;
            return number;
        }
        let number = u32::try_from(self.items.len()).expect("fewer than 2^32 items fit into memory");
        self.items.push(item);
        number
    }

    /// Removes and returns an item. Its number becomes free.
    pub fn remove(&mut self, number: u32) -> Item {
        self.free.push(number);
        std::mem::take(&mut self.items[number as usize])
    }

    /// Whether no item is stored.
    pub fn is_empty(&self) -> bool {
        self.items.len() == self.free.len()
    }

    /// Number of stored items.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<Item> Index<u32> for Slab<Item> {
    type Output = Item;
    fn index(&self, number: u32) -> &Item {
        &self.items[number as usize]
    }
}

impl<Item> IndexMut<u32> for Slab<Item> {
    fn index_mut(&mut self, number: u32) -> &mut Item {
        &mut self.items[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_number_is_reused_and_other_numbers_stay() {
        let mut slab = Slab::default();
        let [one, two] = ["one", "two"].map(|text| slab.insert(text.to_owned()));
        assert_eq!(slab.remove(one), "one");
        assert_eq!(slab.insert("three".to_owned()), one);
        slab[two].push('!');
        assert_eq!((slab[one].as_str(), slab[two].as_str(), slab.len()), ("three", "two!", 2));
    }
}
