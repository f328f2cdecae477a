//! Which memories may a search return?
//!
//! | File | Content |
//! |---|---|
//! | `candidates` | admissible sets: memories that are visible, not expired, of the right user, and match a filter |
//! | `memory_set` | bitmap over memories |
//! | `filter` | operators of a filter and how conditions combine |
//! | `attributes` | index of the attributes of all memories, by attribute path |
//! | `dictionary` | sorted values of one attribute path, each with its posting list |
//! | `slab` | storage of items under numbers that are reused |
//! | `json` | JSON text as comparable values |

mod attributes;
pub(crate) mod candidates;
mod dictionary;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod memory_set;
mod slab;
