//! The JavaScript face of the core: the only file that knows of Node-API.
//! Reads run on the runtime's worker threads, changes on one thread per open project. No panic leaves this file: in an
//! asynchronous task it would abort the whole runtime. Errors cross as `<code>: <detail>`, which `addon.ts` takes apart.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{
    AsyncTask, BigInt, BigUint64Array, BigUint64ArraySlice, Either, Float32Array, Float32ArraySlice, Float64ArraySlice,
    Null, Object, Uint32Array, Uint32ArraySlice,
};
use napi::{Env, Status, Task};
use napi_derive::napi;

use crate::entities::mentions::MemoryNames;
use crate::entities::neighbours::Neighbourhood;
use crate::entities::walk::{Related, Seed};
use crate::error::{Error, Result};
use crate::filters::candidates::{Admissible, Showing};
use crate::hit::Hit;
use crate::lock::{self, DirectoryLock};
use crate::project::{Differences, Project, ProjectOptions};
use crate::text::index::StoredPassage;
use crate::text::schema::TextChunk;
use mneme_encoder::{EarlyExit, EarlyExitProbe, Encoder, Sequence};

/// Changes that may wait for a project's writing thread. Publishing is awaited round by round, so that even a hundred
/// waiting means a caller that has lost count.
const PENDING_CHANGES_MAX: usize = 256;

/// The latest moment that a JavaScript `Date` can hold, in ms.
const DATE_MS_MAX: f64 = 8.64e15;

/// Runs core code so that a panic in it becomes `Error::Bug`.
fn guarded<Output>(work: impl FnOnce() -> Result<Output>) -> Result<Output> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::Bug(panic_message(panic.as_ref()))))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a message"))
}

fn to_js(error: Error) -> napi::Error {
    napi::Error::new(Status::GenericFailure, format!("{}: {error}", error.code()))
}

/// What a result of the core becomes in JavaScript.
pub trait ToJs: Send + 'static {
    /// The class, object or array.
    type Js: napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName;
    /// Converts, on the JavaScript thread.
    fn to_js(self) -> Self::Js;
}

/// One read, on a worker thread.
pub struct Reading<Output> {
    work: Option<Box<dyn FnOnce() -> Result<Output> + Send>>,
}

impl<Output> Reading<Output> {
    fn task(work: impl FnOnce() -> Result<Output> + Send + 'static) -> AsyncTask<Reading<Output>>
    where
        Output: ToJs,
    {
        AsyncTask::new(Reading { work: Some(Box::new(work)) })
    }
}

impl<Output: ToJs> Task for Reading<Output> {
    type Output = Output;
    type JsValue = Output::Js;

    fn compute(&mut self) -> napi::Result<Output> {
        let work = self.work.take().ok_or_else(|| to_js(Error::Bug("a task ran twice".to_owned())))?;
        guarded(work).map_err(to_js)
    }

