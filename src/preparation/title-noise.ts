// Recognises lines at the beginning of a text that say nothing about it: dates, greetings, section names,
// page headers and leftovers of markup. title.ts chooses the title among the other lines.

import { withoutMarkup } from "./outline.ts";

/**
 * Maximum length of a date, greeting, section name or page header, in UTF-16 code units. It limits the time that the
 * patterns below take.
 */
const NOISE_UNITS_MAX = 80;
/** A single word of at least this many UTF-16 code units can be a title. */
const WORD_UNITS_MIN = 12;

/** Section names, and marks such as "draft", that any text may have; in lower case. */
const SECTION_NAMES: ReadonlySet<string> = new Set(
  (
    "abstract|introduction|summary|executive summary|overview|background|objective|objectives|aim|aims|purpose|purposes|" +
    "context|importance|rationale|motivation|methods|method|materials|results|findings|conclusion|conclusions|discussion|" +
    "references|contents|table of contents|index|preface|foreword|note|notes|todo|untitled|untitled document|document|" +
    "page|draft|confidential|internal|internal use only|private|for immediate release|press release|readme|home|menu|" +
    "all rights reserved|skip to content|skip to main content|text|title|" +
    "zusammenfassung|einleitung|einführung|überblick|hintergrund|ziel|ziele|inhalt|inhaltsverzeichnis|vorwort|notiz|" +
    "notizen|entwurf|vertraulich|ohne titel|seite|" +
    "résumé|sommaire|aperçu|contexte|objectif|objectifs|table des matières|brouillon|confidentiel|sans titre|" +
    "resumen|introducción|objetivo|objetivos|antecedentes|contenido|índice|borrador|confidencial|sin título|" +
    "riassunto|sommario|introduzione|obiettivo|indice|bozza|riservato|senza titolo|resumo|introdução|sumário|rascunho|" +
    "samenvatting|inleiding|inhoud|inhoudsopgave|achtergrond|vertrouwelijk|wstęp|streszczenie|spis treści|" +
    "введение|аннотация|содержание|оглавление|резюме|цель|sammanfattning|inledning|innehåll|özet|giriş|içindekiler|" +
    "摘要|引言|前言|概述|目录|目錄|简介|簡介|要旨|概要|目次|はじめに|요약|초록|서론|목차|개요|الملخص|ملخص|مقدمة|المحتويات|सारांश|परिचय|प्रस्तावना"
  ).split("|"),
);

const GREETING =
  /^(?:(?:hi|hey|hello|hiya|dear|good (?:morning|afternoon|evening)|hallo|liebe[rs]?|sehr geehrte[rs]?|guten (?:tag|morgen|abend)|moin|bonjour|bonsoir|salut|ch[eè]re?s?|hola|buen[oa]s (?:d[ií]as|tardes|noches)|estimad[oa]s?|querid[oa]s?|ciao|buon(?:giorno|asera)|gentile|ol[aá]|bom dia|boa tarde|prezad[oa]s?|beste|geachte|hej|k[äæ]re|cześć|dzień dobry|szanown[iay]|merhaba|sayın|привет|здравствуйте|добрый день)(?![\p{L}\p{M}])|уважаем|你好|您好|大家好|尊敬的|こんにちは|おはよう|お世話になって|안녕|مرحبا|السلام عليكم|नमस्ते)/iu;
/** Maximum number of words of a greeting, including the name after it. */
const GREETING_WORDS_MAX = 5;

/** Matches names of months and days in a dozen languages by their first letters, and other words of dates and times. */
const DATE_WORD =
  /^(?:(?:jan|feb|fév|mar|mär|maa|apr|avr|abr|may|mai|maj|mag|mei|jun|jui|jul|lug|giu|aug|aoû|ago|sep|set|oct|okt|ott|out|nov|dec|dez|dic|déc|gen|ene|янв|фев|мар|апр|ма[йя]|ию[нл]|авг|сен|окт|ноя|дек)\p{L}{0,6}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|thu|thurs|fri|sat|sun|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|date|datum|fecha|data|de|of|the|at|um|am|pm|uhr|utc|gmt|z|t|st|nd|rd|th|г|년|월|일|年|月|日|時|分)$/iu;
