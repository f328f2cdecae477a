//! Things that are known by a number: a number stays as long as its thing, and is then given to another.

use std::ops::{Index, IndexMut};

/// A list whose places are used again.
#[derive(Debug, Clone)]
pub struct Slab<Thing> {
    things: Vec<Thing>,
    free: Vec<u32>,
}

impl<Thing> Default for Slab<Thing> {
    fn default() -> Self {
        Slab { things: Vec::new(), free: Vec::new() }
    }
}

impl<Thing: Default> Slab<Thing> {
    /// Keeps a thing; returns its number.
    pub fn insert(&mut self, thing: Thing) -> u32 {
        if let Some(number) = self.free.pop() {
            self.things[number as usize] = thing;
            return number;
        }
        let number = u32::try_from(self.things.len()).expect("fewer than 2^32 things fit into memory");
        self.things.push(thing);
        number
    }

    /// Takes a thing out; its number is free.
    pub fn remove(&mut self, number: u32) -> Thing {
        self.free.push(number);
        std::mem::take(&mut self.things[number as usize])
    }

    /// How many things are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}

impl<Thing> Index<u32> for Slab<Thing> {
    type Output = Thing;
    fn index(&self, number: u32) -> &Thing {
        &self.things[number as usize]
    }
}

impl<Thing> IndexMut<u32> for Slab<Thing> {
    fn index_mut(&mut self, number: u32) -> &mut Thing {
        &mut self.things[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_number_is_given_again_and_others_stay() {
        let mut slab = Slab::default();
        let [one, two] = ["one", "two"].map(|text| slab.insert(text.to_owned()));
        assert_eq!(slab.remove(one), "one");
        assert_eq!(slab.insert("three".to_owned()), one);
        slab[two].push('!');
        assert_eq!((slab[one].as_str(), slab[two].as_str(), slab.len()), ("three", "two!", 2));
    }
}
