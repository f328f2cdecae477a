// The address of a server on the command line, for all commands with `--url`.

import { UsageError } from "../kit/flags.ts";

/** Address of a server with default settings on this machine. */
export const DEFAULT_URL = "http://127.0.0.1:8383";

/**
 * The base address of a server: the given one without `/v1`, `/mcp` and slashes at its end.
 * @throws UsageError if the text is not an http or https address
 */
export function serverAddress(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new UsageError(`--url must be an http or https address such as ${DEFAULT_URL}, not ${JSON.stringify(text)}.`);
  }
  return text.replace(/\/+$/, "").replace(/\/(mcp|v1)$/, "");
}
