// Frequencies of non-ASCII characters in each language. A frequency is given as surprise in nats: the negative natural
// logarithm of the character's share. legacy-encoding.ts compares decoded texts by them. The order of the letters by
// frequency is common knowledge. encoding.test.ts checks how well detection works with it.

/**
 * Surprise of a character in a language: the negative natural logarithm of its share. A smaller surprise means a more
 * likely character.
 */
export type Surprise = (code: number) => number;

/** Surprise of a letter that the language does not use, as in foreign names and words. */
const FOREIGN_LETTER = 9.5;
/** Surprise of a symbol that is unusual in running text. */
const ODD_SIGN = 11;
/** Surprise of characters that no text should have: invalid sequences, control characters, private-use characters. */
export const IMPOSSIBLE = 18;
/** Surprise that is added for a capital letter. */
const CAPITAL = 3;
/** Surprise of non-ASCII punctuation. */
const PUNCTUATION = 5;
/**
 * Difference of surprise between the most and the least frequent letter of an alphabet: a factor of e^3.3 in Russian.
 */
const FALL = 3.3;

const PUNCTUATION_MARKS = "\u00a0‘’“”„«»–—…•°§€£©®™№·‚‹›";

/**
 * Letters of each language with an alphabet, sorted by frequency, the most frequent one first. For Latin alphabets only
 * non-ASCII letters are listed.
 */
const ALPHABETS = {
  // for texts that contain names from several western languages
  western: "éèäüöáíóàçñßåøêôãâîûùœëïæõúýðþÿìòšž",
  de: "üäöß",
  fr: "éèàêçôûîùâœëï",
  es: "óáíéñúü¿¡ºª",
  pt: "ãçáéíóêõúâàôºª",
  it: "èàùòìé",
  sv: "äåöé",
  da: "åøæé",
  is: "ðáíóþéöúæý",
  ca: "àéèíóòúçïü·",
  pl: "ęłąóżśćńź",
  cs: "íěáéřčžýšůúťďňó",
  sk: "áíčéžšýťúľôňďäóĺŕ",
  hu: "éáöóőüíúű",
  ro: "ăîţâşșț",
  hr: "čšžćđ",
  tr: "ıüşğçöİâî",
  lt: "ėųšįžąčūę",
  lv: "āīēšūļņžķģč",
  et: "äõüöšž",
  vi: "\u0301\u0300đ\u0323ưôơâ\u0309ăê\u0303áàéèíóúùã",
  ru: "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
  uk: "оаниевітрсклупдмязьбгчхйжюцщїєфшґ",
  bg: "аеоитнрсвлдкпмзгъубчяцщжхшйюьф",
  sr: "аиоенрсјтквудпмлзбгшчцћњжђхљфџ",
  el: "αοιεντσςρπκμλυηγδωχθφάίόέήύώβξζψϊϋΐΰ",
  he: "יוהלאמתרבשנעםדחקפטגצןכסזךףץ",
  ar: "اليمونرتبةعدسفهكقحجأشطصخ،ذىإئءضغثزظآؤ؛؟گکپچژ",
  th: "านร่อกเงมย้ลวัดทิสีตะปบุคหำ์แจูพชใืไข็โผซธึณถศฐภญฟษฉๆฎฏฑฒฮฯฬฌ",
} as const;

