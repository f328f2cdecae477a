// The flag `--rate` of commands that copy data.

import { UsageError } from "../kit/flags.ts";

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1_000, M: 1_000_000, G: 1_000_000_000 };

/** Bytes per second, such as `20M`; null if the flag is absent. @throws UsageError */
export function rateOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, digits = "", unit = ""] = /^(\d{1,12})([KMG]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toUpperCase()] ?? 1);
  if (bytes >= 1) return bytes;
  throw new UsageError(
    `--rate must be a number of bytes per second, such as 500K or 20M, not ${JSON.stringify(text)}.`,
  );
}