    fn resolve(&mut self, _env: Env, output: Output) -> napi::Result<Output::Js> {
        Ok(output.to_js())
    }
}

type Change = Box<dyn FnOnce() + Send>;

/// An open project.
#[napi]
pub struct NativeIndex {
    open: Mutex<Option<Open>>,
    repairs: Vec<String>,
}

struct Open {
    project: Arc<Project>,
    changes: Sender<Change>,
    pending: Arc<AtomicUsize>,
}

/// What a project is opened with; see `ProjectIndexOptions` in core.ts.
#[napi(object)]
pub struct NativeOptions {
    pub directory: String,
    pub dimensions: u32,
    pub fingerprint: String,
    pub hnsw_min_chunks: u32,
}

/// The words of a chunk; its keys travel in typed arrays.
#[napi(object)]
pub struct NativeChunkText {
    pub own: String,
    pub context: Either<String, Null>,
    pub language: String,
    pub passage: String,
    pub place: String,
}

/// The memories of a publishing; parallel.
#[napi(object)]
pub struct NativeMemories {
    pub memory_keys: BigUint64Array,
    pub names: Vec<NativeMemoryNames>,
}

/// See `mentions::MemoryNames`.
#[napi(object)]
pub struct NativeMemoryNames {
    pub title: Either<String, Null>,
    pub phrases: Vec<String>,
}

/// See `index::StoredPassage`.
#[napi(object)]
pub struct NativePassage {
    pub text: String,
    pub place: String,
}

/// Parallel arrays, best first; see `walk::Related`.
#[napi(object)]
pub struct NativeRelated {
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
    pub scores: Float32Array,
    pub certainty: f64,
    pub from: Uint32Array,
    pub via: BigUint64Array,
    pub through: Uint32Array,
}

/// See `neighbours::MentionedName`.
#[napi(object)]
pub struct NativeMentionedName {
    pub id: u32,
    pub name: String,
    pub kind: String,
    pub mentions: u32,
    pub memories: u32,
    pub chunk_keys: BigUint64Array,
}

/// See `neighbours::Neighbour`.
#[napi(object)]
pub struct NativeNeighbour {
    pub memory_key: BigInt,
    pub weight: f64,
    pub names: Vec<String>,
}

/// See `neighbours::Neighbourhood`.
#[napi(object)]
pub struct NativeNeighbourhood {
    pub names: Vec<NativeMentionedName>,
    pub neighbours: Vec<NativeNeighbour>,
}

/// The texts of a publication, as they cross slice by slice: all at once would hold the JavaScript thread for seconds.
#[napi]
#[derive(Default)]
pub struct NativeChunkTexts {
    texts: Vec<NativeChunkText>,
}

#[napi]
impl NativeChunkTexts {
    /// None yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the texts of the chunks that follow.
    #[napi(catch_unwind)]
    pub fn add(&mut self, texts: Vec<NativeChunkText>) {
        self.texts.extend(texts);
    }
}

/// Parallel arrays, best first.
#[napi(object)]
pub struct NativeHits {
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
    pub scores: Float32Array,
}

/// See `project::Differences`.
#[napi(object)]
pub struct NativeDifferences {
    pub missing_vectors: BigUint64Array,
    pub missing_postings: BigUint64Array,
    pub extra_vectors: BigUint64Array,
    pub extra_postings: BigUint64Array,
    pub surplus_memories: BigUint64Array,
}

/// See `project::ProjectStats`.
#[napi(object)]
pub struct NativeStats {
    pub memories: f64,
    pub visible: f64,
    pub chunks: f64,
    pub dead_chunks: f64,
    pub log_bytes: f64,
    pub text_bytes: f64,
    pub hnsw_chunks: f64,
    pub hnsw_ready: bool,
}

/// The memories that one question may see.
#[napi]
pub struct NativeAdmissible {
    within: Arc<Admissible>,
}

#[napi]
impl NativeAdmissible {
    /// How many memories were admitted.
    #[napi(getter, catch_unwind)]
    pub fn memories(&self) -> f64 {
        self.within.memories() as f64
    }
}

/// A project and what opening it mended.
pub struct Opened(Project, Vec<String>);
/// Hits and the memory key of each.
pub struct Found(Vec<Hit>, Vec<u64>);
/// What names led to and the memory key of each.
pub struct Led(Related, Vec<u64>);
/// The graph around a memory and the key of each neighbour.
pub struct Around(Neighbourhood, Vec<u64>);
/// One score per chunk asked for.
pub struct Scores(Vec<f32>);

impl ToJs for Opened {
    type Js = NativeIndex;
    fn to_js(self) -> NativeIndex {
        let (changes, received) = channel::<Change>();
        // Ends when every sender is gone: at `close`, or when the object is collected.
        std::thread::spawn(move || received.into_iter().for_each(|change| change()));
        let open = Open { project: Arc::new(self.0), changes, pending: Arc::default() };
        NativeIndex { open: Mutex::new(Some(open)), repairs: self.1 }
    }
}

impl ToJs for Found {
    type Js = NativeHits;
    fn to_js(self) -> NativeHits {
        NativeHits {
            chunk_keys: self.0.iter().map(|hit| hit.chunk_key).collect::<Vec<_>>().into(),
            memory_keys: self.1.into(),
            scores: self.0.iter().map(|hit| hit.score).collect::<Vec<_>>().into(),
        }
    }
}

impl ToJs for Scores {
    type Js = Float32Array;
    fn to_js(self) -> Float32Array {
        self.0.into()
    }
}

impl ToJs for Vec<Option<StoredPassage>> {
    type Js = Vec<Option<NativePassage>>;
    fn to_js(self) -> Self::Js {
        let of = |stored: StoredPassage| NativePassage { text: stored.text, place: stored.place };
        self.into_iter().map(|stored| stored.map(of)).collect()
    }
}

impl ToJs for Led {
    type Js = NativeRelated;
    fn to_js(self) -> NativeRelated {
        let Led(Related { hits, certainty }, memory_keys) = self;
        NativeRelated {
            chunk_keys: hits.iter().map(|hit| hit.chunk_key).collect::<Vec<_>>().into(),
            memory_keys: memory_keys.into(),
            scores: hits.iter().map(|hit| hit.score).collect::<Vec<_>>().into(),
            certainty: f64::from(certainty),
            from: hits.iter().map(|hit| hit.from).collect::<Vec<_>>().into(),
            via: hits.iter().map(|hit| hit.via.map_or(0, |(chunk_key, _)| chunk_key)).collect::<Vec<_>>().into(),
            through: hits.iter().map(|hit| hit.through).collect::<Vec<_>>().into(),
        }
    }
}

impl ToJs for Around {
    type Js = NativeNeighbourhood;
    fn to_js(self) -> NativeNeighbourhood {
        let Around(Neighbourhood { names, neighbours }, memory_keys) = self;
        let names = names.into_iter().map(|name| NativeMentionedName {
            id: name.id,
            name: name.name,
            kind: name.kind.to_string(),
            mentions: name.mentions,
            memories: name.memories,
            chunk_keys: name.chunk_keys.into(),
        });
        let neighbours = neighbours.into_iter().zip(memory_keys).map(|(neighbour, memory_key)| NativeNeighbour {
            memory_key: BigInt::from(memory_key),
            weight: f64::from(neighbour.weight),
            names: neighbour.names,
        });
        NativeNeighbourhood { names: names.collect(), neighbours: neighbours.collect() }
    }
}

impl ToJs for Differences {
    type Js = NativeDifferences;
    fn to_js(self) -> NativeDifferences {
        NativeDifferences {
            missing_vectors: self.missing_vectors.into(),
            missing_postings: self.missing_postings.into(),
            extra_vectors: self.extra_vectors.into(),
            extra_postings: self.extra_postings.into(),
            surplus_memories: self.surplus_memories.into(),
        }
    }
}

impl ToJs for Admissible {
    type Js = NativeAdmissible;
    fn to_js(self) -> NativeAdmissible {
        NativeAdmissible { within: Arc::new(self) }
    }
}

impl ToJs for () {
    type Js = ();
    fn to_js(self) {}
}

/// Opens a project on a worker thread.
#[napi(catch_unwind)]
pub fn open_project(options: NativeOptions) -> AsyncTask<Reading<Opened>> {
    Reading::task(move || {
        let (project, repairs) = Project::open(ProjectOptions {
            directory: PathBuf::from(options.directory),
            dimensions: options.dimensions as usize,
            fingerprint: options.fingerprint,
            hnsw_min_chunks: options.hnsw_min_chunks as usize,
        })?;
        Ok(Opened(project, repairs))
    })
}

#[napi]
impl NativeIndex {
    /// What opening mended.
    #[napi(catch_unwind)]
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// See `Project::describe`, on a worker thread.
    #[napi(catch_unwind)]
    pub fn describe(
        &self,
        memory_keys: BigUint64ArraySlice<'_>,
        attributes: Vec<String>,
    ) -> napi::Result<AsyncTask<Reading<()>>> {
        let memory_keys = memory_keys.to_vec();
        self.read(move |project| project.describe(&memory_keys, &attributes))
    }

