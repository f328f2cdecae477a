// Every bound that a caller can meet, each with its unit. The interface's tables stand here and nowhere else.

const KiB = 1024;
const MiB = 1024 * KiB;

/** Bounds of the HTTP interface. */
export const LIMITS = {
  /** Largest JSON body. */
  bodyBytes: 100 * MiB,
  /** JSON bodies that are read or worked on at once, in all. */
  bodiesInFlightBytes: 400 * MiB,
  /** Compact UTF-8 JSON of `metadata`. */
  metadataBytes: 10 * KiB,
  tagsPerMemory: 50,
  tagCharacters: 256,
  titleCharacters: 1024,
  typeCharacters: 128,
  /** `userId` and `externalId`. */
  callerIdCharacters: 256,
  memoriesPerBatch: 100,
  pageItemsDefault: 20,
  pageItems: 100,
  /** Contents of one page of a list in all; a page is shorter where they are longer. */
  pageContentBytes: 32 * MiB,
  searchResultsDefault: 10,
  searchResults: 100,
  queryCharacters: 8_192,
  requestIdCharacters: 128,
} as const;
