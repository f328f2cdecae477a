// Reports that a call is still being processed, to clients that ask for progress. Runs on Bun and, in the .mcpb bundle,
// on Node 20.

/** Default interval between two messages, in milliseconds. */
const INTERVAL_MS = 5_000;

/** A progress notification of the protocol. */
type Progress = {
  readonly method: "notifications/progress";
  readonly params: { readonly progressToken: string | number; readonly progress: number };
};

/**
 * Sends progress until the returned function is called, so that neither side gives up on a long call.
 * @param token the client's progress token; undefined if it does not ask for progress
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
