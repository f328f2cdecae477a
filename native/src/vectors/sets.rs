//! The vector sets of a project, one per embedding model: the live set, which searches use, and at most one set that is
//! being built beside it. The set that was live before the last swap stays on disk for a rollback, but is not open.
//! `set_file` stores which set is which; `index` is one set.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::filters::memory_table::MemoryTable;
use crate::vectors::graph::builder::GraphStatus;
use crate::vectors::graph::file::{self as graph_file, GRAPH_FILE};
use crate::vectors::graph::limits::{GraphLimits, VectorIndexKind};
use crate::vectors::index::{VectorChunk, VectorIndex, VectorOptions};
use crate::vectors::log::{self, LOG_FILE, model_of_log};
use crate::vectors::resident_vectors::RESIDENT_VECTORS;
use crate::vectors::set_file::{SET_FILE, SetEntry, SetFile, VectorModel};

/// Folder of a project's first set. Projects of early versions of Mneme, which had one set only, have only this folder.
const FIRST_FOLDER: &str = "vectors";
/// Prefix of the folders of later sets. A number follows it.
const FOLDER_PREFIX: &str = "vectors-";

/// Options for opening the vector sets of a project.
#[derive(Debug, Clone)]
pub struct SetOptions {
    /// The project's folder.
    pub directory: PathBuf,
    /// Model of the first set of a new project.
    pub new_model: VectorModel,
}

/// The models of the sets of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetModels {
    /// Model that searches use.
    pub live: VectorModel,
    /// Model whose set is being built.
    pub building: Option<VectorModel>,
    /// Model that was live before the last swap, if its vectors are still stored.
    pub previous: Option<VectorModel>,
}

/// What the set that is being built still lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingVectors {
    /// Memories of which at least one live chunk has no vector in the set, in ascending order.
    pub memory_keys: Vec<u64>,
    /// Number of chunks of these memories.
    pub missing_chunks: usize,
    /// Number of all live chunks.
    pub chunks: usize,
}

/// Vectors of one model, `[chunks, dimensions]`.
#[derive(Debug, Clone, Copy)]
pub struct ModelVectors<'data> {
    /// Fingerprint of the model.
    pub fingerprint: &'data str,
    /// One vector per chunk, in the order of the chunks.
    pub vectors: &'data [f32],
}

