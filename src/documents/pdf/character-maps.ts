// Provides the predefined character maps (CMaps) that a PDF may name without embedding them. They decode Chinese,
// Japanese and Korean fonts. data/cmaps/README.md lists them and their source.

import { packedCharacterMaps } from "./packed-character-maps.ts" with { type: "macro" };

const PACKED: Readonly<Record<string, string>> = packedCharacterMaps();

/** A map in the packed format of pdf.js; null if it is not predefined. */
export function characterMap(name: string): Uint8Array | null {
  return Object.hasOwn(PACKED, name) ? Uint8Array.fromBase64(PACKED[name] ?? "") : null;
}
