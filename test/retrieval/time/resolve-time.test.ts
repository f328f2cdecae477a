// Times in questions: phrases of eleven languages and dates in digits resolve to spans; what looks similar does not.

import { describe, expect, test } from "bun:test";
import { resolveTime } from "../../../src/retrieval/time/resolve-time.ts";

/** Monday, 23 November 2026, noon. */
const AS_OF = Date.UTC(2026, 10, 23, 12);

type Row = readonly [question: string, expression: string, kind: "relative" | "absolute", span: string];

/** Spans are `first day..day after the last`; a missing day means an open end. */
const SPANS: Readonly<Record<string, readonly Row[]>> = {
  en: [
    ["what did I do last week?", "last week", "relative", "2026-11-16..2026-11-23"],
    ["what did I eat yesterday", "yesterday", "relative", "2026-11-22..2026-11-23"],
    ["where was I three months ago", "three months ago", "relative", "2026-08-01..2026-09-01"],
    ["what happened a week ago", "a week ago", "relative", "2026-11-16..2026-11-23"],
    ["plans for this year", "this year", "relative", "2026-01-01..2027-01-01"],
    ["where did we go last summer", "last summer", "relative", "2026-06-01..2026-09-01"],
    ["what did I note on Monday", "Monday", "relative", "2026-11-16..2026-11-17"],
    ["what did I say last Friday", "last Friday", "relative", "2026-11-20..2026-11-21"],
    ["where did I go in May 2023?", "May 2023", "absolute", "2023-05-01..2023-06-01"],
    ["what happened in May", "May", "absolute", "2026-05-01..2026-06-01"],
    ["what did I buy on 14 March", "14 March", "absolute", "2026-03-14..2026-03-15"],
    ["What did I buy on March 14th, 2024", "March 14th, 2024", "absolute", "2024-03-14..2024-03-15"],
    ["holiday 2019", "2019", "absolute", "2019-01-01..2020-01-01"],
    ["what changed since 2021", "since 2021", "absolute", "2021-01-01..2026-11-24"],
    ["where did I live before 2020?", "before 2020", "absolute", "..2020-01-01"],
    ["what did I do between March and May 2022", "between March and May 2022", "absolute", "2022-03-01..2022-06-01"],
    ["from 2019 to 2021 where did I work", "from 2019 to 2021", "absolute", "2019-01-01..2022-01-01"],
    ["2023-05-14", "2023-05-14", "absolute", "2023-05-14..2023-05-15"],
    ["what was on 5/8/2023", "5/8/2023", "absolute", "2023-05-08..2023-05-09"],
    ["the last three weeks", "last three weeks", "relative", "2026-11-02..2026-11-24"],
    ["what have I been reading lately", "lately", "relative", "2026-10-24..2026-11-24"],
    ["weight at the end of 2024", "the end of 2024", "absolute", "2024-09-01..2025-01-01"],
    ["what did I pay the day before yesterday", "day before yesterday", "relative", "2026-11-21..2026-11-22"],
    ["Friday last week", "Friday last week", "relative", "2026-11-20..2026-11-21"],
    ["in two weeks", "in two weeks", "relative", "2026-12-07..2026-12-14"],
    ["next month appointments", "next month", "relative", "2026-12-01..2027-01-01"],
    ["summer 2022", "summer 2022", "absolute", "2022-06-01..2022-09-01"],
    ["what did we do last weekend", "last weekend", "relative", "2026-11-21..2026-11-23"],
    ["what was the weather like in the summer", "summer", "absolute", "2026-06-01..2026-09-01"],
    ["where were we for Christmas 2023-12", "2023-12", "absolute", "2023-12-01..2024-01-01"],
    ["meeting on 2024/03/05", "2024/03/05", "absolute", "2024-03-05..2024-03-06"],
    ["since last Monday", "since last Monday", "relative", "2026-11-16..2026-11-24"],
    ["until the end of May 2024", "until the end of May 2024", "absolute", "..2024-06-01"],
    ["after 3 June 2024", "after 3 June 2024", "absolute", "2024-06-04.."],
    ["two weeks from now", "two weeks from now", "relative", "2026-12-07..2026-12-14"],
    ["next Friday", "next Friday", "relative", "2026-11-27..2026-11-28"],
    ["this weekend", "this weekend", "relative", "2026-11-28..2026-11-30"],
    ["recently bought books", "recently", "relative", "2026-10-24..2026-11-24"],
    ["earlier this year", "this year", "relative", "2026-01-01..2027-01-01"],
    ["31 February 2023", "February 2023", "absolute", "2023-02-01..2023-03-01"],
    ["on 29 February", "29 February", "absolute", "2024-02-29..2024-03-01"],
  ],
  de: [
    ["was habe ich letzte Woche gemacht?", "letzte Woche", "relative", "2026-11-16..2026-11-23"],
    ["wo war ich vor drei Monaten", "vor drei Monaten", "relative", "2026-08-01..2026-09-01"],
    ["was habe ich gestern gegessen", "gestern", "relative", "2026-11-22..2026-11-23"],
    ["was war am 14. März 2023", "14. März 2023", "absolute", "2023-03-14..2023-03-15"],
    ["im Mai 2023", "Mai 2023", "absolute", "2023-05-01..2023-06-01"],
    ["seit 2021", "seit 2021", "absolute", "2021-01-01..2026-11-24"],
    ["vor 2020", "vor 2020", "absolute", "..2020-01-01"],
    ["in den letzten drei Wochen", "letzten drei Wochen", "relative", "2026-11-02..2026-11-24"],
    ["letzten Sommer", "letzten Sommer", "relative", "2026-06-01..2026-09-01"],
    ["am 3.4.2024", "3.4.2024", "absolute", "2024-04-03..2024-04-04"],
    ["zwischen März und Mai 2022", "zwischen März und Mai 2022", "absolute", "2022-03-01..2022-06-01"],
    ["Anfang 2023", "Anfang 2023", "absolute", "2023-01-01..2023-05-02"],
    ["letzten Mittwoch", "letzten Mittwoch", "relative", "2026-11-18..2026-11-19"],
    ["vorletzte Woche", "vorletzte Woche", "relative", "2026-11-09..2026-11-16"],
    ["nächste Woche", "nächste Woche", "relative", "2026-11-30..2026-12-07"],
    ["im letzten Jahr", "letzten Jahr", "relative", "2025-01-01..2026-01-01"],
    ["diesen Monat", "diesen Monat", "relative", "2026-11-01..2026-12-01"],
    ["Ende Mai 2024", "Ende Mai 2024", "absolute", "2024-05-21..2024-06-01"],
    ["Was war im Sommer 2022?", "Sommer 2022", "absolute", "2022-06-01..2022-09-01"],
    ["heute Morgen", "heute Morgen", "relative", "2026-11-23..2026-11-24"],
    ["letztes Wochenende", "letztes Wochenende", "relative", "2026-11-21..2026-11-23"],
    ["bis Ende 2023", "bis Ende 2023", "absolute", "..2024-01-01"],
  ],
  und: [["was habe ich letzten Sommer gemacht", "letzten Sommer", "relative", "2026-06-01..2026-09-01"]],
  fr: [
    ["qu'est-ce que j'ai fait la semaine dernière ?", "semaine dernière", "relative", "2026-11-16..2026-11-23"],
    ["il y a trois mois", "il y a trois mois", "relative", "2026-08-01..2026-09-01"],
    ["hier soir", "hier soir", "relative", "2026-11-22..2026-11-23"],
    ["en mai 2023", "mai 2023", "absolute", "2023-05-01..2023-06-01"],
    ["le 14 mars", "14 mars", "absolute", "2026-03-14..2026-03-15"],
    ["depuis 2021", "depuis 2021", "absolute", "2021-01-01..2026-11-24"],
    ["avant 2020", "avant 2020", "absolute", "..2020-01-01"],
    ["ces trois derniers mois", "trois derniers mois", "relative", "2026-08-23..2026-11-24"],
    ["l'été dernier", "été dernier", "relative", "2026-06-01..2026-09-01"],
    ["entre mars et mai 2022", "entre mars et mai 2022", "absolute", "2022-03-01..2022-06-01"],
    ["l'année dernière", "année dernière", "relative", "2025-01-01..2026-01-01"],
    ["le mois prochain", "mois prochain", "relative", "2026-12-01..2027-01-01"],
    ["aujourd'hui", "aujourd'hui", "relative", "2026-11-23..2026-11-24"],
    ["le week-end dernier", "week-end dernier", "relative", "2026-11-21..2026-11-23"],
    ["depuis lundi", "depuis lundi", "relative", "2026-11-16..2026-11-24"],
    ["début 2023", "début 2023", "absolute", "2023-01-01..2023-05-02"],
    ["au printemps", "printemps", "absolute", "2026-03-01..2026-06-01"],
    ["pendant l'été", "été", "absolute", "2026-06-01..2026-09-01"],
  ],
  es: [
    ["¿qué hice la semana pasada?", "semana pasada", "relative", "2026-11-16..2026-11-23"],
    ["hace tres meses", "hace tres meses", "relative", "2026-08-01..2026-09-01"],
    ["ayer", "ayer", "relative", "2026-11-22..2026-11-23"],
    ["en mayo de 2023", "mayo de 2023", "absolute", "2023-05-01..2023-06-01"],
    ["el 14 de marzo de 2024", "14 de marzo de 2024", "absolute", "2024-03-14..2024-03-15"],
    ["desde 2021", "desde 2021", "absolute", "2021-01-01..2026-11-24"],
    ["antes de 2020", "antes de 2020", "absolute", "..2020-01-01"],
    ["¿cuánto llegué a pesar a finales de 2024?", "finales de 2024", "absolute", "2024-09-01..2025-01-01"],
    ["los últimos tres meses", "últimos tres meses", "relative", "2026-08-23..2026-11-24"],
    ["el verano pasado", "verano pasado", "relative", "2026-06-01..2026-09-01"],
    ["el lunes pasado", "lunes pasado", "relative", "2026-11-16..2026-11-17"],
    ["entre marzo y mayo", "entre marzo y mayo", "absolute", "2026-03-01..2026-06-01"],
    ["la próxima semana", "próxima semana", "relative", "2026-11-30..2026-12-07"],
    ["este mes", "este mes", "relative", "2026-11-01..2026-12-01"],
    ["después del 3 de junio de 2024", "después del 3 de junio de 2024", "absolute", "2024-06-04.."],
    ["el fin de semana pasado", "fin de semana pasado", "relative", "2026-11-21..2026-11-23"],
    ["en marzo", "marzo", "absolute", "2026-03-01..2026-04-01"],
    ["el lunes", "lunes", "relative", "2026-11-16..2026-11-17"],
  ],
  pt: [
    ["o que fiz na semana passada?", "semana passada", "relative", "2026-11-16..2026-11-23"],
    ["há três meses", "há três meses", "relative", "2026-08-01..2026-09-01"],
    ["ontem", "ontem", "relative", "2026-11-22..2026-11-23"],
    ["em maio de 2023", "maio de 2023", "absolute", "2023-05-01..2023-06-01"],
    ["no dia 14 de março", "14 de março", "absolute", "2026-03-14..2026-03-15"],
    ["desde 2021", "desde 2021", "absolute", "2021-01-01..2026-11-24"],
    ["nos últimos dois anos", "últimos dois anos", "relative", "2024-11-23..2026-11-24"],
    ["no verão passado", "verão passado", "relative", "2026-06-01..2026-09-01"],
    ["na segunda-feira passada", "segunda-feira passada", "relative", "2026-11-16..2026-11-17"],
    ["ano passado", "ano passado", "relative", "2025-01-01..2026-01-01"],
    ["este mês", "este mês", "relative", "2026-11-01..2026-12-01"],
    ["próxima semana", "próxima semana", "relative", "2026-11-30..2026-12-07"],
    ["na segunda-feira", "segunda-feira", "relative", "2026-11-16..2026-11-17"],
  ],
  it: [
    ["cosa ho fatto la settimana scorsa?", "settimana scorsa", "relative", "2026-11-16..2026-11-23"],
    ["tre mesi fa", "tre mesi fa", "relative", "2026-08-01..2026-09-01"],
    ["ieri", "ieri", "relative", "2026-11-22..2026-11-23"],
    ["nel maggio 2023", "maggio 2023", "absolute", "2023-05-01..2023-06-01"],
    ["il 14 marzo", "14 marzo", "absolute", "2026-03-14..2026-03-15"],
    ["dal 2021", "dal 2021", "absolute", "2021-01-01..2026-11-24"],
    ["prima del 2020", "prima del 2020", "absolute", "..2020-01-01"],
    ["l'estate scorsa", "estate scorsa", "relative", "2026-06-01..2026-09-01"],
    ["negli ultimi tre mesi", "ultimi tre mesi", "relative", "2026-08-23..2026-11-24"],
    ["l'anno scorso", "anno scorso", "relative", "2025-01-01..2026-01-01"],
    ["la settimana prossima", "settimana prossima", "relative", "2026-11-30..2026-12-07"],
    ["questo mese", "questo mese", "relative", "2026-11-01..2026-12-01"],
    ["fine 2023", "fine 2023", "absolute", "2023-09-01..2024-01-01"],
    ["lunedì scorso", "lunedì scorso", "relative", "2026-11-16..2026-11-17"],
    ["in estate", "estate", "absolute", "2026-06-01..2026-09-01"],
  ],
  nl: [
    ["wat deed ik vorige week?", "vorige week", "relative", "2026-11-16..2026-11-23"],
    ["drie maanden geleden", "drie maanden geleden", "relative", "2026-08-01..2026-09-01"],
    ["gisteren", "gisteren", "relative", "2026-11-22..2026-11-23"],
    ["in mei 2023", "mei 2023", "absolute", "2023-05-01..2023-06-01"],
    ["op 14 maart", "14 maart", "absolute", "2026-03-14..2026-03-15"],
    ["sinds 2021", "sinds 2021", "absolute", "2021-01-01..2026-11-24"],
    ["vóór 2020", "vóór 2020", "absolute", "..2020-01-01"],
    ["afgelopen zomer", "afgelopen zomer", "relative", "2026-06-01..2026-09-01"],
    ["de afgelopen drie maanden", "afgelopen drie maanden", "relative", "2026-08-23..2026-11-24"],
    ["volgende week", "volgende week", "relative", "2026-11-30..2026-12-07"],
    ["deze maand", "deze maand", "relative", "2026-11-01..2026-12-01"],
    ["eind 2023", "eind 2023", "absolute", "2023-09-01..2024-01-01"],
    ["op maandag", "maandag", "relative", "2026-11-16..2026-11-17"],
  ],
  ru: [
    ["что я делал на прошлой неделе?", "прошлой неделе", "relative", "2026-11-16..2026-11-23"],
    ["три месяца назад", "три месяца назад", "relative", "2026-08-01..2026-09-01"],
    ["вчера", "вчера", "relative", "2026-11-22..2026-11-23"],
    ["в мае 2023 года", "мае 2023", "absolute", "2023-05-01..2023-06-01"],
    ["14 марта", "14 марта", "absolute", "2026-03-14..2026-03-15"],
    ["с 2021 года", "с 2021", "absolute", "2021-01-01..2026-11-24"],
    ["до 2020 года", "до 2020", "absolute", "..2020-01-01"],
    ["прошлым летом", "прошлым летом", "relative", "2026-06-01..2026-09-01"],
    ["за последние три месяца", "последние три месяца", "relative", "2026-08-23..2026-11-24"],
    ["в прошлом году", "прошлом году", "relative", "2025-01-01..2026-01-01"],
    ["на этой неделе", "этой неделе", "relative", "2026-11-23..2026-11-30"],
    ["в следующем месяце", "следующем месяце", "relative", "2026-12-01..2027-01-01"],
    ["в начале 2023 года", "начале 2023", "absolute", "2023-01-01..2023-05-02"],
    ["летом 2022 года", "летом 2022", "absolute", "2022-06-01..2022-09-01"],
    ["в понедельник", "понедельник", "relative", "2026-11-16..2026-11-17"],
  ],
  zh: [
    ["我上周做了什么？", "上周", "relative", "2026-11-16..2026-11-23"],
    ["三个月前", "三个月前", "relative", "2026-08-01..2026-09-01"],
    ["昨天吃了什么", "昨天", "relative", "2026-11-22..2026-11-23"],
    ["2023年5月", "2023年5月", "absolute", "2023-05-01..2023-06-01"],
    ["2023年5月14日", "2023年5月14日", "absolute", "2023-05-14..2023-05-15"],
    ["3月14日", "3月14日", "absolute", "2026-03-14..2026-03-15"],
    ["2021年以来", "2021年以来", "absolute", "2021-01-01..2026-11-24"],
    ["2020年之前我住在哪里", "2020年之前", "absolute", "..2020-01-01"],
    ["去年夏天去了哪里", "去年夏天", "relative", "2025-06-01..2025-09-01"],
    ["最近三个月", "最近三个月", "relative", "2026-08-23..2026-11-24"],
    ["上周五", "上周五", "relative", "2026-11-20..2026-11-21"],
    ["从2019年到2021年", "从2019年到2021年", "absolute", "2019-01-01..2022-01-01"],
    ["2024年底", "2024年底", "absolute", "2024-09-01..2025-01-01"],
    ["下个月", "下个月", "relative", "2026-12-01..2027-01-01"],
    ["明年", "明年", "relative", "2027-01-01..2028-01-01"],
    ["两周前", "两周前", "relative", "2026-11-09..2026-11-16"],
    ["去年5月", "去年5月", "relative", "2025-05-01..2025-06-01"],
    ["3天前", "3天前", "relative", "2026-11-20..2026-11-21"],
    ["今年夏天", "今年夏天", "relative", "2026-06-01..2026-09-01"],
  ],
  ja: [
    ["先週何をした？", "先週", "relative", "2026-11-16..2026-11-23"],
    ["三か月前", "三か月前", "relative", "2026-08-01..2026-09-01"],
    ["3ヶ月前", "3ヶ月前", "relative", "2026-08-01..2026-09-01"],
    ["昨日", "昨日", "relative", "2026-11-22..2026-11-23"],
    ["2023年5月", "2023年5月", "absolute", "2023-05-01..2023-06-01"],
    ["5月14日に何を買った", "5月14日", "absolute", "2026-05-14..2026-05-15"],
    ["2021年から何をした", "2021年から", "absolute", "2021-01-01..2026-11-24"],
    ["2020年以前はどこに住んでいた", "2020年以前", "absolute", "..2020-01-01"],
    ["去年の夏", "去年の夏", "relative", "2025-06-01..2025-09-01"],
    ["先週の金曜日", "先週の金曜日", "relative", "2026-11-20..2026-11-21"],
    ["2019年から2021年まで", "2019年から2021年まで", "absolute", "2019-01-01..2022-01-01"],
    ["来月", "来月", "relative", "2026-12-01..2027-01-01"],
    ["来年", "来年", "relative", "2027-01-01..2028-01-01"],
    ["2週間前", "2週間前", "relative", "2026-11-09..2026-11-16"],
    ["今週の月曜日", "今週の月曜日", "relative", "2026-11-23..2026-11-24"],
    ["一昨日", "一昨日", "relative", "2026-11-21..2026-11-22"],
    ["昨年5月", "昨年5月", "relative", "2025-05-01..2025-06-01"],
  ],
  ko: [
    ["지난주에 뭐 했어?", "지난주", "relative", "2026-11-16..2026-11-23"],
    ["3개월 전에", "3개월 전에", "relative", "2026-08-01..2026-09-01"],
    ["2023년 5월", "2023년 5월", "absolute", "2023-05-01..2023-06-01"],
    ["작년 여름에 어디 갔어", "작년 여름", "relative", "2025-06-01..2025-09-01"],
  ],
  tr: [["2023-05-14 tarihinde ne oldu", "2023-05-14", "absolute", "2023-05-14..2023-05-15"]],
};

