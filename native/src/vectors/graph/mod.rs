//! A graph of the rows of a vector index (HNSW): each row has links to similar rows, and a search walks along them, so
//! that it reads a few thousand rows however many there are. The graph has no vectors. It compares rows by the 4-bit
//! vectors that the scan reads, so it takes 135 bytes per row. Its results are rescored like those of a scan.
//!
//! | File | Content |
//! |---|---|
//! | `layers` | memory of the links |
//! | `walk` | the walk through one layer |
//! | `hnsw` | search and insertion |
//! | `thinning` | removes dead rows from a graph |
//! | `file` | saves and loads the graph |
//! | `limits` | when an index has a graph, and when it is saved |
//! | `builder` | the thread that loads or builds the graph, adds new rows, and saves it |

pub(crate) mod builder;
pub(crate) mod file;
pub(crate) mod hnsw;
mod layers;
pub(crate) mod limits;
mod thinning;
pub(crate) mod walk;

#[cfg(test)]
mod tests;
