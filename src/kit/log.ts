// Structured log lines on standard error, for operators. They never contain texts, keys or queries of callers.

import pino from "pino";

/** Values of `MNEME_LOG_LEVEL`. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
/** A value of `MNEME_LOG_LEVEL`. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A logger. Each method takes the fields first, then a message without values in it. */
export type Log = Pick<pino.Logger, "debug" | "info" | "warn" | "error"> & { child(fields: object): Log };

/**
 * Creates a logger that writes JSON lines to standard error. Uses no pino transport, because transports crash a
 * compiled binary.
 */
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
