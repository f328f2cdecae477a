//! Which memories may a search return?
//!
//! | File | Content |
//! |---|---|
//! | `memory_table` | ordinals, visibility and attributes of all memories; makes admissible sets |
//! | `memory_set` | bitmap of memories |
//! | `filter` | operators of a filter and how conditions combine |
//! | `attributes` | index of the attributes of all memories, by attribute path |
//! | `dictionary` | parts of the sorted dictionary of one attribute path: values, posting lists, sorted ids |
//! | `slab` | list of items with fixed numbers that are reused after removal |
//! | `json` | parses JSON text into values that can be compared |

mod attributes;
mod dictionary;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod memory_set;
pub(crate) mod memory_table;
mod slab;
