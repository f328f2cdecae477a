//! Which chunks speak of a query's words: postings and stored passages in Tantivy, inside the admissible set. Terms
//! come from `text::analysis`, scores from `text::bm25`; here is what is written, when it counts as written, and what
//! is searched.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tantivy::schema::document::Value;
use tantivy::{TantivyDocument, TantivyError};

use crate::error::{Error, Result};
use crate::files::set_aside;
use crate::filters::candidates::{Admissible, Candidates};
use crate::filters::memory_set::MemorySet;
use crate::hit::Hit;
use crate::text::analysis::Analyzer;
use crate::text::schema::{self, StoredNames, TextChunk, TextFields};
use crate::text::view::View;
use crate::text::weighted_query::{WeightedQuery, occurrences};
use crate::text::writer::TextWriter;

/// What is stored of a chunk to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPassage {
    /// `TextChunk::passage`.
    pub text: String,
    /// `TextChunk::place`.
    pub place: String,
}

/// The postings of one project. Searches come from any thread; changes from one at a time.
pub struct TextIndex {
    directory: PathBuf,
    analyzer: Analyzer,
    candidates: Arc<Candidates>,
    fields: TextFields,
    view: RwLock<Arc<View>>,
    /// `None` after a failure, until the next change opens a new one, and after closing.
    writer: Mutex<Option<TextWriter>>,
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TextIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl TextIndex {
    /// Opens or creates the index in its own folder. One that cannot be opened, is of another format, or has a file
    /// without its checksum is set aside as `<name>.damaged-<n>` and begun anew, which the returned sentences say.
    pub fn open(directory: &Path, candidates: Arc<Candidates>) -> Result<(TextIndex, Vec<String>)> {
        let opened = catch_unwind(AssertUnwindSafe(|| TextIndex::open_sound(directory, Arc::clone(&candidates))));
        let reason = match opened {
            Ok(Err(Error::Damaged(reason))) => reason,
            Ok(other) => return Ok((other?, Vec::new())),
            // Descriptions that contradict each other have no checksum of their own, and Tantivy panics on them.
            Err(_) => "its parts contradict each other".to_owned(),
        };
        let aside = set_aside(directory)?;
        let sentence = format!(
            "the text index {} is damaged ({reason}); it was set aside as {} and an empty one begun",
            directory.display(),
            aside.display()
        );
        Ok((TextIndex::open_sound(directory, candidates)?, vec![sentence]))
    }

    fn open_sound(directory: &Path, candidates: Arc<Candidates>) -> Result<TextIndex> {
        let writer = TextWriter::open(directory)?;
        writer.validate()?;
        let (searcher, stemmings) = writer.current()?;
        let (_, fields) = schema::schema();
        let view = View::new(searcher, stemmings, &fields, &candidates, None)?;
        Ok(TextIndex {
            directory: directory.to_owned(),
            analyzer: Analyzer::default(),
            candidates,
            fields,
            view: RwLock::new(Arc::new(view)),
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Replaces all chunks of the given memories by `chunks`, in one commit: durable and searchable on return, or not
    /// at all (`NoSpace`, `Io`), and then the call may be repeated.
    pub fn publish(&self, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        let mut place = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // Back in its place only when all went well: what it buffered before an error, or a panic, must not come with
        // the next commit.
        let mut writer = place.take();
        self.commit(&mut writer, memory_keys, chunks)?;
        *place = writer;
        Ok(())
    }

    /// Removes all chunks of the given memories, in one commit.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        self.publish(memory_keys, &[])
    }

    /// The best `limit` chunks for a query's words with b > 0, best first (see `text::bm25`). `Invalid` for a set of
    /// another index.
    pub fn search(&self, query: &str, within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        let set = self.candidates.confine(within)?;
        let view = self.view();
        let words = self.analyzer.query_groups(query, &view.stemmings);
        let mut hits = WeightedQuery::new(&view, &words)?.best(&set, limit)?;
        self.candidates.retain_admitted(within, &mut hits, |hit| hit.ordinal);
        Ok(hits)
    }

    /// b of exactly the given chunks, in their order; 0 where nothing matches or there is no such chunk.
    pub fn score(&self, query: &str, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        let view = self.view();
        let words = self.analyzer.query_groups(query, &view.stemmings);
        WeightedQuery::new(&view, &words)?.of_chunks(chunk_keys)
    }

    /// In how many admissible chunks a word occurs among their own words, in any writing; counted up to `most`.
    pub fn occurrences(&self, word: &str, within: &MemorySet, most: usize) -> Result<usize> {
        let view = self.view();
        let variants = self.analyzer.query_groups(word, &view.stemmings);
        // A word of several terms is as common as the rarest of them.
        let counts = variants.iter().map(|variants| occurrences(&view, variants, within, most));
        counts.reduce(|least, count| Ok(least?.min(count?))).unwrap_or(Ok(0))
    }

    /// Hands out the record of names of each live chunk, with its key and its memory's ordinal, in no particular order.
    pub(crate) fn each_names(&self, mut each: impl FnMut(u64, u32, &[u8]) -> Result<()>) -> Result<()> {
        let view = self.view();
        for segment in &view.segments {
            let store = segment.reader.get_store_reader(1).map_err(TantivyError::from)?;
            let documents = store.iter::<StoredNames>(segment.reader.alive_bitset());
            let live = (0..segment.reader.max_doc()).filter(|doc| segment.is_live(*doc));
            for (doc, document) in live.zip(documents) {
                let columns = &segment.columns;
                each(columns.chunk_keys[doc as usize], columns.ordinals[doc as usize], &document?.0)?;
            }
        }
        Ok(())
    }

    /// The stored passages of chunks and their places, in their order; `None` where there is no such chunk.
    pub fn passages(&self, chunk_keys: &[u64]) -> Result<Vec<Option<StoredPassage>>> {
        let view = self.view();
        let mut passages = Vec::with_capacity(chunk_keys.len());
        for key in chunk_keys {
            let Some(address) = view.locate(*key) else {
                passages.push(None);
                continue;
            };
            let document: TantivyDocument = view.searcher.doc(address)?;
            let text = |field| document.get_first(field).and_then(|value| value.as_str().map(str::to_owned));
            let place = text(self.fields.place).unwrap_or_default();
            passages.push(text(self.fields.passage).map(|text| StoredPassage { text, place }));
        }
        Ok(passages)
    }

    /// All chunks, as (chunk key, memory's ordinal), in no particular order.
    pub fn chunks(&self) -> Vec<(u64, u32)> {
        self.view().chunks()
    }

    /// Lets go of the folder: no more changes. Searches that are under way finish.
    pub fn close(&self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn commit(&self, writer: &mut Option<TextWriter>, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        let writer = match writer {
            Some(writer) => writer,
            None => writer.insert(TextWriter::open(&self.directory)?),
        };
        // one at a time: the tokens of a document take a hundred times the room of its text
        let documents = chunks.iter().map(|chunk| schema::document(chunk, &self.fields, &self.analyzer));
        let mut stemmings = self.view().stemmings.clone();
        let searcher = writer.commit(memory_keys, documents, &mut stemmings)?;
        let view = View::new(searcher, stemmings, &self.fields, &self.candidates, Some(&self.view()))?;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        Ok(())
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::candidates::{NEVER, Showing};
    use crate::text::analysis::Stemming;
    use mneme_testing::{Chance, TempDir};
    use std::collections::{BTreeMap, BTreeSet};

    /// A chunk of memory 1 with words alone.
    fn plain<'text>(chunk_key: u64, own: &'text str, language: &'text str) -> TextChunk<'text> {
        let (context, place, names) = (None, "", &[]);
        TextChunk { chunk_key, memory_key: 1, own, context, language, passage: own, place, names }
    }

    fn sorted(keys: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut keys: Vec<u64> = keys.into_iter().collect();
        keys.sort_unstable();
        keys
    }

    fn chunk_keys(index: &TextIndex) -> Vec<u64> {
        index.chunks().into_iter().map(|(key, _)| key).collect()
    }

    /// Words whose stems differ between English and German, coincide, or cross.
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

    /// An index and the plain map of what it should hold: memory → (user, its chunks).
    struct Checked {
        directory: PathBuf,
        candidates: Arc<Candidates>,
        index: TextIndex,
        model: BTreeMap<u64, (u64, Vec<Chunk>)>,
        next_chunk: u64,
    }

    impl Checked {
        fn open(directory: &Path) -> Checked {
            let candidates = Arc::new(Candidates::default());
            let (index, repairs) = TextIndex::open(directory, Arc::clone(&candidates)).expect("opened");
            assert!(repairs.is_empty(), "{repairs:?}");
            Checked { directory: directory.to_owned(), candidates, index, model: BTreeMap::new(), next_chunk: 1 }
        }

        fn reopen(&mut self) {
            self.index.close();
            let reopened = Checked::open(&self.directory);
            (self.candidates, self.index) = (reopened.candidates, reopened.index);
            self.model.iter().for_each(|(memory, (user, _))| show(&self.candidates, *memory, *user));
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
                    names: chunk.own.as_bytes(),
                })
                .collect();
            self.index.publish(memories, &chunks).expect("published");
            memories.iter().for_each(|memory| show(&self.candidates, *memory, 1 + memory % 3));
        }

        fn chunks(&self) -> impl Iterator<Item = (u64, &Chunk)> {
            self.model.values().flat_map(|(user, chunks)| chunks.iter().map(move |chunk| (*user, chunk)))
        }

        /// b of every chunk by the definition, straight from the texts.
        fn truth(&self, query: &str) -> BTreeMap<u64, f64> {
            let analyzer = Analyzer::default();
            let stemmings: BTreeSet<Stemming> = self.index.view().stemmings.iter().copied().collect();
            let groups = analyzer.query_groups(query, &stemmings);
            let terms =
                |text: &str, chunk: &Chunk| analyzer.document_terms(text, Stemming::for_language(chunk.language));
            let own: BTreeMap<u64, Vec<String>> =
                self.chunks().map(|(_, chunk)| (chunk.key, terms(&chunk.own, chunk))).collect();
            let context: BTreeMap<u64, Vec<String>> = self
                .chunks()
                .map(|(_, chunk)| (chunk.key, terms(chunk.context.as_ref().unwrap_or(&chunk.own), chunk)))
                .collect();
            let words = guessed(&groups, &own, &context);
            let (of_own, of_context) = (field_scores(&own, &words), field_scores(&context, &words));
            self.chunks()
                .map(|(_, chunk)| {
                    let own = of_own[&chunk.key];
                    let b = if chunk.context.is_some() { (own + of_context[&chunk.key]) / 2.0 } else { own };
                    (chunk.key, b)
                })
                .collect()
        }
    }

    fn show(candidates: &Candidates, memory_key: u64, user_key: u64) {
        candidates.show(&[Showing { memory_key, user_key, expires_at_ms: NEVER }]);
    }

    fn phrase(chance: &mut Chance, words_max: usize) -> String {
        // The square favours the first words, as real words are unevenly frequent.
        let mut word = || WORDS[chance.below(WORDS.len()) * chance.below(WORDS.len()) / WORDS.len()];
        let words: Vec<&str> = (0..words_max).map(|_| word()).collect();
        words[..1 + chance.below(words_max)].join(" ")
    }

    /// The words with what they count for, unknown ones replaced by the known terms that are nearest.
    fn guessed(
        groups: &[Vec<String>],
        own: &BTreeMap<u64, Vec<String>>,
        context: &BTreeMap<u64, Vec<String>>,
    ) -> Vec<(Vec<String>, f64)> {
        let is_known = |group: &[String]| own.values().chain(context.values()).flatten().any(|t| group.contains(t));
        let length = |term: &String| term.chars().count();
        let has_digit = |term: &String| term.chars().any(char::is_numeric);
        let mut left = 3;
        let guess = |group: &Vec<String>| -> (Vec<String>, f64) {
            let stems: Vec<&String> =
                group.iter().filter(|stem| !has_digit(stem) && (4..=24).contains(&length(stem))).collect();
            if is_known(group) || stems.is_empty() || left == 0 {
                return (group.clone(), 1.0);
            }
            left -= 1;
            let mut uses: BTreeMap<&String, usize> = BTreeMap::new();
            for terms in own.values() {
                let distinct: BTreeSet<&String> = terms.iter().filter(|term| !has_digit(term)).collect();
                distinct.into_iter().for_each(|term| *uses.entry(term).or_default() += 1);
            }
            for (slips, begins_alike) in [(1, true), (1, false), (2, true)] {
                let is_near = |term: &&String| {
                    stems.iter().any(|stem| {
                        (slips < 2 || length(stem) >= 8)
                            && (!begins_alike || stem.chars().next() == term.chars().next())
                            && distance(stem, term) <= slips
                    })
                };
                let mut near: Vec<&String> = uses.keys().copied().filter(is_near).collect();
                near.sort_by_key(|term| std::cmp::Reverse(uses[term]));
                near.truncate(3);
                let near: Vec<String> = near.into_iter().cloned().collect();
                if near.iter().any(|term| groups.iter().any(|group| group.contains(term))) {
                    return (group.clone(), 1.0);
                }
                if !near.is_empty() {
                    return (near, 0.8);
                }
            }
            (group.clone(), 1.0)
        };
        groups.iter().map(guess).collect()
    }

    /// Insertions, deletions, substitutions and swaps of neighbours between two words, by the textbook's table.
    fn distance(a: &str, b: &str) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let changed = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    if is_swap { changed.min(table[i - 2][j - 2] + 1) } else { changed }
                };
            }
        }
        table[a.len()][b.len()]
    }

    /// The text without one of its characters, or with two of them swapped.
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

    /// BM25 over one field, divided by its maximum for the query, times the query's breadth.
    fn field_scores(documents: &BTreeMap<u64, Vec<String>>, words: &[(Vec<String>, f64)]) -> BTreeMap<u64, f64> {
        let (k1, b) = (0.9, 0.4);
        let count = documents.len() as f64;
        let mean = documents.values().map(|terms| terms.len() as f64).sum::<f64>() / count;
        let frequency =
            |terms: &[String], word: &[String]| terms.iter().filter(|term| word.contains(term)).count() as f64;
        let idf = |word: &Vec<String>| {
            let df = documents.values().filter(|terms| frequency(terms, word) > 0.0).count() as f64;
            if df > 0.0 { (1.0 + (count - df + 0.5) / (df + 0.5)).ln() } else { 0.0 }
        };
        let idfs: Vec<f64> = words.iter().map(|(word, _)| idf(word)).collect();
        let total = idfs.iter().sum::<f64>();
        let greatest = (k1 + 1.0) * total;
        let breadth = (total / (20.0 * (1.0 + (count - 0.5) / 1.5).ln())).powf(0.3).min(1.0);
        let score = |terms: &[String]| {
            let of_word = |((word, share), idf): (&(Vec<String>, f64), &f64)| {
                let tf = frequency(terms, word);
                share * idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * terms.len() as f64 / mean))
            };
            let sum: f64 = words.iter().zip(&idfs).map(of_word).sum();
            if greatest > 0.0 { breadth * sum / greatest } else { 0.0 }
        };
        documents.iter().map(|(key, terms)| (*key, score(terms))).collect()
    }

    #[test]
    fn scores_as_a_naive_bm25_does_through_changes_and_reopenings() {
        check_history(&mut Chance::new());
    }

    /// Publishes, removes and reopens at random, and compares every score with the definition's after each step, for
    /// words as they stand there and with a slip.
    fn check_history(chance: &mut Chance) {
        let directory = TempDir::new("text");
        let mut checked = Checked::open(directory.path());
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

    fn check_scores(checked: &Checked, query: &str, user: Option<u64>) {
        let truth = checked.truth(query);
        let set = checked.candidates.admit(user, 0);
        let hits = checked.index.search(query, &set, 1_000).expect("searched");
        let of_user = checked.chunks().filter(|(owner, _)| user.is_none_or(|user| user == *owner));
        let expected = sorted(of_user.map(|(_, chunk)| chunk.key).filter(|key| truth[key] > 0.0));
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        assert_eq!(sorted(hits.iter().map(|hit| hit.chunk_key)), expected, "{query}");
        for hit in &hits {
            let expected = truth[&hit.chunk_key];
            assert!((f64::from(hit.score) - expected).abs() < 1e-5, "{query}: {hit:?}, expected {expected}");
            assert!(hit.score > 0.0 && hit.score <= 1.0);
        }
        for limit in [1, 10] {
            let best = checked.index.search(query, &set, limit).expect("searched");
            assert_eq!(best, hits[..limit.min(hits.len())], "{query}");
        }

        let keys: Vec<u64> = (0..checked.next_chunk + 2).rev().collect();
        let scores = checked.index.score(query, &keys).expect("scored");
        for (key, score) in keys.iter().zip(scores) {
            let expected = truth.get(key).copied().unwrap_or(0.0);
            assert!((f64::from(score) - expected).abs() < 1e-5, "{query}: chunk {key} {score}, expected {expected}");
        }
    }

    /// A history in which, without the first operation of `writer::new_writer`, a merge mostly brings chunks back.
    #[test]
    fn what_is_replaced_right_after_reopening_stays_replaced_through_merges() {
        check_history(&mut Chance::seeded(1_795_229_384_093_369_304));
    }

    #[test]
    fn passages_come_back_in_the_order_asked_for() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("text"));
        let mut checked = Checked::open(directory.path());
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
    fn a_chunk_published_again_under_its_key_is_there_once() {
        let directory = TempDir::new("text");
        let candidates = Arc::new(Candidates::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
        show(&candidates, 1, 1);
        for passage in ["first", "second"] {
            let (own, language, place, names) = ("apples", "en", "0", &[][..]);
            let chunk = TextChunk { chunk_key: 9, memory_key: 1, own, context: None, language, passage, place, names };
            index.publish(&[1], &[chunk]).expect("published");
        }
        assert_eq!(index.search("apple", &candidates.admit(None, 0), 10).expect("searched").len(), 1);
        assert_eq!(
            index.passages(&[9]).expect("read"),
            [Some(StoredPassage { text: "second".to_owned(), place: "0".to_owned() })]
        );
        assert_eq!(chunk_keys(&index), [9]);
    }

    #[test]
    fn the_languages_of_the_documents_are_remembered_for_queries() {
        let directory = TempDir::new("text");
        {
            let candidates = Arc::new(Candidates::default());
            let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
            let chunks = [plain(1, "лошадями", "ru"), plain(2, "connections", "en"), plain(3, "connections", "ja")];
            index.publish(&[1], &chunks).expect("published");
        }
        let candidates = Arc::new(Candidates::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
        show(&candidates, 1, 1);
        let find = |query: &str| {
            let hits = index.search(query, &candidates.admit(None, 0), 10).expect("searched");
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
    fn a_misspelt_word_finds_what_it_means_in_many_languages() {
        let directory = TempDir::new("text");
        let candidates = Arc::new(Candidates::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
        show(&candidates, 1, 1);
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
            let hits = index.search(query, &candidates.admit(None, 0), 10).expect("searched");
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
        // A guess counts less than a word that stands there, and does not touch those that do.
        let score = |query: &str| index.score(query, &[1]).expect("scored")[0];
        assert!((score("aproved") - 0.8 * score("approved")).abs() < 1e-6);
        assert_eq!(
            score("approved comittee"),
            index.search("approved comittee", &candidates.admit(None, 0), 1).expect("searched")[0].score
        );
        // What the query says itself is not counted twice.
        assert_eq!(score("approved aproved"), score("approved"));
    }

    #[test]
    fn at_most_three_unknown_words_are_guessed() {
        let directory = TempDir::new("text");
        let candidates = Arc::new(Candidates::default());
        let (index, _) = TextIndex::open(directory.path(), Arc::clone(&candidates)).expect("opened");
        show(&candidates, 1, 1);
        let own = ["alpha", "bravo", "charlie", "delta"];
        let chunks: Vec<TextChunk<'_>> = (1..).zip(own).map(|(chunk_key, own)| plain(chunk_key, own, "und")).collect();
        index.publish(&[1], &chunks).expect("published");
        let find = |query: &str| {
            let hits = index.search(query, &candidates.admit(None, 0), 10).expect("searched");
            sorted(hits.iter().map(|hit| hit.chunk_key))
        };
        assert_eq!(find("alhpa brvao chralie dleta"), [1, 2, 3]);
        // Those that nothing is looked for do not count.
        assert_eq!(find("x1 zz alhpa y2 brvao chralie dleta"), [1, 2, 3]);
        // Far from everything, but looked for.
        assert_eq!(find("yxwvu yxwvt yxwvs dleta"), [0u64; 0]);
        let hostile: String = (0..64).map(|n| format!("{}{} ", "xy".repeat(n), "q".repeat(128 - 2 * n))).collect();
        assert_eq!(find(&hostile), [0u64; 0]);
        assert_eq!(find(&format!("dleta {hostile}")), [4]);
    }

    #[test]
    fn a_damaged_index_is_set_aside_told_and_begun_anew() {
        let mut chance = Chance::new();
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        for extension in ["json", "idx", "store", "term", "fast"] {
            let mut checked = Checked::open(&directory);
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

            let candidates = Arc::new(Candidates::default());
            let (index, repairs) = TextIndex::open(&directory, candidates).expect("opened anew");
            assert_eq!(repairs.len(), 1, "{extension}");
            assert!(repairs[0].contains("text.damaged-"), "{repairs:?}");
            assert!(chunk_keys(&index).is_empty());
            index.close();
        }
    }

    #[test]
    fn an_index_of_an_older_analysis_is_set_aside_and_begun_anew() {
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        let mut checked = Checked::open(&directory);
        checked.publish(&[1, 2, 3, 4, 5], &mut Chance::new());
        checked.reopen();
        checked.index.close();
        let description = directory.join("meta.json");
        let now = std::fs::read_to_string(&description).expect("readable");
        let noted = format!("{} ", crate::text::analysis::ANALYSIS_VERSION);
        // As the first version wrote it: the stemmings alone.
        assert!(now.contains(&noted), "{now}");
        std::fs::write(&description, now.replace(&noted, "")).expect("writable");

        let (index, repairs) = TextIndex::open(&directory, Arc::new(Candidates::default())).expect("opened anew");
        assert!(repairs[0].contains("another version of the analysis"), "{repairs:?}");
        assert!(chunk_keys(&index).is_empty());
        index.close();
        assert_eq!(TextIndex::open(&directory, Arc::new(Candidates::default())).expect("opened").1, [""; 0]);
    }

    #[test]
    fn an_index_of_an_older_format_is_set_aside_and_begun_anew() {
        let home = TempDir::new("text");
        let directory = home.path().join("text");
        std::fs::create_dir(&directory).expect("creatable");
        let mut older = tantivy::schema::Schema::builder();
        older.add_u64_field("chunk_key", tantivy::schema::FAST);
        older.add_text_field("passage", tantivy::schema::STORED);
        tantivy::Index::create_in_dir(&directory, older.build()).expect("created");

        let (index, repairs) = TextIndex::open(&directory, Arc::new(Candidates::default())).expect("opened anew");
        assert_eq!(repairs.len(), 1);
        assert!(repairs[0].contains("schema") && repairs[0].contains("text.damaged-"), "{repairs:?}");
        index.publish(&[1], &[]).expect("usable");
        assert!(chunk_keys(&index).is_empty());
    }

    #[test]
    fn the_records_of_names_are_those_of_the_live_chunks() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("text"));
        let mut checked = Checked::open(directory.path());
        for step in 0..40u64 {
            checked.publish(&[1 + step % 13, 20 + step % 5], &mut chance);
            if step % 10 == 9 {
                checked.reopen();
            }
            let mut found = BTreeMap::new();
            let collect = |key, _, names: &[u8]| {
                assert_eq!(found.insert(key, names.to_vec()), None);
                Ok(())
            };
            checked.index.each_names(collect).expect("read");
            let expected: BTreeMap<u64, Vec<u8>> =
                checked.chunks().map(|(_, chunk)| (chunk.key, chunk.own.as_bytes().to_vec())).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn any_flipped_byte_of_the_description_is_survived() {
        let (mut chance, home) = (Chance::new(), TempDir::new("text"));
        let directory = home.path().join("text");
        let mut checked = Checked::open(&directory);
        (1..=4).for_each(|memory| checked.publish(&[memory, memory + 10], &mut chance));
        checked.publish(&[1, 2], &mut chance);
        checked.index.close();
        let sound = std::fs::read(directory.join("meta.json")).expect("readable");
        for _ in 0..80 {
            let mut flipped = sound.clone();
            flipped[chance.below(sound.len())] ^= 1 << chance.below(7);
            std::fs::write(directory.join("meta.json"), &flipped).expect("writable");
            let candidates = Arc::new(Candidates::default());
            let (index, repairs) = TextIndex::open(&directory, candidates).expect("opened, anew if need be");
            let keys = chunk_keys(&index);
            index.passages(&keys).expect("what is listed can be read");
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
}
