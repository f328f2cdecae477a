//! The thread that keeps a project's HNSW graph up to date with its rows: loading, adding, calibrating, saving.
//! It is the only one that adds. The scan covers whatever it has not reached yet.

use std::sync::Arc;
use std::thread::JoinHandle;

use half::bf16;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::hit::Hit;
use crate::vectors::hnsw::{Graph, GraphIdentity, Snapshot, discard_snapshot};
use crate::vectors::searcher::{ReadyGraph, Searcher};

/// Search breadths that calibration tries, smallest first.
const EF_LADDER: [usize; 8] = [400, 600, 800, 1_200, 1_600, 2_400, 3_200, 4_800];
/// Calibration takes the first breadth with this recall@10 against a scan of every row: .99 is promised, the rest is
/// margin for the chance of the sample.
const CALIBRATION_RECALL: f64 = 0.993;
const CALIBRATION_QUERIES: usize = 100;
/// What a calibration query has in common with the stored vector that it is made from (a cosine); the rest is noise. A
/// question is that far from its best passages, and nearer queries flatter the graph: at 132,000 passages a breadth
/// that found .993 of what is next to mixtures of stored vectors found .856 for questions of another field.
const CALIBRATION_COSINE: f32 = 0.25;
const CALIBRATION_HITS: usize = 10;
/// A graph that has grown by this factor is calibrated again.
const CALIBRATION_GROWTH: f64 = 1.25;
/// Rows that are looked up at a time; the lock on the rows is held for no longer than that takes.
const BATCH_ROWS: usize = 256;
/// A snapshot is due after this many new rows, or a tenth of the graph if that is more: at 3,700 adds/s they replay in
/// seconds.
const SNAPSHOT_ROWS_MIN: usize = 20_000;

/// Starts the thread. It ends when the index closes.
pub(crate) fn start(searcher: Arc<Searcher>, snapshot: Snapshot) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("mneme-graph".to_owned())
        .spawn(move || {
            let mut building = load(&searcher, snapshot);
            while searcher.wait_for_news() {
                // A graph that cannot be kept up is given up: the scan serves, and the next news tries again.
                if catch_up(&searcher, &mut building).is_err() {
                    searcher.set_ready_graph(None);
                    building = None;
                }
            }
        })
        .map_err(|cause| Error::from_io("starting the graph's thread", &cause))
}

/// The graph under construction, of one log epoch.
struct Building {
    graph: Arc<Graph>,
    identity: GraphIdentity,
    rows_when_saved: usize,
    rows_when_calibrated: usize,
}

impl Building {
    fn new(graph: Graph, identity: GraphIdentity) -> Building {
        Building { rows_when_saved: graph.covered(), rows_when_calibrated: 0, graph: Arc::new(graph), identity }
    }
}

fn load(searcher: &Searcher, snapshot: Snapshot) -> Option<Building> {
    let Snapshot::Sound { covered } = snapshot else { return None };
    let identity = searcher.rows().identity.clone();
    // A snapshot that does not load in spite of its checksum is built anew like one that is missing.
    let graph = Graph::load(&searcher.options.directory, &identity, covered).ok()?;
    Some(Building::new(graph, identity))
}

fn catch_up(searcher: &Searcher, building: &mut Option<Building>) -> Result<()> {
    let (identity, live) = {
        let rows = searcher.rows();
        (rows.identity.clone(), rows.table.live())
    };
    if building.as_ref().is_some_and(|building| building.identity != identity) {
        searcher.set_ready_graph(None);
        discard_snapshot(&searcher.options.directory);
        *building = None;
    }
    if building.is_none() && live > searcher.options.hnsw_min_chunks {
        *building = Some(Building::new(Graph::new(identity.dimensions)?, identity));
    }
    let Some(building) = building else { return Ok(()) };
    while !searcher.is_closing() {
        if add_batch(searcher, building)? {
            continue;
        }
        calibrate_if_due(searcher, building)?;
        save_if_due(searcher, building);
        return Ok(());
    }
    Ok(())
}

