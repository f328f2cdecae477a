//! An open project for JavaScript: opening, visibility, admissible sets, comparing chunks, and closing.
//! Publishing is in `publish`, searches are in `search` and `graph`, vector sets of other models in `models`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use napi::Env;
use napi::bindgen_prelude::{
    BigInt, BigUint64Array, BigUint64ArraySlice, Either, Float64ArraySlice, PromiseRaw, ToNapiValue,
};
use napi_derive::napi;

use crate::bindings::admissible::NativeAdmissible;
use crate::bindings::conversions::{checked_ms, checked_user};
use crate::bindings::short_reads;
use crate::bindings::tasks::{ToJs, WritingThread, js_error, run, run_on_worker};
use crate::bindings::vector_model::VectorModel;
use crate::error::{Error, Result};
use crate::filters::memory_table::VisibleMemory;
use crate::project::{self, Project, ProjectOptions, ProjectStats};
use crate::project_files;

/// Options for opening a project.
#[napi(object)]
pub struct ProjectIndexOptions {
    /// The project's folder. It is created if it does not exist.
    pub directory: String,
    /// Embedding model of a new project. A project that exists keeps its own (`models`).
    pub new_model: VectorModel,
}

/// Differences between the indexed chunks and those that should be indexed (the expected ones). All lists are in
/// ascending order.
#[napi(object)]
pub struct Differences {
    /// Keys of expected chunks without a vector.
    pub missing_vectors: BigUint64Array,
    /// Keys of expected chunks without postings.
    pub missing_postings: BigUint64Array,
    /// Keys of expected chunks with postings, but without entities.
    pub missing_entities: BigUint64Array,
    /// Keys of chunks that have a vector but are not expected.
    pub extra_vectors: BigUint64Array,
    /// Keys of chunks that have postings but are not expected.
    pub extra_postings: BigUint64Array,
    /// Keys of the memories of all chunks that are not expected.
    pub surplus_memories: BigUint64Array,
}

/// A file with a checksum, by its path in the project's folder.
#[napi(object)]
pub struct CheckedFile {
    /// Path in the project's folder, with `/`.
    pub path: String,
    /// Size in bytes; 0 if it is missing.
    pub bytes: f64,
}

/// The files of a project.
#[napi(object)]
pub struct ProjectFiles {
    /// Files that `checkFile` checks, also missing ones.
    pub checked: Vec<CheckedFile>,
    /// Paths of files and folders that no part of the project uses.
    pub orphaned: Vec<String>,
}

/// The result of a check.
#[napi(object)]
pub struct FileCheck {
    /// What is wrong with the file; absent if nothing is, or if the file was replaced since it was listed.
    pub damage: Option<String>,
}

/// Statistics of an open project.
#[napi(object)]
pub struct ProjectIndexStats {
    /// Number of memories that the index has seen since it was opened.
    pub memories: f64,
    /// Number of chunks with a vector.
    pub chunks: f64,
    /// Number of chunks with postings.
    pub text_chunks: f64,
    /// Number of chunks in the entity graph.
    pub entity_records: f64,
    /// Number of records of the vector log that are no longer valid.
    pub dead_chunks: f64,
    /// Size of the vector log, in bytes.
    pub log_bytes: f64,
}

/// An open project. Several JavaScript threads can have one each for the same project; see `attach_project`.
#[napi]
pub struct NativeIndex {
    shared: Arc<SharedProject>,
    repairs: Vec<String>,
}

struct Open {
    project: Arc<Project>,
    writing: WritingThread,
}

/// What all handles of one project share. `close` of any of them empties it for all.
type SharedProject = Mutex<Option<Open>>;

/// The open projects of this process, by folder.
static PROJECTS: LazyLock<Mutex<HashMap<PathBuf, Weak<SharedProject>>>> = LazyLock::new(Mutex::default);

/// Opens or creates a project, on a worker thread. No memory is visible until `show` is called for it.
#[napi(catch_unwind)]
pub fn open_project<'env>(env: &'env Env, options: ProjectIndexOptions) -> napi::Result<PromiseRaw<'env, NativeIndex>> {
    run_on_worker(env, move || {
        let directory = PathBuf::from(options.directory);
        let new_model = options.new_model.to_core();
        let (project, repairs) = Project::open(ProjectOptions { directory: directory.clone(), new_model })?;
        let open = Open { project: Arc::new(project), writing: WritingThread::start() };
        let shared = Arc::new(Mutex::new(Some(open)));
        let mut projects = lock(&PROJECTS);
        projects.retain(|_, other| other.strong_count() > 0);
        projects.insert(directory, Arc::downgrade(&shared));
        Ok(OpenedProject { shared, repairs })
    })
}

