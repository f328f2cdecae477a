//! The thread that gives a vector index its graph: it loads the saved one or builds one, adds each new row, and saves.
//! Its priority is low, and searches never wait for it: they scan the rows that the graph does not have yet.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::files::delete_if_present;
use crate::panics;
use crate::threads::lower_priority;
use crate::vectors::graph::file::{self, GRAPH_FILE, LogPart};
use crate::vectors::graph::limits::VectorIndexKind;
use crate::vectors::graph::walk::Scratch;
use crate::vectors::searcher::{Rows, Searcher};

/// Number of rows that the thread adds before it checks whether it must stop. They take about 10 ms.
const ROWS_AT_ONCE: u32 = 32;

/// Held while rows are added, so that the graphs of all projects together use at most one processor.
static ADDING: Mutex<()> = Mutex::new(());
/// Number of rows whose state is read under one lock. This takes less than 0.1 ms.
const LIVE_ROWS_AT_ONCE: u32 = 65_536;

/// The state of the graph of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphStatus {
    /// Whether searches use the graph.
    pub is_active: bool,
    /// Progress or failure of building the graph; `None` if no graph is being built and none has failed.
    pub build: Option<GraphBuild>,
    /// Number of rows that the graph has.
    pub rows_done: usize,
    /// Number of rows that the graph does not have yet. Searches scan them.
    pub rows_missing: usize,
    /// Why the last attempt to save the graph failed, or why the saved graph was not used; `None` if neither happened.
    pub note: Option<String>,
}

/// A graph that is being built, or could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphBuild {
    /// Number of rows that the graph has.
    pub rows_done: usize,
    /// Number of all rows.
    pub rows_total: usize,
    /// Why building has failed; `None` while it goes on.
    pub error: Option<String>,
    /// Time at which building was started, in ms since 1970.
    pub started_at_ms: u64,
}

/// Starts and stops the thread of an index. Dropping it stops the thread.
#[derive(Debug)]
pub struct GraphBuilder {
    searcher: Arc<Searcher>,
    control: Arc<Control>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the thread shares with other threads.
#[derive(Debug, Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
    /// Held while the graph changes or is saved: by this thread, or by a compaction of the log.
    writing: Mutex<()>,
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// How vectors are searched; `None` until `choose` is called.
    kind: Option<VectorIndexKind>,
    /// Number of changes of the rows. The thread compares it to notice new ones.
    changes: u64,
    started_at_ms: u64,
    error: Option<String>,
    note: Option<String>,
}

impl GraphBuilder {
    /// A builder without a thread. Searches scan until `choose` is called.
    pub fn new(searcher: Arc<Searcher>) -> Self {
        GraphBuilder { searcher, control: Arc::default(), thread: Mutex::default() }
    }

    /// Sets how vectors are searched: starts the thread, or stops it and deletes the graph. Does nothing if the setting
    /// is the same as before. A graph that has failed is tried again after a different setting, or when the index is
    /// opened again. `status` reports failures.
    pub fn choose(&self, kind: VectorIndexKind) {
        let is_new = self.control.lock().kind.replace(kind) != Some(kind);
        self.follow(is_new);
    }

    /// Tells the thread that rows were added or removed. With `Auto`, starts or stops the thread if the number of
    /// chunks has crossed the limit. The change of the rows is already durable, so only `status` reports failures.
    pub fn note_change(&self) {
        self.control.lock().changes += 1;
        self.control.changed.notify_all();
        self.follow(false);
    }

    /// Returns a guard. While the caller holds it, the thread does not change the graph.
    pub fn exclude(&self) -> MutexGuard<'_, ()> {
        self.control.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of the graph.
    pub fn status(&self) -> GraphStatus {
        let (graph, rows_total) = {
            let rows = self.searcher.rows();
            (rows.graph.clone(), rows.table.len())
        };
        let is_active = graph.as_ref().is_some_and(|graph| graph.is_complete());
        let rows_done = graph.map_or(0, |graph| graph.len() as usize);
        let state = self.control.lock();
        let is_running = self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let build = ((is_running || state.error.is_some()) && !is_active).then(|| GraphBuild {
            rows_done,
            rows_total,
            error: state.error.clone(),
            started_at_ms: state.started_at_ms,
        });
        GraphStatus {
            is_active,
            build,
            rows_done,
            rows_missing: rows_total.saturating_sub(rows_done),
            note: state.note.clone(),
        }
    }