/// Adds the next rows; false when there are none.
fn add_batch(searcher: &Searcher, building: &Building) -> Result<bool> {
    let covered = building.graph.covered();
    let (live, end, reader) = {
        let rows = searcher.rows();
        if rows.identity != building.identity || covered >= rows.table.len() {
            return Ok(false);
        }
        let end = rows.table.len().min(covered + BATCH_ROWS);
        let is_live = |row: &u32| rows.table.is_live(*row);
        let live: Vec<(u32, u64)> =
            (covered as u32..end as u32).filter(is_live).map(|row| (row, rows.table.origin(row).record)).collect();
        (live, end, rows.reader.clone())
    };
    let mut vector: Vec<bf16> = Vec::new();
    for (row, record) in live {
        match reader.read(record, &mut vector) {
            Ok(()) => building.graph.add(row, &vector)?,
            // As in a search: one rotten record is no reason to do without a graph.
            Err(Error::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    building.graph.set_covered(end);
    Ok(true)
}

/// Measures recall on mixtures of stored vectors, which lie off the data as questions do, and puts the graph at the
/// searches' disposal with the smallest breadth that suffices; withholds it when none does.
fn calibrate_if_due(searcher: &Searcher, building: &mut Building) -> Result<()> {
    let covered = building.graph.covered();
    if (covered as f64) < building.rows_when_calibrated as f64 * CALIBRATION_GROWTH {
        return Ok(());
    }
    let (queries, everything) = sample(searcher)?;
    let mut ready = ReadyGraph { graph: Arc::clone(&building.graph), epoch: building.identity.epoch, ef: 0 };
    let exact: Vec<Vec<Hit>> = queries
        .iter()
        .map(|query| searcher.search_exactly(query, &everything, CALIBRATION_HITS))
        .collect::<Result<_>>()?;
    for ef in EF_LADDER {
        ready.ef = ef;
        let mut found = 0;
        for (query, exact) in queries.iter().zip(&exact) {
            let hits = searcher.search_by_graph(query, &everything, CALIBRATION_HITS, &ready)?;
            found += overlap(&exact[..CALIBRATION_HITS.min(exact.len())], &hits);
        }
        let wanted: usize = exact.iter().map(|hits| hits.len().min(CALIBRATION_HITS)).sum();
        if found as f64 >= wanted as f64 * CALIBRATION_RECALL {
            searcher.set_ready_graph(Some(ready));
            building.rows_when_calibrated = covered;
            return Ok(());
        }
    }
    searcher.set_ready_graph(None);
    building.rows_when_calibrated = covered;
    Ok(())
}

fn overlap(exact: &[Hit], hits: &[Hit]) -> usize {
    let hits = &hits[..CALIBRATION_HITS.min(hits.len())];
    exact.iter().filter(|wanted| hits.iter().any(|hit| hit.chunk_key == wanted.chunk_key)).count()
}

/// Noisy unit vectors around live vectors that lie evenly over the rows, and the set of all memories.
fn sample(searcher: &Searcher) -> Result<(Vec<Vec<f32>>, MemorySet)> {
    let rows = searcher.rows();
    let live: Vec<u32> = rows.table.live_rows().collect();
    let mut everything = MemorySet::default();
    live.iter().for_each(|row| everything.insert(rows.table.origin(*row).ordinal));
    let step = (live.len() / CALIBRATION_QUERIES).max(1);
    let records: Vec<u64> = live.iter().step_by(step).map(|row| rows.table.origin(*row).record).collect();
    let reader = rows.reader.clone();
    drop(rows);
    let (mut vectors, mut vector) = (Vec::new(), Vec::new());
    for record in records {
        if reader.read(record, &mut vector).is_ok() {
            vectors.push(vector.iter().map(|component| component.to_f32()).collect::<Vec<f32>>());
        }
    }
    let mut noise = Noise(CALIBRATION_SEED);
    let share = (1.0 - CALIBRATION_COSINE * CALIBRATION_COSINE).sqrt();
    let queries = vectors.into_iter().map(|vector| {
        let direction = unit((0..vector.len()).map(|_| noise.next()).collect());
        unit(vector.iter().zip(direction).map(|(x, y)| CALIBRATION_COSINE * x + share * y).collect())
    });
    Ok((queries.collect(), everything))
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.into_iter().map(|x| x / length).collect()
}

/// Numbers of mean 0, the same in every run: SplitMix64 (Steele, Lea and Flood 2014), four uniform draws added up.
struct Noise(u64);

/// Any; fixed, so that a calibration can be repeated.
const CALIBRATION_SEED: u64 = 1;

impl Noise {
    fn next(&mut self) -> f32 {
        (0..4).map(|_| self.uniform() - 0.5).sum()
    }

    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u32 << 24) as f32
    }
}

fn save_if_due(searcher: &Searcher, building: &mut Building) {
    let covered = building.graph.covered();
    let due_after = SNAPSHOT_ROWS_MIN.max(covered / 10);
    if building.rows_when_saved > 0 && covered < building.rows_when_saved + due_after {
        return;
    }
    // A snapshot only spares work at the next opening; one that fails (a full disk) is tried again when next due.
    let _ = building.graph.save(&searcher.options.directory, &building.identity);
    building.rows_when_saved = covered;
}
