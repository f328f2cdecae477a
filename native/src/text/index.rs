//! The full-text index of one project: posting lists and stored passages, kept by the library Tantivy. `analysis`
//! splits texts into terms, `bm25` computes scores, `writer` writes commits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustc_hash::FxHashSet;
use tantivy::schema::document::Value;
use tantivy::{Searcher, TantivyDocument, TantivyError};

use crate::error::{Error, Result};
use crate::files::set_aside;
use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::{Admissible, MemoryTable};
use crate::hit::Hit;
use crate::panics;
use crate::text::analysis::{Analyzer, Stemming};
use crate::text::directory;
use crate::text::mapped_pages::release_stores;
use crate::text::schema::{self, StoredEntityRecord, TextChunk, TextFields};
use crate::text::snapshot::Snapshot;
use crate::text::weighted_query::{WeightedQuery, document_frequency_within};
use crate::text::writer::{SegmentFile, TextWriter, damage_of, segment_files};
use crate::threads::map_shared;

/// Number of documents that are built before they are passed to Tantivy. They take about 10 MB.
const DOCUMENTS_AT_ONCE: usize = 1_024;
/// Maximum number of steps of one call of `erase_removed`: each rewrites a segment or waits for a merge. An index has
/// some tens of segments.
const ERASING_STEPS_MAX: usize = 200;
/// Interval at which `erase_removed` checks whether a merge of Tantivy has ended. Until then, the files of the merge
/// belong to no commit.
const MERGE_POLL: Duration = Duration::from_millis(50);

/// The stored passage of a chunk, and the position of the chunk in its memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredPassage {
    /// `TextChunk::passage`.
    pub text: String,
    /// `TextChunk::place`.
    pub place: String,
}

/// The text index of one project. Any number of threads may search; only one thread at a time may publish and remove,
/// while another one may erase what was removed.
pub struct TextIndex {
    directory: PathBuf,
    analyzer: Analyzer,
    memory_table: Arc<MemoryTable>,
    fields: TextFields,
    /// The last commit, which searches read.
    snapshot: RwLock<Arc<Snapshot>>,
    /// `None` after `close`, and after a failed change. The next change then opens a new writer.
    writer: Mutex<Option<TextWriter>>,
    is_closed: AtomicBool,
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TextIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl TextIndex {
    /// Opens or creates the index in `directory`, which has no other files. An index that has another format, or with
    /// files that are missing, contradict each other or have a wrong checksum, is renamed to `<name>.damaged-<n>` and
    /// replaced by an empty one. The returned sentences report that to the operator. Fails with `Io` if the disk fails.
    pub fn open(directory: &Path, memory_table: Arc<MemoryTable>) -> Result<(TextIndex, Vec<String>)> {
        let opened = panics::catch(|| TextIndex::open_undamaged(directory, Arc::clone(&memory_table)));
        let reason = match opened {
            Ok(Err(Error::Damaged(reason))) => reason,
            Ok(other) => return other,
            // Tantivy panics if the commit description contradicts the other files.
            Err(panic) => format!("its files contradict each other: {panic}"),
        };
        let aside = set_aside(directory)?;
        let sentence = format!(
            "the text index {} is damaged ({reason}); it was set aside as {} and replaced by an empty one",
            directory.display(),
            aside.display()
        );
        Ok((TextIndex::open_undamaged(directory, memory_table)?.0, vec![sentence]))
    }

    /// Opens or creates the index. Fails with `Damaged` if its files cannot be used.
    fn open_undamaged(directory: &Path, memory_table: Arc<MemoryTable>) -> Result<(TextIndex, Vec<String>)> {
        let mut writer = TextWriter::open_checked(directory)?;
        let (searcher, stemmings) = writer.last_commit()?;
        let (_, fields) = schema::schema();
        let snapshot = Snapshot::new(searcher, stemmings, &fields, &memory_table, None)?;
        let repairs = std::mem::take(&mut writer.repairs);
        let index = TextIndex {
            directory: directory.to_owned(),
            analyzer: Analyzer::default(),
            memory_table,
            fields,
            snapshot: RwLock::new(Arc::new(snapshot)),
            writer: Mutex::new(Some(writer)),
            is_closed: AtomicBool::new(false),
        };
        Ok((index, repairs))
    }

    /// Removes all chunks of the given memories and adds `chunks`, which may belong to other memories, in one commit.
    /// When the call returns, the chunks are durable and searchable. After an error (`NoSpace`, `Io`) nothing has
    /// changed, and the call may be repeated.
    pub fn publish(&self, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        self.with_writer(|writer| {
            // Only some documents are in memory at a time, because they take more memory than their texts.
            let documents = chunks
                .chunks(DOCUMENTS_AT_ONCE)
                .flat_map(|chunks| map_shared(chunks, |chunk| schema::document(chunk, &self.fields, &self.analyzer)));
            let mut stemmings = self.snapshot().stemmings.clone();
            let searcher = writer.commit(memory_keys, documents, &mut stemmings)?;
            self.read(searcher, stemmings)
        })
    }

    /// Removes all chunks of the given memories in one commit. Fails like `publish`.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        self.publish(memory_keys, &[])
    }

