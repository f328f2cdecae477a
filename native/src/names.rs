//! Which names a chunk speaks of, by how they are written: no model, one pass, any language.
//!
//! | Kind | What |
//! |---|---|
//! | title | the memory's title, also without a "(…)" at its end, and the part before a comma |
//! | capitalised | the longest run of capitalised words; words of scripts without case, and pairs of them |
//! | quoted | up to seven words between quotation marks, as titles are |
//! | identifier | letters mixed with digits, snake_case, addresses |
//! | date | a day, in one form for all ways of writing it |
//! | phrase | what a tag, an extraction or a language model named, where the chunk says it |
//!
//! Which of them are linked is decided when a question comes (`name_scope`); here is what the chunk itself says.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::name_dates::{date_at, is_month};
use crate::name_record::{
    CAPITALISED, DATE, IDENTIFIER, NAME_WORDS_MAX, PHRASE, QUOTED, RecordWriter, Span, TITLE, Window, extended,
    name_hash, word_hash,
};
use crate::name_words::{Gap, Shape, Word, WordCutter};

/// Words of a chunk that are looked at. A chunk has at most 256 tokens; this bounds one that is a single "word".
const WORDS_MAX: usize = 4_096;
/// Words of a chunk that its names may consist of.
const NAMED_WORDS_MAX: usize = 512;
/// Runs of capitalised words, and declared names, of a chunk.
const SPANS_MAX: usize = 200;
/// Words of one run: a heading in capitals is cut here.
const WINDOW_WORDS_MAX: usize = 24;
/// Small words in a row that a run goes on over.
const CONNECTORS_MAX: usize = 3;
/// Bytes between two quotation marks.
const QUOTE_BYTES_MAX: usize = 200;
/// Words of a query that are looked at.
const QUERY_WORDS_MAX: usize = 256;
/// Phrases of a memory.
pub const PHRASES_MAX: usize = 64;

/// What is known of a memory's names beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryNames<'text> {
    /// Its title, given or found.
    pub title: Option<&'text str>,
    /// Key phrases or entities, the first `PHRASES_MAX` of which count.
    pub phrases: &'text [String],
}

/// Finds names. Holds the word segmentation only.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameFinder {
    cutter: WordCutter,
}

/// A memory's phrases, ready to be looked for.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    hashes: FxHashSet<u64>,
    /// Bit n: some phrase has n words.
    lengths: u32,
}

/// What a query may name: at each of its words, the runs that begin there, the longest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryRun {
    /// Number of the first word.
    pub(crate) first: usize,
    /// How many words.
    pub(crate) length: usize,
    /// The name's number.
    pub(crate) hash: u64,
    /// As it is written.
    pub(crate) surface: String,
}

impl NameFinder {
    /// A memory's phrases.
    pub(crate) fn phrases(&self, phrases: &[String]) -> Phrases {
        let mut found = Phrases::default();
        for phrase in phrases.iter().take(PHRASES_MAX) {
            let words = self.cutter.words(phrase, NAME_WORDS_MAX + 1);
            if (1..=NAME_WORDS_MAX).contains(&words.len()) {
                found.hashes.insert(hash_of(&words));
                found.lengths |= 1 << words.len();
            }
        }
        found
    }

    /// The names of a passage as a record; `title` for the first chunk of a memory only.
    pub(crate) fn record(&self, passage: &str, title: Option<&str>, phrases: &Phrases) -> Vec<u8> {
        let words = self.cutter.words(passage, WORDS_MAX);
        let mut draft = Draft { text: passage, words: &words, windows: Vec::new(), spans: Vec::new() };
        draft.find_windows();
        draft.find_dates();
        draft.find_phrases(phrases);
        draft.find_quotes();
        draft.find_identifiers();
        let mut writer = RecordWriter::default();
        let mut spans = Vec::new();
        let title_words = title.map(|title| self.cutter.words(title, WORDS_MAX)).unwrap_or_default();
        if let Some(title) = title {
            spans = title_spans(title, &title_words);
            let longest = spans.iter().map(|span| span.length).max().unwrap_or_default();
            write_words(&mut writer, title, &title_words[..longest], &vec![true; longest]);
        }
        draft.finish(writer, spans)
    }

