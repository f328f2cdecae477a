//! How does JavaScript call the core? No other module knows Node-API.
//!
//! Reads run on the runtime's worker threads, short ones also on the JavaScript thread, and changes on one thread per
//! open project. The TypeScript types in `src/adapters/native/addon-types.ts` are generated from these items
//! (`native/types.ts`).
//!
//! | File | Content |
//! |---|---|
//! | `tasks` | chooses the thread on which core code runs; turns its errors and panics into JavaScript errors |
//! | `short_reads` | when a short read runs on the JavaScript thread |
//! | `conversions` | checks and conversions of single values |
//! | `admissible` | admissible sets |
//! | `index` | an open project: opening, visibility, comparing chunks, closing |
//! | `publish` | publishing, removing, compacting |
//! | `models` | the embedding models of a project: building vectors of another model, and swapping them in |
//! | `vector_index` | how vectors are searched, and the graph that is built for that |
//! | `vector_model` | an embedding model and vectors of it |
//! | `search` | vector search, full-text search, stored passages |
//! | `graph` | graph search, and the graph around a memory |
//! | `explore` | the entities of a project: list, surroundings, paths |
//! | `layout` | places of memories on a map |
//! | `encoder` | the model encoder |
//! | `exact` | the exact nearest vectors, with which benchmarks compare the results of searches |
//! | `json` | JSON bodies |
//! | `listener` | listening sockets |
//! | `lock` | the lock on a data directory |
//! | `memory` | memory of the process |

// They are `pub` although no crate uses them. Test builds leave the exports out and would warn about unused items.
pub mod admissible;
mod conversions;
pub mod encoder;
pub mod exact;
pub mod explore;
pub mod graph;
pub mod index;
pub mod json;
pub mod layout;
pub mod listener;
pub mod lock;
pub mod memory;
pub mod models;
pub mod publish;
pub mod search;
mod short_reads;
pub mod tasks;
pub mod vector_index;
pub mod vector_model;
