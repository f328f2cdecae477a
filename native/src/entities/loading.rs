//! The entity graph of an open project. A thread loads it while the project is already in use: a million memories take
//! 12 s, and their attributes can be loaded meanwhile. Callers that need the graph wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use crate::entities::graph::EntityGraph;
use crate::error::{Error, Result};
use crate::panics;

/// Called with each chunk that has an entity record: chunk key, ordinal of its memory, record.
pub type AddChunk<'graph> = dyn FnMut(u64, u32, &[u8]) -> Result<()> + 'graph;

/// An entity graph that a thread loads. Dropping this value ends the loading.
#[derive(Debug)]
pub struct LoadedGraph {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Empty until the loading has ended.
    graph: OnceLock<Result<RwLock<EntityGraph>>>,
    is_dropped: AtomicBool,
}

impl LoadedGraph {
    /// Begins to load a graph. `for_each_chunk` calls its argument with all chunks.
    pub fn load(for_each_chunk: impl FnOnce(&mut AddChunk<'_>) -> Result<()> + Send + 'static) -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let loading = Arc::clone(&shared);
        let load = move || {
            let loaded = panics::catch(|| {
                let mut graph = EntityGraph::default();
                for_each_chunk(&mut |chunk_key, ordinal, record| {
                    if loading.is_dropped.load(Ordering::Relaxed) {
                        return Err(Error::Closed("the project was closed".to_owned()));
                    }
                    graph.add(chunk_key, ordinal, record)
                })?;
                Ok(RwLock::new(graph))
            });
            let loaded = loaded
                .unwrap_or_else(|panic| Err(Error::Bug(format!("panic while the entity graph was loaded: {panic}"))));
            // Only this thread sets it.
            let _ = loading.graph.set(loaded);
        };
        let thread = std::thread::Builder::new().name("mneme-entities".to_owned()).spawn(load);
        let thread = thread.map_err(|cause| Error::from_io("starting a thread", &cause))?;
        Ok(LoadedGraph { shared, thread: Some(thread) })
    }

    /// The graph for reading. Waits until it is loaded; fails if it could not be.
    pub fn read(&self) -> Result<RwLockReadGuard<'_, EntityGraph>> {
        Ok(self.loaded()?.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The graph for changes. Waits until it is loaded; fails if it could not be.
    pub fn write(&self) -> Result<RwLockWriteGuard<'_, EntityGraph>> {
        Ok(self.loaded()?.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Number of chunks in the graph; 0 until it is loaded. Does not wait for the loading.
    pub fn live_chunks(&self) -> usize {
        let loaded = self.shared.graph.get().and_then(|graph| graph.as_ref().ok());
        loaded.map_or(0, |graph| graph.read().unwrap_or_else(PoisonError::into_inner).live_chunks())
    }

    fn loaded(&self) -> Result<&RwLock<EntityGraph>> {
        self.shared.graph.wait().as_ref().map_err(Clone::clone)
    }
}

impl Drop for LoadedGraph {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Panics of the thread are caught in it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_graph_that_is_being_loaded_is_waited_for_except_by_its_count() {
        let (proceed, may_proceed) = channel();
        let graph = LoadedGraph::load(move |add| {
            may_proceed.recv().expect("sent");
            add(7, 3, &[])
        });
        let graph = graph.expect("begun");
        assert_eq!(graph.live_chunks(), 0);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| graph.read().map(|graph| graph.slot_of(7).is_some()));
            proceed.send(()).expect("received");
            assert_eq!(reader.join().expect("no panic"), Ok(true));
        });
        assert_eq!(graph.live_chunks(), 1);
        graph.write().expect("loaded").remove_memory(3);
        assert_eq!(graph.live_chunks(), 0);
    }

    #[test]
    fn a_failure_and_a_panic_of_loading_are_errors_of_each_use() {
        let failed = LoadedGraph::load(|_| Err(Error::Io("the disk is gone".to_owned()))).expect("begun");
        assert_eq!(failed.read().map(|_| ()), Err(Error::Io("the disk is gone".to_owned())));
        assert_eq!(failed.write().map(|_| ()), Err(Error::Io("the disk is gone".to_owned())));
        assert_eq!(failed.live_chunks(), 0);
        let panicked = LoadedGraph::load(|_| panic!("too many")).expect("begun");
        assert!(panicked.read().is_err_and(|error| error.code() == "bug" && error.to_string().contains("too many")));
    }

    #[test]
    fn dropping_a_graph_ends_its_loading() {
        let (begun, has_begun) = channel();
        let graph = LoadedGraph::load(move |add| {
            begun.send(()).expect("received");
            (1..).try_for_each(|key| add(key, 1, &[]))
        });
        has_begun.recv().expect("sent");
        drop(graph.expect("begun"));
    }
}