    /// See `Project::show`; three arrays of one length. With `attributes`, of that length too, they are described first.
    #[napi(catch_unwind)]
    pub fn show(
        &self,
        memory_keys: BigUint64ArraySlice<'_>,
        user_keys: BigUint64ArraySlice<'_>,
        expires_at_ms: Float64ArraySlice<'_>,
        attributes: Option<Vec<String>>,
    ) -> napi::Result<()> {
        let show = || {
            if memory_keys.len() != user_keys.len() || memory_keys.len() != expires_at_ms.len() {
                return Err(Error::invalid("memory keys, user keys and expiries differ in number"));
            }
            let keys = memory_keys.iter().zip(user_keys.iter());
            let showings = keys.zip(expires_at_ms.iter()).map(|((memory_key, user_key), expires_at_ms)| {
                let expires_at_ms = checked_ms(*expires_at_ms)?;
                Ok(Showing { memory_key: *memory_key, user_key: *user_key, expires_at_ms })
            });
            let (project, showings) = (self.project()?, showings.collect::<Result<Vec<_>>>()?);
            attributes.map_or(Ok(()), |attributes| project.describe(&memory_keys, &attributes))?;
            project.show(&showings)
        };
        guarded(show).map_err(to_js)
    }

    /// See `Project::hide`.
    #[napi(catch_unwind)]
    pub fn hide(&self, memory_keys: BigUint64ArraySlice<'_>) -> napi::Result<()> {
        let hide = || {
            self.project()?.hide(&memory_keys);
            Ok(())
        };
        guarded(hide).map_err(to_js)
    }

