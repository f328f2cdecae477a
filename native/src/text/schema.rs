//! The schema of the text index: turns a chunk into a Tantivy document.

use tantivy::TantivyDocument;
use tantivy::schema::document::{DeserializeError, DocumentDeserialize, DocumentDeserializer};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, OwnedValue, STORED, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{PreTokenizedString, Token};

use crate::text::analysis::{Analyzer, Stemming};

/// Name of the column with the key of each chunk.
pub(crate) const CHUNK_KEY: &str = "chunk_key";
/// Name of the column with the memory key of each chunk. Documents are deleted by memory key.
pub(crate) const MEMORY_KEY: &str = "memory_key";
/// Name of the column with the number of terms in the search text. Tantivy can store this length itself (field norms),
/// but rounds it to one byte.
pub(crate) const OWN_LENGTH: &str = "own_length";
/// Name of the column with the number of terms in the context text.
pub(crate) const CONTEXT_LENGTH: &str = "context_length";

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
    // `Analyzer` splits texts into terms, so Tantivy never uses its own tokeniser. A field must name an existing one,
    // though.
    let postings = TextFieldIndexing::default()
        .set_tokenizer("raw")
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
    document.add_u64(fields.own_length, own.len() as u64);
    document.add_pre_tokenized_text(fields.own, pre_tokenized(own));
    match chunk.context {
        Some(context) => {
            let context = analyzer.document_terms(context, stemming);
            document.add_u64(fields.context_length, context.len() as u64);
            document.add_pre_tokenized_text(fields.context, pre_tokenized(context));
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

fn pre_tokenized(terms: Vec<String>) -> PreTokenizedString {
    let token = |(position, text)| Token { position, text, position_length: 1, ..Token::default() };
    PreTokenizedString { text: String::new(), tokens: terms.into_iter().enumerate().map(token).collect() }
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
