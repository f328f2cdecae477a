// Tells clients that ask for it that a call is still in work. Runs on Bun and, in the .mcpb bundle, on Node 20.

/** Milliseconds between two messages, if nothing else is given. */
const INTERVAL_MS = 5_000;

/** A message of the protocol. */
type Progress = {
  readonly method: "notifications/progress";
  readonly params: { readonly progressToken: string | number; readonly progress: number };
};

/**
 * Sends progress until the returned function is called, so that neither side takes a long call for a dead one.
 * @param token of the client; undefined if it does not ask for progress
 */
export function reportProgress(
  token: string | number | undefined,
  notify: (progress: Progress) => Promise<void>,
  options: { readonly intervalMs?: number | undefined; readonly onError: (error: unknown) => void },
): () => void {
  if (token === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    const params = { progressToken: token, progress };
    notify({ method: "notifications/progress", params }).catch(options.onError);
  }, options.intervalMs ?? INTERVAL_MS);
  return () => clearInterval(timer);
}