    /// The runs of a query's words that may be names, by first word, the longest first, a date before its words.
    pub(crate) fn query_runs(&self, query: &str) -> Vec<QueryRun> {
        let words = self.cutter.words(query, QUERY_WORDS_MAX);
        let mut runs = Vec::new();
        for first in 0..words.len() {
            let longest = words.len().min(first + NAME_WORDS_MAX);
            let run = |last: usize, hash: u64| QueryRun {
                first,
                length: last - first,
                hash,
                surface: query[words[first].start..words[last - 1].end].to_owned(),
            };
            let mut hash = 0;
            let mut of_word: Vec<QueryRun> = Vec::new();
            for last in first + 1..=longest {
                hash = extended(hash, word_hash(&words[last - 1].form));
                of_word.push(run(last, hash));
            }
            let date = date_at(&words[first..]).map(|(length, form)| run(first + length, name_hash(&form)));
            of_word.extend(date);
            of_word.reverse();
            of_word.sort_by_key(|run| std::cmp::Reverse(run.length));
            runs.extend(of_word);
        }
        runs
    }
}

fn hash_of(words: &[Word]) -> u64 {
    words.iter().fold(0, |hash, word| extended(hash, word_hash(&word.form)))
}

/// The title and its shorter forms, as far as they are short enough to be a name.
fn title_spans(title: &str, words: &[Word]) -> Vec<Span> {
    let words_before = |end: usize| words.iter().take_while(|word| word.end <= end).count();
    let bare = title.trim_end();
    let bracket = if bare.ends_with([')', '）']) { bare.rfind(['(', '（']) } else { None };
    let comma = title.find([',', '，']).filter(|comma| words_before(*comma) >= 2);
    let mut lengths = vec![words.len(), bracket.map_or(0, words_before), comma.map_or(0, words_before)];
    lengths.retain(|length| (1..=NAME_WORDS_MAX).contains(length));
    lengths.sort_unstable();
    lengths.dedup();
    lengths.into_iter().map(|length| Span { first: 0, length, kind: TITLE, form: None }).collect()
}

fn write_words(writer: &mut RecordWriter, text: &str, words: &[Word], is_kept: &[bool]) {
    // Names never span a longer gap; of one the first character says enough.
    const BETWEEN_BYTES_MAX: usize = 8;
    for (at, word) in words.iter().enumerate().filter(|(at, _)| is_kept[*at]) {
        let before = at.checked_sub(1).filter(|before| is_kept[*before]).map(|before| &text[words[before].end..word.start]);
        let between = match before {
            Some(between) if between.len() <= BETWEEN_BYTES_MAX => between,
            _ => " ",
        };
        writer.word(between, &text[word.start..word.end], &word.form, is_connector(word));
    }
}

/// The names of one text while they are looked for; ranges are numbers of words.
struct Draft<'text> {
    text: &'text str,
    words: &'text [Word],
    windows: Vec<Window>,
    spans: Vec<Span>,
}

