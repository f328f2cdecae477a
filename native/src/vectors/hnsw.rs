//! The HNSW graph (USearch) over a project's vectors, and its snapshot on disk.
//! When the graph is asked instead of the scan is `vectors::index`' decision.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use half::bf16;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};
use crate::files::sync_directory;

/// Links per node; the first figures were taken with it (ARCHITECTURE.md, "Measured").
const CONNECTIVITY: usize = 32;
/// Breadth of the search that places a new node.
const EXPANSION_ADD: usize = 128;
/// Searches that may run at once, the adding thread included; a further one is refused by USearch.
const THREADS_MAX: usize = 64;
/// Rows to reserve at first; doubled when full, because reserving excludes every search.
const CAPACITY_MIN: usize = 16_384;

const SIDECAR_MAGIC: &str = "mneme-graph-1";

/// What a snapshot must agree with to belong to a log. Row numbers are its keys, so the log must have been replayed
/// into the very same rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphIdentity {
    /// Components of a vector.
    pub dimensions: usize,
    /// The embedding model.
    pub fingerprint: String,
    /// The log's numbering.
    pub epoch: u64,
    /// Records the log skipped as damaged: they shift row numbers.
    pub damaged_records: u64,
}

/// The graph. One thread adds (several lose nodes, USearch#735); any number search. Nothing is ever removed: callers
/// pass a predicate over live rows.
pub struct Graph {
    /// Adding and searching share it, reserving has it alone: a search during a reservation crashes.
    index: RwLock<Index>,
    /// Rows below this were added (or were dead and skipped).
    covered: AtomicUsize,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Graph").field("covered", &self.covered()).finish_non_exhaustive()
    }
}

impl Graph {
    /// An empty graph for vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Result<Graph> {
        let options = IndexOptions {
            dimensions,
            metric: MetricKind::IP,
            quantization: ScalarKind::BF16,
            connectivity: CONNECTIVITY,
            expansion_add: EXPANSION_ADD,
            expansion_search: 0,
            multi: false,
        };
        let index = Index::new(&options).map_err(graph_error)?;
        index.reserve_capacity_and_threads(CAPACITY_MIN, THREADS_MAX).map_err(graph_error)?;
        Ok(Graph { index: RwLock::new(index), covered: AtomicUsize::new(0) })
    }

    /// Rows below this number are in the graph unless they were dead.
    pub fn covered(&self) -> usize {
        self.covered.load(Ordering::Acquire)
    }

    /// States that all rows below `rows` were added or are dead.
    pub fn set_covered(&self, rows: usize) {
        self.covered.store(rows, Ordering::Release);
    }

    /// Adds a vector under its row number. To be called by one thread at a time.
    pub fn add(&self, row: u32, vector: &[bf16]) -> Result<()> {
        let is_full = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            index.size() >= index.capacity()
        };
        if is_full {
            let index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            index.reserve_capacity_and_threads(index.capacity() * 2, THREADS_MAX).map_err(graph_error)?;
        }
        let widened: Vec<f32> = vector.iter().map(|component| component.to_f32()).collect();
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.add(u64::from(row), &widened).map_err(graph_error)
    }

    /// About `ef` rows near a unit query `[dimensions]` that the predicate accepts, best first by the graph's own
    /// reckoning. The predicate must not panic: it is called across C++.
    pub fn search(&self, query: &[f32], ef: usize, is_wanted: impl Fn(u32) -> bool) -> Result<Vec<u32>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let matches = index.filtered_search(query, ef, |key| is_wanted(key as u32)).map_err(graph_error)?;
        Ok(matches.keys.into_iter().map(|key| key as u32).collect())
    }

    /// Writes the snapshot `graph.usearch` and its sidecar into `directory`. To be called by the adding thread, so that
    /// the graph stands still; searches go on. A crash at any point leaves a snapshot that is whole or is ignored.
    pub fn save(&self, directory: &Path, identity: &GraphIdentity) -> Result<()> {
        let (snapshot, beside) = (snapshot_path(directory), directory.join("graph.saving"));
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let saved = index.save(&beside.to_string_lossy()).map_err(graph_error);
        drop(index);
        let finish = || -> Result<()> {
            saved?;
            let (length, checksum) = checksum_of(&beside).map_err(|cause| snapshot_error(&beside, &cause))?;
            let sidecar = Sidecar { identity: identity.clone(), covered: self.covered(), length, checksum };
            let synced = File::open(&beside).and_then(|file| file.sync_all());
            synced.and_then(|()| fs::rename(&beside, &snapshot)).map_err(|cause| snapshot_error(&snapshot, &cause))?;
            let (path, beside) = (sidecar_path(directory), directory.join("graph.meta.saving"));
            fs::write(&beside, sidecar.encode())
                .and_then(|()| File::open(&beside)?.sync_all())
                .and_then(|()| fs::rename(&beside, &path))
                .and_then(|()| sync_directory(&path))
                .map_err(|cause| snapshot_error(&path, &cause))
        };
        let finished = finish();
        if finished.is_err() {
            // Left-overs only waste space, and the next save overwrites them.
            let _ = fs::remove_file(&beside);
        }
        finished
    }

    /// Checks the snapshot against its sidecar and the log, without loading it: about 0.3 s per gigabyte.
    pub fn inspect(directory: &Path, identity: &GraphIdentity) -> Snapshot {
        let path = snapshot_path(directory);
        let ignored = |reason: &str| {
            Snapshot::Ignored(format!("the graph snapshot {} {reason}; it is ignored and rebuilt", path.display()))
        };
        let sidecar = match fs::read_to_string(sidecar_path(directory)) {
            Ok(text) => Sidecar::decode(&text),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Snapshot::Absent,
            Err(_) => None,
        };
        let Some(sidecar) = sidecar else { return ignored("has an unreadable description") };
        if sidecar.identity != *identity {
            return Snapshot::Absent;
        }
        match checksum_of(&path) {
            Ok(found) if found == (sidecar.length, sidecar.checksum) => Snapshot::Sound { covered: sidecar.covered },
            Ok(_) => ignored("does not have its checksum"),
            Err(cause) => ignored(&format!("cannot be read ({cause})")),
        }
    }

    /// Loads a snapshot that `inspect` found sound.
    pub fn load(directory: &Path, identity: &GraphIdentity, covered: usize) -> Result<Graph> {
        let graph = Graph::new(identity.dimensions)?;
        {
            let index = graph.index.write().unwrap_or_else(PoisonError::into_inner);
            index.load(&snapshot_path(directory).to_string_lossy()).map_err(graph_error)?;
            // Loading adopts the file's dimensions, and leaves the room for threads to be reserved anew.
            if index.dimensions() != identity.dimensions {
                return Err(Error::Damaged(format!("the graph snapshot has {} dimensions", index.dimensions())));
            }
            let capacity = index.size().next_power_of_two().max(CAPACITY_MIN);
            index.reserve_capacity_and_threads(capacity, THREADS_MAX).map_err(graph_error)?;
        }
        graph.set_covered(covered);
        Ok(graph)
    }
}