/// The vector sets of one project. Any thread may search the live set. Only one thread at a time may call the methods
/// that change something.
#[derive(Debug)]
pub struct VectorSets {
    options: SetOptions,
    memory_table: Arc<MemoryTable>,
    open: RwLock<OpenSets>,
    file: Mutex<SetFile>,
    /// How the live set is searched.
    kind: Mutex<Option<VectorIndexKind>>,
    /// Thread that releases the set of the last swap or deletion.
    retiring: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct OpenSets {
    models: SetModels,
    live: Arc<VectorIndex>,
    building: Option<Arc<VectorIndex>>,
}

impl VectorSets {
    /// Opens or creates the sets of a project. Also returns sentences for the operator about what was damaged.
    pub fn open(options: SetOptions, memory_table: Arc<MemoryTable>) -> Result<(VectorSets, Vec<String>)> {
        fs::create_dir_all(&options.directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", options.directory.display()), &cause))?;
        let mut repairs = Vec::new();
        let stored = SetFile::read_newest(&options.directory, &set_folders(&options.directory), &mut repairs)?;
        let mut file = match stored {
            Some(file) if options.directory.join(SET_FILE).exists() => file,
            other => {
                let mut file = match other {
                    Some(file) => file,
                    None => SetFile { generation: 0, live: largest_set(&options)?, building: None, previous: None },
                };
                file.write(&options.directory)?;
                file
            }
        };
        file.write_copy(&options.directory)?;
        delete_unnamed_folders(&options.directory, &file);

        let (live, sentences) = open_set(&options, &file.live, &memory_table)?;
        repairs.extend(sentences);
        let mut building = None;
        if let Some(entry) = &file.building {
            match open_set(&options, entry, &memory_table) {
                Ok((set, sentences)) => {
                    repairs.extend(sentences);
                    building = Some(Arc::new(set));
                }
                // The live set does not depend on the one that is being built, so it is used nevertheless.
                Err(error) => {
                    repairs.push(format!("the vectors of model {} are built again: {error}", entry.model.fingerprint));
                    let folder = options.directory.join(&entry.folder);
                    file.building = None;
                    file.write(&options.directory)?;
                    delete_folder(&folder);
                }
            }
        }
        let open = OpenSets { models: models_of(&file), live: Arc::new(live), building };
        let sets = VectorSets {
            options,
            memory_table,
            open: RwLock::new(open),
            file: Mutex::new(file),
            kind: Mutex::default(),
            retiring: Mutex::new(None),
        };
        Ok((sets, repairs))
    }

    /// The models of the sets.
    pub fn models(&self) -> SetModels {
        self.opened().models.clone()
    }

    /// Sets how the live set is searched, also after a swap. A set that is being built has no graph.
    pub fn choose(&self, kind: VectorIndexKind) {
        let mut chosen = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
        *chosen = Some(kind);
        self.live().choose(kind);
    }

    /// The state of the graph of the live set.
    pub fn graph_status(&self) -> GraphStatus {
        self.live().graph_status()
    }

    /// Calls `look` with the names of the folders of all sets, the live one first. During the call, no set is created
    /// or deleted.
    pub fn with_folders<T>(&self, look: impl FnOnce(&[String]) -> T) -> T {
        let file = self.file();
        self.wait_for_retiring();
        look(&file.entries().map(|(_, entry)| entry.folder.clone()).collect::<Vec<_>>())
    }

    /// Reads a file of a set and returns what is wrong with it; `None` if nothing is, and for other files.
    pub fn damage_of(&self, folder: &str, name: &str) -> Result<Option<String>> {
        let Some(entry) = self.file().entries().map(|(_, entry)| entry.clone()).find(|entry| entry.folder == folder)
        else {
            return Ok(None); // The set was deleted meanwhile.
        };
        let directory = self.options.directory.join(folder);
        if name == SET_FILE {
            return self.damage_of_set_file(&directory.join(name));
        }
        let (live, building) = self.both();
        match [Some(live), building].into_iter().flatten().find(|set| set.directory() == directory) {
            Some(set) => set.damage_of(name),
            // The set that is kept for a rollback is not open.
            None if name == GRAPH_FILE => graph_file::damage_of(&directory.join(name)),
            None if name == LOG_FILE => {
                log::damage_of(&directory.join(name), entry.model.dimensions, &entry.model.fingerprint, None)
            }
            None => Ok(None),
        }
    }

    /// Reads the file that names the sets, or a copy of it, and returns what is wrong with it; `None` if nothing is.
    pub fn damage_of_set_file(&self, path: &Path) -> Result<Option<String>> {
        let _unchanged = self.file();
        Ok(match SetFile::read(path)? {
            Some(Err(reason)) => Some(reason),
            Some(Ok(_)) => None,
            None => Some("it is missing".to_owned()),
        })
    }

    /// The live set.
    pub fn live(&self) -> Arc<VectorIndex> {
        Arc::clone(&self.opened().live)
    }

    /// The live set, for a vector of the model with this fingerprint. Fails with `OtherModel` if the live set has
    /// vectors of another model.
    pub fn live_of(&self, fingerprint: &str) -> Result<Arc<VectorIndex>> {
        let open = self.opened();
        if open.models.live.fingerprint == fingerprint {
            return Ok(Arc::clone(&open.live));
        }
        Err(Error::OtherModel(format!(
            "a vector of model {fingerprint}, but the index has vectors of model {}",
            open.models.live.fingerprint
        )))
    }

    /// Checks the vectors of a publication. `chunks` has the keys of each chunk and of its memory. Fails with
    /// `OtherModel` if vectors of the live model are missing, and with `Invalid` if a vector is not valid.
    pub fn check<'data>(&self, chunks: &[(u64, u64)], given: &[ModelVectors<'data>]) -> Result<CheckedVectors<'data>> {
        let open = self.opened();
        let of = |model: &VectorModel, set: &VectorIndex| {
            let given = given.iter().find(|given| given.fingerprint == model.fingerprint);
            given.map(|given| set_chunks(set, model.dimensions, chunks, given.vectors)).transpose()
        };
        let live = of(&open.models.live, &open.live)?.ok_or_else(|| {
            Error::OtherModel(format!("no vectors of the live model {} were given", open.models.live.fingerprint))
        })?;
        let building = match (&open.models.building, &open.building) {
            (Some(model), Some(set)) => of(model, set)?,
            _ => None,
        };
        Ok(CheckedVectors { live, building })
    }

    /// Replaces all vectors of the given memories, durably: in the live set, and in the set that is being built. If no
    /// vectors of the second are given, its old ones are removed, and the memories are missing there.
    pub fn publish(&self, memory_keys: &[u64], checked: &CheckedVectors<'_>) -> Result<()> {
        let (live, building) = self.both();
        live.publish(memory_keys, &checked.live)?;
        match building {
            Some(building) => building.publish(memory_keys, checked.building.as_deref().unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// Removes all vectors of the given memories from the live set and the set that is being built, durably.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        let (live, building) = self.both();
        live.remove(memory_keys)?;
        building.map_or(Ok(()), |building| building.remove(memory_keys))
    }

    /// Compacts the logs of both sets if needed (see `VectorIndex::compact_if_needed`). Returns whether one was
    /// compacted.
    pub fn compact_if_needed(&self) -> Result<bool> {
        let (live, building) = self.both();
        let of_building = building.map_or(Ok(false), |building| building.compact_if_needed())?;
        Ok(live.compact_if_needed()? || of_building)
    }

    /// Removes the vectors of removed chunks from the files of all sets, durably. A set that is kept for a rollback
    /// loses the memories that the live set does not have.
    pub fn erase_removed(&self) -> Result<()> {
        let (live, building) = self.both();
        live.erase_removed()?;
        building.map_or(Ok(()), |building| building.erase_removed())?;
        let Some(kept) = self.file().previous.clone() else { return Ok(()) };
        let (kept, _) = open_set(&self.options, &kept, &self.memory_table)?;
        let has_live: FxHashSet<u32> = live.chunks().into_iter().map(|(_, ordinal)| ordinal).collect();
        let gone = kept.chunks().into_iter().map(|(_, ordinal)| ordinal).filter(|ordinal| !has_live.contains(ordinal));
        let gone: FxHashSet<u32> = gone.collect();
        kept.remove(&self.memory_table.memory_keys(gone)).and_then(|()| kept.erase_removed())
    }

    /// Begins to build a set of this model beside the live one; does nothing if it is being built already. The set that
    /// is kept for a rollback is used if it has this model. Fails with `Invalid` if the model is live, if a set of
    /// another model is being built, or if a log cannot store its fingerprint or dimensions. The live set does not
    /// change.
    pub fn begin(&self, model: VectorModel) -> Result<()> {
        check_fingerprint(&model)?;
        let mut file = self.file();
        if file.live.model.fingerprint == model.fingerprint {
            return Err(Error::invalid(format!("model {} is live already", model.fingerprint)));
        }
        match &file.building {
            Some(entry) if entry.model == model => return Ok(()),
            Some(entry) => {
                let other = &entry.model.fingerprint;
                return Err(Error::invalid(format!("vectors of model {other} are being built; end that first")));
            }
            None => {}
        }
        self.wait_for_retiring();
        let mut changed = file.clone();
        let kept = changed.previous.take_if(|kept| kept.model == model);
        let is_kept = kept.is_some();
        let entry = kept.unwrap_or_else(|| SetEntry { folder: next_folder(&self.options.directory), model });
        let folder = self.options.directory.join(&entry.folder);
        let opened = open_set(&self.options, &entry, &self.memory_table).and_then(|(set, _)| {
            changed.building = Some(entry);
            changed.write(&self.options.directory).map(|()| set)
        });
        match opened {
            Ok(set) => {
                let mut open = self.opened_mut();
                open.building = Some(Arc::new(set));
                open.models = models_of(&changed);
                *file = changed;
                Ok(())
            }
            Err(error) => {
                if !is_kept {
                    delete_folder(&folder);
                }
                Err(error)
            }
        }
    }

    /// Compares the set that is being built with the live one. Removes vectors of chunks that are no longer live, and
    /// returns what is missing. Fails with `Invalid` if no set is being built.
    pub fn missing(&self) -> Result<MissingVectors> {
        let (live, building) = self.both();
        let building = building.ok_or_else(nothing_is_built)?;
        let (live, built) = (live.chunks(), building.chunks());
        let chunk_keys = |chunks: &[(u64, u32)]| chunks.iter().map(|(key, _)| *key).collect::<FxHashSet<u64>>();
        let ordinals = |chunks: &[(u64, u32)], others: &FxHashSet<u64>| {
            let lacking = chunks.iter().filter(|(key, _)| !others.contains(key));
            lacking.map(|(_, ordinal)| *ordinal).collect::<FxHashSet<u32>>()
        };
        let surplus = ordinals(&built, &chunk_keys(&live));
        if !surplus.is_empty() {
            building.remove(&self.memory_table.memory_keys(surplus.iter().copied()))?;
        }
        let mut missing = ordinals(&live, &chunk_keys(&built));
        // A memory with a removed vector has none now.
        missing.extend(live.iter().map(|(_, ordinal)| *ordinal).filter(|ordinal| surplus.contains(ordinal)));
        let mut memory_keys = self.memory_table.memory_keys(missing.iter().copied());
        memory_keys.sort_unstable();
        let missing_chunks = live.iter().filter(|(_, ordinal)| missing.contains(ordinal)).count();
        Ok(MissingVectors { memory_keys, missing_chunks, chunks: live.len() })
    }

    /// Adds vectors to the set that is being built, durably. `chunks` has pairs (chunk key, memory key). A memory must
    /// be given with all of its chunks. Memories whose live chunks are not exactly the given ones are skipped, because
    /// they were changed or removed meanwhile. Returns the number of chunks that were added. Fails with `OtherModel` if
    /// the set that is being built has another model, and with `Invalid` if none is being built.
    pub fn add(&self, chunks: &[(u64, u64)], given: ModelVectors<'_>) -> Result<usize> {
        let open = self.opened();
        let (Some(model), Some(building)) = (&open.models.building, &open.building) else {
            return Err(nothing_is_built());
        };
        if model.fingerprint != given.fingerprint {
            return Err(Error::OtherModel(format!(
                "vectors of model {}, but vectors of model {} are being built",
                given.fingerprint, model.fingerprint
            )));
        }
        let (live, building) = (Arc::clone(&open.live), Arc::clone(building));
        let mut checked = set_chunks(&building, model.dimensions, chunks, given.vectors)?;
        drop(open);
        let mut by_memory: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        chunks.iter().for_each(|(chunk, memory)| by_memory.entry(*memory).or_default().push(*chunk));
        by_memory.retain(|memory_key, keys| {
            let mut live_keys = live.memory_chunks(*memory_key);
            live_keys.sort_unstable();
            keys.sort_unstable();
            *keys == live_keys
        });
        checked.retain(|chunk| by_memory.contains_key(&chunk.memory_key));
        let memory_keys: Vec<u64> = by_memory.into_keys().collect();
        building.publish(&memory_keys, &checked)?;
        Ok(checked.len())
    }

    /// Makes the set that is being built live, if it lacks nothing; returns whether it did. The set that was live is
    /// kept for a rollback, in place of one that was kept before. After a crash at any point, either the old or the new
    /// set is live. Searches in progress finish with the old set.
    pub fn swap(&self) -> Result<bool> {
        if !self.missing()?.memory_keys.is_empty() {
            return Ok(false);
        }
        let mut file = self.file();
        let (Some(entry), live) = (file.building.clone(), file.live.clone()) else { return Err(nothing_is_built()) };
        let mut changed = SetFile { generation: file.generation, live: entry, building: None, previous: Some(live) };
        changed.write(&self.options.directory)?;
        let forgotten = std::mem::replace(&mut *file, changed).previous;
        let mut open = self.opened_mut();
        let Some(built) = open.building.take() else { return Err(nothing_is_built()) };
        let replaced = std::mem::replace(&mut open.live, built);
        open.models = models_of(&file);
        let live = Arc::clone(&open.live);
        drop(open);
        let kind = *self.kind.lock().unwrap_or_else(PoisonError::into_inner);
        self.retire(Some(replaced), forgotten);
        if let Some(kind) = kind {
            live.choose(kind);
        }
        Ok(true)
    }

    /// Deletes the set that is being built, if there is one.
    pub fn drop_building(&self) -> Result<()> {
        let mut file = self.file();
        let mut changed = file.clone();
        let Some(entry) = changed.building.take() else { return Ok(()) };
        changed.write(&self.options.directory)?;
        *file = changed;
        let mut open = self.opened_mut();
        let dropped = open.building.take();
        open.models = models_of(&file);
        drop(open);
        self.retire(dropped, Some(entry));
        Ok(())
    }

    /// Deletes the set that is kept for a rollback, if there is one.
    pub fn forget_previous(&self) -> Result<()> {
        let mut file = self.file();
        let mut changed = file.clone();
        let Some(entry) = changed.previous.take() else { return Ok(()) };
        changed.write(&self.options.directory)?;
        *file = changed;
        self.opened_mut().models = models_of(&file);
        self.retire(None, Some(entry));
        Ok(())
    }

    /// Stops the graph's thread, and waits until the folders of deleted sets are gone. Searches in progress finish.
    pub fn close(&self) {
        self.live().stop_graph();
        self.wait_for_retiring();
    }

    /// Releases a set and deletes a folder on a thread of its own, because both can take long for a large set. A folder
    /// that cannot be deleted is deleted when the project is opened next.
    fn retire(&self, set: Option<Arc<VectorIndex>>, deleted: Option<SetEntry>) {
        self.wait_for_retiring();
        let folder = deleted.map(|entry| self.options.directory.join(entry.folder));
        let thread = std::thread::spawn(move || {
            drop(set);
            if let Some(folder) = folder {
                delete_folder(&folder);
            }
        });
        *self.retiring.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
    }

    fn wait_for_retiring(&self) {
        if let Some(thread) = self.retiring.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic of the thread is ignored: the set it closed is not used any more.
            let _ = thread.join();
        }
    }

    /// The live set, and the one that is being built.
    pub fn both(&self) -> (Arc<VectorIndex>, Option<Arc<VectorIndex>>) {
        let open = self.opened();
        (Arc::clone(&open.live), open.building.clone())
    }

    fn opened(&self) -> RwLockReadGuard<'_, OpenSets> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened_mut(&self) -> RwLockWriteGuard<'_, OpenSets> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> MutexGuard<'_, SetFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The vectors of a publication, by set.
#[derive(Debug)]
pub struct CheckedVectors<'data> {
    /// Vectors for the live set.
    pub live: Vec<VectorChunk<'data>>,
    building: Option<Vec<VectorChunk<'data>>>,
}