/// Returns a further handle of a project that this process has opened from this folder, for another JavaScript thread;
/// null if it is not open. Closing one handle closes all.
#[napi(catch_unwind)]
pub fn attach_project(directory: String) -> Option<NativeIndex> {
    let shared = lock(&PROJECTS).get(&PathBuf::from(directory))?.upgrade()?;
    let is_open = lock(&shared).is_some();
    is_open.then(|| NativeIndex { shared, repairs: Vec::new() })
}

#[napi]
impl NativeIndex {
    /// Describes the damaged data that was dropped when the project was opened, one sentence per damage.
    #[napi(catch_unwind)]
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// See `Project::describe`. Runs on a worker thread.
    #[napi(catch_unwind)]
    pub fn describe<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
        attributes: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let memory_keys = memory_keys.to_vec();
        self.read(env, move |project| project.describe(&memory_keys, &attributes))
    }

    /// See `Project::describe_unsorted`. Runs on a worker thread.
    #[napi(catch_unwind)]
    pub fn describe_unsorted<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
        attributes: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let memory_keys = memory_keys.to_vec();
        self.read(env, move |project| project.describe_unsorted(&memory_keys, &attributes))
    }

    /// See `Project::sort_attributes`. Runs on a worker thread.
    #[napi(catch_unwind)]
    pub fn sort_attributes<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        self.read(env, |project| {
            project.sort_attributes();
            Ok(())
        })
    }

    /// Makes memories searchable, or changes their user and expiry. All arrays have the same length. User key 0 means
    /// no user; expiry 0 means never. If `attributes` is given, the attributes are set first, as in `describe`.
    #[napi(catch_unwind)]
    pub fn show(
        &self,
        memory_keys: BigUint64ArraySlice<'_>,
        user_keys: BigUint64ArraySlice<'_>,
        expires_at_ms: Float64ArraySlice<'_>,
        attributes: Option<Vec<String>>,
    ) -> napi::Result<()> {
        run(|| {
            if memory_keys.len() != user_keys.len() || memory_keys.len() != expires_at_ms.len() {
                return Err(Error::invalid("memory keys, user keys and expiries differ in number"));
            }
            let keys = memory_keys.iter().zip(user_keys.iter());
            let visible_memories = keys.zip(expires_at_ms.iter()).map(|((memory_key, user_key), expires_at_ms)| {
                let expires_at_ms = checked_ms(*expires_at_ms)?;
                Ok(VisibleMemory { memory_key: *memory_key, user_key: *user_key, expires_at_ms })
            });
            let (project, visible_memories) = (self.project()?, visible_memories.collect::<Result<Vec<_>>>()?);
            attributes.map_or(Ok(()), |attributes| project.describe(&memory_keys, &attributes))?;
            project.show(&visible_memories)
        })
    }

    /// See `Project::hide`.
    #[napi(catch_unwind)]
    pub fn hide(&self, memory_keys: BigUint64ArraySlice<'_>) -> napi::Result<()> {
        run(|| {
            self.project()?.hide(&memory_keys);
            Ok(())
        })
    }

    /// Returns the visible memories that are not expired at `nowMs`: those of one user, or of the whole project if
    /// there is no `userKey`.
    #[napi(catch_unwind)]
    pub fn admit(&self, user_key: Option<BigInt>, now_ms: f64) -> napi::Result<NativeAdmissible> {
        run(|| self.project()?.admit(checked_user(user_key)?, checked_ms(now_ms)?)).map(ToJs::to_js)
    }

    /// See `Project::admit_within`. The filter is JSON text. Runs on a worker thread.
    #[napi(catch_unwind)]
    pub fn admit_within<'env>(
        &self,
        env: &'env Env,
        user_key: Option<BigInt>,
        now_ms: f64,
        filter: String,
    ) -> napi::Result<PromiseRaw<'env, NativeAdmissible>> {
        let (user_key, now_ms) = run(|| Ok((checked_user(user_key)?, checked_ms(now_ms)?)))?;
        self.read(env, move |project| project.admit_within(user_key, now_ms, &filter))
    }

    /// See `Project::reconcile`.
    #[napi(catch_unwind)]
    pub fn reconcile<'env>(
        &self,
        env: &'env Env,
        expected: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, Differences>> {
        let expected = expected.to_vec();
        self.read(env, move |project| project.reconcile(&expected))
    }

    /// See `Project::files`.
    #[napi(catch_unwind)]
    pub fn files<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ProjectFiles>> {
        self.read(env, Project::files)
    }

    /// Reads a file that `files` listed, on a worker thread, and resolves to what is wrong with it.
    #[napi(catch_unwind)]
    pub fn check_file<'env>(&self, env: &'env Env, path: String) -> napi::Result<PromiseRaw<'env, FileCheck>> {
        self.read(env, move |project| Ok(FileCheck { damage: project.damage_of(&path)? }))
    }

    /// Returns the current statistics.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> napi::Result<ProjectIndexStats> {
        let ProjectStats { memories, vectors, text_chunks, entity_records } = run(|| Ok(self.project()?.stats()))?;
        Ok(ProjectIndexStats {
            memories: memories as f64,
            chunks: vectors.chunks as f64,
            text_chunks: text_chunks as f64,
            entity_records: entity_records as f64,
            dead_chunks: vectors.dead_chunks as f64,
            log_bytes: vectors.log_bytes as f64,
        })
    }

    /// Whether the project is open. Another handle may have closed it.
    #[napi(getter, catch_unwind)]
    pub fn is_open(&self) -> bool {
        lock(&self.shared).is_some()
    }

    /// Number of changes of the project that have ended, on whichever JavaScript thread they were requested. It grows
    /// before the promise of a change settles.
    #[napi(getter, catch_unwind)]
    pub fn changes_ended(&self) -> f64 {
        lock(&self.shared).as_ref().map_or(0.0, |open| open.writing.ended() as f64)
    }

    /// Waits for the changes in progress, then releases threads and files. Later calls fail with `closed`.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let closing = self.change(env, |project| {
            project.close();
            Ok(())
        });
        lock(&self.shared).take();
        closing
    }
}