/// What `Graph::inspect` found.
#[derive(Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// None for this log.
    Absent,
    /// One that can be loaded; it covers the rows below `covered`.
    Sound {
        /// See `Graph::covered`.
        covered: usize,
    },
    /// One that must not be loaded, and why, as a sentence for the operator.
    Ignored(String),
}

/// Removes a snapshot that no longer belongs to its log.
pub fn discard_snapshot(directory: &Path) {
    for path in [sidecar_path(directory), snapshot_path(directory)] {
        // A file that stays is ignored at the next opening: its identity does not fit.
        let _ = fs::remove_file(path);
    }
}

#[derive(Debug)]
struct Sidecar {
    identity: GraphIdentity,
    covered: usize,
    length: u64,
    checksum: u32,
}

impl Sidecar {
    /// Lines of text, the last a checksum of those before it. The fingerprint comes last but that: it may hold anything
    /// but a line break, which `ProjectIndex` does not let through.
    fn encode(&self) -> String {
        let GraphIdentity { dimensions, fingerprint, epoch, damaged_records } = &self.identity;
        let body = format!(
            "{SIDECAR_MAGIC}\n{dimensions}\n{epoch}\n{damaged_records}\n{}\n{}\n{}\n{fingerprint}\n",
            self.covered, self.length, self.checksum
        );
        let checksum = crc32fast::hash(body.as_bytes());
        format!("{body}{checksum}\n")
    }

