// Abbreviations in many languages, whose full stop does not end a sentence.

/**
 * Abbreviations that rarely stand at the end of a sentence, in lower case, without the full stop. Single letters and
 * forms like `z. B.` or `p.m.` are recognised by their shape.
 */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  [
    "av avda abs max min dr drs dra prof mr mrs ms jr sr sra st rev hon gen col capt lt sgt gov sen rep messrs mme mlle srta sig dott dipl",
    "sig.ra sig.na ing avv geom dhr mevr ph.d vs viz cf resp incl excl est approx ca dept ave vol vols fig figs eq eqs",
    "ref refs nr pp ch sect ed eds al tel e.g i.e u.s u.k a.m p.m z.b d.h u.a s.o v.chr n.chr bzw vgl usw evtl ggf bspw",
    "sog std inkl zzgl mind telefonnr hausnr whg geb bijv blz np godz tzv např ul kl núm pág ud uds boul",
    "jan feb mar apr jun jul aug sep sept oct nov dec okt dez ene abr ago janv févr avr juil",
    "т.е т.д т.п ул им см рис стр тел кв руб коп др",
  ]
    .join(" ")
    .split(" "),
);

/**
 * Further abbreviations that stand before a number: of rooms, articles, pages, telephones, addresses, tables. Some are
 * also words that end sentences, so they count only before a number.
 */
const BEFORE_NUMBERS: ReadonlySet<string> = new Set(
  [
    // English, Latin
    "no nos apt ste rm fl bldg ext art sec ss para cl p pt pts ver vers ed rd blvd hwy rte ph mob tab app max min op cit",
    // German
    "zi zim abs abb bd bde bl art kap ziff ziffer tel fax stk stck str hsnr og ug geb jg h heft lfg pos rn rdnr rz anm taf az kto",
    "plz postf rufnr durchw konto kd-nr art-nr haltest gl bhf max min kl lfd",
    // French, Spanish, Portuguese, Italian, Catalan, Romanian
    "no nº n° art chap tél bât étg ét app appt boul av bd rte réf nos págs cap tfno apdo apto izq esc avda ctra ref núms",
    "ap bl pag pagg int sc alin lit et",
    // Dutch, Danish, Norwegian, Swedish, Finnish
    "hfst dl nr bijl tlf sid kap avd lejl leil st pkt puh kpl tel",
    // Czech, Slovak, Polish, Croatian, Slovene, Hungarian, Turkish
    "č čís čl čp odst kap obr tab sv roč al pl os lok poz rozdz ust zał pkt kat cad cd sk mah sf dk u út em sz old",
    // Russian, Ukrainian, Bulgarian, Greek
    "д корп гл табл оф каб эт пр пер ауд вып т ст п пп пос мкр буд вул бл ет ап αρ σελ τηλ",
  ]
    .join(" ")
    .split(" "),
);

const WORD_BEFORE = /(?<![\p{L}\p{M}])((?:[\p{L}\p{M}]+\.)*[\p{L}\p{M}]+|[\p{L}]+[°º])\.\s*$/u;
const NUMBER_AHEAD = /^[\p{Ps}\p{Pi}"'№§#+]*(?:\p{N}|[IVXLC]+(?![\p{L}\p{M}]))/u;
/** A short word without a vowel is an abbreviation, unless it is the unit of a number. */
const VOWELLESS = /^[bcdfghjklmnpqrstvwxzčďňřšťžćńśźżłßбвгджзклмнпрстфхцчшщ]{2,4}$/u;
const UNIT_BEFORE = /\p{N}\s*[\p{L}\p{M}]+\.\s*$/u;

/**
 * Whether the full stop at the end of `before` belongs to an abbreviation, so that the sentence goes on in `after`.
 * @param before the last characters of what may be a sentence
 * @param after the text behind the full stop; it may be long, because only its beginning is read
 */
export function endsInAbbreviation(before: string, after: string): boolean {
  const word = WORD_BEFORE.exec(before)?.[1]?.toLowerCase();
  if (word === undefined) return false;
  if (ABBREVIATIONS.has(word) || /(?:^|\.)\p{L}$/u.test(word)) return true;
  if (!NUMBER_AHEAD.test(after)) return false;
  return BEFORE_NUMBERS.has(word) || (VOWELLESS.test(word) && !UNIT_BEFORE.test(before));
}
