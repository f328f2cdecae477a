// What says nothing about a text although it stands at its beginning: dates, greetings, names of sections, page headers and
// remains of markup. Which of the other lines becomes the title, title.ts decides.

import { withoutMarkup } from "./outline.ts";

/** Longest line that can be a date, greeting, label or page header, in UTF-16 units: bounds the patterns below. */
const NOISE_UNITS_MAX = 80;
/** A single word as long as this says something even as a sentence of its own, in UTF-16 units. */
const WORD_UNITS_MIN = 12;

/** Names of sections and stamps that any text may have, in lower case. */
const LABELS: ReadonlySet<string> = new Set(
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
/** Words of a greeting, with the names behind it. */
const GREETING_WORDS_MAX = 5;

/** Names of months and days in a dozen languages by their first letters, and the other words of dates and times. */
const DATE_WORD =
  /^(?:(?:jan|feb|fév|mar|mär|maa|apr|avr|abr|may|mai|maj|mag|mei|jun|jui|jul|lug|giu|aug|aoû|ago|sep|set|oct|okt|ott|out|nov|dec|dez|dic|déc|gen|ene|янв|фев|мар|апр|ма[йя]|ию[нл]|авг|сен|окт|ноя|дек)\p{L}{0,6}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|thu|thurs|fri|sat|sun|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|date|datum|fecha|data|de|of|the|at|um|am|pm|uhr|utc|gmt|z|t|st|nd|rd|th|г|년|월|일|年|月|日|時|分)$/iu;
const PAGE_HEADER =
  /^(?:(?:page|seite|página|pagina|p\.|стр\.|第)?\s?\d{1,5}\s?(?:(?:of|von|de|di|van|из|\/)\s?\d{1,5})?\s?[页頁ページ]{0,3}|(?:arxiv|doi|issn|isbn|https?|www\.)[:.\s/].*|(?:copyright|©|\(c\)).*)$/iu;

/** Whether a line or sentence is no title: nothing that can be read, a date, greeting, name of a section or page header. */
export function saysNothing(text: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  if (text.length > NOISE_UNITS_MAX) return false;
  const core = text.replace(/^[^\p{L}\p{N}(©]+/u, "").replace(/[^\p{L}\p{M}\p{N})]{1,80}$/u, "");
  const name = core.replace(/^(?:\d{1,3}|[ivx]{1,5})(?:\.\d{1,3}){0,3}[.)]?\s+/i, "").toLowerCase();
  return LABELS.has(name) || isDate(core) || PAGE_HEADER.test(core) || isGreeting(core);
}

/** Numbers, names of months and days, and nothing else. */
function isDate(core: string): boolean {
  return /\d/.test(core) && (core.match(/\p{L}+/gu) ?? []).every((word) => DATE_WORD.test(word));
}

/** A greeting with at most a name or two behind it. Who speaks is no part of what is said. */
function isGreeting(core: string): boolean {
  const said = core.replace(/^(?:\[[^\]]{1,40}\]\s?)?\p{L}[\p{L}\p{M} .'-]{0,30}[:：]\s?/u, "");
  return (
    GREETING.test(said) && said.split(/\s+/).length <= GREETING_WORDS_MAX && !/[.!?。！？,，]\s*\S+\s+\S/u.test(said)
  );
}

/** Whether a sentence is one short word: "Yes." No script that is written without spaces has such. */
export function isSingleWord(sentence: string): boolean {
  return sentence.length < WORD_UNITS_MIN && !/[\s\p{Lo}]/u.test(sentence);
}

/** A sentence without the name of a section before it: `Abstract: `, or `BACKGROUND ` in capitals, or `Objective To `. */
export function withoutLabel(sentence: string): string {
  const head = sentence.slice(0, NOISE_UNITS_MAX);
  const label =
    /^\p{L}+(?: \p{L}+){0,2}(?=[:：.]\s|\s?[—–-]\s)/u.exec(head)?.[0] ??
    /^\p{Lu}\p{L}+(?: (?:AND|&))?(?: \p{Lu}{3,}){0,2}(?=\s+\p{Lu})/u.exec(head)?.[0];
  if (label === undefined) return sentence;
  const isLabel = label.split(/ (?:and|&) /i).every((part) => LABELS.has(part.toLowerCase()));
  const rest = sentence.slice(label.length).replace(/^[\s:：.—–-]+/u, "");
  return isLabel && rest !== "" ? rest : sentence;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", apos: "'" };

/** A text without Markdown's markers, HTML's tags and entities, and the box of a task. */
export function withoutMarks(text: string): string {
  const plain = text
    .replace(/<!--[^<>]{0,200}-->|<\/?[a-z][^<>]{0,200}>/gi, " ")
    .replace(/&(amp|lt|gt|quot|nbsp|#39|apos);/g, (_, name: string) => ENTITIES[name] ?? " ");
  return withoutMarkup(plain).replace(/^\[[ xX]\]\s+/, "");
}