    /// Removes the texts and postings of removed chunks from the files, durably. Returns false if old files could not
    /// be removed yet; then the call is to be repeated. Searches and changes can run meanwhile: a large segment takes
    /// seconds. Only one thread at a time may call this.
    pub fn erase_removed(&self) -> Result<bool> {
        // Segments that this call has written. Chunks that are removed from them meanwhile are left to the next call.
        let mut rewritten = FxHashSet::default();
        for _ in 0..ERASING_STEPS_MAX {
            let Some(rewriting) = self.with_writer(|writer| writer.begin_rewriting(&rewritten))? else {
                if self.with_writer(TextWriter::remove_unused_files)? {
                    return Ok(true);
                }
                std::thread::sleep(MERGE_POLL);
                continue;
            };
            let segment = rewriting.wait()?;
            if segment.is_none() {
                std::thread::sleep(MERGE_POLL);
            }
            rewritten.extend(segment);
            self.with_writer(|writer| self.read(writer.reload()?, self.snapshot().stemmings.clone()))?;
        }
        Ok(false)
    }

    /// The `limit` admissible chunks with the highest BM25 scores above 0, best first. Fails with `Invalid` if the set
    /// belongs to another project.
    pub fn search(&self, query: &str, within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        let set = self.memory_table.still_visible(within)?;
        let snapshot = self.snapshot();
        let terms = self.analyzer.query_terms(query, &snapshot.stemmings);
        let mut hits = WeightedQuery::new(&snapshot, &terms)?.best_hits(&set, limit)?;
        self.memory_table.retain_admitted(within, &mut hits, |hit| hit.ordinal);
        Ok(hits)
    }

    /// The BM25 scores of exactly the given chunks, in their order; 0 if no word matches or the chunk does not exist.
    pub fn score_chunks(&self, query: &str, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        let snapshot = self.snapshot();
        let terms = self.analyzer.query_terms(query, &snapshot.stemmings);
        WeightedQuery::new(&snapshot, &terms)?.score_chunks(chunk_keys)
    }

    /// Number of chunks of the set whose search text contains the word or an inflection with an equal stem. Counting
    /// stops at `count_max`.
    pub fn document_frequency_within(&self, word: &str, set: &MemorySet, count_max: usize) -> Result<usize> {
        let snapshot = self.snapshot();
        let words = self.analyzer.query_words(word, &snapshot.stemmings);
        // If the analyser splits `word` into several words, the count of the rarest one is returned.
        let counts = words.iter().map(|variants| document_frequency_within(&snapshot, variants, set, count_max));
        counts.reduce(|least, count| Ok(least?.min(count?))).unwrap_or(Ok(0))
    }

    /// Calls `visit(chunk key, ordinal of the memory, entity record)` for each live chunk, in no particular order. Then
    /// releases the pages that it has read.
    pub(crate) fn for_each_entity_record(&self, mut visit: impl FnMut(u64, u32, &[u8]) -> Result<()>) -> Result<()> {
        let snapshot = self.snapshot();
        for segment in &snapshot.segments {
            let store = segment.reader.get_store_reader(1).map_err(TantivyError::from)?;
            let documents = store.iter::<StoredEntityRecord>(segment.reader.alive_bitset());
            let live = (0..segment.reader.max_doc()).filter(|doc| segment.is_live(*doc));
            for (doc, document) in live.zip(documents) {
                let columns = &segment.columns;
                visit(columns.chunk_keys[doc as usize], columns.ordinals[doc as usize], &document?.0)?;
            }
        }
        release_stores(&snapshot)
    }

    /// The stored passages of chunks, in their order; `None` if the chunk does not exist. Passage and place are empty
    /// where the file is damaged.
    pub fn passages(&self, chunk_keys: &[u64]) -> Result<Vec<Option<StoredPassage>>> {
        let snapshot = self.snapshot();
        let mut passages = Vec::with_capacity(chunk_keys.len());
        for key in chunk_keys {
            let Some(address) = snapshot.locate(*key) else {
                passages.push(None);
                continue;
            };
            // A damaged block may not be readable at all. The caller sees from the empty place that it is damaged.
            let read = panics::catch(|| snapshot.searcher.doc::<TantivyDocument>(address));
            let Ok(Ok(document)) = read else {
                passages.push(Some(StoredPassage::default()));
                continue;
            };
            let text = |field| document.get_first(field).and_then(|value| value.as_str().map(str::to_owned));
            let place = text(self.fields.place).unwrap_or_default();
            passages.push(Some(StoredPassage { text: text(self.fields.passage).unwrap_or_default(), place }));
        }
        Ok(passages)
    }

    /// All chunks as (chunk key, ordinal of the memory), in no particular order.
    pub fn chunks(&self) -> Vec<(u64, u32)> {
        self.snapshot().chunks()
    }

    /// Number of chunks.
    pub(crate) fn chunk_count(&self) -> usize {
        self.snapshot().chunks as usize
    }

