//! Tests of an index with a graph: what searches find through changes, crashes and damage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use mneme_testing::{Chance, TempDir, eventually};

use crate::filters::memory_table::{MemoryTable, NEVER, VisibleMemory};
use crate::vectors::graph::file::GRAPH_FILE;
use crate::vectors::graph::limits::{GraphLimits, VectorIndexKind};
use crate::vectors::index::{VectorChunk, VectorIndex, VectorOptions};
use crate::vectors::resident_vectors::RESIDENT_VECTORS;

const DIMENSIONS: usize = 64;
/// Graphs are saved after few rows, so that tests see many saves. Walks are short, so that they miss rows if the graph
/// is bad.
const LIMITS: GraphLimits = GraphLimits {
    auto_chunks_min: 1_200,
    auto_chunks_min_without_codes: 1_200,
    save_rows_min: 128,
    walk_wanted_min: 300,
    is_low_priority: false,
    ..GraphLimits::DEFAULT
};

/// Key and vector of a chunk.
type Chunk = (u64, Vec<f32>);

/// An index and its expected content: memory → (user, chunks with their vectors).
struct Checked {
    folder: TempDir,
    memory_table: Arc<MemoryTable>,
    index: VectorIndex,
    model: BTreeMap<u64, (u64, Vec<Chunk>)>,
    centres: Vec<Vec<f32>>,
    next_chunk: u64,
}

fn open(folder: &Path) -> (Arc<MemoryTable>, VectorIndex, Vec<String>) {
    open_with(folder, LIMITS)
}

fn open_with(folder: &Path, graph_limits: GraphLimits) -> (Arc<MemoryTable>, VectorIndex, Vec<String>) {
    let memory_table = Arc::new(MemoryTable::default());
    let options = VectorOptions {
        directory: folder.to_owned(),
        dimensions: DIMENSIONS,
        fingerprint: "model".to_owned(),
        resident_vectors: &RESIDENT_VECTORS,
        graph_limits,
    };
    let (index, repairs) = VectorIndex::open(options, Arc::clone(&memory_table)).expect("opened");
    (memory_table, index, repairs)
}

impl Checked {
    fn new(chance: &mut Chance) -> Checked {
        let folder = TempDir::new("graph");
        let (memory_table, index, _) = open(folder.path());
        let centres = (0..20).map(|_| chance.unit_vector(DIMENSIONS)).collect();
        Checked { folder, memory_table, index, model: BTreeMap::new(), centres, next_chunk: 1 }
    }

    fn with_graph(chance: &mut Chance, memories: u64) -> Checked {
        let mut checked = Checked::new(chance);
        checked.publish(&(1..=memories).collect::<Vec<_>>(), chance);
        checked.index.choose(VectorIndexKind::Hnsw);
        checked.wait();
        checked
    }

    /// Waits until the graph has all rows.
    fn wait(&self) {
        eventually("the graph has all rows", || {
            let status = self.index.graph_status();
            status.is_active && status.rows_missing == 0
        });
    }

    /// Three of four memories belong to user 1, the others to user 2.
    fn user(memory: u64) -> u64 {
        1 + u64::from(memory.is_multiple_of(4))
    }

    fn show(&self, memory_key: u64) {
        let user_key = Checked::user(memory_key);
        self.memory_table.show(&[VisibleMemory { memory_key, user_key, expires_at_ms: NEVER }]);
    }

    /// A vector near one of the centres.
    fn vector(&self, chance: &mut Chance) -> Vec<f32> {
        let centre = &self.centres[chance.below(self.centres.len())];
        let sum = centre.iter().zip(chance.unit_vector(DIMENSIONS)).map(|(centre, noise)| centre + noise);
        let sum: Vec<f32> = sum.collect();
        let length = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
        sum.into_iter().map(|component| component / length).collect()
    }

    /// Publishes memories with one or two chunks.
    fn publish(&mut self, memories: &[u64], chance: &mut Chance) {
        let vectors: Vec<_> =
            memories.iter().map(|_| (0..1 + chance.below(2)).map(|_| self.vector(chance)).collect()).collect();
        self.publish_vectors(memories, vectors);
    }

