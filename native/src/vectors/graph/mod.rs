//! A graph of the rows of a vector index (HNSW): each row has links to similar rows, and a search walks along them, so
//! that it reads a few thousand rows however many there are. The graph has no vectors. It compares rows by the 4-bit
//! vectors that the scan reads, so it takes 135 bytes per row. What it finds is rescored as the result of a scan is.
//!
//! | File | Content |
//! |---|---|
//! | `layers` | memory of the links |
//! | `walk` | the walk through one layer |
//! | `hnsw` | search and insertion |
//! | `thinning` | a graph without the rows that were removed |
//! | `file` | the graph on disk |
//! | `limits` | when an index has a graph, and when it is saved |
//! | `builder` | the thread that adds rows and saves the graph |

pub(crate) mod builder;
pub(crate) mod file;
pub(crate) mod hnsw;
mod layers;
pub(crate) mod limits;
mod thinning;
pub(crate) mod walk;

#[cfg(test)]
mod tests;
