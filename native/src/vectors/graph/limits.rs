//! When an index has a graph, when the graph is saved, and how far searches walk in it.

/// How the vectors of a project are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndexKind {
    /// By a scan, or by a graph if there are `GraphLimits::auto_chunks_min` chunks.
    Auto,
    /// By a scan.
    Scan,
    /// By a graph (HNSW), and by a scan where that is faster or the graph cannot answer.
    Hnsw,
}

/// Limits of vector graphs. They can be passed in, because tests use lower ones.
#[derive(Debug, Clone, Copy)]
pub struct GraphLimits {
    /// Minimum number of chunks for which `Auto` builds a graph, if scans begin with binary codes.
    pub auto_chunks_min: usize,
    /// The same for vectors that have too much in common for binary codes.
    pub auto_chunks_min_without_codes: usize,
    /// Minimum number of rows added since the last save, after which the graph is saved again.
    pub save_rows_min: u32,
    /// Minimum number of rows that a walk looks for, even if the caller wants fewer.
    pub walk_wanted_min: usize,
    /// Whether the thread that adds rows has a low priority.
    pub is_low_priority: bool,
    /// Size of the stack of that thread, in bytes.
    pub stack_bytes: usize,
}

impl GraphLimits {
    /// The limits of all projects. At 200,000 chunks without codes, a walk takes half the time of a scan, and misses
    /// one in 500 of the ten nearest that a scan finds (one in 80 if it looks for only 1,000 rows). With codes, it
    /// takes three times as long as a scan (docs/decisions/106-vector-graph.md). Building 100,000 rows takes some 20 s.
    pub const DEFAULT: GraphLimits = GraphLimits {
        auto_chunks_min: 5_000_000,
        auto_chunks_min_without_codes: 1_000_000,
        save_rows_min: 100_000,
        walk_wanted_min: 2_000,
        is_low_priority: true,
        stack_bytes: 2 << 20,
    };
}