/// Fails with `Invalid` if the fingerprint has a line break, which the set file could not store.
fn check_fingerprint(model: &VectorModel) -> Result<()> {
    if model.fingerprint.contains(['\n', '\r']) {
        return Err(Error::invalid("a fingerprint has no line breaks"));
    }
    Ok(())
}

fn nothing_is_built() -> Error {
    Error::invalid("no vectors of another model are being built")
}

fn models_of(file: &SetFile) -> SetModels {
    let model = |entry: &Option<SetEntry>| entry.as_ref().map(|entry| entry.model.clone());
    SetModels { live: file.live.model.clone(), building: model(&file.building), previous: model(&file.previous) }
}

/// Pairs chunks with their vectors, which must be valid for the set.
fn set_chunks<'data>(
    set: &VectorIndex,
    dimensions: usize,
    chunks: &[(u64, u64)],
    vectors: &'data [f32],
) -> Result<Vec<VectorChunk<'data>>> {
    if vectors.len() != chunks.len() * dimensions {
        return Err(Error::invalid(format!(
            "{} vector components for {} chunks of {dimensions} dimensions",
            vectors.len(),
            chunks.len(),
        )));
    }
    let pairs = chunks.iter().zip(vectors.chunks_exact(dimensions));
    let checked = pairs.map(|((chunk_key, memory_key), vector)| {
        set.check(vector)?;
        Ok(VectorChunk { chunk_key: *chunk_key, memory_key: *memory_key, vector })
    });
    checked.collect()
}

