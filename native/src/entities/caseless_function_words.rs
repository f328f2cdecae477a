//! Recognises function words of scripts without capital letters. There, any word that is no function word could be
//! an entity. The list is in `data/words/entities`; `test/languages` shows which words are frequent.
//! `entities::function_words` covers languages with capital letters.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::entities::word_lists::all_words;
use crate::entities::words::form_of;

const WORD_LIST: &str = include_str!("../../../data/words/entities/caseless-function-words.txt");

/// Whether a word, in the form of `words::form_of`, is a function word.
pub(crate) fn is_caseless_function_word(form: &str) -> bool {
    static FORMS: LazyLock<FxHashSet<String>> = LazyLock::new(|| all_words(WORD_LIST).map(form_of).collect());
    // In Arabic, "and" is a prefix of the next word.
    FORMS.contains(form) || form.strip_prefix('و').is_some_and(|rest| FORMS.contains(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::word_lists::{section_names, section_words};
    use crate::entities::words::is_caseless;

    #[test]
    fn lists_are_sorted_and_in_scripts_without_case() {
        assert_eq!(section_names(WORD_LIST).collect::<Vec<_>>(), ["zh", "ja", "ko", "th", "ar", "hi"]);
        for language in section_names(WORD_LIST) {
            let words: Vec<&str> = section_words(WORD_LIST, language).collect();
            assert!(words.is_sorted_by(|one, next| one < next), "{language}");
            for word in words {
                assert!(word.chars().filter(|c| c.is_alphabetic()).all(is_caseless), "{word}");
                assert!(word.chars().nth(1).is_some(), "{word} has one character, so it is never an entity");
                assert!(is_caseless_function_word(&form_of(word)), "{word}");
            }
        }
        for entity in ["london", "the", "и", "北京", "東京", "서울", "เชียงใหม่", "القاهرة", "भारत", "ورد", ""]
        {
            assert!(!is_caseless_function_word(&form_of(entity)), "{entity}");
        }
        assert!(is_caseless_function_word(&form_of("وهذا")) && is_caseless_function_word(&form_of("وَلَكِنْ")));
    }
}
