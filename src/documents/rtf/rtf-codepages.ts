// Names the encodings of RTF: by code page and by the character set of a font.

const BY_CODE_PAGE: Readonly<Record<number, string>> = {
  437: "windows-1252", // decoders of the platform do not have it; its letters beyond ASCII are rare
  866: "ibm866",
  874: "windows-874",
  932: "shift_jis",
  936: "gbk",
  949: "euc-kr",
  950: "big5",
  10000: "macintosh",
  65001: "utf-8",
};
const BY_CHARSET: Readonly<Record<number, string>> = {
  77: "macintosh",
  128: "shift_jis",
  129: "euc-kr",
  134: "gbk",
  136: "big5",
  161: "windows-1253",
  162: "windows-1254",
  163: "windows-1258",
  177: "windows-1255",
  178: "windows-1256",
  186: "windows-1257",
  204: "windows-1251",
  222: "windows-874",
  238: "windows-1250",
};

/** The encoding with this code page; windows-1252 if it is unknown. */
export function encodingOfCodePage(codePage: number): string {
  if (codePage >= 1250 && codePage <= 1258) return `windows-${codePage}`;
  return BY_CODE_PAGE[codePage] ?? "windows-1252";
}

/** The encoding of fonts with this character set; null if it is that of the file. */
export function encodingOfCharset(charset: number): string | null {
  return BY_CHARSET[charset] ?? null;
}