impl NativeIndex {
    /// Returns the project. Fails with `Closed` after `close`.
    pub(super) fn project(&self) -> Result<Arc<Project>> {
        self.project_and_changes().map(|(project, _)| project)
    }

    /// The project, and whether changes are waiting or in progress. Fails with `Closed` after `close`.
    fn project_and_changes(&self) -> Result<(Arc<Project>, bool)> {
        let open = lock(&self.shared);
        let Open { project, writing } = open.as_ref().ok_or_else(closed)?;
        Ok((Arc::clone(project), writing.is_busy()))
    }

    /// Runs a read on a worker thread.
    pub(super) fn read<'env, Output: ToJs>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&Project) -> Result<Output> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'env, Output::Js>> {
        let project = self.project().map_err(js_error)?;
        run_on_worker(env, move || work(&project))
    }

    /// Runs a read of few vectors, or a vector search, at once if it is short and no change delays it; otherwise on a
    /// worker thread.
    pub(super) fn read_vectors<'env, Output: ToJs>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&Project) -> Result<Output> + Send + 'static,
    ) -> napi::Result<Either<Output::Js, PromiseRaw<'env, Output::Js>>> {
        let (project, is_changing) = self.project_and_changes().map_err(js_error)?;
        if !is_changing && project.is_vector_search_short() && short_reads::has_time() {
            return short_reads::timed(|| run(|| work(&project))).map(|output| Either::A(output.to_js()));
        }
        run_on_worker(env, move || work(&project)).map(Either::B)
    }

    /// Queues a change for the project's writing thread.
    pub(super) fn change<'env, Output: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&Project) -> Result<Output> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'env, Output>> {
        let open = lock(&self.shared);
        let Some(open) = open.as_ref() else { return Err(js_error(closed())) };
        let project = Arc::clone(&open.project);
        open.writing.run(env, move || work(&project))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> Error {
    Error::Closed("the index is closed".to_owned())
}

/// A project that was just opened, and the sentences for `repairs`.
struct OpenedProject {
    shared: Arc<SharedProject>,
    repairs: Vec<String>,
}

impl ToJs for OpenedProject {
    type Js = NativeIndex;
    fn to_js(self) -> NativeIndex {
        NativeIndex { shared: self.shared, repairs: self.repairs }
    }
}

impl ToJs for FileCheck {
    type Js = FileCheck;
    fn to_js(self) -> FileCheck {
        self
    }
}

impl ToJs for project_files::ProjectFiles {
    type Js = ProjectFiles;
    fn to_js(self) -> ProjectFiles {
        let checked = self.checked.into_iter();
        let checked = checked.map(|file| CheckedFile { path: file.path, bytes: file.bytes as f64 }).collect();
        ProjectFiles { checked, orphaned: self.orphaned }
    }
}

impl ToJs for project::Differences {
    type Js = Differences;
    fn to_js(self) -> Differences {
        Differences {
            missing_vectors: self.missing_vectors.into(),
            missing_postings: self.missing_postings.into(),
            missing_entities: self.missing_entities.into(),
            extra_vectors: self.extra_vectors.into(),
            extra_postings: self.extra_postings.into(),
            surplus_memories: self.surplus_memories.into(),
        }
    }
}
