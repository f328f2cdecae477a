// Subtitles: SubRip (SRT) and WebVTT. read-subtitles.ts extracts the text.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextDocument, titleOfName } from "../text/text-file.ts";

const FIRST_CUE = /^\d{1,9}[ \t]*\r?\n(?:\d{1,3}:)?\d{1,2}:\d{2}[,.]\d{1,3}[ \t]*-->/;

/** SubRip subtitles. */
export const SRT: FileFormat = {
  name: "SRT",
  mediaType: "application/x-subrip",
  otherMediaTypes: ["application/srt", "text/srt"],
  extensions: ["srt"],
  recognise: ({ text, extension }) => {
    if (text === null || isOtherMarkup(text)) return null;
    if (FIRST_CUE.test(text.slice(0, 200))) return "content";
    return extension === "srt" ? "name" : null;
  },
  read: readSubtitleFile,
};

/** WebVTT subtitles. */
export const VTT: FileFormat = {
  name: "VTT",
  mediaType: "text/vtt",
  extensions: ["vtt"],
  recognise: ({ text, extension }) => {
    if (text === null || isOtherMarkup(text)) return null;
    if (/^WEBVTT(?:[ \t\r\n]|$)/.test(text)) return "content";
    return extension === "vtt" ? "name" : null;
  },
  read: readSubtitleFile,
};

async function readSubtitleFile({ bytes, filename }: { readonly bytes: Uint8Array; readonly filename: string }) {
  const { subtitleText } = await import("./read-subtitles.ts");
  return readTextDocument(bytes, (text) => ({ ...subtitleText(text), title: titleOfName(filename) }));
}