    /// Publishes memories with a chunk per vector.
    fn publish_vectors(&mut self, memories: &[u64], vectors: Vec<Vec<Vec<f32>>>) {
        for (memory, vectors) in memories.iter().zip(vectors) {
            let chunks: Vec<Chunk> = (self.next_chunk..).zip(vectors).collect();
            self.next_chunk += chunks.len() as u64;
            self.model.insert(*memory, (Checked::user(*memory), chunks));
        }
        let chunks = memories.iter().flat_map(|memory| self.model[memory].1.iter().map(move |chunk| (memory, chunk)));
        let chunks: Vec<VectorChunk<'_>> = chunks
            .map(|(memory_key, (chunk_key, vector))| VectorChunk {
                chunk_key: *chunk_key,
                memory_key: *memory_key,
                vector,
            })
            .collect();
        self.index.publish(memories, &chunks).expect("published");
        memories.iter().for_each(|memory| self.show(*memory));
    }

    fn remove(&mut self, memories: &[u64]) {
        self.memory_table.hide(memories);
        self.index.remove(memories).expect("removed");
        self.model.retain(|memory, _| !memories.contains(memory));
    }

    /// Closes the index as `close` does, and opens it with the graph.
    fn reopen(&mut self) {
        self.index.stop_graph();
        let (memory_table, index, repairs) = open(self.folder.path());
        assert!(repairs.is_empty(), "{repairs:?}");
        (self.memory_table, self.index) = (memory_table, index);
        self.index.choose(VectorIndexKind::Hnsw);
        let memories: Vec<u64> = self.model.keys().copied().collect();
        memories.into_iter().for_each(|memory| self.show(memory));
    }

    /// Checks that a search of `limit` chunks finds as many as there are, only those of the user, each with its
    /// similarity, best first. Returns how many of the true nearest it found, and how many there are.
    fn check_search(&self, query: &[f32], user: Option<u64>, limit: usize) -> (usize, usize) {
        let cosine = |vector: &[f32]| query.iter().zip(vector).map(|(left, right)| left * right).sum::<f32>();
        let of_user = self.model.values().filter(|(owner, _)| user.is_none_or(|user| user == *owner));
        let scores: BTreeMap<u64, f32> =
            of_user.flat_map(|(_, chunks)| chunks).map(|(key, vector)| (*key, cosine(vector))).collect();
        let hits = self.index.search(query, &self.memory_table.admit(user, 0), limit).expect("searched");
        assert_eq!(hits.len(), limit.min(scores.len()));
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for hit in &hits {
            let score = scores.get(&hit.chunk_key).expect("the chunk exists, and its memory is the user's");
            assert!((hit.score - score).abs() < 0.01, "{}, not {score}", hit.score);
        }
        let mut truth: Vec<(f32, u64)> = scores.into_iter().map(|(key, score)| (score, key)).collect();
        truth.sort_by(|a, b| b.0.total_cmp(&a.0));
        truth.truncate(limit);
        let found: BTreeSet<u64> = hits.iter().map(|hit| hit.chunk_key).collect();
        (truth.iter().filter(|(_, key)| found.contains(key)).count(), truth.len())
    }

    /// Recall@10 of queries near the centres and of random ones, for the project and each user.
    fn recall(&self, queries: usize, chance: &mut Chance) -> f64 {
        let (mut found, mut wanted) = (0, 0);
        for at in 0..queries {
            let query = if at % 2 == 0 { self.vector(chance) } else { chance.unit_vector(DIMENSIONS) };
            for user in [None, Some(1), Some(2)] {
                let (one_found, one_wanted) = self.check_search(&query, user, 10);
                (found, wanted) = (found + one_found, wanted + one_wanted);
            }
        }
        found as f64 / wanted.max(1) as f64
    }
}

#[test]
fn a_graph_finds_nearly_all_of_what_a_scan_finds_through_changes_compactions_and_reopenings() {
    let mut chance = Chance::new();
    let mut checked = Checked::with_graph(&mut chance, 700);
    for round in 0..40 {
        let first = 1 + chance.below(700) as u64;
        let memories: Vec<u64> = (first..first + 1 + chance.below(60) as u64).collect();
        match chance.below(10) {
            0..=5 => checked.publish(&memories, &mut chance),
            6..=7 => checked.remove(&memories),
            8 => checked.reopen(),
            _ => {
                checked.index.erase_removed().expect("erased");
            }
        }
        if chance.below(2) == 0 {
            checked.wait();
        }
        let recall = checked.recall(10, &mut chance);
        assert!(recall >= 0.95, "recall {recall} in round {round}");
    }
    checked.wait();
    let before = checked.index.stats().graph_searches;
    let recall = checked.recall(50, &mut chance);
    assert!(recall >= 0.97, "recall {recall}");
    assert!(checked.index.stats().graph_searches > before, "the graph answers");
}

