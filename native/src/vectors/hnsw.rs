//! The HNSW graph of a project's vectors, built with the library USearch, and its snapshot on disk. `searcher` decides
//! when the graph is used instead of a scan; `hnsw_builder` adds rows to the graph.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use half::bf16;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};
use crate::files::{set_aside, sync_directory};

/// Number of links per node (M in the HNSW paper). All measurements were made with this value (docs/measurements.md,
/// "HNSW").
const CONNECTIVITY: usize = 32;
/// Breadth of the search that finds the links of a new node (efConstruction in the HNSW paper).
const EF_CONSTRUCTION: usize = 128;
/// Maximum number of threads that use the graph at the same time, including the thread that adds rows. USearch refuses
/// further threads.
const THREADS_MAX: usize = 64;
/// Initial capacity of the graph in rows. A full graph doubles its capacity, so that it rarely grows, because no search
/// can run while it does.
const CAPACITY_MIN: usize = 16_384;

const SNAPSHOT_FILE: &str = "graph.usearch";
const SIDECAR_FILE: &str = "graph.meta";
/// First line of a sidecar file, which names its format.
const SIDECAR_MAGIC: &str = "mneme-graph-1";

/// Identifies the vector log that a graph was built from. The keys of the graph are row numbers. So a snapshot is valid
/// only if reading this log again gives the same row numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogIdentity {
    /// Number of components of a vector.
    pub dimensions: usize,
    /// Fingerprint of the embedding model.
    pub fingerprint: String,
    /// Epoch of the log (`VectorLog::epoch`).
    pub epoch: u64,
    /// Number of records that were skipped as damaged when the log was opened. Each one shifts the numbers of the rows
    /// after it.
    pub damaged_records: u64,
}

/// The HNSW graph. Only one thread may add rows, because USearch loses nodes if several threads add them (USearch issue
/// 735). Up to 63 other threads may search. Rows are never removed. Instead, a search passes a predicate that accepts
/// only live rows.
pub struct HnswGraph {
    /// Additions and searches hold the read lock. Reserving capacity holds the write lock, because a search at the same
    /// time would crash.
    index: RwLock<Index>,
    /// Every row below this number was added, or was skipped because it was dead.
    covered_rows: AtomicUsize,
}

impl std::fmt::Debug for HnswGraph {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HnswGraph").field("covered_rows", &self.covered_rows()).finish_non_exhaustive()
    }
}

