// Structured log lines on standard error: what happened, for operators. Never texts, keys or queries of callers.

import pino from "pino";

/** Levels an operator can choose with `MNEME_LOG_LEVEL`. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
/** One of the levels an operator can choose. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A logger: fields first, then a plain sentence. */
export type Log = Pick<pino.Logger, "debug" | "info" | "warn" | "error"> & { child(fields: object): Log };

/** A logger that writes JSON lines to standard error (plain pino: its transports crash a compiled binary). */
export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}
