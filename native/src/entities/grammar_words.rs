//! Which words of scripts without capitals are words of grammar, and where a Korean noun ends before its particle: without
//! capitals every word could be a name, and these never are. Languages with capitals have theirs in `entities::function_words`.
//!
//! Particles, pronouns, copulas and auxiliaries, conjunctions, question words, adverbs of degree and of time, small numbers
//! and days of the week, chosen by hand; `test/languages` shows which are frequent. A word that is a well-known name besides
//! is left out: Arabic "now", which is Alan too, and Thai "he", which is a mountain.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::entities::words::form_of;

/// Whether a word is one of grammar, by its `words::form_of`.
pub(crate) fn is_grammar_word(form: &str) -> bool {
    static FORMS: LazyLock<FxHashSet<String>> = LazyLock::new(|| {
        let lists = [CHINESE, JAPANESE, KOREAN, THAI, ARABIC, HINDI];
        lists.iter().flat_map(|words| words.split_ascii_whitespace()).map(form_of).collect()
    });
    // Arabic writes "and" together with the next word.
    FORMS.contains(form) || form.strip_prefix('و').is_some_and(|rest| FORMS.contains(rest))
}

/// The noun of a Korean word that ends with a particle; `None` for a word without one. Only particles that hardly a noun
/// ends with, and only behind two syllables or more: no noun is to be taken apart that merely sounds like one with a particle.
///
/// The subject's particles, "and", "also", "only", the short direction and, behind two syllables, the topic's behind a
/// consonant stay where they are: nouns end with the same syllables ("고양이", "오키나와", "제주도", "고속도로", "김정은"),
/// and only a dictionary could tell.
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

/// Chinese, simplified and traditional.
const CHINESE: &str = "
    一下 一个 一些 一個 一切 一定 一旦 一样 一樣 一点 一直 一种 一種 一般 一起 一點 不仅 不会 不但 不僅
    不同 不少 不得 不必 不是 不會 不然 不管 不能 不要 不論 不论 不过 不過 並不 並且 並非 为了 为什么 之一
    之中 之前 之后 之後 之間 之间 也是 也許 也许 于是 人们 人們 什么 什麼 今天 今年 仍然 从而 他们 他們
    他的 以上 以下 以來 以內 以内 以前 以及 以后 以後 以来 但是 位于 位於 作为 作為 你们 你們 你的 依然
    假如 儘管 关于 其中 其他 其它 其实 其實 几个 几乎 刚刚 刚才 別人 别人 剛剛 剛才 包括 十分 即使 却是
    去年 及其 另外 只是 只有 只能 只要 叫做 可以 可是 可能 各个 各個 各种 各種 各自 同时 同時 后来 否则
    否則 周一 周三 周二 周五 周六 周四 周日 咱们 咱們 哪个 哪些 哪個 哪儿 哪裡 哪里 因为 因此 因為 在此
    多少 大家 大概 大約 大约 她们 她們 她的 如何 如果 它们 它們 它的 完全 对于 将要 將要 對於 尤其 就是
    尽管 属于 屬於 左右 已經 已经 常常 并不 并且 并非 幾乎 幾個 应当 应该 当时 当然 彼此 往往 很多 後來
    從而 必須 必须 怎么 怎么样 怎样 怎樣 怎麼 怎麼樣 总是 應當 應該 成为 成為 我们 我們 我的 或者 所以
    按照 於是 无论 时候 明天 明年 星期一 星期三 星期二 星期五 星期六 星期四 星期天 星期日 昨天 是否 是的
    時候 更加 曾經 曾经 最后 最後 有一 有些 有人 有时 有时候 有時 有時候 有的 根据 根據 正在 每个 每個
    每天 每年 比較 比较 沒有 没有 為了 為什麼 無論 然后 然後 然而 特別 特别 现在 現在 甚至 由于 由於 由此
    當時 當然 的话 目前 称为 稱為 等等 經常 總是 经常 而且 而已 而是 能否 能够 能夠 自己 至于 至於 虽然
    要是 許多 许多 越來越 越来越 还是 还有 这个 这么 这些 这儿 这样 这种 这里 這些 這個 這樣 這種 這裡
    這麼 通过 通過 週一 週三 週二 週五 週六 週四 週日 還是 還有 那个 那么 那些 那個 那儿 那样 那樣 那种
    那種 那裡 那里 那麼 都是 關於 除了 随着 隨著 雖然 需要 非常 首先";

