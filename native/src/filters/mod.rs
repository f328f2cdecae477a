//! Which memories may a search return?
//!
//! | File | Content |
//! |---|---|
//! | `memory_table` | ordinals, visibility and attributes of all memories; makes admissible sets |
//! | `memory_set` | bitmap over memories |
//! | `filter` | operators of a filter and how conditions combine |
//! | `attributes` | index of the attributes of all memories, by attribute path |
//! | `dictionary` | sorted values of one attribute path, each with its posting list |
//! | `slab` | storage of items under numbers that are reused |
//! | `json` | JSON text as comparable values |

mod attributes;
mod dictionary;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod memory_set;
pub(crate) mod memory_table;
mod slab;