/** Questions that name no time. */
const NONE: readonly (readonly [language: string, question: string])[] = [
  ["en", "may I have dogs"],
  ["en", "what do I eat before training"],
  ["en", "how old is my son"],
  ["en", "I paid 2000 euros for what"],
  ["en", "how much is the rent"],
  ["en", "where did I work before"],
  ["fr", "j'ai été malade"],
  ["zh", "我女儿现在住在哪个城市?"],
  ["ja", "今使っている電話は何ですか？"],
  ["ja", "パイパーは以前どの楽器を習っていた？"],
  ["en", "version 3.5.1"],
  ["en", "call 555-2019 now"],
  ["en", "what's the pin 1863"],
  ["zh", "我以前在哪里工作"],
  ["zh", "島上的居民在哪一年之後陸續搬離?"],
  ["zh", "她什么时候之后不再吃肉"],
  ["ja", "どの会社を辞めた後に引っ越しましたか"],
  ["en", ""],
  ["en", "?!"],
  ["en", "🚲🚲"],
  ["en", "x"],
  ["en", "99999999999999999999"],
  ["en", "2023-13-01"],
  ["en", "what is estate tax"],
  ["fr", "la mer est calme"],
  ["es", "el mar en calma"],
  ["zz", "…"],
];

const EVENTS: readonly (readonly [
  language: string,
  question: string,
  relation: "before" | "after",
  words: string,
  expression: string,
])[] = [
  ["en", "where did we live before the move", "before", "move", "before the move"],
  ["en", "who visited after the wedding, and when?", "after", "wedding", "after the wedding"],
  ["de", "wo habe ich vor dem Umzug gewohnt", "before", "Umzug gewohnt", "vor dem Umzug gewohnt"],
  ["de", "Was war nach der Hochzeit", "after", "Hochzeit", "nach der Hochzeit"],
  ["de", "Wo habe ich vor Seuzach gewohnt?", "before", "Seuzach gewohnt", "vor Seuzach gewohnt"],
  ["fr", "avant le déménagement, où habitait-elle", "before", "déménagement", "avant le déménagement"],
  ["fr", "où est-ce que j'habitais avant la coloc", "before", "coloc", "avant la coloc"],
  ["es", "¿dónde vivía antes de la mudanza?", "before", "mudanza", "antes de la mudanza"],
  ["pt", "antes da mudança onde eu morava", "before", "mudança onde eu morava", "antes da mudança onde eu morava"],
  ["it", "dove abitavo prima del trasloco?", "before", "trasloco", "prima del trasloco"],
  ["nl", "na de bruiloft waar woonden we", "after", "bruiloft waar woonden we", "na de bruiloft waar woonden we"],
  ["ru", "где я жил до переезда?", "before", "переезда", "до переезда"],
  ["ru", "после свадьбы что было", "after", "свадьбы что было", "после свадьбы что было"],
  ["zh", "搬家之前我住在哪里", "before", "搬家", "搬家之前"],
  ["ja", "引っ越しの前はどこに住んでいた", "before", "引っ越し", "引っ越しの前"],
  ["ja", "結婚式の後", "after", "結婚式", "結婚式の後"],
];