impl HnswGraph {
    /// Creates an empty graph for vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Result<HnswGraph> {
        let options = IndexOptions {
            dimensions,
            metric: MetricKind::IP,
            quantization: ScalarKind::BF16,
            connectivity: CONNECTIVITY,
            expansion_add: EF_CONSTRUCTION,
            expansion_search: 0,
            multi: false,
        };
        let index = Index::new(&options).map_err(hnsw_error)?;
        index.reserve_capacity_and_threads(CAPACITY_MIN, THREADS_MAX).map_err(hnsw_error)?;
        Ok(HnswGraph { index: RwLock::new(index), covered_rows: AtomicUsize::new(0) })
    }

    /// Every row below this number is in the graph, except rows that were dead.
    pub fn covered_rows(&self) -> usize {
        self.covered_rows.load(Ordering::Acquire)
    }

    /// Sets `covered_rows` after all rows below `rows` were added or found dead.
    pub fn set_covered_rows(&self, rows: usize) {
        self.covered_rows.store(rows, Ordering::Release);
    }

    /// Adds a vector under its row number. Only one thread at a time may call this.
    pub fn add(&self, row: u32, vector: &[bf16]) -> Result<()> {
        let is_full = {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            index.size() >= index.capacity()
        };
        if is_full {
            let index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            index.reserve_capacity_and_threads(index.capacity() * 2, THREADS_MAX).map_err(hnsw_error)?;
        }
        let widened: Vec<f32> = vector.iter().map(|component| component.to_f32()).collect();
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.add(u64::from(row), &widened).map_err(hnsw_error)
    }

    /// Searches with breadth `ef`. Returns up to `ef` rows near a unit query `[dimensions]` that the predicate accepts,
    /// in the order of USearch's scores, best first. The predicate must not panic, because C++ code calls it.
    pub fn search(&self, query: &[f32], ef: usize, is_accepted: impl Fn(u32) -> bool) -> Result<Vec<u32>> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let matches = index.filtered_search(query, ef, |key| is_accepted(key as u32)).map_err(hnsw_error)?;
        Ok(matches.keys.into_iter().map(|key| key as u32).collect())
    }

    /// Writes the snapshot `graph.usearch` and its sidecar `graph.meta` into `directory`. Only the thread that adds
    /// rows may call this, so that the graph does not change meanwhile. Searches may run. After a crash at any point,
    /// the snapshot is either complete, or recognised as incomplete and ignored.
    pub fn save_snapshot(&self, directory: &Path, identity: &LogIdentity) -> Result<()> {
        let (snapshot, temporary) = (snapshot_path(directory), directory.join("graph.saving"));
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let saved = index.save(&temporary.to_string_lossy()).map_err(hnsw_error);
        drop(index);
        let finish = || -> Result<()> {
            saved?;
            let (length, checksum) = checksum_of(&temporary).map_err(|cause| snapshot_error(&temporary, &cause))?;
            let sidecar = Sidecar { identity: identity.clone(), covered_rows: self.covered_rows(), length, checksum };
            let synced = File::open(&temporary).and_then(|file| file.sync_all());
            synced
                .and_then(|()| fs::rename(&temporary, &snapshot))
                .map_err(|cause| snapshot_error(&snapshot, &cause))?;
            let (path, temporary) = (sidecar_path(directory), directory.join("graph.meta.saving"));
            fs::write(&temporary, sidecar.encode())
                .and_then(|()| File::open(&temporary)?.sync_all())
                .and_then(|()| fs::rename(&temporary, &path))
                .and_then(|()| sync_directory(&path))
                .map_err(|cause| snapshot_error(&path, &cause))
        };
        let finished = finish();
        if finished.is_err() {
            // A file that cannot be removed only wastes space, and the next snapshot overwrites it.
            let _ = fs::remove_file(&temporary);
        }
        finished
    }

    /// Checks whether the snapshot belongs to the log, which has this number of rows, and has the checksum that its
    /// sidecar file states. Does not load it. Takes about 0.3 s per gigabyte.
    pub fn check_snapshot(directory: &Path, identity: &LogIdentity, rows: usize) -> HnswSnapshot {
        let damaged = |reason: &str| HnswSnapshot::Damaged(reason.to_owned());
        let sidecar = match fs::read_to_string(sidecar_path(directory)) {
            Ok(text) => Sidecar::decode(&text),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return HnswSnapshot::Absent,
            Err(_) => None,
        };
        let Some(sidecar) = sidecar else { return damaged("its sidecar file is unreadable") };
        if sidecar.identity != *identity {
            return HnswSnapshot::Absent;
        }
        if sidecar.covered_rows > rows {
            // Rows that are added later would get numbers that the graph has for other vectors.
            return damaged("it has rows that the vector log lacks, so the log is older");
        }
        match checksum_of(&snapshot_path(directory)) {
            Ok(found) if found == (sidecar.length, sidecar.checksum) => {
                HnswSnapshot::Valid { covered_rows: sidecar.covered_rows }
            }
            Ok(_) => damaged("it has a wrong checksum"),
            Err(cause) => damaged(&format!("it cannot be read: {cause}")),
        }
    }

    /// Loads a snapshot that `check_snapshot` found valid.
    pub fn load_snapshot(directory: &Path, identity: &LogIdentity, covered_rows: usize) -> Result<HnswGraph> {
        let graph = HnswGraph::new(identity.dimensions)?;
        {
            let index = graph.index.write().unwrap_or_else(PoisonError::into_inner);
            index.load(&snapshot_path(directory).to_string_lossy()).map_err(hnsw_error)?;
            // Loading replaces the dimensions by those of the file, and drops the capacity reserved for threads. So the
            // dimensions are checked, and the capacity is reserved again.
            if index.dimensions() != identity.dimensions {
                return Err(Error::Damaged(format!("the HNSW snapshot has {} dimensions", index.dimensions())));
            }
            let capacity = index.size().next_power_of_two().max(CAPACITY_MIN);
            index.reserve_capacity_and_threads(capacity, THREADS_MAX).map_err(hnsw_error)?;
        }
        graph.set_covered_rows(covered_rows);
        Ok(graph)
    }
}