/// Japanese, as far as it is not all in Hiragana.
const JAPANESE: &str = "
    一方 一方で 丁度 上に 下に 並び 並びに 中で 中に 主に 互い 互いに 今年 今日 他に 他の 付き 以上 以下
    以内 以前 以外 以後 以来 但し 何か 何が 何も 何を 何処 何度 何故 何時 余り 例えば 俺たち 僕たち 僕ら
    先ず 全く 全て 全然 共に 其の 其処 再び 出来 出来る 前に 即ち 去年 又は 及び 同じ 同じく 同様 因み
    因みに 土曜 土曜日 在り 在る 場合 多く 多分 大体 大変 如何 対し 対して 少々 少し 居る 常に 幾つ 幾ら
    彼ら 彼女 彼等 後で 後に 従って 必ず 恐らく 成り 成る 我々 我ら 或いは 故に 於いて 於て 既に 日曜
    日曜日 明日 昨年 昨日 是非 時に 更に 最も 月曜 月曜日 有り 有る 木曜 木曜日 未だ 来年 様々 次いで 次に
    此の 此処 殆ど 段々 毎年 毎日 水曜 水曜日 火曜 火曜日 為に 無い 無く 無し 特に 皆さん 直ぐ 直ぐに
    直ちに 私たち 私達 自分 色々 若し 若しくは 言い 言う 言わ 誰か 誰が 誰も 貴女 貴方 金曜 金曜日 間に
    関し 関して 際に 非常 非常な 非常に";

/// Korean: words, frequent forms of its auxiliaries, and particles behind numerals and Latin letters.
const KOREAN: &str = "
    가끔 가장 가지 각각 같고 같다 같은 같이 거기 거기서 거의 것과 것도 것으로 것은 것을 것이 것이다 관한
    관해 그가 그것 그것은 그녀 그는 그들 그들은 그래서 그러나 그러면 그러므로 그런 그런데 그렇게 그를 그리고
    그의 금요일 까지 까지는 나는 나의 나중에 내가 내년 내일 너는 너무 네가 년까지 년부터 년에 누가 누구
    다른 다섯 다시 다음 다음에 당신 대하여 대한 대해 대해서 더욱 동안 됐다 되고 되는 되며 되면 되어 되었다
    되지 된다 됩니다 뒤에 따라 따라서 따르면 따른 때는 때문 때문에 때문이다 때에 때의 또는 또한 라고 라는
    만약 만일 많다 많은 많이 매년 매우 매일 매주 먼저 모두 모든 목요일 못하다 못한 무슨 무엇 무엇을 무엇이
    미리 바로 밖에 번째 보다 부터 부터는 분에 사이 사이에 서로 속에 수요일 시까지 시부터 시에 싶다 싶은
    아니다 아니라 아닌 아래에 아주 아직 아홉 안에 않고 않는 않는다 않다 않아 않았다 않으면 않은 앞에 약간
    어느 어디 어디서 어디에 어떤 어떻게 어제 언제 얼마 얼마나 없고 없는 없다 없습니다 없어 없었다 없으며
    없으면 없이 에게 에는 에도 에서 에서는 에서의 여기 여기서 여덟 여러 여섯 였다 오늘 올해 왜냐하면 우리
    우리의 월까지 월부터 월에 월요일 위에 위하여 위한 위해 위해서 으로 으로는 의한 의해 이것 이것은 이고
    이나 이다 이라고 이라는 이런 이렇게 이며 이미 이었다 이전 이후 일곱 일까지 일부터 일에 일요일 입니다
    있고 있는 있다 있던 있습니다 있어 있어서 있어야 있어요 있었다 있으며 있으면 있을 있음 있지만 자기 자신
    자신의 자주 작년 저것 저기 저는 저런 저희 전에 정도 정도의 정말 제가 조금 중에 지금 처럼 토요일 통하여
    통한 통해 특히 하고 하기 하나 하는 하는데 하다 하며 하면 하여 하지 하지만 한다 한다면 함께 합니다 항상
    해서 해야 해요 했다 했던 했습니다 현재 혹은 화요일 후에 훨씬";

/// Thai, as its texts are cut.
const THAI: &str = "
    กว่า กัน กับ การ กำลัง ก็ ก่อน ขณะ ขณะที่ ของ ขึ้น คง ครับ ควร ความ คะ คือ คุณ ค่ะ จน จนถึง จะ จาก จึง ฉัน
    ช่วง ซึ่ง ดังนั้น ดิฉัน ด้วย ตอน ตั้งแต่ ตาม ต่อ ต้อง ถึง ถูก ถ้า ทั้ง ทั้งหมด ทำให้ ทำไม ที่ ที่สุด ทุก นอก
    นอกจาก นะ นั่น นั้น นี่ นี้ น้อย บน บาง ประมาณ ผม พรุ่งนี้ พวก พวกเรา มัน มา มาก มี ยัง ระหว่าง ราว ลง ละ
    วันนี้ ว่า สอง สาม สำหรับ สิบ สี่ สู่ หก หนึ่ง หรือ หลัง หลังจาก หลาย หาก ห้า อยู่ อย่า อย่าง อย่างไร ออก อะไร
    อัน อาจ อีก เกือบ เก้า เข้า เคย เจ็ด เช่น เท่า เท่านั้น เท่าไร เท่าไหร่ เธอ เนื่องจาก เป็น เพราะ เพียง เพื่อ
    เมื่อ เมื่อวาน เมื่อไร เมื่อไหร่ เรา เอง แก่ แค่ แด่ แต่ แต่ละ แปด แม้ แม้ว่า และ แล้ว แห่ง โดย โน้น ใคร ใช่
    ใน ให้ ได้ ไป ไม่ ไม่ใช่ ไม่ได้ ไว้ ไหน ไหม";