    /// See `Project::admit`.
    #[napi(catch_unwind)]
    pub fn admit(&self, user_key: Option<BigInt>, now_ms: f64) -> napi::Result<NativeAdmissible> {
        let admit = || self.project()?.admit(checked_user(user_key)?, checked_ms(now_ms)?);
        guarded(admit).map(ToJs::to_js).map_err(to_js)
    }

    /// See `Project::admit_within`.
    #[napi(catch_unwind)]
    pub fn admit_within(
        &self,
        user_key: Option<BigInt>,
        now_ms: f64,
        filter: String,
    ) -> napi::Result<AsyncTask<Reading<Admissible>>> {
        let checked = || Ok((checked_user(user_key)?, checked_ms(now_ms)?));
        let (user_key, now_ms) = checked().map_err(to_js)?;
        self.read(move |project| project.admit_within(user_key, now_ms, &filter))
    }

    /// See `Project::publish`; the chunks' keys and texts are parallel. Takes the texts over: none are left.
    #[napi(catch_unwind)]
    pub fn publish<'env>(
        &self,
        env: &'env Env,
        memories: NativeMemories,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
        vectors: Float32ArraySlice<'_>,
    ) -> napi::Result<Object<'env>> {
        let (memory_keys, chunk_keys) = (memories.memory_keys.to_vec(), chunk_keys.to_vec());
        let names = memories.names;
        let (chunk_memory_keys, vectors) = (chunk_memory_keys.to_vec(), vectors.to_vec());
        let texts = std::mem::take(&mut texts.texts);
        self.change(env, move |project| {
            if chunk_keys.len() != texts.len() || chunk_memory_keys.len() != texts.len() {
                return Err(Error::invalid("chunk keys, memory keys and texts differ in number"));
            }
            let names = names.iter().map(|names| MemoryNames {
                title: match &names.title {
                    Either::A(title) => Some(title),
                    Either::B(Null) => None,
                },
                phrases: &names.phrases,
            });
            let keys = chunk_keys.iter().zip(&chunk_memory_keys);
            let chunks = keys.zip(&texts).map(|((chunk_key, memory_key), text)| TextChunk {
                chunk_key: *chunk_key,
                memory_key: *memory_key,
                own: &text.own,
                context: match &text.context {
                    Either::A(context) => Some(context),
                    Either::B(Null) => None,
                },
                language: &text.language,
                passage: &text.passage,
                place: &text.place,
                names: &[],
            });
            project.publish(&memory_keys, &names.collect::<Vec<_>>(), &chunks.collect::<Vec<_>>(), &vectors)
        })
    }

    /// See `Project::remove`.
    #[napi(catch_unwind)]
    pub fn remove<'env>(&self, env: &'env Env, memory_keys: BigUint64ArraySlice<'_>) -> napi::Result<Object<'env>> {
        let memory_keys = memory_keys.to_vec();
        self.change(env, move |project| project.remove(&memory_keys))
    }

    /// See `Project::compact_if_needed`.
    #[napi(catch_unwind)]
    pub fn compact_if_needed<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.change(env, Project::compact_if_needed)
    }

    /// See `Project::nearest`.
    #[napi(catch_unwind)]
    pub fn nearest(
        &self,
        vector: Float32ArraySlice<'_>,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<AsyncTask<Reading<Found>>> {
        let (vector, within) = (vector.to_vec(), Arc::clone(&within.within));
        self.read(move |project| found(project, project.nearest(&vector, &within, limit as usize)?))
    }

    /// See `Project::matching`.
    #[napi(catch_unwind)]
    pub fn matching(
        &self,
        query: String,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<AsyncTask<Reading<Found>>> {
        let within = Arc::clone(&within.within);
        self.read(move |project| found(project, project.matching(&query, &within, limit as usize)?))
    }

    /// See `Project::similarities`.
    #[napi(catch_unwind)]
    pub fn similarities(
        &self,
        vector: Float32ArraySlice<'_>,
        chunk_keys: BigUint64ArraySlice<'_>,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<AsyncTask<Reading<Scores>>> {
        let (vector, chunk_keys, memory_keys) = (vector.to_vec(), chunk_keys.to_vec(), memory_keys.to_vec());
        self.read(move |project| project.similarities(&vector, &chunk_keys, &memory_keys).map(Scores))
    }

    /// See `Project::lexical`.
    #[napi(catch_unwind)]
    pub fn lexical(
        &self,
        query: String,
        chunk_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<AsyncTask<Reading<Scores>>> {
        let chunk_keys = chunk_keys.to_vec();
        self.read(move |project| project.lexical(&query, &chunk_keys).map(Scores))
    }

    /// See `Project::related`; the seeds' keys and scores are parallel.
    #[napi(catch_unwind)]
    pub fn related(
        &self,
        query: String,
        seed_keys: BigUint64ArraySlice<'_>,
        seed_scores: Float32ArraySlice<'_>,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<AsyncTask<Reading<Led>>> {
        let (seed_keys, seed_scores) = (seed_keys.to_vec(), seed_scores.to_vec());
        let within = Arc::clone(&within.within);
        self.read(move |project| {
            if seed_keys.len() != seed_scores.len() {
                return Err(Error::invalid("seeds and their scores differ in number"));
            }
            let seeds = seed_keys.into_iter().zip(seed_scores);
            let seeds: Vec<Seed> = seeds.map(|(chunk_key, score)| Seed { chunk_key, score }).collect();
            let related = project.related(&query, &seeds, &within, limit as usize)?;
            let memory_keys = project.memory_keys(related.hits.iter().map(|hit| hit.ordinal));
            Ok(Led(related, memory_keys))
        })
    }

    /// See `Project::name_texts`.
    #[napi(catch_unwind)]
    pub fn name_texts(&self, ids: Uint32ArraySlice<'_>) -> napi::Result<Vec<Either<String, Null>>> {
        let texts = guarded(|| Ok(self.project()?.name_texts(&ids))).map_err(to_js)?;
        Ok(texts.into_iter().map(|text| text.map_or(Either::B(Null), Either::A)).collect())
    }

    /// See `Project::neighbourhood`.
    #[napi(catch_unwind)]
    pub fn neighbourhood(
        &self,
        memory_key: BigInt,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<AsyncTask<Reading<Around>>> {
        let within = Arc::clone(&within.within);
        self.read(move |project| {
            let (false, memory_key, true) = memory_key.get_u64() else {
                return Err(Error::invalid("a memory key outside of 64 bits"));
            };
            let around = project.neighbourhood(memory_key, &within, limit as usize)?;
            let memory_keys = project.memory_keys(around.neighbours.iter().map(|neighbour| neighbour.ordinal));
            Ok(Around(around, memory_keys))
        })
    }

    /// See `Project::passages`.
    #[napi(catch_unwind)]
    pub fn passages(
        &self,
        chunk_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<AsyncTask<Reading<Vec<Option<StoredPassage>>>>> {
        let chunk_keys = chunk_keys.to_vec();
        self.read(move |project| project.passages(&chunk_keys))
    }

    /// See `Project::reconcile`.
    #[napi(catch_unwind)]
    pub fn reconcile(&self, expected: BigUint64ArraySlice<'_>) -> napi::Result<AsyncTask<Reading<Differences>>> {
        let expected = expected.to_vec();
        self.read(move |project| Ok(project.reconcile(&expected)))
    }

    /// See `Project::stats`.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> napi::Result<NativeStats> {
        let stats = guarded(|| Ok(self.project()?.stats())).map_err(to_js)?;
        Ok(NativeStats {
            memories: stats.memories as f64,
            visible: stats.visible as f64,
            chunks: stats.chunks as f64,
            dead_chunks: stats.dead_chunks as f64,
            log_bytes: stats.log_bytes as f64,
            text_bytes: stats.text_bytes as f64,
            hnsw_chunks: stats.hnsw_chunks as f64,
            hnsw_ready: stats.is_hnsw_ready,
        })
    }

    /// Waits for the changes that are under way, then lets go of threads and files. Later calls are refused.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let closing = self.change(env, |project| {
            project.close();
            Ok(())
        });
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        closing
    }

    fn project(&self) -> Result<Arc<Project>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map(|open| Arc::clone(&open.project)).ok_or_else(closed)
    }

    fn read<Output: ToJs>(
        &self,
        work: impl FnOnce(&Project) -> Result<Output> + Send + 'static,
    ) -> napi::Result<AsyncTask<Reading<Output>>> {
        let project = self.project().map_err(to_js)?;
        Ok(Reading::task(move || work(&project)))
    }

    /// Hands a change to the writing thread and returns its promise.
    fn change<'env, Output>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&Project) -> Result<Output> + Send + 'static,
    ) -> napi::Result<Object<'env>>
    where
        Output: napi::bindgen_prelude::ToNapiValue + Send + 'static,
    {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = open.as_ref() else { return Err(to_js(closed())) };
        if open.pending.fetch_add(1, Ordering::AcqRel) >= PENDING_CHANGES_MAX {
            open.pending.fetch_sub(1, Ordering::AcqRel);
            return Err(to_js(Error::invalid(format!("{PENDING_CHANGES_MAX} changes are waiting already"))));
        }
        let (deferred, promise) = env.create_deferred()?;
        let (project, pending) = (Arc::clone(&open.project), Arc::clone(&open.pending));
        let change: Change = Box::new(move || {
            let outcome = guarded(|| work(&project));
            drop(project);
            pending.fetch_sub(1, Ordering::AcqRel);
            match outcome {
                Ok(output) => deferred.resolve(move |_| Ok(output)),
                Err(error) => deferred.reject(to_js(error)),
            }
        });
        open.changes.send(change).map_err(|_| to_js(Error::Bug("the writing thread has ended".to_owned())))?;
        Ok(promise)
    }
}