/// The result of `HnswGraph::check_snapshot`.
#[derive(Debug, PartialEq, Eq)]
pub enum HnswSnapshot {
    /// There is no snapshot, or it belongs to another log.
    Absent,
    /// The snapshot can be loaded.
    Valid {
        /// The value of `HnswGraph::covered_rows` when the snapshot was saved.
        covered_rows: usize,
    },
    /// The snapshot is damaged and must not be loaded. The string says why.
    Damaged(String),
}

/// Whether a file in the folder of a set belongs to its snapshot.
pub fn is_snapshot_file(name: &str) -> bool {
    name == SNAPSHOT_FILE || name == SIDECAR_FILE
}

/// Sets a damaged snapshot and its sidecar aside. Returns the new path of the sidecar, or of the snapshot.
pub fn set_snapshot_aside(directory: &Path) -> Result<PathBuf> {
    let existing = [snapshot_path(directory), sidecar_path(directory)].into_iter().filter(|path| path.exists());
    let asides = existing.map(|path| set_aside(&path)).collect::<Result<Vec<PathBuf>>>()?;
    asides.into_iter().next_back().ok_or_else(|| Error::Bug("no snapshot to set aside".to_owned()))
}

/// Deletes a snapshot that no longer belongs to the log.
pub fn delete_snapshot(directory: &Path) {
    for path in [sidecar_path(directory), snapshot_path(directory)] {
        // A file that cannot be deleted does no harm: its log identity differs from that of the log, so it is ignored
        // later.
        let _ = fs::remove_file(path);
    }
}

/// The small file stored with a snapshot. It identifies the log and has the size and checksum of the snapshot.
#[derive(Debug)]
struct Sidecar {
    identity: LogIdentity,
    covered_rows: usize,
    /// Size of the snapshot in bytes.
    length: u64,
    /// CRC-32 of the snapshot.
    checksum: u32,
}