/// Arabic, without a leading "and".
const ARABIC: &str = "
    أبدا أثناء أحيانا أقل أكثر أمام أمس أن أنا أنت أنتم أنه أنها أنهم أو أولئك أي أية أيضا أين إذ إذا إلا إلى إليه
    إليها إليهم إن إنه إنها الأحد الأربعاء الاثنين التي الثلاثاء الجمعة الخميس الذي الذين السبت اللتان اللذان
    اللواتي اليوم بدون بذلك بعد بعض بل بما به بها بهذا بهذه بهم بين بينما تحت تكن تكون تلك ثم جدا جميع حتى حول حيث
    حين حينما خلال خلف دائما ذات ذلك سوف سوى ضد ضمن عبر عدة على عليه عليها عليهم عما عن عند عندما عنه عنها غدا غير
    فقد فقط فلا فهو فهي فوق في فيما فيه فيها فيهم قبل قد قليل قليلا كأن كان كانت كانوا كثير كثيرا كذلك كل كلا كلما
    كما كيف لأن لأنه لأنها لا لدى لذلك لقد لكن لكنه لكنها لم لما لماذا لن لنا له لها لهذا لهذه لهم لو لولا ليس
    ليست ليسوا ما ماذا متى مثل مع معه معها مما من منذ منه منها منهم نحن نحو نفس نفسه نفسها هؤلاء هذا هذان هذه هكذا
    هل هم هما هنا هناك هو هي وفق ولكن يجب يكن يكون يمكن";

/// Hindi, with either sign of a nasal vowel.
const HINDI: &str = "
    अगर अधिक अनुसार अपना अपनी अपने अब अभी अलावा आज आठ आप आपका आपकी आपके आपको इतना इन इनका इनकी इनके इन्हें इस इसका
    इसकी इसके इसने इसमें इसलिए इससे इसे उतना उन उनका उनकी उनके उन्हें उन्होंने उस उसका उसकी उसके उसने उसमें उससे
    उसे ऊपर एक एवं ऐसा ऐसी ऐसे ओर और कब कभी कम कर करके करता करती करते करना करने कल कहाँ कहां का कि किंतु कितना
    कितनी कितने किन्तु किया किस किसने किसी की कुछ के केवल कैसा कैसी कैसे को कोई कौन क्या क्यों क्योंकि गई गए गया
    गयी गये गुरुवार चार चाहिए छह जब जहाँ जहां ज़्यादा जाता जाती जाते जाना जाने जिन जिन्हें जिस जिसका जिसकी जिसके
    जिसने जिसमें जिसे जैसा जैसी जैसे जो ज्यादा तक तथा तब तरह तीन तुम तो था थी थीं थे थोड़ा दस दिया दो दौरान द्वारा
    नही नहीं नीचे ने नौ पर परंतु परन्तु पहले पाँच पांच प्रति फिर बल्कि बस बहुत बाद बीच बुधवार भी मंगलवार मगर मत
    मुझे में मेरा मेरी मेरे मैं मैंने यदि यह यहाँ यहां यहीं या ये रविवार रहा रही रहे लिए लेकिन वह वहाँ वहां वहीं
    वाला वाली वाले वे वो शनिवार शुक्रवार सकता सकती सकते सब सबसे सभी सात साथ सिर्फ से सोमवार हम हमने हमारा हमारी
    हमारे हमें हर ही हुँ हुआ हुई हुईं हुए हूँ हूं है हैं हो हों होंगे होगा होगी होता होती होते होना होने";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::words::is_caseless;

    #[test]
    fn lists_are_sorted_and_of_scripts_without_case() {
        for list in [CHINESE, JAPANESE, KOREAN, THAI, ARABIC, HINDI] {
            let words: Vec<&str> = list.split_ascii_whitespace().collect();
            assert!(words.is_sorted_by(|one, next| one < next), "{list}");
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