function shown(question: string, language: string, asOf = AS_OF): readonly (string | null)[] | null {
  const time = resolveTime(question, asOf, language);
  if (time === null || time.kind === "event") return null;
  const day = (ms: number | null) => (ms === null ? "" : new Date(ms).toISOString().slice(0, 10));
  return [time.expression, time.kind, `${day(time.span.from)}..${day(time.span.to)}`];
}

for (const [language, rows] of Object.entries(SPANS)) {
  describe(`a span of time in a question (${language})`, () => {
    for (const [question, ...expected] of rows) {
      test(question, () => expect(shown(question, language)).toEqual(expected));
    }
  });
}

describe("no time", () => {
  for (const [language, question] of NONE) {
    test(`${language}: ${question}`, () => expect(resolveTime(question, AS_OF, language)).toBeNull());
  }
});

describe("an event", () => {
  for (const [language, question, relation, words, expression] of EVENTS) {
    test(`${language}: ${question}`, () => {
      expect(resolveTime(question, AS_OF, language)).toEqual({ kind: "event", relation, words, expression });
    });
  }
});

test("the time of the question decides, at the edges of months, years and weeks", () => {
  const at = (time: string) => Date.parse(time);
  expect(shown("last month", "en", at("2024-03-31T23:59:59Z"))?.[2]).toBe("2024-02-01..2024-03-01");
  expect(shown("a year ago", "en", at("2024-02-29T00:00:00Z"))?.[2]).toBe("2023-01-01..2024-01-01");
  expect(shown("the last two months", "en", at("2024-04-30T12:00:00Z"))?.[2]).toBe("2024-02-29..2024-05-01");
  expect(shown("this week", "en", at("2023-01-01T12:00:00Z"))?.[2]).toBe("2022-12-26..2023-01-02");
  expect(shown("last Monday", "en", at("2026-11-24T00:00:00Z"))?.[2]).toBe("2026-11-23..2026-11-24");
  expect(shown("on 29 February", "en", at("2104-02-28T00:00:00Z"))?.[2]).toBe("2096-02-29..2096-03-01");
  expect(shown("last winter", "en", at("2026-02-01T00:00:00Z"))?.[2]).toBe("2024-12-01..2025-03-01");
  expect(shown("yesterday", "en", at("0001-01-01T00:00:00Z"))?.[2]).toBe("..0001-01-01");
  expect(shown("tomorrow", "en", at("9999-12-31T12:00:00Z"))?.[2]).toBe("..");
});

test("a language that is detected wrongly does not hide a phrase of several words", () => {
  expect(shown("what did I do last week", "nl")?.[0]).toBe("last week");
  expect(shown("was habe ich letzten Sommer gemacht", "nl")?.[0]).toBe("letzten Sommer");
});

test("a very long question is read up to a limit, and stays fast", () => {
  expect(shown(`${"word ".repeat(100)}last week`, "en")?.[0]).toBe("last week");
  expect(resolveTime(`${"word ".repeat(10_000)}last week`, AS_OF, "en")).toBeNull();
  const time = resolveTime("before ".repeat(2_000), AS_OF, "und");
  expect(time?.expression.length ?? 0).toBeLessThan(100);
});
