//! Recognises function words and connectors of languages with capital letters. A function word is never an entity by
//! itself. A connector may be part of an entity of several words. All words are normalised by `words::form_of`. The
//! lists are in `data/words/entities`. `entities::caseless_function_words` covers scripts without capital letters.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::entities::word_lists::{all_words, section_words};

/// Whether a word is a function word: it is no entity, even if it has a capital at the beginning of a sentence.
pub(crate) fn is_function_word(form: &str) -> bool {
    FUNCTION_WORDS.contains(form)
}

/// Whether a word is a connector that may occur inside one entity, as "of" in "Bank of England".
pub(crate) fn is_inner_connector(form: &str) -> bool {
    BEGINNING.contains(form) || INSIDE.contains(form)
}

/// Whether a word is a connector that may begin an entity, as in "The Hague" or "Los Angeles". German articles may not:
/// all German nouns have capitals, so every noun after an article would be an entity.
pub(crate) fn is_leading_connector(form: &str) -> bool {
    BEGINNING.contains(form)
}

/// Whether a word is a connector that may occur inside one entity or between two entities, as "and".
pub(crate) fn is_separating_connector(form: &str) -> bool {
    BETWEEN.contains(form)
}

const FUNCTION_WORD_LIST: &str = include_str!("../../../data/words/entities/function-words.txt");
const CONNECTOR_LIST: &str = include_str!("../../../data/words/entities/connectors.txt");

static FUNCTION_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| all_words(FUNCTION_WORD_LIST).collect());
static BEGINNING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "beginning").collect());
static INSIDE: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "inside").collect());
static BETWEEN: LazyLock<FxHashSet<&str>> = LazyLock::new(|| section_words(CONNECTOR_LIST, "between").collect());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::word_lists::section_names;
    use crate::entities::words::form_of;

    #[test]
    fn lists_contain_normalised_words_in_known_sections() {
        assert_eq!(section_names(CONNECTOR_LIST).collect::<Vec<_>>(), ["beginning", "inside", "between"]);
        for word in all_words(FUNCTION_WORD_LIST).chain(all_words(CONNECTOR_LIST)) {
            assert_eq!(form_of(word), word);
        }
        assert!(is_function_word("the") && is_function_word("ως") && !is_function_word("bank"));
        assert!(is_leading_connector("los") && is_inner_connector("of"));
        assert!(is_separating_connector("and") && !is_leading_connector("der"));
    }
}