    /// Stops the thread and waits for it; it saves the graph first. The graph stays in memory.
    pub fn stop(&self) {
        self.control.is_stopped.store(true, Ordering::Release);
        self.control.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Panics of the thread are caught in it.
            let _ = thread.join();
        }
    }

    /// Starts or stops the thread, depending on the setting and the number of chunks. If `is_new` (the setting was just
    /// changed), a graph that has failed is tried again.
    fn follow(&self, is_new: bool) {
        let kind = self.control.lock().kind;
        let is_running = self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let has_failed = self.control.lock().error.is_some();
        let wanted = match kind {
            None | Some(VectorIndexKind::Scan) => false,
            Some(VectorIndexKind::Hnsw) => true,
            Some(VectorIndexKind::Auto) => {
                let limits = self.searcher.options.graph_limits;
                let rows = self.searcher.rows();
                let chunks = rows.table.live_count();
                let uses_codes = rows.table.uses_codes();
                drop(rows);
                let chunks_min = if uses_codes { limits.auto_chunks_min } else { limits.auto_chunks_min_without_codes };
                // A graph that exists stays until half of the chunks are gone.
                chunks >= if is_running { chunks_min / 2 } else { chunks_min }
            }
        };
        match (wanted, is_running) {
            (true, true) if !(is_new && has_failed) => {}
            (true, is_running) => {
                if is_running {
                    self.stop();
                }
                if let Err(error) = self.start() {
                    // The next change tries again. Until then the scan answers.
                    self.searcher.rows_mut().graph = None;
                    self.control.lock().error = Some(error.to_string());
                }
            }
            (false, is_running) => {
                if is_running {
                    self.stop();
                }
                if is_new || is_running || has_failed {
                    self.discard();
                }
            }
        }
    }

    fn start(&self) -> Result<()> {
        self.searcher.rows_mut().graph = Some(Arc::default());
        let started_at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        {
            let mut state = self.control.lock();
            (state.started_at_ms, state.error, state.note) = (started_at_ms, None, None);
        }
        self.control.is_stopped.store(false, Ordering::Release);
        let (searcher, control) = (Arc::clone(&self.searcher), Arc::clone(&self.control));
        let stack_bytes = self.searcher.options.graph_limits.stack_bytes;
        let builder = std::thread::Builder::new().name("mneme-graph".to_owned()).stack_size(stack_bytes);
        let thread = builder.spawn(move || {
            if searcher.options.graph_limits.is_low_priority {
                lower_priority();
            }
            if let Err(panic) = panics::catch(|| Build::new(&searcher, &control).run()) {
                // The rows stay searchable: the scan needs no graph.
                searcher.rows_mut().graph = None;
                control.lock().error = Some(panic);
            }
        });
        let thread = thread.map_err(|cause| Error::from_io("starting a thread", &cause))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Frees the graph and deletes its file. If the file cannot be deleted, it only takes space: `load` uses it only if
    /// it belongs to the log.
    fn discard(&self) {
        let _writing = self.exclude();
        let graph = self.searcher.rows_mut().graph.take();
        drop(graph);
        let note = delete_if_present(&self.searcher.options.directory.join(GRAPH_FILE)).err();
        let mut state = self.control.lock();
        (state.error, state.note) = (None, note.map(|error| error.to_string()));
    }
}

impl Drop for GraphBuilder {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}

/// The work of the thread.
struct Build<'work> {
    searcher: &'work Searcher,
    control: &'work Control,
    path: PathBuf,
    scratch: Scratch,
    /// Epoch of the log and number of rows of the saved graph; `None` if none is saved.
    saved: Option<(u64, u32)>,
}

impl<'work> Build<'work> {
    fn new(searcher: &'work Searcher, control: &'work Control) -> Self {
        let path = searcher.options.directory.join(GRAPH_FILE);
        Build { searcher, control, path, scratch: Scratch::default(), saved: None }
    }