fn found(project: &Project, hits: Vec<Hit>) -> Result<Found> {
    let memory_keys = project.memory_keys(hits.iter().map(|hit| hit.ordinal));
    Ok(Found(hits, memory_keys))
}

fn closed() -> Error {
    Error::Closed("the index is closed".to_owned())
}

fn checked_user(user_key: Option<BigInt>) -> Result<Option<u64>> {
    let checked = user_key.map(|key| match key.get_u64() {
        (false, key, true) => Ok(key),
        _ => Err(Error::invalid("a user key outside of 64 bits")),
    });
    checked.transpose()
}

fn checked_ms(ms: f64) -> Result<u64> {
    if (0.0..=DATE_MS_MAX).contains(&ms) {
        return Ok(ms.ceil() as u64);
    }
    Err(Error::invalid(format!("{ms} is no moment in ms since 1970")))
}

/// See `encoder::is_made_for_this_processor`.
#[napi(catch_unwind)]
pub fn is_encoder_made_for_this_processor() -> bool {
    mneme_encoder::is_made_for_this_processor()
}

/// A model that is computed by the core.
#[napi]
pub struct NativeEncoder {
    encoder: Encoder,
}

#[napi]
impl NativeEncoder {
    /// See `Encoder::open`.
    #[napi(factory, catch_unwind)]
    pub fn open(path: String) -> napi::Result<NativeEncoder> {
        let encoder = guarded(|| Ok(Encoder::open(Path::new(&path))?)).map_err(to_js)?;
        Ok(NativeEncoder { encoder })
    }

