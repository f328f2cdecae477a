//! Vector search: finds the chunks whose vectors have the highest cosine similarity to a query's vector.
//!
//! Terms of this module: a *row* is one vector in memory, numbered in the order of the log. A row or record is *dead*
//! after its chunk was removed or replaced, and *live* before that.
//!
//! | File | Content |
//! |---|---|
//! | `sets` | the vector sets of a project, one per embedding model; building a set and swapping it in |
//! | `set_file` | the small file that says which set is live |
//! | `index` | one vector set: publish, remove, search, compact |
//! | `searcher` | the search itself: scan or walk, then rescoring |
//! | `log` | the vectors on disk: an append-only log of checksummed records |
//! | `row_table` | which chunk and memory each row belongs to, and which rows are alive |
//! | `row_set` | the rows that a scan covers |
//! | `resident_vectors` | copies of the log's vectors in memory, within a budget |
//! | `row_blocks` | memory for many rows of bytes of equal length |
//! | `binary_codes` | one bit per component, for the first pass of a scan |
//! | `int4_matrix` | four bits per component, for the second pass |
//! | `scan_threads` | how many threads scan a large set, and which part each scans |
//! | `scan_pool` | the threads that help |
//! | `graph/` | the graph (HNSW) that very large projects can search instead of a scan |
//! | `exact` | the exact nearest vectors, with which benchmarks compare searches |
//! | `little_endian` | numbers in the bytes of a file |
//! | `kernels` | the inner loops of both passes, one per instruction set (SIMD) |

mod binary_codes;
pub(crate) mod exact;
pub(crate) mod graph;
pub(crate) mod index;
mod int4_matrix;
mod kernels;
mod little_endian;
pub(crate) mod log;
pub(crate) mod resident_vectors;
mod row_blocks;
mod row_set;
mod row_table;
mod scan_pool;
mod scan_threads;
mod searcher;
pub(crate) mod set_file;
pub(crate) mod sets;