#[test]
fn replacing_all_memories_several_times_keeps_the_graph_good() {
    let mut chance = Chance::new();
    let mut checked = Checked::with_graph(&mut chance, 600);
    for first in (0..4 * 600).step_by(60) {
        let memories: Vec<u64> = (0..60).map(|at| 1 + (first + at) % 600).collect();
        checked.publish(&memories, &mut chance);
        checked.index.compact_if_needed().expect("compacted");
    }
    checked.wait();
    let recall = checked.recall(100, &mut chance);
    assert!(recall >= 0.97, "recall {recall}");
}

#[test]
fn removed_and_hidden_memories_are_never_found() {
    let mut chance = Chance::new();
    let mut checked = Checked::with_graph(&mut chance, 300);
    let query = checked.model[&7].1[0].1.clone();
    let find = |checked: &Checked| {
        let hits = checked.index.search(&query, &checked.memory_table.admit(None, 0), 50).expect("searched");
        hits.into_iter().map(|hit| hit.chunk_key).collect::<Vec<_>>()
    };
    let of = |checked: &Checked, memory: u64| checked.model[&memory].1[0].0;
    let (seventh, others) = (of(&checked, 7), find(&checked));
    assert_eq!(others[0], seventh);
    checked.memory_table.hide(&[7]);
    assert!(!find(&checked).contains(&seventh), "hidden");
    checked.show(7);
    assert_eq!(find(&checked)[0], seventh);
    checked.remove(&[7]);
    assert!(!find(&checked).contains(&seventh), "removed");
    checked.reopen();
    checked.wait();
    assert!(!find(&checked).contains(&seventh), "removed before a start");
}

#[test]
fn searches_get_as_many_hits_as_there_are_for_every_limit() {
    let mut chance = Chance::new();
    let checked = Checked::with_graph(&mut chance, 400);
    for limit in [1, 10, 99, 200, 201, 400, 2_000] {
        for user in [None, Some(1), Some(2), Some(3)] {
            checked.check_search(&checked.vector(&mut chance), user, limit);
        }
    }
}

#[test]
fn copies_of_one_vector_do_not_hide_others() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    let same = chance.unit_vector(DIMENSIONS);
    checked.publish_vectors(&(1..=400).collect::<Vec<_>>(), vec![vec![same]; 400]);
    checked.publish(&(401..=900).collect::<Vec<_>>(), &mut chance);
    checked.index.choose(VectorIndexKind::Hnsw);
    checked.wait();
    let (mut found, mut wanted) = (0, 0);
    for memory in (401..=900).step_by(5) {
        let query = checked.model[&memory].1[0].1.clone();
        let hits = checked.index.search(&query, &checked.memory_table.admit(None, 0), 1).expect("searched");
        found += usize::from(hits[0].chunk_key == checked.model[&memory].1[0].0);
        wanted += 1;
    }
    assert!(found * 100 >= wanted * 97, "{found} of {wanted} find themselves");
}

#[test]
fn rows_that_are_near_nothing_are_found() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    // Each vector has 12 of 64 components, so that many rows have nothing in common.
    let vectors: Vec<Vec<f32>> = (0..800)
        .map(|_| {
            let mut vector = vec![0.0; DIMENSIONS];
            (0..12).for_each(|_| vector[chance.below(DIMENSIONS)] += if chance.below(2) == 0 { 1.0 } else { -1.0 });
            vector[0] += 0.1;
            let length = vector.iter().map(|component: &f32| component * component).sum::<f32>().sqrt();
            vector.into_iter().map(|component| component / length).collect()
        })
        .collect();
    let memories: Vec<u64> = (1..=vectors.len() as u64).collect();
    checked.publish_vectors(&memories, vectors.iter().map(|vector| vec![vector.clone()]).collect());
    checked.index.choose(VectorIndexKind::Hnsw);
    checked.wait();
    let (mut found, mut wanted) = (0, 0);
    for query in vectors.iter().step_by(8) {
        let (one_found, one_wanted) = checked.check_search(query, None, 10);
        (found, wanted) = (found + one_found, wanted + one_wanted);
    }
    // Rows of equal similarity are counted as missed if another one is found.
    assert!(found * 100 >= wanted * 90, "{found} of {wanted}");
}

#[test]
fn searches_and_publications_go_on_while_the_graph_is_built() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    checked.publish(&(1..=1_500).collect::<Vec<_>>(), &mut chance);
    checked.index.choose(VectorIndexKind::Hnsw);
    for memory in 1_501..=1_540u64 {
        checked.publish(&[memory], &mut chance);
        let query = checked.model[&memory].1[0].1.clone();
        let hits = checked.index.search(&query, &checked.memory_table.admit(None, 0), 1).expect("searched");
        assert_eq!(hits[0].chunk_key, checked.model[&memory].1[0].0, "found at once");
    }
    checked.wait();
    let recall = checked.recall(30, &mut chance);
    assert!(recall >= 0.97, "recall {recall}");
}