impl Draft<'_> {
    fn has_room(&self) -> bool {
        self.windows.len() + self.spans.len() < SPANS_MAX
    }

    fn declare(&mut self, first: usize, length: usize, kind: u8, form: Option<String>) {
        if self.has_room() && (1..=NAME_WORDS_MAX).contains(&length) {
            self.spans.push(Span { first, length, kind, form });
        }
    }

    fn find_windows(&mut self) {
        let mut at = 0;
        while at < self.words.len() && self.has_room() {
            let end = match self.words[at].shape {
                Shape::Caseless => self.caseless_end(at),
                _ => self.capitalised_end(at),
            };
            if end > at {
                let is_caseless = self.words[at].shape == Shape::Caseless;
                self.windows.push(Window { first: at, count: end - at, is_caseless });
                if !is_caseless {
                    self.declare_runs(at, end);
                }
            }
            at = end.max(at + 1);
        }
    }

    fn caseless_end(&self, first: usize) -> usize {
        let more = self.words[first + 1..].iter().take(WINDOW_WORDS_MAX - 1);
        first + 1 + more.take_while(|word| word.shape == Shape::Caseless && word.gap == Gap::Join).count()
    }

    /// The end of the run of name-like words that begins here; `first` itself if none does.
    fn capitalised_end(&self, first: usize) -> usize {
        let words = self.words;
        let begins = match words[first].shape {
            Shape::Capital => words[first].form != "i",
            // "12 Angry Men", not "in 1990 she".
            Shape::Digits => {
                words.get(first + 1).is_some_and(|next| next.shape == Shape::Capital && next.gap == Gap::Join)
            }
            _ => false,
        };
        if !begins {
            return first;
        }
        let (mut end, mut connectors) = (first + 1, 0);
        for at in first + 1..words.len().min(first + WINDOW_WORDS_MAX) {
            let word = &words[at];
            match word.shape {
                Shape::Capital if word.gap < Gap::Hard => (end, connectors) = (at + 1, 0),
                Shape::Digits if word.gap == Gap::Join => (end, connectors) = (at + 1, 0),
                Shape::Lower if word.gap == Gap::Join && is_connector(word) && connectors < CONNECTORS_MAX => {
                    connectors += 1;
                }
                _ => break,
            }
        }
        end
    }

    /// Declares the longest runs of a window that are one name each.
    fn declare_runs(&mut self, first: usize, end: usize) {
        let words = self.words;
        let mut start = first;
        for at in first + 1..=end {
            if at < end && words[at].gap == Gap::Join && !is_parting(&words[at]) {
                continue;
            }
            self.declare_run(start, at);
            start = if at < end && is_parting(&words[at]) { at + 1 } else { at };
        }
    }

    fn declare_run(&mut self, mut start: usize, mut end: usize) {
        let words = self.words;
        // After a full run the word "I" is the speaker's: "she told Ann I was", but "Elizabeth I, queen".
        if end - start.min(end) > 1 && words[end - 1].form == "i" && words.get(end).is_some_and(|next| next.gap == Gap::Join) {
            end -= 1;
        }
        while start < end && words[end - 1].shape == Shape::Lower {
            end -= 1;
        }
        let starts_sentence = words[start.min(words.len() - 1)].starts_sentence;
        let begun = start;
        while start < end {
            let word = &words[start];
            let is_leading = word.shape != Shape::Capital || (starts_sentence && is_function_word(word));
            if !is_leading {
                break;
            }
            start += 1;
        }
        let says_nothing = end - start == 1
            && ((starts_sentence && start == begun) || is_function_word(&words[start]) || is_month(&words[start]));
        if start < end && !says_nothing {
            self.declare(start, end - start, CAPITALISED, None);
        }
    }

    fn find_dates(&mut self) {
        let mut at = 0;
        while at < self.words.len() {
            let found = date_at(&self.words[at..]);
            let length = found.as_ref().map_or(1, |(length, _)| *length);
            if let Some((length, form)) = found {
                self.declare(at, length, DATE, Some(form));
            }
            at += length;
        }
    }

    fn find_phrases(&mut self, phrases: &Phrases) {
        if phrases.hashes.is_empty() {
            return;
        }
        let hashes: Vec<u64> = self.words.iter().map(|word| word_hash(&word.form)).collect();
        for first in 0..hashes.len() {
            let mut hash = 0;
            for (length, word) in (1usize..=NAME_WORDS_MAX).zip(&hashes[first..]) {
                hash = extended(hash, *word);
                if phrases.lengths >> length & 1 == 1 && phrases.hashes.contains(&hash) {
                    self.declare(first, length, PHRASE, None);
                }
            }
        }
    }

    fn find_quotes(&mut self) {
        let mut open: Option<(usize, char)> = None;
        for (at, c) in self.text.char_indices() {
            if let Some((start, _)) = open.filter(|(_, closer)| *closer == c) {
                self.declare_quote(start, at);
                open = None;
                continue;
            }
            let closer = match c {
                '"' => '"',
                '“' if matches!(open, Some((_, '“'))) => continue,
                '“' => '”',
                '„' => '“',
                '«' => '»',
                '‹' => '›',
                '「' => '」',
                '『' => '』',
                '《' => '》',
                '〈' => '〉',
                '\n' => {
                    open = None;
                    continue;
                }
                _ => continue,
            };
            open = Some((at + c.len_utf8(), closer));
        }
    }

    /// Titles begin with a capital; what ends with a comma or a full stop inside the marks is speech.
    fn declare_quote(&mut self, start: usize, end: usize) {
        let quoted = self.text[start..end].trim_end();
        if quoted.len() > QUOTE_BYTES_MAX || quoted.ends_with(['.', ',', '!', '?', '…', '—', '-', '。', '，', '！', '？']) {
            return;
        }
        let (first, count) = self.words_in(start, end);
        let Some(word) = self.words[first..].first().filter(|_| count > 0) else { return };
        let is_title = matches!(word.shape, Shape::Capital | Shape::Caseless | Shape::Digits);
        if is_title && !(count == 1 && is_function_word(word)) {
            self.declare(first, count, QUOTED, None);
        }
    }

    fn find_identifiers(&mut self) {
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-' | '/' | ':');
        let mut at = 0;
        while let Some(offset) = self.text[at..].find(is_of_token) {
            let start = at + offset;
            let end = self.text[start..].find(|c| !is_of_token(c)).map_or(self.text.len(), |length| start + length);
            at = end;
            if let Some((start, end)) = identifier(self.text, start, end) {
                let (first, count) = self.words_in(start, end);
                self.declare(first, count, IDENTIFIER, None);
            }
        }
    }

    fn words_in(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.words.partition_point(|word| word.start < start);
        let last = self.words.partition_point(|word| word.end <= end);
        (first, last.saturating_sub(first))
    }

    /// Numbers the words that any name needs anew, behind those of the title.
    fn finish(self, mut writer: RecordWriter, mut spans: Vec<Span>) -> Vec<u8> {
        let title_words = spans.iter().map(|span| span.length).max().unwrap_or_default();
        let mut is_kept = vec![false; self.words.len()];
        let mut kept = 0;
        // What does not fit any more is left out as a whole.
        let mut keep = |first: usize, count: usize| {
            let added = is_kept[first..first + count].iter().filter(|is_kept| !**is_kept).count();
            let fits = kept + added <= NAMED_WORDS_MAX;
            if fits {
                kept += added;
                is_kept[first..first + count].fill(true);
            }
            fits
        };
        let windows: Vec<Window> = self.windows.into_iter().filter(|window| keep(window.first, window.count)).collect();
        let declared: Vec<Span> = self.spans.into_iter().filter(|span| keep(span.first, span.length)).collect();
        let numbers: Vec<usize> = is_kept
            .iter()
            .scan(title_words, |next, is_kept| {
                let number = *next;
                *next += usize::from(*is_kept);
                Some(number)
            })
            .collect();
        write_words(&mut writer, self.text, self.words, &is_kept);
        let windows: Vec<Window> =
            windows.into_iter().map(|window| Window { first: numbers[window.first], ..window }).collect();
        spans.extend(declared.into_iter().map(|span| Span { first: numbers[span.first], ..span }));
        writer.finish(&windows, &spans)
    }
}

