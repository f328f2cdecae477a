// The predefined character maps (CMaps) that a PDF may name without carrying them: what the codes of its Chinese, Japanese
// and Korean fonts mean. Which there are, and where they come from, stands in data/cmaps/README.md.

import { packedCharacterMaps } from "./packed-character-maps.ts" with { type: "macro" };

const PACKED: Readonly<Record<string, string>> = packedCharacterMaps();

/** A map in the packed form of pdf.js; null for one that is not predefined. */
export function characterMap(name: string): Uint8Array | null {
  return Object.hasOwn(PACKED, name) ? Uint8Array.fromBase64(PACKED[name] ?? "") : null;
}