const PAGE_HEADER =
  /^(?:(?:page|seite|página|pagina|p\.|стр\.|第)?\s?\d{1,5}\s?(?:(?:of|von|de|di|van|из|\/)\s?\d{1,5})?\s?[页頁ページ]{0,3}|(?:arxiv|doi|issn|isbn|https?|www\.)[:.\s/].*|(?:copyright|©|\(c\)).*)$/iu;

/**
 * Whether a line or sentence cannot be a title: it has neither letters nor digits, or it is a date, greeting, section
 * name or page header.
 */
export function isUninformative(text: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  if (text.length > NOISE_UNITS_MAX) return false;
  const core = text.replace(/^[^\p{L}\p{N}(©]+/u, "").replace(/[^\p{L}\p{M}\p{N})]{1,80}$/u, "");
  const name = core.replace(/^(?:\d{1,3}|[ivx]{1,5})(?:\.\d{1,3}){0,3}[.)]?\s+/i, "").toLowerCase();
  return SECTION_NAMES.has(name) || isDate(core) || PAGE_HEADER.test(core) || isGreeting(core);
}

/** Whether a line has a digit, and no words except those of dates and times. */
function isDate(core: string): boolean {
  return /\d/.test(core) && (core.match(/\p{L}+/gu) ?? []).every((word) => DATE_WORD.test(word));
}

/** Whether a line is a greeting with at most a few names after it. A speaker's name before it is ignored. */
function isGreeting(core: string): boolean {
  const spoken = core.replace(/^(?:\[[^\]]{1,40}\]\s?)?\p{L}[\p{L}\p{M} .'-]{0,30}[:：]\s?/u, "");
  return (
    GREETING.test(spoken) &&
    spoken.split(/\s+/).length <= GREETING_WORDS_MAX &&
    !/[.!?。！？,，]\s*\S+\s+\S/u.test(spoken)
  );
}

/** Whether a sentence is one short word such as "Yes.". Never true for scripts without upper and lower case. */
export function isShortWord(sentence: string): boolean {
  return sentence.length < WORD_UNITS_MIN && !/[\s\p{Lo}]/u.test(sentence);
}

/**
 * Removes a section name at the beginning of a sentence: `Abstract: `, or `BACKGROUND ` in capitals, or `Objective To
 * `.
 */
export function withoutSectionName(sentence: string): string {
  const head = sentence.slice(0, NOISE_UNITS_MAX);
  const prefix =
    /^\p{L}+(?: \p{L}+){0,2}(?=[:：.]\s|\s?[—–-]\s)/u.exec(head)?.[0] ??
    /^\p{Lu}\p{L}+(?: (?:AND|&))?(?: \p{Lu}{3,}){0,2}(?=\s+\p{Lu})/u.exec(head)?.[0];
  if (prefix === undefined) return sentence;
  const isSectionName = prefix.split(/ (?:and|&) /i).every((part) => SECTION_NAMES.has(part.toLowerCase()));
  const rest = sentence.slice(prefix.length).replace(/^[\s:：.—–-]+/u, "");
  return isSectionName && rest !== "" ? rest : sentence;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", apos: "'" };

/** Removes Markdown markers, HTML tags and entities, and the checkbox of a task from a text. */
export function plainTextOf(text: string): string {
  const plain = text
    .replace(/<!--[^<>]{0,200}-->|<\/?[a-z][^<>]{0,200}>/gi, " ")
    .replace(/&(amp|lt|gt|quot|nbsp|#39|apos);/g, (_, name: string) => ENTITIES[name] ?? " ");
  return withoutMarkup(plain).replace(/^\[[ xX]\]\s+/, "");
}
