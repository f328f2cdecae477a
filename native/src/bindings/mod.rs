//! How does JavaScript call the core? No other module knows Node-API.
//!
//! Reads run on the runtime's worker threads, changes on one thread per open project. The TypeScript types in
//! `src/adapters/native/addon-types.ts` are generated from these items (`native/types.ts`).
//!
//! | File | Content |
//! |---|---|
//! | `tasks` | on which thread core code runs, and how its errors and panics cross |
//! | `conversions` | checks and conversions of single values |
//! | `admissible` | admissible sets |
//! | `index` | an open project: opening, visibility, comparison, closing |
//! | `publish` | publishing, removing, compacting |
//! | `search` | vector search, full-text search, stored passages |
//! | `graph` | graph search, and the graph around a memory |
//! | `encoder` | the model encoder |
//! | `lock` | the lock on a data directory |

// `pub` although no crate uses them: test builds leave the exports out, and would warn about unused items.
pub mod admissible;
mod conversions;
pub mod encoder;
pub mod graph;
pub mod index;
pub mod lock;
pub mod publish;
pub mod search;
mod tasks;