/// The part of a token that identifies something, if any does: an address, a name with digits or underscores in it.
fn identifier(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let token = &text[start..end];
    let scheme = token.find("://").map_or(0, |at| at + 3);
    let body = token[scheme..].split('/').next().unwrap_or_default();
    let trimmed = body.trim_matches(['.', '-', ':', '@', '_']);
    let from = start + scheme + body.find(trimmed).unwrap_or_default();
    let count = |test: fn(u8) -> bool| trimmed.bytes().filter(|byte| test(*byte)).count();
    let (letters, digits) = (count(|byte| byte.is_ascii_alphabetic()), count(|byte| byte.is_ascii_digit()));
    let has_slash = token[scheme..].contains('/');
    let is_identifier = letters > 0
        && trimmed.len() <= 64
        && (is_address(trimmed)
            || (!has_slash && !trimmed.contains([':', '.', '@']) && (trimmed.contains('_') || (digits > 0 && !is_quantity(trimmed)))));
    is_identifier.then_some((from, from + trimmed.len()))
}

/// "a@b.org", "docs.example.com", "config.toml": labels parted by dots, the last one of small letters.
fn is_address(token: &str) -> bool {
    let host = token.rsplit('@').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let last = labels.last().copied().unwrap_or_default();
    labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty() && !label.contains([':', '/']))
        && (2..=10).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// "21st", "10km", "1990s", "5-10", "3rd-party": a number with something small behind it names nothing.