    fn run(mut self) {
        let rows_min = self.searcher.options.graph_limits.save_rows_min;
        // A graph that took about a second to build is worth saving.
        let worth_saving = rows_min / 64;
        self.load();
        loop {
            let changes = self.control.lock().changes;
            while !self.control.is_stopped() && self.add_rows() {
                self.save_if_grown(|saved| rows_min.max(saved.rows / 4));
            }
            if self.control.is_stopped() {
                self.save_if_grown(|_| worth_saving);
                return;
            }
            if let Some(graph) = &self.searcher.rows().graph {
                graph.mark_complete();
            }
            self.save_if_grown(
                |Saved { rows, saved_rows }| {
                    if saved_rows == 0 { worth_saving } else { rows_min.max(rows / 16) }
                },
            );
            let mut state = self.control.lock();
            while state.changes == changes && !self.control.is_stopped() {
                state = self.control.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Loads the saved graph. If it is damaged or does not belong to the log, deletes its file and notes why.
    fn load(&mut self) {
        let _writing = self.control.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = file::load(&self.path, |rows| part_of(self.searcher, &self.searcher.rows(), rows));
        let reason = match loaded {
            Ok(None) => return,
            Ok(Some(Ok(graph))) => {
                // The vectors of dead rows may have been erased from the log, so a walk must not go through these rows.
                let are_live = self.are_live(graph.len());
                graph.bypass_dead(|row| are_live[row as usize]);
                let mut rows = self.searcher.rows_mut();
                if graph.len() as usize / 3 >= rows.table.len() / 4 {
                    graph.mark_complete();
                }
                self.saved = Some((rows.epoch, graph.len()));
                rows.graph = Some(Arc::new(graph));
                return;
            }
            Ok(Some(Err(reason))) => reason,
            Err(error) => error.to_string(),
        };
        let note = match delete_if_present(&self.path) {
            Ok(()) => format!("the saved graph is built again: {reason}"),
            Err(error) => format!("the saved graph is built again: {reason}; {error}"),
        };
        self.control.lock().note = Some(note);
    }

    /// Whether each of the first `count` rows is live. Releases the lock between batches, so that changes of the rows
    /// wait for one batch at most.
    fn are_live(&self, count: u32) -> Vec<bool> {
        let mut are_live = Vec::with_capacity(count as usize);
        while (are_live.len() as u32) < count {
            let rows = self.searcher.rows();
            let next = are_live.len() as u32..count.min(are_live.len() as u32 + LIVE_ROWS_AT_ONCE);
            are_live.extend(next.map(|row| rows.table.is_live(row)));
        }
        are_live
    }

    /// Adds the next rows. Returns false if there are none.
    fn add_rows(&mut self) -> bool {
        let _turn = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
        let _writing = self.control.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (graph, vectors, are_live) = {
            let rows = self.searcher.rows();
            let Some(graph) = rows.graph.clone() else { return false };
            let next = graph.len()..(rows.table.len() as u32).min(graph.len() + ROWS_AT_ONCE);
            if next.is_empty() {
                return false;
            }
            let are_live: Vec<bool> = next.map(|row| rows.table.is_live(row)).collect();
            (graph, rows.table.finished_vectors(), are_live)
        };
        vectors.with_vectors(|vectors| {
            are_live.iter().for_each(|is_live| graph.insert(vectors, *is_live, &mut self.scratch));
        });
        true
    }

    /// Saves the graph if it has enough rows that the saved one lacks. `unsaved_min` returns how many are enough.
    fn save_if_grown(&mut self, unsaved_min: impl FnOnce(Saved) -> u32) {
        let _writing = self.control.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (graph, epoch, part) = {
            let rows = self.searcher.rows();
            let Some(graph) = rows.graph.clone() else { return };
            let part = part_of(self.searcher, &rows, graph.len());
            (graph, rows.epoch, part)
        };
        let saved_rows = self.saved.filter(|(of, _)| *of == epoch).map_or(0, |(_, rows)| rows.min(graph.len()));
        let unsaved_min = unsaved_min(Saved { rows: graph.len(), saved_rows }).max(1);
        let Some(part) = part.filter(|_| graph.len() - saved_rows >= unsaved_min) else { return };
        let note = file::save(&graph, &self.path, part).err().map(|error| error.to_string());
        // After an error, too, the next attempt comes only after as many new rows. A restart before that has to build
        // them again.
        self.saved = Some((epoch, graph.len()));
        self.control.lock().note = note;
    }
}

/// Number of rows of the graph in memory and of the saved graph.
struct Saved {
    rows: u32,
    saved_rows: u32,
}

/// The part of the log to which the first `count` rows belong. `None` if a graph of these rows cannot be saved or
/// loaded.
fn part_of(searcher: &Searcher, rows: &Rows, count: u32) -> Option<LogPart> {
    // Damaged records shift the numbers of rows, so a saved graph would not match. A compaction removes them.
    if count == 0 || count as usize > rows.table.len() || rows.damaged_records > 0 {
        return None;
    }
    let last_record = rows.table.origin(count - 1).record;
    Some(LogPart { dimensions: searcher.options.dimensions as u32, epoch: rows.epoch, last_record })
}
