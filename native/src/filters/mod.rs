//! Which memories may a search return?
//!
//! | File | Content |
//! |---|---|
//! | `candidates` | admissible sets: visible, not expired, of the right user, matching a filter |
//! | `memory_set` | a set of memories, one bit each |
//! | `filter` | the conditions of a filter and how they combine |
//! | `attributes` | the attributes of all memories, by path |
//! | `dictionary` | the values of one path, in order, each with its memories |
//! | `slab` | storage of items by number |
//! | `json` | JSON text as values that can be compared |

mod attributes;
pub(crate) mod candidates;
mod dictionary;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod memory_set;
mod slab;
