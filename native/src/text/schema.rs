//! The schema of the text index: turns a chunk into a Tantivy document.

use tantivy::TantivyDocument;
use tantivy::schema::document::{DeserializeError, DocumentDeserialize, DocumentDeserializer};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, OwnedValue, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};

use crate::text::analysis::{Analyzer, Stemming};

/// Name of the column with the key of each chunk.
pub(crate) const CHUNK_KEY: &str = "chunk_key";
/// Name of the column with the memory key of each chunk. Documents are deleted by memory key.
pub(crate) const MEMORY_KEY: &str = "memory_key";
/// Name of the column with the number of words in the search text. Tantivy can store this length itself (field norms),
/// but rounds it to one byte.
pub(crate) const OWN_LENGTH: &str = "own_length";
/// Name of the column with the number of words in the context text.
pub(crate) const CONTEXT_LENGTH: &str = "context_length";

/// Name of the tokeniser of both text fields. It is part of the format on disk. Tantivy has a tokeniser with this name,
/// which `register_tokenizer` replaces.
const TOKENIZER: &str = "raw";
/// Follows each term in the texts that Tantivy gets. No term contains it: a word ends before a line feed.
const TERM_END: char = '\n';

/// Value in the column `CONTEXT_LENGTH` for a chunk without a context text.
pub(crate) const NO_CONTEXT: u32 = u32::MAX;

/// A chunk to index.
#[derive(Debug, Clone, Copy)]
pub struct TextChunk<'text> {
    /// Key of the chunk.
    pub chunk_key: u64,
    /// Key of its memory.
    pub memory_key: u64,
    /// The chunk's search text.
    pub own: &'text str,
    /// The chunk's context text: its search text together with that of its neighbours. `None` if it has no neighbours;
    /// the score then uses the search text alone.
    pub context: Option<&'text str>,
    /// BCP 47 tag of the language, which selects the stemmer.
    pub language: &'text str,
    /// The text that a search result shows.
    pub passage: &'text str,
    /// Position of the chunk in its memory, as a string in any format that the caller chooses. It is stored and
    /// returned unchanged.
    pub place: &'text str,
    /// The entity record of the chunk (`entities::record`).
    pub entity_record: &'text [u8],
}

/// Handles of the schema's fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextFields {
    pub(crate) own: Field,
    pub(crate) context: Field,
    own_length: Field,
    context_length: Field,
    chunk_key: Field,
    pub(crate) memory_key: Field,
    pub(crate) passage: Field,
    pub(crate) place: Field,
    pub(crate) entity_record: Field,
}

/// Builds the schema. It has two indexed text fields (search text and context text) with term frequencies but without
/// positions, numeric columns, and three stored fields (passage, place, entity record).
pub(crate) fn schema() -> (Schema, TextFields) {
    let mut builder = SchemaBuilder::new();
    let postings = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let indexed_text = TextOptions::default().set_indexing_options(postings);
    let fields = TextFields {
        own: builder.add_text_field("own", indexed_text.clone()),
        context: builder.add_text_field("context", indexed_text),
        own_length: builder.add_u64_field(OWN_LENGTH, FAST),
        context_length: builder.add_u64_field(CONTEXT_LENGTH, FAST),
        chunk_key: builder.add_u64_field(CHUNK_KEY, FAST),
        memory_key: builder.add_u64_field(MEMORY_KEY, FAST | INDEXED),
        passage: builder.add_text_field("passage", STORED),
        place: builder.add_text_field("place", STORED),
        // The name "names" is part of the format on disk, so it cannot be changed.
        entity_record: builder.add_bytes_field("names", STORED),
    };
    (builder.build(), fields)
}

/// Turns a chunk into a Tantivy document. Also returns the stemming that was applied to its terms.
pub(crate) fn document(chunk: &TextChunk<'_>, fields: &TextFields, analyzer: &Analyzer) -> (TantivyDocument, Stemming) {
    let stemming = Stemming::for_language(chunk.language);
    let mut document = TantivyDocument::new();
    let own = analyzer.document_terms(chunk.own, stemming);
    document.add_u64(fields.own_length, own.words as u64);
    document.add_text(fields.own, joined(&own.terms));
    match chunk.context {
        Some(context) => {
            let context = analyzer.document_terms(context, stemming);
            document.add_u64(fields.context_length, context.words as u64);
            document.add_text(fields.context, joined(&context.terms));
        }
        None => document.add_u64(fields.context_length, u64::from(NO_CONTEXT)),
    }
    document.add_u64(fields.chunk_key, chunk.chunk_key);
    document.add_u64(fields.memory_key, chunk.memory_key);
    document.add_text(fields.passage, chunk.passage);
    document.add_text(fields.place, chunk.place);
    document.add_bytes(fields.entity_record, chunk.entity_record);
    (document, stemming)
}