#[test]
fn the_setting_can_change_while_the_graph_is_built() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    checked.publish(&(1..=1_000).collect::<Vec<_>>(), &mut chance);
    let graph_file = checked.folder.path().join(GRAPH_FILE);
    for _ in 0..3 {
        checked.index.choose(VectorIndexKind::Hnsw);
        let status = checked.index.graph_status();
        assert!(status.is_active || status.build.is_some_and(|build| build.rows_total >= 1_000), "it has begun");
        checked.recall(2, &mut chance);
        checked.index.choose(VectorIndexKind::Scan);
        let status = checked.index.graph_status();
        assert!(!status.is_active && status.build.is_none() && !graph_file.exists());
        checked.recall(2, &mut chance);
    }
    checked.index.choose(VectorIndexKind::Hnsw);
    checked.wait();
    checked.index.choose(VectorIndexKind::Hnsw);
    assert!(checked.index.graph_status().is_active, "the graph stays");
    checked.index.choose(VectorIndexKind::Scan);
    assert!(!graph_file.exists());
}

#[test]
fn auto_begins_and_ends_a_graph_by_the_number_of_chunks() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    checked.index.choose(VectorIndexKind::Auto);
    let mut memories = 0;
    while checked.index.stats().chunks < LIMITS.auto_chunks_min {
        let status = checked.index.graph_status();
        assert!(!status.is_active && status.build.is_none());
        memories += 1;
        let first = (memories - 1) * 40 + 1;
        checked.publish(&(first..first + 40).collect::<Vec<_>>(), &mut chance);
    }
    checked.wait();
    checked.publish(&[1, 2, 3], &mut chance);
    checked.wait();
    let all: Vec<u64> = checked.model.keys().copied().collect();
    for some in all.chunks(50) {
        let had = checked.index.stats().chunks;
        checked.remove(some);
        let (has, status) = (checked.index.stats().chunks, checked.index.graph_status());
        assert_eq!(status.is_active, has >= LIMITS.auto_chunks_min / 2, "{had}, then {has} chunks");
    }
}

/// One in this many damaged files is also opened as an index.
const OPENED_OF: usize = 5;

/// A copy of the files as a process that is killed at this moment would leave them.
fn copy_of(folder: &Path) -> TempDir {
    let copy = TempDir::new("graph-copy");
    // The log is copied last: it may only be ahead of the graph.
    for name in [GRAPH_FILE, "vectors.log"] {
        if folder.join(name).exists() {
            fs::copy(folder.join(name), copy.path().join(name)).expect("copied");
        }
    }
    fs::write(copy.path().join("vectors.saving"), "cut").expect("written");
    copy
}

#[test]
fn a_kill_between_saves_costs_only_the_rows_since_the_last_one() {
    let mut chance = Chance::new();
    let mut checked = Checked::with_graph(&mut chance, 400);
    let mut had_file = 0;
    for round in 0..8u64 {
        let first = 401 + round * 60;
        checked.publish(&(first..first + 60).collect::<Vec<_>>(), &mut chance);
        if chance.below(2) == 0 {
            checked.wait();
        }
        if round == 4 {
            checked.remove(&(1..=300).collect::<Vec<_>>());
            assert!(checked.index.compact_if_needed().expect("compacted"), "the saved graph is of the old log");
        }
        let copy = copy_of(checked.folder.path());
        had_file += u32::from(copy.path().join(GRAPH_FILE).exists());
        let (memory_table, index, repairs) = open(copy.path());
        assert!(repairs.is_empty(), "{repairs:?}");
        index.choose(VectorIndexKind::Hnsw);
        let folder = std::mem::replace(&mut checked.folder, copy);
        let kept =
            (std::mem::replace(&mut checked.memory_table, memory_table), std::mem::replace(&mut checked.index, index));
        let memories: Vec<u64> = checked.model.keys().copied().collect();
        memories.into_iter().for_each(|memory| checked.show(memory));
        checked.wait();
        let recall = checked.recall(20, &mut chance);
        assert!(recall >= 0.95, "recall {recall} after round {round}");
        (checked.memory_table, checked.index) = kept;
        checked.folder = folder;
    }
    assert!(had_file >= 6, "{had_file} of 8 kills found a saved graph");
}