impl Sidecar {
    /// Encodes the sidecar as lines of text. The last line is a checksum of all lines before it. The last line but one
    /// is the fingerprint of the model, which may contain any character except a line break (`Project::open` refuses
    /// line breaks).
    fn encode(&self) -> String {
        let LogIdentity { dimensions, fingerprint, epoch, damaged_records } = &self.identity;
        let body = format!(
            "{SIDECAR_MAGIC}\n{dimensions}\n{epoch}\n{damaged_records}\n{}\n{}\n{}\n{fingerprint}\n",
            self.covered_rows, self.length, self.checksum
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
        let covered_rows = lines.next()?.parse().ok()?;
        let length = lines.next()?.parse().ok()?;
        let checksum = lines.next()?.parse().ok()?;
        let fingerprint = lines.next()?.to_owned();
        Some(Sidecar {
            identity: LogIdentity { dimensions, fingerprint, epoch, damaged_records },
            covered_rows,
            length,
            checksum,
        })
    }
}

fn snapshot_path(directory: &Path) -> PathBuf {
    directory.join(SNAPSHOT_FILE)
}

fn sidecar_path(directory: &Path) -> PathBuf {
    directory.join(SIDECAR_FILE)
}

/// The length and CRC-32 of a file. USearch itself has no checksums and would load a file with flipped bits without an
/// error.
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

fn hnsw_error(cause: impl std::fmt::Display) -> Error {
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

    fn identity() -> LogIdentity {
        LogIdentity { dimensions: DIMENSIONS, fingerprint: "model-a".to_owned(), epoch: 7, damaged_records: 0 }
    }

    fn built(rows: u32, chance: &mut Chance) -> (HnswGraph, Vec<Vec<f32>>) {
        let graph = HnswGraph::new(DIMENSIONS).expect("memory");
        let vectors: Vec<Vec<f32>> = (0..rows).map(|_| chance.unit_vector(DIMENSIONS)).collect();
        for (row, vector) in (0..).zip(&vectors) {
            graph.add(row, &to_bf16(vector)).expect("added");
        }
        graph.set_covered_rows(rows as usize);
        (graph, vectors)
    }

    #[test]
    fn every_row_finds_itself_also_after_the_capacity_was_doubled() {
        let mut chance = Chance::new();
        let rows = CAPACITY_MIN as u32 + 500;
        let (graph, vectors) = built(rows, &mut chance);
        for row in (0..rows).step_by(97).chain(rows - 300..rows) {
            let found = graph.search(&vectors[row as usize], 64, |_| true).expect("searched");
            assert_eq!(found.first(), Some(&row));
        }
    }

    #[test]
    fn only_rows_that_the_predicate_accepts_are_found() {
        let mut chance = Chance::new();
        let (graph, vectors) = built(2_000, &mut chance);
        let found = graph.search(&vectors[0], 50, |row| row % 3 == 1).expect("searched");
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|row| row % 3 == 1));
    }

    #[test]
    fn a_snapshot_is_loaded_completely_or_not_at_all() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("graph"));
        let (graph, vectors) = built(300, &mut chance);
        assert_eq!(HnswGraph::check_snapshot(directory.path(), &identity(), 300), HnswSnapshot::Absent);
        graph.save_snapshot(directory.path(), &identity()).expect("room on the disk");
        assert_eq!(
            HnswGraph::check_snapshot(directory.path(), &identity(), 300),
            HnswSnapshot::Valid { covered_rows: 300 }
        );
        let loaded = HnswGraph::load_snapshot(directory.path(), &identity(), 300).expect("valid");
        assert_eq!(loaded.covered_rows(), 300);
        for row in 0..300 {
            assert_eq!(loaded.search(&vectors[row as usize], 20, |_| true).expect("searched").first(), Some(&row));
        }
        loaded.add(300, &to_bf16(&chance.unit_vector(DIMENSIONS))).expect("a loaded graph accepts more rows");

        for path in [snapshot_path(directory.path()), sidecar_path(directory.path())] {
            let original = fs::read(&path).expect("readable");
            for _ in 0..50 {
                let mut flipped = original.clone();
                let at = chance.below(flipped.len());
                flipped[at] ^= 1 << chance.below(8);
                fs::write(&path, &flipped).expect("writable");
                let found = HnswGraph::check_snapshot(directory.path(), &identity(), 300);
                assert!(matches!(found, HnswSnapshot::Damaged(_)), "{} flipped at {at}: {found:?}", path.display());
            }
            fs::write(&path, &original[..original.len() / 2]).expect("writable");
            assert!(matches!(HnswGraph::check_snapshot(directory.path(), &identity(), 300), HnswSnapshot::Damaged(_)));
            fs::write(&path, &original).expect("writable");
        }
        assert_eq!(
            HnswGraph::check_snapshot(directory.path(), &identity(), 300),
            HnswSnapshot::Valid { covered_rows: 300 }
        );
    }

    #[test]
    fn a_snapshot_of_another_log_is_ignored() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("graph"));
        let (graph, _) = built(50, &mut chance);
        graph.save_snapshot(directory.path(), &identity()).expect("room on the disk");
        for other in [
            LogIdentity { epoch: 8, ..identity() },
            LogIdentity { fingerprint: "model-b".to_owned(), ..identity() },
            LogIdentity { dimensions: 17, ..identity() },
            LogIdentity { damaged_records: 1, ..identity() },
        ] {
            assert_eq!(HnswGraph::check_snapshot(directory.path(), &other, 300), HnswSnapshot::Absent);
        }
        let found = HnswGraph::check_snapshot(directory.path(), &identity(), 49);
        assert!(matches!(found, HnswSnapshot::Damaged(_)), "the log has fewer rows: {found:?}");
        delete_snapshot(directory.path());
        assert_eq!(fs::read_dir(directory.path()).expect("listable").count(), 0);
    }
}
