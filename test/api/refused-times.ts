// Values of `asOf` that every operation with a question refuses.

/** Name of the case, body, and the error's `code` and `param`. */
export const REFUSED_AS_OF: readonly [name: string, body: object, code: string, param: string][] = [
  ["an asOf that is no time", "yesterday"] as const,
  ["an asOf on 31 June", "2026-06-31"] as const,
  ["an asOf without a zone", "2026-06-30T12:00"] as const,
  ["an asOf after the year 9999 in UTC", "9999-12-31T23:59:59-01:00"] as const,
  ["an asOf that is a number", 1714694400000] as const,
].map(([name, asOf]) => [name, { query: "x", asOf }, "invalid_request", "asOf"]);
