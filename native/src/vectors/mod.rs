//! Vector search: finds the chunks whose vectors have the highest cosine similarity to a query's vector.
//!
//! Terms of this module: a *row* is one vector in memory, numbered in the order of the log. A row or record is *dead*
//! after its chunk was removed or replaced, and *live* before that. The *epoch* of a log identifies its numbering of
//! records, which every compaction changes.
//!
//! | File | Content |
//! |---|---|
//! | `sets` | the vector sets of a project, one per embedding model; building a set and swapping it in |
//! | `set_file` | the small file that says which set is live |
//! | `index` | one vector set: publish, remove, search, compact |
//! | `searcher` | the search itself, which chooses between scan and HNSW |
//! | `log` | the vectors on disk: an append-only log of checksummed records |
//! | `row_table` | which chunk and memory each row belongs to, and which rows are alive |
//! | `row_set` | the rows that a scan covers |
//! | `row_blocks` | memory for many rows of bytes of equal length |
//! | `binary_codes` | one bit per component, for the first pass of a scan |
//! | `int8_matrix` | one byte per component, for the second pass |
//! | `kernels` | the inner loops of both passes, one per instruction set (SIMD) |
//! | `hnsw` | the HNSW graph for large sets, and its snapshot on disk |
//! | `hnsw_builder` | the thread that builds, calibrates and saves the graph |

mod binary_codes;
pub(crate) mod hnsw;
mod hnsw_builder;
pub(crate) mod index;
mod int8_matrix;
mod kernels;
pub(crate) mod log;
mod row_blocks;
mod row_set;
mod row_table;
mod searcher;
pub(crate) mod set_file;
pub(crate) mod sets;