    /// Answers sequences, which follow each other in `ids`: each is `lengths` long and begins with `first_lengths` tokens of
    /// its first text. Returns one row per sequence, and takes the calling thread until then; a single one that is urgent is
    /// answered by two threads where that is sooner.
    #[napi(catch_unwind)]
    pub fn answer(
        &self,
        ids: Uint32ArraySlice<'_>,
        lengths: Uint32ArraySlice<'_>,
        first_lengths: Uint32ArraySlice<'_>,
        is_urgent: bool,
    ) -> napi::Result<Float32Array> {
        let answers = guarded(|| {
            let width = self.encoder.output_width();
            let mut answers = vec![0f32; lengths.len() * width];
            let sequences = sequences(&ids, &lengths, &first_lengths)?;
            if is_urgent && let [sequence] = sequences[..] {
                self.encoder.encode_on_two_threads(sequence, &mut answers)?;
                return Ok(answers);
            }
            for (sequence, answer) in sequences.iter().zip(answers.chunks_exact_mut(width)) {
                self.encoder.encode(*sequence, answer)?;
            }
            Ok(answers)
        });
        Ok(Float32Array::new(answers.map_err(to_js)?))
    }

    /// Logits of the pairs of one list, of which some are read to the end: see `Encoder::judge`. The sequences as
    /// `answer` takes them, `skim` as [weights..., bias] after `skim_layers` layers. Takes the calling thread until then.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "arrays cross to JavaScript without being copied only by themselves")]
    pub fn judge(
        &self,
        ids: Uint32ArraySlice<'_>,
        lengths: Uint32ArraySlice<'_>,
        first_lengths: Uint32ArraySlice<'_>,
        prior_scores: Float32ArraySlice<'_>,
        full_tokens_max: u32,
        probe_layers: u32,
        probe: Float32ArraySlice<'_>,
    ) -> napi::Result<Float32Array> {
        let logits = guarded(|| {
            let (bias, weights) =
                probe.split_last().ok_or_else(|| Error::invalid("an early-exit probe without numbers"))?;
            let probe = EarlyExitProbe { layers: probe_layers as usize, weights, bias: *bias };
            let early_exit =
                EarlyExit { prior_scores: &prior_scores, full_tokens_max: full_tokens_max as usize, probe };
            let mut logits = vec![0f32; lengths.len()];
            self.encoder.score_with_early_exit(&sequences(&ids, &lengths, &first_lengths)?, early_exit, &mut logits)?;
            Ok(logits)
        });
        Ok(Float32Array::new(logits.map_err(to_js)?))
    }
}

