//! Separates Korean nouns from their particles. It uses a list of particles instead of a dictionary.

/// Returns the noun of a Korean word that ends with a particle, or `None` for a word without a particle. A particle is
/// split off only if nouns rarely end with the same syllables, and only after two syllables or more. So nouns without a
/// particle stay whole.
///
/// These particles are never split off: the subject particles ("이", "가"), "and" ("와", "과"), "also" ("도"), "only"
/// ("만"), and "to" in its short form ("로"). The topic particle after a consonant ("은") is not split off from nouns of
/// two syllables. Many nouns end with the same syllables ("고양이", "오키나와", "제주도", "고속도로", "김정은"), and only
/// a dictionary could tell them apart.
pub(crate) fn korean_noun(word: &str) -> Option<&str> {
    // Fast path: most words are not Korean.
    if !word.ends_with(is_syllable) {
        return None;
    }
    PARTICLES.iter().filter_map(|particle| particle.noun_of(word)).min_by_key(|noun| noun.len())
}

fn is_syllable(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Whether a Hangul syllable ends in a consonant. In Unicode, each group of 28 syllables begins with the one that ends
/// in a vowel.
fn ends_in_consonant(syllable: char) -> bool {
    !(u32::from(syllable) - 0xAC00).is_multiple_of(28)
}

/// What the noun before a particle must end in.
#[derive(Clone, Copy)]
enum NounEnding {
    Any,
    Consonant,
    Vowel,
}

struct Particle {
    text: &'static str,
    after: NounEnding,
    /// Minimum number of syllables of the noun.
    syllables_min: usize,
    /// Word endings that look like they end with the particle but do not.
    exceptions: &'static [&'static str],
}

impl Particle {
    const fn new(text: &'static str, after: NounEnding) -> Particle {
        Particle { text, after, syllables_min: 2, exceptions: &[] }
    }

    /// Returns the part of a word before this particle, if that part can be a noun.
    fn noun_of<'word>(&self, word: &'word str) -> Option<&'word str> {
        let noun = word.strip_suffix(self.text)?;
        let last = noun.chars().next_back()?;
        let agrees = match self.after {
            NounEnding::Any => true,
            NounEnding::Consonant => is_syllable(last) && ends_in_consonant(last),
            NounEnding::Vowel => is_syllable(last) && !ends_in_consonant(last),
        };
        let is_noun = agrees
            && noun.chars().all(is_syllable)
            && noun.chars().count() >= self.syllables_min
            && !self.exceptions.iter().any(|ending| word.ends_with(ending));
        is_noun.then_some(noun)
    }
}

const PARTICLES: &[Particle] = &[
    Particle::new("까지", NounEnding::Any),
    Particle::new("까지는", NounEnding::Any),
    Particle::new("께서", NounEnding::Any),
    Particle::new("마다", NounEnding::Any),
    Particle::new("부터", NounEnding::Any),
    Particle::new("부터는", NounEnding::Any),
    Particle::new("에", NounEnding::Any),
    Particle::new("에게", NounEnding::Any),
    Particle::new("에게는", NounEnding::Any),
    Particle::new("에게서", NounEnding::Any),
    Particle::new("에는", NounEnding::Any),
    Particle::new("에도", NounEnding::Any),
    Particle::new("에서", NounEnding::Any),
    Particle::new("에서는", NounEnding::Any),
    Particle::new("에서도", NounEnding::Any),
    Particle::new("에서의", NounEnding::Any),
    Particle::new("처럼", NounEnding::Any),
    Particle::new("한테", NounEnding::Any),
    Particle::new("을", NounEnding::Consonant),
    Particle::new("으로", NounEnding::Consonant),
    Particle::new("으로는", NounEnding::Consonant),
    Particle::new("으로도", NounEnding::Consonant),
    Particle::new("으로서", NounEnding::Consonant),
    Particle::new("으로써", NounEnding::Consonant),
    Particle::new("으로의", NounEnding::Consonant),
    Particle::new("를", NounEnding::Vowel),
    // Given names may end with this syllable: "김정은".
    Particle { text: "은", after: NounEnding::Consonant, syllables_min: 3, exceptions: &[] },
    // Verb forms of "do" and "become" end with this syllable.
    Particle { text: "는", after: NounEnding::Vowel, syllables_min: 2, exceptions: &["하는", "되는"] },
    // Nouns of Chinese origin end with this syllable, such as the words for "meeting", "-ism" and "definition".
    Particle {
        text: "의",
        after: NounEnding::Any,
        syllables_min: 2,
        exceptions: &[
            "강의", "건의", "결의", "논의", "동의", "문의", "심의", "예의", "정의", "주의", "창의", "토의", "편의",
            "합의", "협의", "회의",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_are_separated_from_their_particles() {
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