fn open_set(
    options: &SetOptions,
    SetEntry { folder, model }: &SetEntry,
    memory_table: &Arc<MemoryTable>,
) -> Result<(VectorIndex, Vec<String>)> {
    let VectorModel { fingerprint, dimensions } = model.clone();
    let directory = options.directory.join(folder);
    let (resident_vectors, graph_limits) = (&RESIDENT_VECTORS, GraphLimits::DEFAULT);
    let options = VectorOptions { directory, dimensions, fingerprint, resident_vectors, graph_limits };
    VectorIndex::open(options, Arc::clone(memory_table))
}

/// The set with the largest log. It becomes live if nothing says which set is: in a project from before sets existed,
/// in a new project, and after damage. What it lacks is found when the project is compared with its rows.
fn largest_set(options: &SetOptions) -> Result<SetEntry> {
    let mut largest = None;
    for folder in set_folders(&options.directory) {
        let Some((fingerprint, dimensions, bytes)) = model_of_log(&options.directory.join(&folder))? else { continue };
        if largest.as_ref().is_none_or(|(_, most)| bytes > *most) {
            largest = Some((SetEntry { folder, model: VectorModel { fingerprint, dimensions } }, bytes));
        }
    }
    match largest {
        Some((entry, _)) => Ok(entry),
        None => {
            check_fingerprint(&options.new_model)?;
            Ok(SetEntry { folder: FIRST_FOLDER.to_owned(), model: options.new_model.clone() })
        }
    }
}