#[test]
fn a_saved_graph_is_used_and_a_damaged_one_is_built_again() {
    let mut chance = Chance::new();
    let mut checked = Checked::with_graph(&mut chance, 150);
    checked.reopen();
    checked.wait();
    assert_eq!(checked.index.graph_status().note, None, "the saved graph is used");
    checked.index.stop_graph();
    let path = checked.folder.path().join(GRAPH_FILE);
    let bytes = fs::read(&path).expect("readable");
    assert_eq!(checked.index.damage_of(GRAPH_FILE).expect("read"), None);
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), vec![0; 10_000], b"something else".to_vec()];
    for _ in 0..25 {
        let mut flipped = bytes.clone();
        flipped[chance.below(bytes.len())] ^= 1 << chance.below(8);
        damaged.push(flipped);
        damaged.push(bytes[..chance.below(bytes.len())].to_vec());
    }
    for at in 0..80 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        damaged.push(flipped);
    }
    damaged.push([&bytes[..], b"more"].concat());
    for (at, damaged) in damaged.into_iter().enumerate() {
        fs::write(&path, damaged).expect("written");
        assert!(checked.index.damage_of(GRAPH_FILE).expect("read").is_some(), "case {at}");
        // Opening takes longer than finding the damage, and finds it in the same way.
        if at % OPENED_OF != 0 {
            continue;
        }
        checked.reopen();
        checked.wait();
        let note = checked.index.graph_status().note;
        // A save of the new graph follows, and clears the note.
        assert!(note.is_none_or(|note| note.contains("built again")), "case {at}");
        assert!(checked.recall(2, &mut chance) >= 0.9);
        checked.index.stop_graph();
    }
    checked.reopen();
    checked.wait();
    checked.index.stop_graph();
    assert_eq!(checked.index.damage_of(GRAPH_FILE).expect("read"), None, "it was saved again");
}

#[test]
fn a_graph_of_another_log_is_not_used() {
    let mut chance = Chance::new();
    let other = Checked::with_graph(&mut chance, 300);
    other.index.stop_graph();
    let mut checked = Checked::with_graph(&mut chance, 300);
    checked.index.stop_graph();
    fs::copy(other.folder.path().join(GRAPH_FILE), checked.folder.path().join(GRAPH_FILE)).expect("copied");
    checked.reopen();
    checked.wait();
    let recall = checked.recall(40, &mut chance);
    assert!(recall >= 0.97, "recall {recall}");
}

#[test]
fn a_file_that_cannot_be_written_is_noted_and_searches_go_on() {
    let mut chance = Chance::new();
    let mut checked = Checked::new(&mut chance);
    checked.publish(&(1..=400).collect::<Vec<_>>(), &mut chance);
    // A folder with the name of the temporary file.
    fs::create_dir(checked.folder.path().join("vectors.saving")).expect("created");
    checked.index.choose(VectorIndexKind::Hnsw);
    checked.wait();
    eventually("the failure is noted", || checked.index.graph_status().note.is_some());
    assert!(checked.index.graph_status().note.is_some_and(|note| note.contains("saving")));
    assert!(checked.recall(10, &mut chance) >= 0.95);
}

#[test]
fn without_a_thread_changes_are_durable_searches_scan_and_the_status_says_why() {
    let mut chance = Chance::new();
    let folder = TempDir::new("graph");
    // No system has a stack of this size.
    let limits = GraphLimits { stack_bytes: usize::MAX / 4, ..LIMITS };
    let (memory_table, index, _) = open_with(folder.path(), limits);
    let centres = vec![chance.unit_vector(DIMENSIONS)];
    let mut checked = Checked { folder, memory_table, index, model: BTreeMap::new(), centres, next_chunk: 1 };
    checked.publish(&(1..=50).collect::<Vec<_>>(), &mut chance);
    let failure = |checked: &Checked| checked.index.graph_status().build.and_then(|build| build.error);
    checked.index.choose(VectorIndexKind::Hnsw);
    for change in 0..3 {
        assert!(failure(&checked).is_some_and(|error| error.contains("starting a thread")), "after {change} changes");
        assert!(!checked.index.graph_status().is_active);
        assert!(checked.recall(5, &mut chance) >= 0.97);
        match change {
            0 => checked.publish(&[51, 52], &mut chance),
            _ => checked.remove(&[1, 51]),
        }
    }
    checked.index.choose(VectorIndexKind::Scan);
    assert_eq!(checked.index.graph_status().build, None);
    checked.index.stop_graph();
    (checked.memory_table, checked.index, _) = open(checked.folder.path());
    checked.model.keys().for_each(|memory| checked.show(*memory));
    assert!(checked.recall(5, &mut chance) >= 0.97, "what was published is durable");
    checked.index.choose(VectorIndexKind::Hnsw);
    checked.wait();
}