    /// The files of the last commit, and the names of files in the folder that belong to no segment of Tantivy.
    pub(crate) fn files(&self) -> Result<(Vec<SegmentFile>, Vec<String>)> {
        let snapshot = self.snapshot();
        let index = snapshot.searcher.index();
        let entries = std::fs::read_dir(&self.directory)
            .map_err(|cause| Error::from_io(&format!("listing {}", self.directory.display()), &cause))?;
        let names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // A merge can write and delete files meanwhile. Tantivy notes a new file before it creates it, so the notes are
        // read after the folder; and it deletes a file before it forgets it, so a forgotten one must still exist.
        let managed = index.directory().list_managed_files();
        let is_orphaned = |name: &String| {
            !name.starts_with('.') && !managed.contains(Path::new(name)) && self.directory.join(name).exists()
        };
        Ok((segment_files(index)?, names.into_iter().filter(is_orphaned).collect()))
    }

    /// Reads a file of the index. Returns what is wrong with it; `None` if nothing is. Changes can be made meanwhile.
    pub(crate) fn damage_of(&self, name: &str) -> Result<Option<String>> {
        let snapshot = self.snapshot();
        let index = snapshot.searcher.index();
        if name == directory::META {
            return match index.load_metas().map_err(Error::from) {
                Ok(_) => Ok(None),
                Err(Error::Damaged(reason)) => Ok(Some(reason)),
                Err(other) => Err(other),
            };
        }
        let file_of = || Ok::<_, Error>(segment_files(index)?.into_iter().find(|file| file.name == name));
        let Some(file) = file_of()? else { return Ok(None) };
        match damage_of(index, &file) {
            Ok(None) => Ok(None),
            // A merge may have deleted the file while it was read: then it no longer belongs to the last commit.
            found => {
                if file_of()?.is_some() {
                    found
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Closes the files for writing. No change may be made afterwards. Searches in progress finish.
    pub fn close(&self) {
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, Ordering::Release);
        *slot = None;
    }

    /// Changes files. The writer is put back only on success. After an error or a panic it is dropped, because the
    /// documents that it has buffered must not become part of the next commit.
    fn with_writer<T>(&self, change: impl FnOnce(&mut TextWriter) -> Result<T>) -> Result<T> {
        let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed("the text index is closed".to_owned()));
        }
        let mut writer = match slot.take() {
            Some(writer) => writer,
            None => TextWriter::open(&self.directory)?,
        };
        let changed = change(&mut writer)?;
        *slot = Some(writer);
        Ok(changed)
    }

    /// Lets searches read a commit. The writer must be locked.
    fn read(&self, searcher: Searcher, stemmings: BTreeSet<Stemming>) -> Result<()> {
        let snapshot = Snapshot::new(searcher, stemmings, &self.fields, &self.memory_table, Some(&self.snapshot()))?;
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        Ok(())
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::memory_table::{NEVER, VisibleMemory};
    use mneme_testing::naive_bm25::{corrected, field_scores};
    use mneme_testing::{Chance, TempDir};
    use std::collections::BTreeMap;

    /// A chunk of memory 1 without a context text.
    fn plain<'text>(chunk_key: u64, own: &'text str, language: &'text str) -> TextChunk<'text> {
        let (context, place, entity_record) = (None, "", &[]);
        TextChunk { chunk_key, memory_key: 1, own, context, language, passage: own, place, entity_record }
    }

    fn sorted(keys: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut keys: Vec<u64> = keys.into_iter().collect();
        keys.sort_unstable();
        keys
    }

    fn chunk_keys(index: &TextIndex) -> Vec<u64> {
        index.chunks().into_iter().map(|(key, _)| key).collect()
    }

    /// Words whose English and German stems differ, are equal, or equal the stem of another word; and words in other
    /// scripts.
    const WORDS: &[&str] = &[
        "running",
        "runs",
        "house",
        "houses",
        "Häuser",
        "Haus",
        "the",
        "die",
        "connection",
        "connected",
        "Wanderung",
        "wandern",
        "art",
        "Art",
        "Arten",
        "机器学习",
        "データ",
        "ทุกสอง",
        "서울에서",
        "서울의",
        "서",
        "x1",
        "42",
    ];

    #[derive(Debug, Clone)]
    struct Chunk {
        key: u64,
        own: String,
        context: Option<String>,
        language: &'static str,
    }

    /// An index, and a map with its expected content: memory → (user, chunks).
    struct CheckedIndex {
        directory: PathBuf,
        memory_table: Arc<MemoryTable>,
        index: Arc<TextIndex>,
        model: BTreeMap<u64, (u64, Vec<Chunk>)>,
        next_chunk: u64,
    }

    impl CheckedIndex {
        fn open(directory: &Path) -> CheckedIndex {
            let memory_table = Arc::new(MemoryTable::default());
            let (index, repairs) = TextIndex::open(directory, Arc::clone(&memory_table)).expect("opened");
            assert!(repairs.is_empty(), "{repairs:?}");
            let (directory, index) = (directory.to_owned(), Arc::new(index));
            CheckedIndex { directory, memory_table, index, model: BTreeMap::new(), next_chunk: 1 }
        }

        fn erase(&self) {
            assert!(self.index.erase_removed().expect("erased"));
        }

        fn reopen(&mut self) {
            self.index.close();
            let reopened = CheckedIndex::open(&self.directory);
            (self.memory_table, self.index) = (reopened.memory_table, reopened.index);
            self.model.iter().for_each(|(memory, (user, _))| show(&self.memory_table, *memory, *user));
        }

        fn publish(&mut self, memories: &[u64], chance: &mut Chance) {
            for memory in memories {
                let chunks = (0..chance.below(4)).map(|_| {
                    self.next_chunk += 1;
                    let language = ["en", "de", "zh", "und"][chance.below(4)];
                    let own = phrase(chance, 12);
                    let context = (chance.below(2) == 0).then(|| format!("{} {own}", phrase(chance, 20)));
                    Chunk { key: self.next_chunk, own, context, language }
                });
                self.model.insert(*memory, (1 + memory % 3, chunks.collect()));
            }
            let published =
                memories.iter().flat_map(|memory| self.model[memory].1.iter().map(move |chunk| (memory, chunk)));
            let chunks: Vec<TextChunk<'_>> = published
                .map(|(memory_key, chunk)| TextChunk {
                    chunk_key: chunk.key,
                    memory_key: *memory_key,
                    own: &chunk.own,
                    context: chunk.context.as_deref(),
                    language: chunk.language,
                    passage: &chunk.own,
                    place: chunk.language,
                    entity_record: chunk.own.as_bytes(),
                })
                .collect();
            self.index.publish(memories, &chunks).expect("published");
            memories.iter().for_each(|memory| show(&self.memory_table, *memory, 1 + memory % 3));
        }

        fn chunks(&self) -> impl Iterator<Item = (u64, &Chunk)> {
            self.model.values().flat_map(|(user, chunks)| chunks.iter().map(move |chunk| (*user, chunk)))
        }

        /// The BM25 score of every chunk, computed directly from the texts by the formula of `bm25`.
        fn expected_scores(&self, query: &str) -> BTreeMap<u64, f64> {
            let analyzer = Analyzer::default();
            let stemmings: BTreeSet<Stemming> = self.index.snapshot().stemmings.iter().copied().collect();
            let query_words = analyzer.query_words(query, &stemmings);
            let terms =
                |text: &str, chunk: &Chunk| analyzer.document_terms(text, Stemming::for_language(chunk.language)).terms;
            let own: BTreeMap<u64, Vec<String>> =
                self.chunks().map(|(_, chunk)| (chunk.key, terms(&chunk.own, chunk))).collect();
            let context: BTreeMap<u64, Vec<String>> = self
                .chunks()
                .map(|(_, chunk)| (chunk.key, terms(chunk.context.as_ref().unwrap_or(&chunk.own), chunk)))
                .collect();
            let words = corrected(&query_words, &own, &context);
            let (own_scores, context_scores) = (field_scores(&own, &words), field_scores(&context, &words));
            self.chunks()
                .map(|(_, chunk)| {
                    let own = own_scores[&chunk.key];
                    let has_context = chunk.context.is_some();
                    (chunk.key, if has_context { (own + context_scores[&chunk.key]) / 2.0 } else { own })
                })
                .collect()
        }
    }

    fn show(memory_table: &MemoryTable, memory_key: u64, user_key: u64) {
        memory_table.show(&[VisibleMemory { memory_key, user_key, expires_at_ms: NEVER }]);
    }

    fn phrase(chance: &mut Chance, words_max: usize) -> String {
        // The product of two random numbers makes the first words of the list more frequent, because word frequencies
        // are uneven in real text.
        let mut word = || WORDS[chance.below(WORDS.len()) * chance.below(WORDS.len()) / WORDS.len()];
        let words: Vec<&str> = (0..words_max).map(|_| word()).collect();
        words[..1 + chance.below(words_max)].join(" ")
    }

    /// The text with one character removed, or with two adjacent characters swapped. `at` selects the character.
    fn misspelt(text: &str, at: usize) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        let at = at * 7 % characters.len();
        if at.is_multiple_of(2) || at + 1 == characters.len() {
            characters.remove(at);
        } else {
            characters.swap(at, at + 1);
        }
        characters.into_iter().collect()
    }

    #[test]
    fn scores_equal_naive_bm25_through_changes_and_reopenings() {
        check_history(&mut Chance::new());
    }

    /// Publishes memories, removes memories or reopens the index, at random. After each step, compares every score with
    /// that of `expected_scores`, for a correct and a misspelt query.
    fn check_history(chance: &mut Chance) {
        let directory = TempDir::new("text");
        let mut checked = CheckedIndex::open(directory.path());
        for step in 0..60 {
            let first = 1 + chance.below(40) as u64;
            let memories: Vec<u64> = (first..first + 1 + chance.below(8) as u64).collect();
            match chance.below(8) {
                0..=4 => checked.publish(&memories, chance),
                5..=6 => {
                    checked.index.remove(&memories).expect("removed");
                    checked.model.retain(|memory, _| !memories.contains(memory));
                }
                _ => checked.reopen(),
            }
            assert_eq!(sorted(chunk_keys(&checked.index)), sorted(checked.chunks().map(|(_, chunk)| chunk.key)));
            let query = phrase(chance, 6);
            let user = Some(1 + chance.below(3) as u64).filter(|_| chance.below(2) == 0);
            check_scores(&checked, &query, user);
            check_scores(&checked, &misspelt(&query, step), user);
        }
    }

    fn check_scores(checked: &CheckedIndex, query: &str, user: Option<u64>) {
        let expected_scores = checked.expected_scores(query);
        let set = checked.memory_table.admit(user, 0);
        let hits = checked.index.search(query, &set, 1_000).expect("searched");
        let of_user = checked.chunks().filter(|(owner, _)| user.is_none_or(|user| user == *owner));
        let expected = sorted(of_user.map(|(_, chunk)| chunk.key).filter(|key| expected_scores[key] > 0.0));
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        assert_eq!(sorted(hits.iter().map(|hit| hit.chunk_key)), expected, "{query}");
        for hit in &hits {
            let expected = expected_scores[&hit.chunk_key];
            assert!((f64::from(hit.score) - expected).abs() < 1e-5, "{query}: {hit:?}, expected {expected}");
            assert!(hit.score > 0.0 && hit.score <= 1.0);
        }
        for limit in [1, 10] {
            let best = checked.index.search(query, &set, limit).expect("searched");
            assert_eq!(best, hits[..limit.min(hits.len())], "{query}");
        }

        let keys: Vec<u64> = (0..checked.next_chunk + 2).rev().collect();
        let scores = checked.index.score_chunks(query, &keys).expect("scored");
        for (key, score) in keys.iter().zip(scores) {
            let expected = expected_scores.get(key).copied().unwrap_or(0.0);
            assert!((f64::from(score) - expected).abs() < 1e-5, "{query}: chunk {key} {score}, expected {expected}");
        }
    }

    /// With this seed, a merge of segments usually brings deleted chunks back if `writer::open_writer` does not begin
    /// with a deletion that has no effect.
    #[test]
    fn chunks_replaced_right_after_reopening_stay_replaced_through_merges() {
        check_history(&mut Chance::seeded(1_795_229_384_093_369_304));
    }

    #[test]
    fn passages_are_returned_in_the_requested_order() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("text"));
        let mut checked = CheckedIndex::open(directory.path());
        (1..=30).for_each(|memory| checked.publish(&[memory], &mut chance));
        checked.reopen();
        let stored = |chunk: &Chunk| StoredPassage { text: chunk.own.clone(), place: chunk.language.to_owned() };
        let known: BTreeMap<u64, StoredPassage> =
            checked.chunks().map(|(_, chunk)| (chunk.key, stored(chunk))).collect();
        let keys: Vec<u64> = (0..100).map(|_| chance.below(80) as u64).collect();
        let expected: Vec<Option<StoredPassage>> = keys.iter().map(|key| known.get(key).cloned()).collect();
        assert_eq!(checked.index.passages(&keys).expect("read"), expected);
    }

    #[test]
    fn a_chunk_published_again_under_its_key_exists_once() {
        let directory = TempDir::new("text");
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        show(&memory_table, 1, 1);
        for passage in ["first", "second"] {
            let (own, context, language, place, entity_record) = ("apples", None, "en", "0", &[][..]);
            let chunk =
                TextChunk { chunk_key: 9, memory_key: 1, own, context, language, passage, place, entity_record };
            index.publish(&[1], &[chunk]).expect("published");
        }
        assert_eq!(index.search("apple", &memory_table.admit(None, 0), 10).expect("searched").len(), 1);
        assert_eq!(
            index.passages(&[9]).expect("read"),
            [Some(StoredPassage { text: "second".to_owned(), place: "0".to_owned() })]
        );
        assert_eq!(chunk_keys(&index), [9]);
    }

    #[test]
    fn stemmings_of_documents_apply_to_queries_after_reopening() {
        let directory = TempDir::new("text");
        {
            let memory_table = Arc::new(MemoryTable::default());
            let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
            let chunks = [plain(1, "лошадями", "ru"), plain(2, "connections", "en"), plain(3, "connections", "ja")];
            index.publish(&[1], &chunks).expect("published");
        }
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        show(&memory_table, 1, 1);
        let find = |query: &str| {
            let hits = index.search(query, &memory_table.admit(None, 0), 10).expect("searched");
            let mut keys: Vec<u64> = hits.iter().map(|hit| hit.chunk_key).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(find("лошадь"), [1]);
        assert_eq!(find("connected"), [2]);
        assert_eq!(find("connections"), [2, 3]);
        assert_eq!(find("—"), [0u64; 0]);
    }

    #[test]
    fn misspelt_words_are_corrected_in_many_languages() {
        let directory = TempDir::new("text");
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        show(&memory_table, 1, 1);
        let texts = [
            ("en", "The committee approved every connection"),
            ("de", "Die Straßenbahn fährt über die Brücke"),
            ("fr", "La bibliothèque est fermée aujourd'hui"),
            ("ru", "Библиотека закрыта сегодня"),
            ("el", "Η βιβλιοθήκη είναι κλειστή"),
            ("und", "kirjastossa myydään karttoja"),
            ("th", "ทุกสองสัปดาห์"),
            ("zh", "机器学习改变世界"),
            ("en", "part number x1234y and covid19"),
        ];
        let chunks: Vec<TextChunk<'_>> =
            (1..).zip(texts).map(|(chunk_key, (language, own))| plain(chunk_key, own, language)).collect();
        index.publish(&[1], &chunks).expect("published");
        let find = |query: &str| -> Vec<u64> {
            let hits = index.search(query, &memory_table.admit(None, 0), 10).expect("searched");
            hits.iter().map(|hit| hit.chunk_key).collect()
        };
        let misspelt = [
            ("comittee", 1),
            ("aproved", 1),
            ("conectoins", 0),
            ("Strassenbahn", 2),
            ("Brükce", 2),
            ("biblotheque", 3),
            ("ibbliothèque", 3),
            ("vibliothèque", 3),
            ("ébibliothèque", 3),
            ("айдиотека", 0),
            ("пиблиотека", 4),
            ("библеотека", 4),
            ("βιβλιοθηκη", 5),
            ("kirjastosa", 6),
            ("ytterligare", 0),
            ("電腦語言", 0),
            ("x1235y", 0),
            ("covid18", 0),
        ];
        for (query, expected) in misspelt {
            let expected: Vec<u64> = (expected > 0).then_some(expected).into_iter().collect();
            assert_eq!(find(query), expected, "{query}");
        }
        // A corrected word counts 0.8 of a known one. Known words score the same whether or not other words were
        // corrected.
        let score = |query: &str| index.score_chunks(query, &[1]).expect("scored")[0];
        assert!((score("aproved") - 0.8 * score("approved")).abs() < 1e-6);
        assert_eq!(
            score("approved comittee"),
            index.search("approved comittee", &memory_table.admit(None, 0), 1).expect("searched")[0].score
        );
        // A correction that is also a word of the query does not count twice.
        assert_eq!(score("approved aproved"), score("approved"));
    }

    #[test]
    fn at_most_three_unknown_words_are_corrected() {
        let directory = TempDir::new("text");
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        show(&memory_table, 1, 1);
        let own = ["alpha", "bravo", "charlie", "delta"];
        let chunks: Vec<TextChunk<'_>> = (1..).zip(own).map(|(chunk_key, own)| plain(chunk_key, own, "und")).collect();
        index.publish(&[1], &chunks).expect("published");
        let find = |query: &str| {
            let hits = index.search(query, &memory_table.admit(None, 0), 10).expect("searched");
            sorted(hits.iter().map(|hit| hit.chunk_key))
        };
        assert_eq!(find("alhpa brvao chralie dleta"), [1, 2, 3]);
        // Words that are never corrected (short, or with digits) do not count towards the limit.
        assert_eq!(find("x1 zz alhpa y2 brvao chralie dleta"), [1, 2, 3]);
        // Words for which no correction is found do count towards the limit.
        assert_eq!(find("yxwvu yxwvt yxwvs dleta"), [0u64; 0]);
        let hostile: String = (0..64).map(|n| format!("{}{} ", "xy".repeat(n), "q".repeat(128 - 2 * n))).collect();
        assert_eq!(find(&hostile), [0u64; 0]);
        assert_eq!(find(&format!("dleta {hostile}")), [4]);
    }

    #[test]
    fn a_damaged_index_is_set_aside_reported_and_replaced() {
        let mut chance = Chance::new();
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        for extension in ["json", "idx", "store", "term", "fast"] {
            let mut checked = CheckedIndex::open(&directory);
            (1..=5).for_each(|memory| checked.publish(&[memory], &mut chance));
            checked.publish(&[6, 7, 8, 9], &mut chance);
            checked.index.close();
            drop(checked);
            let files = std::fs::read_dir(&directory).expect("listable").map(|entry| entry.expect("entry").path());
            let victim = files
                .filter(|path| path.extension().is_some_and(|found| found == extension))
                .filter(|path| !path.ends_with(".managed.json"))
                .max_by_key(|path| std::fs::metadata(path).map(|metadata| metadata.len()).unwrap_or_default())
                .expect("a file of every kind");
            let mut bytes = std::fs::read(&victim).expect("readable");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x81;
            std::fs::write(&victim, bytes).expect("writable");

            let memory_table = Arc::new(MemoryTable::default());
            let (index, repairs) = TextIndex::open(&directory, memory_table).expect("opened");
            assert_eq!(repairs.len(), 1, "{extension}");
            assert!(repairs[0].contains("text.damaged-"), "{repairs:?}");
            assert!(chunk_keys(&index).is_empty());
            index.close();
        }
    }

    #[test]
    fn no_file_has_a_removed_text_after_it_was_erased() {
        let (mut chance, home) = (Chance::new(), TempDir::new("text"));
        let mut checked = CheckedIndex::open(home.path());
        (1..=12).for_each(|memory| checked.publish(&[memory, memory + 20], &mut chance));
        let secret = plain(900, "Zanzibarwort hides in Qwertzuiop", "en");
        checked.index.publish(&[1], &[secret]).expect("published");
        let files_with = |word: &str| {
            let files = std::fs::read_dir(home.path()).expect("listable").map(|entry| entry.expect("entry").path());
            let bytes = files.map(|path| std::fs::read(path).expect("readable").to_ascii_lowercase());
            bytes.filter(|bytes| memchr::memmem::find(bytes, word.as_bytes()).is_some()).count()
        };
        assert!(files_with("zanzibar") > 0);
        checked.publish(&[1], &mut chance);
        let search = checked.index.snapshot();
        checked.erase();
        let held = search.chunks().len();
        assert_eq!(held, chunk_keys(&checked.index).len(), "a search in progress goes on");
        drop(search);
        assert_eq!((files_with("zanzibar"), files_with("qwertzuiop")), (0, 0));
        check_scores(&checked, "running house", None);
        checked.reopen();
        check_scores(&checked, "running house", None);
        checked.publish(&[2, 3], &mut chance);
        check_scores(&checked, "running house", None);
        let all: Vec<u64> = checked.model.keys().copied().collect();
        checked.index.remove(&all).expect("removed");
        checked.erase();
        assert!(chunk_keys(&checked.index).is_empty());
        let left = std::fs::read_dir(home.path()).expect("listable").count();
        assert!(left <= 4, "the commit description, the list of files and the lock files, not {left} files");
    }

    #[test]
    fn changes_and_erasing_at_the_same_time_lose_nothing_and_bring_nothing_back() {
        let (mut chance, home) = (Chance::new(), TempDir::new("text"));
        let mut checked = CheckedIndex::open(home.path());
        (1..=40).for_each(|memory| checked.publish(&[memory, memory + 40], &mut chance));
        let index = Arc::clone(&checked.index);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let erasing = scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    index.erase_removed().expect("erased");
                }
            });
            for step in 0..60u64 {
                checked.publish(&[1 + step % 37, 50 + step % 9], &mut chance);
                let removed = [38 + step % 5];
                checked.index.remove(&removed).expect("removed");
                checked.model.retain(|memory, _| !removed.contains(memory));
                assert_eq!(sorted(chunk_keys(&checked.index)), sorted(checked.chunks().map(|(_, chunk)| chunk.key)));
            }
            is_done.store(true, Ordering::Release);
            erasing.join().expect("no panic");
        });
        check_scores(&checked, "running house", None);
        checked.erase();
        check_scores(&checked, "running house", None);
        checked.reopen();
        check_scores(&checked, "running house", None);
    }

    #[test]
    fn an_index_that_is_closed_while_it_is_erased_is_not_opened_again() {
        let (mut chance, home) = (Chance::new(), TempDir::new("text"));
        let mut checked = CheckedIndex::open(home.path());
        (1..=12).for_each(|memory| checked.publish(&[memory, memory + 20], &mut chance));
        checked.publish(&[1, 2, 3], &mut chance);
        checked.index.close();
        assert!(matches!(checked.index.erase_removed(), Err(Error::Closed(_))));
        checked.reopen();
        check_scores(&checked, "running house", None);
    }

    #[test]
    fn an_index_of_an_older_analysis_is_set_aside_and_replaced() {
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        let mut checked = CheckedIndex::open(&directory);
        checked.publish(&[1, 2, 3, 4, 5], &mut Chance::new());
        checked.reopen();
        checked.index.close();
        let description = directory.join("meta.json");
        let now = std::fs::read_to_string(&description).expect("readable");
        let version_note = format!("{} ", crate::text::analysis::ANALYSIS_VERSION);
        // The first version of the analysis wrote no version, only the names of the stemmings.
        assert!(now.contains(&version_note), "{now}");
        let (older, _checksum) = now.split_once("\ncrc32 ").expect("a checksum");
        std::fs::write(&description, older.replace(&version_note, "")).expect("writable");

        let (index, repairs) = TextIndex::open(&directory, Arc::new(MemoryTable::default())).expect("opened");
        assert!(repairs[0].contains("another version of the analysis"), "{repairs:?}");
        assert!(chunk_keys(&index).is_empty());
        index.close();
        assert_eq!(TextIndex::open(&directory, Arc::new(MemoryTable::default())).expect("opened").1, [""; 0]);
    }

    #[test]
    fn an_index_without_other_notations_keeps_its_chunks_and_gets_them_for_new_ones() {
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        let mut checked = CheckedIndex::open(&directory);
        checked.publish(&[1, 2, 3, 4, 5], &mut Chance::new());
        checked.index.close();
        let description = directory.join("meta.json");
        let now = std::fs::read_to_string(&description).expect("readable");
        let (older, _checksum) = now.split_once("\ncrc32 ").expect("a checksum");
        std::fs::write(&description, older.replace("analysis-3 ", "analysis-2 ")).expect("writable");
        checked.reopen();
        check_scores(&checked, "running house", None);
        checked.index.publish(&[9], &[plain(900, "Paid 1,234.50 for AB-1234", "en")]).expect("published");
        for query in ["1234.50", "AB1234"] {
            let scores = checked.index.score_chunks(query, &[900]).expect("scored");
            assert!(scores[0] > 0.0, "{query}: {scores:?}");
        }
    }

    #[test]
    fn numbers_times_codes_and_emoji_are_found_in_other_notations_before_their_neighbours() {
        let directory = TempDir::new("text");
        let memory_table = Arc::new(MemoryTable::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&memory_table)).expect("opened");
        let groups: &[(&[&str], &[&str])] = &[
            (
                &["1234.50", "1,234.50", "1.234,50", "1 234,50", "1'234.50"],
                &["1,243.50", "1.243,50", "1 243,50", "1243.50"],
            ),
            (&["123456", "1,23,456", "123,456", "123.456"], &["132456", "1,32,456", "132,456"]),
            (&["15:30", "1530 h", "3:30 pm", "15.30 Uhr", "15h30"], &["15:20", "3:20 pm", "15.20 Uhr", "5:30 pm"]),
            (&["AB-1234", "AB1234", "AB 1234", "ab/1234"], &["AB-1243", "AC1234", "AC-1234", "AB 1235"]),
            (&["10⁶", "10^6"], &["10⁷", "10^5", "106"]),
            (&["👍🏽", "👍", "👍🏿"], &["👎🏽", "🎉"]),
        ];
        for (number, (same, others)) in groups.iter().enumerate() {
            let texts: Vec<String> = same.iter().chain(*others).map(|it| format!("Noted {it} for the file")).collect();
            let first = 1_000 * number as u64;
            let memory_key = number as u64 + 1;
            let chunks: Vec<TextChunk<'_>> =
                (first..).zip(&texts).map(|(key, text)| TextChunk { memory_key, ..plain(key, text, "en") }).collect();
            index.publish(&[memory_key], &chunks).expect("published");
            show(&memory_table, memory_key, memory_key);
            let set = memory_table.admit(Some(memory_key), 0);
            for query in *same {
                let hits = index.search(query, &set, 100).expect("searched");
                let of_same = |hit: &&Hit| hit.chunk_key < first + same.len() as u64;
                assert_eq!(hits.iter().take_while(of_same).count(), same.len(), "{query}: {hits:?}");
                assert_eq!(hits.iter().filter(of_same).count(), same.len(), "{query}: {hits:?}");
            }
        }
    }

    #[test]
    fn an_index_of_an_older_format_is_set_aside_and_replaced() {
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        std::fs::create_dir(&directory).expect("creatable");
        let mut older = tantivy::schema::Schema::builder();
        older.add_u64_field("chunk_key", tantivy::schema::FAST);
        older.add_text_field("passage", tantivy::schema::STORED);
        tantivy::Index::create_in_dir(&directory, older.build()).expect("created");

        let (index, repairs) = TextIndex::open(&directory, Arc::new(MemoryTable::default())).expect("opened");
        assert_eq!(repairs.len(), 1);
        assert!(repairs[0].contains("schema") && repairs[0].contains("text.damaged-"), "{repairs:?}");
        index.publish(&[1], &[]).expect("usable");
        assert!(chunk_keys(&index).is_empty());
    }

    #[test]
    fn entity_records_are_those_of_the_live_chunks() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("text"));
        let mut checked = CheckedIndex::open(directory.path());
        for step in 0..40u64 {
            checked.publish(&[1 + step % 13, 20 + step % 5], &mut chance);
            if step % 10 == 9 {
                checked.reopen();
            }
            let mut found = BTreeMap::new();
            let collect = |key, _, record: &[u8]| {
                assert_eq!(found.insert(key, record.to_vec()), None);
                Ok(())
            };
            checked.index.for_each_entity_record(collect).expect("read");
            let expected: BTreeMap<u64, Vec<u8>> =
                checked.chunks().map(|(_, chunk)| (chunk.key, chunk.own.as_bytes().to_vec())).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn any_flipped_bit_in_the_commit_description_is_survived() {
        let (mut chance, home) = (Chance::new(), TempDir::new("text"));
        let directory = home.path().join("text");
        let mut checked = CheckedIndex::open(&directory);
        (1..=4).for_each(|memory| checked.publish(&[memory, memory + 10], &mut chance));
        checked.publish(&[1, 2], &mut chance);
        checked.index.close();
        let original = std::fs::read(directory.join("meta.json")).expect("readable");
        for _ in 0..80 {
            let mut flipped = original.clone();
            flipped[chance.below(original.len())] ^= 1 << chance.below(7);
            std::fs::write(directory.join("meta.json"), &flipped).expect("writable");
            let memory_table = Arc::new(MemoryTable::default());
            let (index, repairs) = TextIndex::open(&directory, memory_table).expect("opened");
            let keys = chunk_keys(&index);
            index.passages(&keys).expect("all listed chunks can be read");
            index.close();
            if repairs.is_empty() {
                continue;
            }
            assert!(keys.is_empty());
            std::fs::remove_dir_all(&directory).expect("removable");
            let aside = std::fs::read_dir(home.path()).expect("listable").next().expect("set aside").expect("entry");
            std::fs::rename(aside.path(), &directory).expect("put back");
        }
    }

    #[test]
    fn files_that_merges_write_and_delete_meanwhile_are_neither_orphaned_nor_damaged() {
        let folder = TempDir::new("text-files");
        let (index, _) = TextIndex::open(folder.path(), Arc::new(MemoryTable::default())).expect("opened");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Each commit removes the only chunk of another segment, which starts a merge.
                for round in 0..150 {
                    index.publish(&[1], &[plain(round + 1, "calm water", "en")]).expect("published");
                }
                is_done.store(true, Ordering::Release);
            });
            while !is_done.load(Ordering::Acquire) {
                let (files, orphaned) = index.files().expect("listed");
                assert_eq!(orphaned, Vec::<String>::new());
                for file in files {
                    assert_eq!(index.damage_of(&file.name).expect("checked"), None, "{}", file.name);
                }
            }
        });
        std::fs::write(folder.path().join("note.txt"), "").expect("written");
        assert_eq!(index.files().expect("listed").1, ["note.txt"]);
        index.close();
    }
}