/// Sequences that follow each other in `ids`.
fn sequences<'a>(mut ids: &'a [u32], lengths: &[u32], first_lengths: &[u32]) -> Result<Vec<Sequence<'a>>> {
    if first_lengths.len() != lengths.len() {
        return Err(Error::invalid("lengths and first lengths differ in number"));
    }
    let mut sequences = Vec::with_capacity(lengths.len());
    for (length, first_length) in lengths.iter().zip(first_lengths) {
        let (own, after) = ids
            .split_at_checked(*length as usize)
            .ok_or_else(|| Error::invalid("there are fewer tokens than the lengths add up to"))?;
        sequences.push(Sequence { ids: own, first_length: *first_length as usize });
        ids = after;
    }
    Ok(sequences)
}

/// A directory held by this process.
#[napi]
pub struct NativeLock {
    held: Mutex<Option<DirectoryLock>>,
}

#[napi]
impl NativeLock {
    /// Lets go; a second time nothing happens.
    #[napi(catch_unwind)]
    pub fn release(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// See `lock::lock_directory`.
#[napi(catch_unwind)]
pub fn lock_directory(path: String) -> napi::Result<NativeLock> {
    let held = guarded(|| lock::lock_directory(Path::new(&path))).map_err(to_js)?;
    Ok(NativeLock { held: Mutex::new(Some(held)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_core_becomes_an_error() {
        let error = guarded(|| -> Result<()> { panic!("row {}", 7) }).expect_err("a panic");
        assert_eq!(error, Error::Bug("panic: row 7".to_owned()));
    }

    #[test]
    fn moments_outside_of_a_date_are_refused() {
        assert_eq!(checked_ms(0.0), Ok(0));
        assert_eq!(checked_ms(DATE_MS_MAX), Ok(8_640_000_000_000_000));
        for bad in [-1.0, f64::NAN, f64::INFINITY, DATE_MS_MAX * 1.1] {
            assert!(checked_ms(bad).is_err(), "{bad}");
        }
    }
}