fn is_quantity(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit()) && !token.contains(|c: char| c.is_ascii_uppercase())
}

/// Small words that may stand inside a name, but neither begin nor end it; those of `PARTING` part two names.
fn is_connector(word: &Word) -> bool {
    word.shape == Shape::Lower && (JOINING.contains(word.form.as_str()) || PARTING.contains(word.form.as_str()))
}

fn is_parting(word: &Word) -> bool {
    word.shape == Shape::Lower && PARTING.contains(word.form.as_str())
}

/// Words that begin a sentence with a capital and name nothing.
fn is_function_word(word: &Word) -> bool {
    FUNCTION_WORDS.contains(word.form.as_str())
}

static JOINING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "of the de del della dello dei degli delle di da du des do dos das la le las les los lo el al bin ibn ben abu von van vom \
     der den dem ten ter zu zum zur af av l d"
        .split_ascii_whitespace()
        .collect()
});

static PARTING: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "and in on at to for from with a an by or und et e y en i och og ve im am".split_ascii_whitespace().collect()
});

/// By `name_words::form_of`: the commonest words of twelve languages, and the days of the week.
static FUNCTION_WORDS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
    "a about after again against all also although always am among an and another any are around as at away back be
    because been before being below between both but by can come could did do does down during each either else even ever
    every few first finally for from further get go had has have he hello help her here hers hey hi him his how however i
    id if ill im in indeed instead into is it its ive just last later let lets like look many may maybe me meanwhile might
    more most mr mrs ms much must my never new next no nor not nothing now of off often oh ok okay on once one only or
    other our ours out over perhaps please put quite rather really said second see several shall she should since so some
    something sometimes soon still such take than thank thanks that thats the their them then there therefore these they
    theyre this those though three through thus to today together tomorrow too two under unless until up upon us use very
    was wasnt we well went were what whats when whenever where whether which while who whose why will with within without
    wont would wow yeah yes yesterday yet you your youre
    monday tuesday wednesday thursday friday saturday sunday
    aber alle alles als also am an andere auch auf aus bei beide beim bin bis bist da dabei daher damals damit danach dann
    darauf das dass dein deine dem den denn der des deshalb die dies diese dieser dieses doch dort du durch ein eine einem
    einen einer eines einige er erst es etwa fur gegen gestern haben hat hatte heute hier hinter ich ihm ihn ihr ihre im
    in ist ja jede jeder jedes jetzt kann kein keine konnen man manche mehr mein meine mit nach neben nein nicht nichts
    noch nun nur ob oder ohne schon sehr sein seine seit selbst sich sie sind so solche soll sondern sowie trotz uber um
    und uns unser unter viele vom von vor wahrend wann war waren warum was weil welche wenn wer werden wie wieder will wir
    wird wo wurde wurden zu zum zur zwar zwei zwischen montag dienstag mittwoch donnerstag freitag samstag sonntag
    apres au aucun aussi autre aux avant avec beaucoup bien ca car ce cela celle celui ces cet cette chaque chez comme
    comment contre d dans de depuis des donc du elle elles en encore enfin ensuite entre est et eux il ils j je jusqu l la
    le les leur leurs lors lui m ma mais me meme merci mes moi mon n ne non nos notre nous on ou oui par parce pendant
    peut plus pour pourquoi puis qu quand que quel quelle qui quoi s sa sans se selon ses si son sous sur t tes toi ton
    toujours tous tout toute tres tu un une vers voici voila vos votre vous lundi mardi mercredi jeudi vendredi samedi
    dimanche
    ademas ahora al algunos ante antes aqui asi aunque cada casi con cuando cual de del desde despues donde durante e el
    ella ellas ellos en era es esa ese eso esta estas este esto estos fue gracias ha hasta hay hoy la las lo los luego mas
    me mi mientras muchos muy nada ni no nos nosotros nuestra nuestro o otra otro para pero poco por porque pues que quien
    se segun ser si siempre sin sobre solo su sus tambien tanto te tiene todo todos tras tu tus un una uno unos y ya yo
    lunes martes miercoles jueves viernes sabado domingo
    agli ai alla alle allo altri anche ancora c che chi ci cio come con cosi cui da dagli dai dal dalla degli dei del
    della delle dello dopo dove due durante ecco era essere fra gia gli grazie ha ho i il io loro lui ma mentre mia mio
    molti molto ne negli nei nel nella nelle nello noi nostro oggi ogni oltre per perche pero piu poi prima qua quale
    quando quella quelle quelli quello questa queste questi questo qui quindi secondo sempre senza si sono sopra sotto sua
    sue sugli sui sul sulla suo tra tutti tutto un una uno voi lunedi martedi mercoledi giovedi venerdi sabato domenica
    a ainda alem algumas ao aos apenas apos aquela aquele as ate com como da das de dela dele depois desde do dos e ela
    elas ele eles em entre essa esse esta este eu foi ha hoje isso isto ja mais mas me mesmo meu minha muito muitos na nao
    nas nem no nos nossa nosso num o onde os ou outra outro para pela pelo pois por porque quando que quem se sem sempre
    ser seu sim sob sobre sua tambem tem todos tudo um uma voce voces segunda terca quarta quinta sexta domingo
    aan al alle alleen als ander ben bij binnen daar daarna dan dat de deze die dit door dus een en er geen haar had heb
    heeft het hier hij hoe hun ik is ja je jij jullie kan maar meer met mijn na naar nee niet nog nu of om omdat ook onder
    onze op over sinds te tegen terwijl toch toen tot tussen uit uw van veel voor waar waarom wanneer want was wat we wel
    werd wie wij ze zich zij zijn zo zonder maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    aby ale bo byl byla bylo co czy dla do gdy gdzie go ich jak jako je jednak jego jej jest jestem jeszcze kiedy ktora
    ktory kto lub ma mam mi moj moja my na nad nas nie no od on ona one oni oraz po pod podczas poniewaz przed przez przy
    sa sie swoj ta tak takze tam te tego ten to tu ty tylko w wedlug wiec wszystko wtedy z za ze
    alla allt att av bara blev da de den denna deras det detta dig din du efter eller en ett fick fran for ha han hans har
    hennes hon hur i inga inte ja jag kan man med men min mot mycket nagra nar ni nu och om pa sedan sin som till under
    upp ut vad var varfor vem vi vid vilken aer at blev dem dere deres ei etter fra hvem hvor hva ikke jeg kom mange
    ama ancak bana bazi ben beni bir biz bu bunlar cok cunku da daha de degil diger eger gibi hem her hic icin ile ise
    kadar ki kim mi nasil ne neden nerede o olan onlar onun sadece sen siz sonra su tum ve veya ya yani
    а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть
    еще же за здесь и из или им их к как какая какои когда кого которыи кто куда ли мне может мои мы на над нас наш не нет
    ни но ну о об один он она они оно от перед по под после потом почему при с сам свои себя сеичас со так также там тем
    теперь то тогда тоже только тот ты у уже хотя чего чем что чтобы эта эти это этот я понедельник вторник среда четверг
    пятница суббота воскресенье αλλα αν απο αυτη αυτο για δεν εγω ειναι εκει εμεις ενα ενας επισης η ηταν θα και κατα μας
    με μετα μια μου να ο οι οπως οταν οτι που πριν σας σε στη στην στο στον τα τη την της τι το τον του των ως"
        .split_ascii_whitespace()
        .collect()
});

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