/// Lets Tantivy split the texts of `document` into their terms. Tantivy passes lists of terms to its threads as JSON,
/// which takes as long as the rest of the indexing.
pub(crate) fn register_tokenizer(tokenizers: &TokenizerManager) {
    tokenizers.register(TOKENIZER, JoinedTerms::default());
}

/// Joins terms to a text that `JoinedTerms` splits again.
fn joined(terms: &[String]) -> String {
    let mut text = String::with_capacity(terms.iter().map(|term| term.len() + TERM_END.len_utf8()).sum());
    for term in terms {
        debug_assert!(!term.contains(TERM_END), "a term contains a line feed");
        text.push_str(term);
        text.push(TERM_END);
    }
    text
}

/// Tokeniser for texts that `joined` made.
#[derive(Clone, Default)]
struct JoinedTerms {
    token: Token,
}

impl Tokenizer for JoinedTerms {
    type TokenStream<'text> = JoinedTermsStream<'text>;

    fn token_stream<'text>(&'text mut self, text: &'text str) -> JoinedTermsStream<'text> {
        self.token.reset();
        JoinedTermsStream { rest: text, token: &mut self.token }
    }
}

struct JoinedTermsStream<'text> {
    rest: &'text str,
    token: &'text mut Token,
}

impl TokenStream for JoinedTermsStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.rest.split_once(TERM_END) else { return false };
        self.rest = rest;
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// The entity record of a stored document; empty if it has none.
pub(crate) struct StoredEntityRecord(pub(crate) Vec<u8>);

impl DocumentDeserialize for StoredEntityRecord {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(
        mut deserializer: D,
    ) -> std::result::Result<StoredEntityRecord, DeserializeError> {
        let mut record = Vec::new();
        // The entity record is the only field of bytes in the schema.
        while let Some((_, value)) = deserializer.next_field::<OwnedValue>()? {
            if let OwnedValue::Bytes(bytes) = value {
                record = bytes;
            }
        }
        Ok(StoredEntityRecord(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::analysis::DocumentTerms;
    use mneme_testing::Chance;

    #[test]
    fn the_tokeniser_returns_the_terms_of_any_text() {
        let mut chance = Chance::new();
        let (analyzer, mut tokenizer) = (Analyzer::default(), JoinedTerms::default());
        let odd = [
            "\n",
            "\r\n",
            "\0",
            "\u{85}",
            "\u{2028}",
            "\u{200d}",
            "\u{93c}",
            "'",
            " ",
            "a",
            "कि",
            "한국",
            "漢字",
            "é",
            "3.5",
            "_",
            "²",
            "3:30 pm",
            "AB-12",
            "👩🏽\u{200d}🔬",
        ];
        for language in ["en", "hi", "und"] {
            for _ in 0..2_000 {
                let text: String = (0..chance.below(12)).map(|_| odd[chance.below(odd.len())]).collect();
                let DocumentTerms { terms, .. } = analyzer.document_terms(&text, Stemming::for_language(language));
                let joined = joined(&terms);
                let mut stream = tokenizer.token_stream(&joined);
                let mut found = Vec::new();
                while stream.advance() {
                    assert_eq!(stream.token().position, found.len());
                    found.push(stream.token().text.clone());
                }
                assert_eq!(found, terms, "{text:?}");
            }
        }
    }

    #[test]
    fn an_empty_term_stays_a_term() {
        let terms = ["", "a", ""].map(str::to_owned);
        let (mut tokenizer, joined) = (JoinedTerms::default(), joined(&terms));
        let mut stream = tokenizer.token_stream(&joined);
        let found: Vec<String> = std::iter::from_fn(|| stream.advance().then(|| stream.token().text.clone())).collect();
        assert_eq!(found, terms);
    }
}