/** For languages with thousands of characters, the characters that make up half of all text, not sorted. */
const COMMON = {
  ja: "日一国人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達鈴健",
  zh: "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从名部门电话城市北京海广州王李张刘陈杨黄赵周吴请各请议预算负责支出告提前文件共邮箱退休每早河边回候顺便菜场买些新鲜豆青晚邻居果安装程序示空间足先清理临时重启动计机再次运完升级古老石桥建明历多次水地震今仍通吸引万游客参观拍照医建步半少吃食物按服药月以复查血压改星期四五六七八九单号商品数量茶百千元年第条本长高工业务技术系统信息使加入外内两些样手把给被但因向关已最问很想现实理相全度力性意点应体利民政治开特等表物正由战线位指身别第老员活第此更合间总制化与处反产气社月接世路数及情西流条门平东取资代论解受件先重每原风任报指海口死马太快难光程管放立题",
  "zh-Hant":
    "的一是不了人我在有他這為之大來以個中上們到說國和地也子時道出而要於就下得可你年生自會那後能對著事其裡所去行過家十用發天如然作方成者多日都三小軍二無同麼經法當起與好看學進種將還分此心前面又定見只主沒公從名部門電話城市北京海廣州王李張劉陳楊黃趙周吳林請各議預算負責支出告提文件共郵每早邊回候便菜場買些新鮮晚果安裝程式示空間足先清理臨重啟動計機再次運完升級古老石橋建明歷水震今仍通吸引萬遊客參觀醫步半少吃食物按服藥復查改星期四五六七八九單號商品數量茶百千元第條本長高工業務技術系統信息使加入外內兩樣手把給被但因向關已最問很想現實相全度力性意點應體利民政治開特等表正由戰線位指身別員活更合總制化處反產氣社月接世路及情西流平東取資代論解受原風任報口死馬太快難光管放立題",
  ko: "이다는의에을가고하한지사로은기도를서대인리자아니어시나정그라해들일수과전부성보원여상적주있스제구마만게장면동와비유오조안신러관세모물화경국내선방진으문소트개생산무없음공미연계습했었것간거분중실요학회할드위당달교름행식바때던발르집말속료년명번씨울월영체파차양터작불감약점민심업레같려되된될단린건남본금외현치두재저후입용길배판직통특형설결평최질차버강히더또며네까써않많좋운반외각임표력출추처석김박최철호준희",
} as const;

/** A language with character frequencies. */
export type Language = keyof typeof ALPHABETS | keyof typeof COMMON;

/** Kana sorted by frequency, the most frequent one first. Their surprise is computed like that of letters. */
const HIRAGANA =
  "のいるたにはをとがしてなでかれらもすっりこくきあさうけせまよえだんめおそどわつみばやろちべじずほげふびひごぶへねむゆぎぬぼざぐゃょゅぞぜぱぽ";

/**
 * Surprises of logographic and syllabic characters in a language, including characters that only other languages use.
 */
interface Writing {
  readonly common: number;
  /** Surprise of the characters in the first level of the language's character set standard, which everybody learns. */
  readonly firstLevel: number;
  readonly ideograph: number;
  readonly hangul: number;
  readonly kana: number;
  /** Where the first level is in an encoding: it has the lead bytes of this range, each followed by 0xa1 to 0xfe. */
  readonly standard: { readonly encoding: string; readonly leads: readonly [number, number] };
}

const WRITINGS: Readonly<Record<keyof typeof COMMON, Writing>> = {
  ja: {
    common: 7,
    firstLevel: 9,
    ideograph: 12.5,
    hangul: 15,
    kana: 6.5,
    standard: { encoding: "euc-jp", leads: [0xb0, 0xcf] },
  },
  zh: {
    common: 6.3,
    firstLevel: 9.1,
    ideograph: 13,
    hangul: 15,
    kana: 13,
    standard: { encoding: "gb18030", leads: [0xb0, 0xd7] },
  },
  "zh-Hant": {
    common: 6.3,
    firstLevel: 9.1,
    ideograph: 13,
    hangul: 15,
    kana: 13,
    standard: { encoding: "big5", leads: [0xa4, 0xc6] },
  },
  ko: {
    common: 5.7,
    firstLevel: 8.8,
    ideograph: 12.5,
    hangul: 13,
    kana: 14,
    standard: { encoding: "euc-kr", leads: [0xb0, 0xc8] },
  },
};
/** Surprise of half-width Katakana: high, as they are single bytes in Shift_JIS and any bytes may look like them. */
const HALF_WIDTH = 8.5;
const FULL_WIDTH = 7;
const IDEOGRAPHIC_MARKS = "、。，！？：；（）「」『』《》【】・ー　～〇々…—“”‘’";

