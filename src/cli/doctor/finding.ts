// What a check of `mneme doctor` found.

/** good: nothing to do. warning: the server works, but could work better. bad: the server does not start or work. */
export type Verdict = "good" | "warning" | "bad";

/** What a check found, and what to do. */
export interface Finding {
  /** What was checked, such as `disk`. */
  readonly name: string;
  readonly verdict: Verdict;
  /** What was found, in a sentence. */
  readonly found: string;
  /** What to do; null if there is nothing to do. */
  readonly advice: string | null;
}

/** A finding with nothing to do. */
export function good(name: string, found: string): Finding {
  return { name, verdict: "good", found, advice: null };
}

/** A finding of a server that works, but could work better. */
export function warning(name: string, found: string, advice: string): Finding {
  return { name, verdict: "warning", found, advice };
}

/** A finding of something that keeps a server from starting or working. */
export function bad(name: string, found: string, advice: string): Finding {
  return { name, verdict: "bad", found, advice };
}