/// Names of the folders of sets in a project's folder, sorted. Folders that cannot be listed are left out.
fn set_folders(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut folders: Vec<String> = names.filter(|name| number_of(name).is_some()).collect();
    folders.sort_unstable();
    folders
}

/// The number of a set's folder. The first one has number 1.
fn number_of(folder: &str) -> Option<u64> {
    if folder == FIRST_FOLDER { Some(1) } else { folder.strip_prefix(FOLDER_PREFIX)?.parse().ok() }
}

fn next_folder(directory: &Path) -> String {
    let last = set_folders(directory).iter().filter_map(|folder| number_of(folder)).max();
    format!("{FOLDER_PREFIX}{}", last.unwrap_or(1) + 1)
}

/// Deletes folders of sets that a crash left behind.
fn delete_unnamed_folders(directory: &Path, file: &SetFile) {
    let named: FxHashSet<&str> = file.entries().map(|(_, entry)| entry.folder.as_str()).collect();
    for folder in set_folders(directory).into_iter().filter(|folder| !named.contains(folder.as_str())) {
        delete_folder(&directory.join(folder));
    }
}

/// Deletes the folder of a set that is not used any more.
fn delete_folder(folder: &Path) {
    // A folder that cannot be deleted only wastes space, and the next opening of the project tries again.
    let _ = fs::remove_dir_all(folder);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::memory_table::{NEVER, NO_USER, VisibleMemory};
    use mneme_testing::{Chance, TempDir, eventually};
    use std::collections::BTreeMap;

    const OLD: (&str, usize) = ("old", 16);
    const NEW: (&str, usize) = ("new", 24);

    fn model((fingerprint, dimensions): (&str, usize)) -> VectorModel {
        VectorModel { fingerprint: fingerprint.to_owned(), dimensions }
    }

    /// The vector of a chunk, which is the same in each call.
    fn vector(chunk_key: u64, (fingerprint, dimensions): (&str, usize)) -> Vec<f32> {
        Chance::seeded(chunk_key * 7 + fingerprint.len() as u64 + u64::from(fingerprint.as_bytes()[0]))
            .unit_vector(dimensions)
    }

    fn vectors(chunks: &[(u64, u64)], of: (&str, usize)) -> Vec<f32> {
        chunks.iter().flat_map(|(chunk_key, _)| vector(*chunk_key, of)).collect()
    }

    /// Sets of vectors, and the chunks that they should have.
    struct Checked {
        folder: TempDir,
        memory_table: Arc<MemoryTable>,
        sets: VectorSets,
        chunks: BTreeMap<u64, Vec<u64>>,
        next_chunk: u64,
    }

    fn open(folder: &Path) -> (Arc<MemoryTable>, VectorSets, Vec<String>) {
        let memory_table = Arc::new(MemoryTable::default());
        let options = SetOptions { directory: folder.to_owned(), new_model: model(OLD) };
        let (sets, repairs) = VectorSets::open(options, Arc::clone(&memory_table)).expect("opened");
        (memory_table, sets, repairs)
    }

    impl Checked {
        fn new() -> Checked {
            let folder = TempDir::new("sets");
            let (memory_table, sets, repairs) = open(folder.path());
            assert!(repairs.is_empty(), "{repairs:?}");
            Checked { folder, memory_table, sets, chunks: BTreeMap::new(), next_chunk: 1 }
        }

        /// Closes and opens the sets, and returns the repairs.
        fn reopen(&mut self) -> Vec<String> {
            self.sets.close();
            let (memory_table, sets, repairs) = open(self.folder.path());
            (self.memory_table, self.sets) = (memory_table, sets);
            let memories: Vec<u64> = self.chunks.keys().copied().collect();
            memories.into_iter().for_each(|memory| self.show(memory));
            repairs
        }

        fn show(&self, memory_key: u64) {
            self.memory_table.show(&[VisibleMemory { memory_key, user_key: NO_USER, expires_at_ms: NEVER }]);
        }

        /// Publishes memories with three chunks each, with vectors of the given models.
        fn publish(&mut self, memories: &[u64], models: &[(&str, usize)]) {
            let mut pairs = Vec::new();
            for memory in memories {
                let keys: Vec<u64> = (self.next_chunk..self.next_chunk + 3).collect();
                self.next_chunk += 3;
                pairs.extend(keys.iter().map(|chunk| (*chunk, *memory)));
                self.chunks.insert(*memory, keys);
            }
            let given: Vec<(&str, Vec<f32>)> = models.iter().map(|of| (of.0, vectors(&pairs, *of))).collect();
            let given: Vec<ModelVectors<'_>> =
                given.iter().map(|(fingerprint, vectors)| ModelVectors { fingerprint, vectors }).collect();
            let checked = self.sets.check(&pairs, &given).expect("valid");
            self.sets.publish(memories, &checked).expect("published");
            memories.iter().for_each(|memory| self.show(*memory));
        }

        fn pairs(&self, memories: &[u64]) -> Vec<(u64, u64)> {
            memories.iter().flat_map(|memory| self.chunks[memory].iter().map(|chunk| (*chunk, *memory))).collect()
        }

        fn add(&self, memories: &[u64], of: (&str, usize)) -> Result<usize> {
            let pairs = self.pairs(memories);
            self.sets.add(&pairs, ModelVectors { fingerprint: of.0, vectors: &vectors(&pairs, of) })
        }

        fn missing(&self) -> Vec<u64> {
            self.sets.missing().expect("being built").memory_keys
        }

        /// Checks that the live set has this model and exactly the expected chunks with their vectors.
        fn expect_live(&self, of: (&str, usize)) {
            assert_eq!(self.sets.models().live, model(of));
            let live = self.sets.live_of(of.0).expect("live");
            let mut found: Vec<u64> = live.chunks().into_iter().map(|(key, _)| key).collect();
            found.sort_unstable();
            let mut expected: Vec<u64> = self.chunks.values().flatten().copied().collect();
            expected.sort_unstable();
            assert_eq!(found, expected);
            let within = self.memory_table.admit(None, 0);
            for chunk in expected.iter().step_by(5) {
                let hits = live.search(&vector(*chunk, of), &within, 1).expect("searched");
                assert_eq!(hits[0].chunk_key, *chunk);
                assert!(hits[0].score > 0.99, "{}", hits[0].score);
            }
        }

        fn folders(&self) -> Vec<String> {
            self.sets.wait_for_retiring();
            set_folders(self.folder.path())
        }
    }

    #[test]
    fn a_set_built_beside_the_live_one_is_swapped_in_once_it_is_complete() {
        let mut checked = Checked::new();
        let memories: Vec<u64> = (1..=20).collect();
        checked.publish(&memories, &[OLD]);
        assert_eq!(checked.sets.missing().expect_err("nothing is built").code(), "invalid");
        assert_eq!(checked.sets.swap().expect_err("nothing is built").code(), "invalid");

        checked.sets.begin(model(NEW)).expect("begun");
        let missing = checked.sets.missing().expect("being built");
        assert_eq!(missing, MissingVectors { memory_keys: memories.clone(), missing_chunks: 60, chunks: 60 });
        assert_eq!(checked.add(&memories[..15], NEW).expect("added"), 45);
        assert_eq!(checked.missing(), memories[15..]);
        assert!(!checked.sets.swap().expect("refused"));
        checked.expect_live(OLD);

        assert_eq!(checked.reopen(), Vec::<String>::new());
        assert_eq!(checked.sets.models().building, Some(model(NEW)));
        assert_eq!(checked.missing(), memories[15..], "what was added is still there");
        checked.sets.begin(model(NEW)).expect("going on");
        assert_eq!(checked.add(&memories[15..], NEW).expect("added"), 15);
        let old = checked.sets.live();
        assert!(checked.sets.swap().expect("swapped"));
        checked.expect_live(NEW);
        assert_eq!(checked.sets.live_of(OLD.0).expect_err("another model").code(), "other_model");
        let within = checked.memory_table.admit(None, 0);
        assert_eq!(old.search(&vector(1, OLD), &within, 1).expect("a search in progress")[0].chunk_key, 1);
        assert_eq!(checked.sets.models(), SetModels { live: model(NEW), building: None, previous: Some(model(OLD)) });
        assert_eq!(checked.reopen(), Vec::<String>::new());
        checked.expect_live(NEW);
    }

    #[test]
    fn the_graph_is_that_of_the_live_set() {
        let mut checked = Checked::new();
        let memories: Vec<u64> = (1..=20).collect();
        checked.publish(&memories, &[OLD]);
        let has_graph = |checked: &Checked| {
            let status = checked.sets.graph_status();
            status.is_active && status.rows_missing == 0
        };
        checked.sets.choose(VectorIndexKind::Hnsw);
        eventually("the graph of the old model", || has_graph(&checked));
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&memories, NEW).expect("added");
        assert!(has_graph(&checked), "the live set keeps its graph");
        assert!(checked.sets.swap().expect("swapped"));
        eventually("the graph of the new model", || has_graph(&checked));
        checked.expect_live(NEW);
        checked.sets.choose(VectorIndexKind::Scan);
        assert!(!checked.sets.graph_status().is_active);
        checked.expect_live(NEW);
        checked.sets.begin(model(OLD)).expect("begun");
        assert!(checked.sets.swap().expect("swapped"));
        assert!(!checked.sets.graph_status().is_active, "the setting stays after a swap");
        checked.expect_live(OLD);
    }

    #[test]
    fn publications_and_removals_act_on_both_sets() {
        let mut checked = Checked::new();
        checked.publish(&[1, 2, 3, 4], &[OLD]);
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&[1, 2, 3, 4], NEW).expect("added");
        checked.publish(&[5], &[OLD, NEW]);
        checked.publish(&[1], &[NEW, OLD]);
        checked.publish(&[6], &[OLD]);
        checked.publish(&[2], &[OLD]);
        assert_eq!(checked.missing(), [2, 6]);
        checked.sets.remove(&[3, 6]).expect("removed");
        checked.chunks.remove(&3);
        checked.chunks.remove(&6);
        assert_eq!(checked.missing(), [2]);

        let stale = checked.pairs(&[2, 4]);
        checked.publish(&[2], &[OLD]);
        let given = vectors(&stale, NEW);
        let added = checked.sets.add(&stale, ModelVectors { fingerprint: NEW.0, vectors: &given }).expect("added");
        assert_eq!(added, 3, "the vectors of memory 2 are of chunks that are gone");
        let pair = &checked.pairs(&[2])[..2];
        let given = vectors(pair, NEW);
        let added = checked.sets.add(pair, ModelVectors { fingerprint: NEW.0, vectors: &given }).expect("added");
        assert_eq!(added, 0, "a memory without one of its chunks");
        assert_eq!(checked.missing(), [2]);
        checked.add(&[2], NEW).expect("added");
        assert!(checked.sets.swap().expect("swapped"));
        checked.expect_live(NEW);
        let pairs = checked.pairs(&[1]);
        let given = vectors(&pairs, OLD);
        let refused = checked.sets.check(&pairs, &[ModelVectors { fingerprint: OLD.0, vectors: &given }]);
        assert_eq!(refused.expect_err("no vectors of the live model").code(), "other_model");
    }

    #[test]
    fn a_rollback_computes_only_what_changed_since_the_swap() {
        let mut checked = Checked::new();
        checked.publish(&[1, 2, 3, 4], &[OLD]);
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&[1, 2, 3, 4], NEW).expect("added");
        assert!(checked.sets.swap().expect("swapped"));
        checked.publish(&[2, 5], &[NEW]);
        checked.sets.remove(&[3]).expect("removed");
        checked.chunks.remove(&3);

        checked.reopen();
        checked.sets.begin(model(OLD)).expect("begun");
        assert_eq!(checked.folders(), ["vectors", "vectors-2"]);
        assert_eq!(checked.missing(), [2, 5]);
        checked.add(&[2, 5], OLD).expect("added");
        assert!(checked.sets.swap().expect("swapped"));
        checked.expect_live(OLD);
        checked.sets.forget_previous().expect("forgotten");
        checked.sets.forget_previous().expect("nothing is left to forget");
        assert_eq!(checked.folders(), ["vectors"]);
        assert_eq!(checked.sets.models(), SetModels { live: model(OLD), building: None, previous: None });
    }

    #[test]
    fn a_third_model_replaces_the_set_that_was_kept() {
        const THIRD: (&str, usize) = ("third", 8);
        let mut checked = Checked::new();
        checked.publish(&[1, 2], &[OLD]);
        for of in [NEW, THIRD] {
            checked.sets.begin(model(of)).expect("begun");
            checked.add(&[1, 2], of).expect("added");
            assert!(checked.sets.swap().expect("swapped"));
        }
        checked.expect_live(THIRD);
        assert_eq!(checked.sets.models().previous, Some(model(NEW)));
        assert_eq!(checked.folders(), ["vectors-2", "vectors-3"]);
    }

    #[test]
    fn what_is_being_built_can_be_dropped_and_does_not_come_back() {
        let mut checked = Checked::new();
        checked.publish(&[1, 2], &[OLD]);
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&[1], NEW).expect("added");
        assert_eq!(checked.sets.begin(model(("third", 8))).expect_err("one at a time").code(), "invalid");
        assert_eq!(checked.add(&[1], ("third", 8)).expect_err("another model").code(), "other_model");
        checked.sets.drop_building().expect("dropped");
        checked.sets.drop_building().expect("nothing is left to drop");
        assert_eq!(checked.folders(), ["vectors"]);
        assert_eq!(checked.add(&[1], NEW).expect_err("nothing is built").code(), "invalid");
        assert_eq!(checked.reopen(), Vec::<String>::new());
        checked.expect_live(OLD);
    }

    #[test]
    fn an_impossible_model_is_refused_and_changes_nothing() {
        let mut checked = Checked::new();
        checked.publish(&[1], &[OLD]);
        let long = "f".repeat(500);
        for bad in [("new", 0), ("new", 4_097), ("", 24), ("two\nlines", 24), (long.as_str(), 24), OLD] {
            assert_eq!(checked.sets.begin(model(bad)).expect_err("refused").code(), "invalid", "{bad:?}");
            assert_eq!(checked.folders(), ["vectors"]);
        }
        checked.sets.begin(model(NEW)).expect("begun");
        let pairs = checked.pairs(&[1]);
        let valid = vectors(&pairs, NEW);
        for position in [0, valid.len() - 1] {
            let mut bad = valid.clone();
            bad[position] = f32::NAN;
            let refused = checked.sets.add(&pairs, ModelVectors { fingerprint: NEW.0, vectors: &bad });
            assert_eq!(refused.expect_err("NaN").code(), "invalid");
        }
        let refused = checked.sets.add(&pairs, ModelVectors { fingerprint: NEW.0, vectors: &valid[1..] });
        assert_eq!(refused.expect_err("too short").code(), "invalid");
        assert_eq!(checked.reopen(), Vec::<String>::new());
        checked.expect_live(OLD);
        assert_eq!(checked.missing(), [1]);
    }

    #[test]
    fn a_project_from_before_sets_existed_keeps_its_vectors() {
        let folder = TempDir::new("sets");
        let memory_table = Arc::new(MemoryTable::default());
        let options = VectorOptions {
            directory: folder.path().join("vectors"),
            dimensions: NEW.1,
            fingerprint: NEW.0.to_owned(),
            resident_vectors: &RESIDENT_VECTORS,
            graph_limits: GraphLimits::DEFAULT,
        };
        let (index, _) = VectorIndex::open(options, Arc::clone(&memory_table)).expect("opened");
        let stored = vector(7, NEW);
        index.publish(&[1], &[VectorChunk { chunk_key: 7, memory_key: 1, vector: &stored }]).expect("published");
        drop(index);
        let (memory_table, sets, repairs) = open(folder.path());
        assert!(repairs.is_empty(), "{repairs:?}");
        let mut checked = Checked { folder, memory_table, sets, chunks: BTreeMap::from([(1, vec![7])]), next_chunk: 8 };
        checked.show(1);
        checked.expect_live(NEW);
        assert_eq!(checked.reopen(), Vec::<String>::new());
        checked.expect_live(NEW);
    }

    #[test]
    fn leftovers_of_a_crash_and_damage_never_touch_the_live_set() {
        let mut checked = Checked::new();
        let memories: Vec<u64> = (1..=10).collect();
        checked.publish(&memories, &[OLD]);

        // A crash between the creation of a folder and the change of the set file.
        fs::create_dir_all(checked.folder.path().join("vectors-9")).expect("writable");
        assert_eq!(checked.reopen(), Vec::<String>::new());
        assert_eq!(checked.folders(), ["vectors"]);
        checked.expect_live(OLD);

        // The folder of the set that is being built is gone, or has a log of another model.
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&memories, NEW).expect("added");
        checked.sets.close();
        let built = checked.folder.path().join("vectors-2");
        fs::remove_dir_all(&built).expect("writable");
        assert_eq!(checked.reopen(), Vec::<String>::new());
        assert_eq!(checked.missing(), memories);
        checked.sets.close();
        fs::copy(checked.folder.path().join("vectors/vectors.log"), built.join("vectors.log")).expect("copied");
        let repairs = checked.reopen();
        assert!(repairs.len() == 1 && repairs[0].contains("built again"), "{repairs:?}");
        assert_eq!(checked.sets.models().building, None);
        assert_eq!(checked.folders(), ["vectors"]);
        checked.expect_live(OLD);

        // The set file is damaged: its copy says which set is live; without one, the set with the most vectors is.
        checked.sets.begin(model(NEW)).expect("begun");
        checked.add(&memories[..2], NEW).expect("added");
        checked.sets.close();
        let damage = |path: &Path| fs::write(path.join(SET_FILE), "mneme-vector-sets-1\nlive vec").expect("writable");
        damage(checked.folder.path());
        let repairs = checked.reopen();
        assert!(repairs.len() == 1 && repairs[0].contains("vector-sets is damaged"), "{repairs:?}");
        assert_eq!(checked.sets.models().building, Some(model(NEW)), "the copy in the folder of the live set is used");
        checked.expect_live(OLD);
        checked.sets.close();
        damage(checked.folder.path());
        damage(&checked.folder.path().join("vectors"));
        let repairs = checked.reopen();
        assert!(repairs.len() == 2 && repairs.iter().all(|repair| repair.contains("is damaged")), "{repairs:?}");
        checked.expect_live(OLD);
        assert_eq!(checked.folders(), ["vectors"]);
    }
}