const surprises = new Map<Language, Surprise>();

/** Returns the surprise of non-ASCII characters in a language. The table is computed on first use. */
export function surpriseIn(language: Language): Surprise {
  const known = surprises.get(language);
  if (known !== undefined) return known;
  const made = isWriting(language) ? writingSurprise(language) : alphabetSurprise(language);
  surprises.set(language, made);
  return made;
}

/** Whether a character is logographic or syllabic (CJK, Hangul), or belongs to the punctuation of these scripts. */
export function isIdeographic(code: number): boolean {
  return (code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) || (code >= 0xf900 && code <= 0xfaff);
}

function isWriting(language: Language): language is keyof typeof COMMON {
  return Object.hasOwn(COMMON, language);
}

function alphabetSurprise(language: keyof typeof ALPHABETS): Surprise {
  const table = new Map<number, number>();
  for (const mark of PUNCTUATION_MARKS) table.set(mark.charCodeAt(0), PUNCTUATION);
  for (const [letter, surprise] of rankedSurprises(ALPHABETS[language])) {
    const capital = letter.toUpperCase();
    if (capital.length === 1 && capital !== letter) table.set(capital.charCodeAt(0), surprise + CAPITAL);
    table.set(letter.charCodeAt(0), surprise);
  }
  return (code) => table.get(code) ?? unknownSurprise(code);
}

function writingSurprise(language: keyof typeof COMMON): Surprise {
  const writing = WRITINGS[language];
  const table = new Map<number, number>();
  for (const character of firstLevelOf(writing)) table.set(character.charCodeAt(0), writing.firstLevel);
  for (const character of COMMON[language]) table.set(character.charCodeAt(0), writing.common);
  for (const mark of IDEOGRAPHIC_MARKS) table.set(mark.charCodeAt(0), PUNCTUATION);
  if (language === "ja") {
    // halves the shares, as kana are half of a Japanese text
    for (const [kana, surprise] of rankedSurprises(HIRAGANA)) table.set(kana.charCodeAt(0), surprise + Math.LN2);
  }
  return (code) => {
    const known = table.get(code);
    if (known !== undefined) return known;
    if (code >= 0x3041 && code <= 0x30fe) return writing.kana;
    if (code >= 0xac00 && code <= 0xd7a3) return writing.hangul;
    if (code >= 0x4e00 && code <= 0x9fff) return writing.ideograph;
    if (code >= 0xff61 && code <= 0xff9f) return language === "ja" ? HALF_WIDTH : IMPOSSIBLE;
    if (code >= 0xff01 && code <= 0xff5e) return FULL_WIDTH;
    return unknownSurprise(code) + 2;
  };
}

function* firstLevelOf({ standard: { encoding, leads } }: Writing): Iterable<string> {
  const decoder = new TextDecoder(encoding as ConstructorParameters<typeof TextDecoder>[0]);
  const bytes: number[] = [];
  for (let lead = leads[0]; lead <= leads[1]; lead++) {
    // the second byte of a character in Big5 is at least 0x40
    for (let next = encoding === "big5" ? 0x40 : 0xa1; next <= 0xfe; next++) {
      if (next < 0x7f || next > 0xa0) bytes.push(lead, next);
    }
  }
  for (const character of decoder.decode(new Uint8Array(bytes))) {
    if (character.length === 1 && isIdeographic(character.charCodeAt(0))) yield character;
  }
}

function rankedSurprises(letters: string): [letter: string, surprise: number][] {
  const ranked = [...letters];
  const weights = ranked.map((_, rank) => Math.exp((-FALL * rank) / ranked.length));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return ranked.map((letter, rank) => [letter, -Math.log((weights[rank] ?? 0) / sum)]);
}

function unknownSurprise(code: number): number {
  if (code < 0xa0 || code === 0xfffd || (code >= 0xd800 && code <= 0xf8ff)) return IMPOSSIBLE;
  return /\p{L}/u.test(String.fromCharCode(code)) ? FOREIGN_LETTER : ODD_SIGN;
}
