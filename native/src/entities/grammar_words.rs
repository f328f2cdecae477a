//! Recognises function words of scripts without capital letters, where any word could be a name, and splits Korean
//! nouns from their particles. The words are in `data/words/entities`; `test/languages` shows which are frequent.
//! Languages with capital letters are handled by `entities::function_words`.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::entities::word_lists::all_words;
use crate::entities::words::form_of;

const WORD_LIST: &str = include_str!("../../../data/words/entities/caseless-function-words.txt");

/// Whether a word is one of grammar, by its `words::form_of`.
pub(crate) fn is_grammar_word(form: &str) -> bool {
    static FORMS: LazyLock<FxHashSet<String>> = LazyLock::new(|| all_words(WORD_LIST).map(form_of).collect());
    // Arabic writes "and" together with the next word.
    FORMS.contains(form) || form.strip_prefix('و').is_some_and(|rest| FORMS.contains(rest))
}

/// The noun of a Korean word that ends with a particle; `None` for a word without one. Only particles that hardly a
/// noun ends with, and only behind two syllables or more: no noun is to be taken apart that merely sounds like one with
/// a particle.
///
/// The subject's particles, "and", "also", "only", the short direction and, behind two syllables, the topic's behind a
/// consonant stay where they are: nouns end with the same syllables ("고양이", "오키나와", "제주도", "고속도로", "김정은"), and only a
/// dictionary could tell.
pub(crate) fn korean_noun(word: &str) -> Option<&str> {
    // No other word can end with one, and most are not Korean.
    if !word.ends_with(is_syllable) {
        return None;
    }
    PARTICLES.iter().filter_map(|particle| particle.noun_of(word)).min_by_key(|noun| noun.len())
}

fn is_syllable(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Whether a syllable ends in a consonant: the block counts 28 endings, none first.
fn ends_in_consonant(syllable: char) -> bool {
    !(u32::from(syllable) - 0xAC00).is_multiple_of(28)
}

/// What a noun ends in before a particle.
#[derive(Clone, Copy)]
enum After {
    Any,
    Consonant,
    Vowel,
}

struct Particle {
    written: &'static str,
    after: After,
    /// Syllables of the shortest noun that it is told from.
    syllables_min: usize,
    /// Endings of words that end with the same syllables without it.
    unless: &'static [&'static str],
}

impl Particle {
    const fn new(written: &'static str, after: After) -> Particle {
        Particle { written, after, syllables_min: 2, unless: &[] }
    }

    /// What stands before it in a word, where that may be a noun.
    fn noun_of<'word>(&self, word: &'word str) -> Option<&'word str> {
        let noun = word.strip_suffix(self.written)?;
        let last = noun.chars().next_back()?;
        let agrees = match self.after {
            After::Any => true,
            After::Consonant => is_syllable(last) && ends_in_consonant(last),
            After::Vowel => is_syllable(last) && !ends_in_consonant(last),
        };
        let is_noun = agrees
            && noun.chars().all(is_syllable)
            && noun.chars().count() >= self.syllables_min
            && !self.unless.iter().any(|ending| word.ends_with(ending));
        is_noun.then_some(noun)
    }
}

const PARTICLES: &[Particle] = &[
    Particle::new("까지", After::Any),
    Particle::new("까지는", After::Any),
    Particle::new("께서", After::Any),
    Particle::new("마다", After::Any),
    Particle::new("부터", After::Any),
    Particle::new("부터는", After::Any),
    Particle::new("에", After::Any),
    Particle::new("에게", After::Any),
    Particle::new("에게는", After::Any),
    Particle::new("에게서", After::Any),
    Particle::new("에는", After::Any),
    Particle::new("에도", After::Any),
    Particle::new("에서", After::Any),
    Particle::new("에서는", After::Any),
    Particle::new("에서도", After::Any),
    Particle::new("에서의", After::Any),
    Particle::new("처럼", After::Any),
    Particle::new("한테", After::Any),
    Particle::new("을", After::Consonant),
    Particle::new("으로", After::Consonant),
    Particle::new("으로는", After::Consonant),
    Particle::new("으로도", After::Consonant),
    Particle::new("으로서", After::Consonant),
    Particle::new("으로써", After::Consonant),
    Particle::new("으로의", After::Consonant),
    Particle::new("를", After::Vowel),
    // Given names end so: "김정은".
    Particle { written: "은", after: After::Consonant, syllables_min: 3, unless: &[] },
    // Verbs made with "do" and "become" end so.
    Particle { written: "는", after: After::Vowel, syllables_min: 2, unless: &["하는", "되는"] },
    // Nouns of Chinese origin end so: "meeting", "-ism", "definition".
    Particle {
        written: "의",
        after: After::Any,
        syllables_min: 2,
        unless: &[
            "강의", "건의", "결의", "논의", "동의", "문의", "심의", "예의", "정의", "주의", "창의", "토의", "편의",
            "합의", "협의", "회의",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::word_lists::{section_names, section_words};
    use crate::entities::words::is_caseless;

    #[test]
    fn lists_are_sorted_and_of_scripts_without_case() {
        assert_eq!(section_names(WORD_LIST).collect::<Vec<_>>(), ["zh", "ja", "ko", "th", "ar", "hi"]);
        for language in section_names(WORD_LIST) {
            let words: Vec<&str> = section_words(WORD_LIST, language).collect();
            assert!(words.is_sorted_by(|one, next| one < next), "{language}");
            for word in words {
                assert!(word.chars().filter(|c| c.is_alphabetic()).all(is_caseless), "{word}");
                assert!(word.chars().nth(1).is_some(), "{word} is no name without the list");
                assert!(is_grammar_word(&form_of(word)), "{word}");
            }
        }
        for name in ["london", "the", "и", "北京", "東京", "서울", "เชียงใหม่", "القاهرة", "भारत", "ورد", ""]
        {
            assert!(!is_grammar_word(&form_of(name)), "{name}");
        }
        assert!(is_grammar_word(&form_of("وهذا")) && is_grammar_word(&form_of("وَلَكِنْ")));
    }

    #[test]
    fn korean_nouns_are_told_from_their_particles() {
        for (noun, particles) in [
            ("학교", "는 를 에 에서 에서는 에게 까지 부터 처럼 의 에도"),
            ("서울", "을 에 에서 까지 의 에는"),
            ("부산", "을 으로 으로는 에서의"),
            ("한라산", "은 을 에 으로"),
            ("김정은", "은 을 에게"),
            ("민주주의", "는 를 에서"),
        ] {
            for particle in particles.split(' ') {
                assert_eq!(korean_noun(&format!("{noun}{particle}")), Some(noun), "{noun}{particle}");
            }
        }
        for whole in [
            "서울",
            "학교",
            "김정은",
            "고양이",
            "어린이",
            "오키나와",
            "제주도",
            "고속도로",
            "민주주의",
            "국무회의",
            "가을",
            "마을",
            "한옥마을",
            "노을",
            "작곡가",
            "전문가",
            "사용하는",
            "에서",
            "까지",
            "집을",
            "東京에",
            "Seoul에",
            "의",
            "",
            "을를",
            "กับ",
            "東京",
            "\u{1112}\u{1161}\u{11a8}\u{1100}\u{116d}에",
        ] {
            assert_eq!(korean_noun(whole), None, "{whole}");
        }
    }
}