    fn decode(text: &str) -> Option<Sidecar> {
        let (body, checksum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        if checksum.parse() != Ok(crc32fast::hash(format!("{body}\n").as_bytes())) {
            return None;
        }
        let mut lines = body.splitn(8, '\n');
        if lines.next()? != SIDECAR_MAGIC {
            return None;
        }
        let dimensions = lines.next()?.parse().ok()?;
        let epoch = lines.next()?.parse().ok()?;
        let damaged_records = lines.next()?.parse().ok()?;
        let covered = lines.next()?.parse().ok()?;
        let length = lines.next()?.parse().ok()?;
        let checksum = lines.next()?.parse().ok()?;
        let fingerprint = lines.next()?.to_owned();
        Some(Sidecar {
            identity: GraphIdentity { dimensions, fingerprint, epoch, damaged_records },
            covered,
            length,
            checksum,
        })
    }
}

fn snapshot_path(directory: &Path) -> PathBuf {
    directory.join("graph.usearch")
}

fn sidecar_path(directory: &Path) -> PathBuf {
    directory.join("graph.meta")
}

/// (length, CRC-32) of a file. USearch has no checksum of its own: a bit-flipped file loads without complaint.
fn checksum_of(path: &Path) -> std::io::Result<(u64, u32)> {
    let mut file = File::open(path)?;
    let (mut hasher, mut length, mut buffer) = (crc32fast::Hasher::new(), 0, vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((length, hasher.finalize())),
            read => {
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
        }
    }
}

fn graph_error(cause: impl std::fmt::Display) -> Error {
    Error::Io(format!("HNSW graph: {cause}"))
}

fn snapshot_error(path: &Path, cause: &std::io::Error) -> Error {
    Error::from_io(&format!("writing {}", path.display()), cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;
    use mneme_testing::{Chance, TempDir};

    const DIMENSIONS: usize = 16;

    fn identity() -> GraphIdentity {
        GraphIdentity { dimensions: DIMENSIONS, fingerprint: "model-a".to_owned(), epoch: 7, damaged_records: 0 }
    }

    fn built(rows: u32, chance: &mut Chance) -> (Graph, Vec<Vec<f32>>) {
        let graph = Graph::new(DIMENSIONS).expect("memory");
        let vectors: Vec<Vec<f32>> = (0..rows).map(|_| chance.unit_vector(DIMENSIONS)).collect();
        for (row, vector) in (0..).zip(&vectors) {
            graph.add(row, &to_bf16(vector)).expect("added");
        }
        graph.set_covered(rows as usize);
        (graph, vectors)
    }

    #[test]
    fn every_row_finds_itself_also_after_the_room_was_doubled() {
        let mut chance = Chance::new();
        let rows = CAPACITY_MIN as u32 + 500;
        let (graph, vectors) = built(rows, &mut chance);
        for row in (0..rows).step_by(97).chain(rows - 300..rows) {
            let found = graph.search(&vectors[row as usize], 64, |_| true).expect("searched");
            assert_eq!(found.first(), Some(&row));
        }
    }

    #[test]
    fn only_wanted_rows_are_found() {
        let mut chance = Chance::new();
        let (graph, vectors) = built(2_000, &mut chance);
        let found = graph.search(&vectors[0], 50, |row| row % 3 == 1).expect("searched");
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|row| row % 3 == 1));
    }

    #[test]
    fn a_snapshot_is_loaded_whole_or_not_at_all() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("graph"));
        let (graph, vectors) = built(300, &mut chance);
        assert_eq!(Graph::inspect(directory.path(), &identity()), Snapshot::Absent);
        graph.save(directory.path(), &identity()).expect("room on the disk");
        assert_eq!(Graph::inspect(directory.path(), &identity()), Snapshot::Sound { covered: 300 });
        let loaded = Graph::load(directory.path(), &identity(), 300).expect("sound");
        assert_eq!(loaded.covered(), 300);
        for row in 0..300 {
            assert_eq!(loaded.search(&vectors[row as usize], 20, |_| true).expect("searched").first(), Some(&row));
        }
        loaded.add(300, &to_bf16(&chance.unit_vector(DIMENSIONS))).expect("a loaded graph takes more");

        for path in [snapshot_path(directory.path()), sidecar_path(directory.path())] {
            let sound = fs::read(&path).expect("readable");
            for _ in 0..50 {
                let mut flipped = sound.clone();
                let at = chance.below(flipped.len());
                flipped[at] ^= 1 << chance.below(8);
                fs::write(&path, &flipped).expect("writable");
                let found = Graph::inspect(directory.path(), &identity());
                assert!(matches!(found, Snapshot::Ignored(_)), "{} flipped at {at}: {found:?}", path.display());
            }
            fs::write(&path, &sound[..sound.len() / 2]).expect("writable");
            assert!(matches!(Graph::inspect(directory.path(), &identity()), Snapshot::Ignored(_)));
            fs::write(&path, &sound).expect("writable");
        }
        assert_eq!(Graph::inspect(directory.path(), &identity()), Snapshot::Sound { covered: 300 });
    }

    #[test]
    fn a_snapshot_of_another_log_is_passed_over() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("graph"));
        let (graph, _) = built(50, &mut chance);
        graph.save(directory.path(), &identity()).expect("room on the disk");
        for other in [
            GraphIdentity { epoch: 8, ..identity() },
            GraphIdentity { fingerprint: "model-b".to_owned(), ..identity() },
            GraphIdentity { dimensions: 17, ..identity() },
            GraphIdentity { damaged_records: 1, ..identity() },
        ] {
            assert_eq!(Graph::inspect(directory.path(), &other), Snapshot::Absent);
        }
        discard_snapshot(directory.path());
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 0);
    }
}
