// How the commands speak to a person: aligned tables, and progress that redraws on a terminal and adds lines elsewhere.
// Logs do not come this way (kit/log.ts).

/** Between two redraws of a bar on a terminal, and between two lines elsewhere: short work says only how it ended. */
const REDRAW_MS = 200;
const LINE_MS = 10_000;
const BAR_CELLS = 24;

/**
 * Rows as lines with aligned columns, two blanks between them.
 * @param numeric whether all columns but the first are set to the right.
 */
export function alignRows(rows: readonly (readonly string[])[], numeric = false): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        return numeric && at > 0 ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

/** Milliseconds as a person reads them: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function readableDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A long piece of work, shown on standard error while it goes on. */
export class Progress {
  readonly #startedAt = performance.now();
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = this.#startedAt;

  constructor(readonly label: string) {}

  /**
   * Tells how far the work is; cheap enough to be called for every item.
   * @param share 0..1, or null when the end is not known.
   * @param note what to say behind the bar, such as a rate.
   */
  show(share: number | null, note: string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#isTerminal ? REDRAW_MS : LINE_MS)) return;
    this.#shownAt = now;
    const line = `${this.label} ${share === null ? "" : this.#bar(share, now)}${note}`;
    process.stderr.write(this.#isTerminal ? `\r\x1b[K${line.slice(0, process.stderr.columns - 1)}` : `${line}\n`);
  }

  /** Ends the work with one line that stays. */
  finish(line: string): void {
    process.stderr.write(`${this.#isTerminal ? "\r\x1b[K" : ""}${line}\n`);
  }

  #bar(share: number, now: number): string {
    const filled = Math.round(Math.min(1, share) * BAR_CELLS);
    const elapsedMs = now - this.#startedAt;
    const remaining = share > 0.01 ? `, ${readableDuration((elapsedMs / share) * (1 - share))} left` : "";
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    const bar = this.#isTerminal ? `[${"=".repeat(filled)}${" ".repeat(BAR_CELLS - filled)}]` : "";
    return `${bar}${percent}${remaining}  `;
  }
}
