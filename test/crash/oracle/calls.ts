// How an oracle and its writers call a server.

import { escapedBody } from "../../support/escaped-body.ts";
import { until } from "../../support/until.ts";

/** A response: its status and its parsed body. */
export interface Called {
  readonly status: number;
  readonly body: unknown;
}

/** A server, or a service in the test's own process. */
export interface Caller {
  call(method: string, path: string, body?: unknown): Promise<Called>;
  /** Sends a request with another key. Absent if the caller cannot do that; then keys are not checked. */
  callAs?(key: string, method: string, path: string, body?: unknown): Promise<Called>;
  /**
   * Stores a memory with a body of more than 1 MiB, so that its text is kept in a file if it has more than 11,000
   * characters. Absent if the caller cannot do that.
   */
  storeLarge?(text: string, metadata: object): Promise<Called>;
  /** Uploads a text file. Absent if the caller cannot do that; then memories are stored without files. */
  upload?(filename: string, text: string, metadata: object): Promise<Called>;
}

/** Waits until `condition` is true; returns false if that takes longer than `timeoutMs`. */
export async function isWithin(condition: () => Promise<boolean> | boolean, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  const look = async () => {
    if (await condition()) return "in time";
    return performance.now() > deadline ? "late" : null;
  };
  return (await until("the condition is true or late", look, 2 * timeoutMs)) === "in time";
}

/** The parsed response, or null if the server went away before it answered. */
export async function ifAnswered(call: Promise<Called>): Promise<Called | null> {
  try {
    return await call;
  } catch {
    return null; // the server is gone: whether the request was carried out is not known
  }
}

/** Lets an oracle call a spawned server, with its own key and with others. */
export function callerOf(server: { readonly url: string; readonly key: string }): Required<Caller> {
  const callAs = (key: string, method: string, path: string, body?: unknown) => {
    const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return send(`${server.url}${path}`, key, { method, ...(body !== undefined && json) });
  };
  return {
    call: (method, path, body) => callAs(server.key, method, path, body),
    callAs,
    storeLarge: (text, metadata) => {
      const headers = { "content-type": "application/json" };
      const body = escapedBody(text, metadata);
      return send(`${server.url}/v1/memories`, server.key, { method: "POST", headers, body });
    },
    upload: (filename, text, metadata) => {
      const form = new FormData();
      form.set("file", new File([text], filename, { type: "text/plain" }));
      form.set("metadata", JSON.stringify(metadata));
      return send(`${server.url}/v1/memories/upload`, server.key, { method: "POST", body: form });
    },
  };
}

// On a connection that is kept open, the client sends a DELETE again if the server closes the connection before it
// answers. The second answer is 404, as if nothing had been deleted.
async function send(
  url: string,
  key: string,
  { headers, ...request }: RequestInit & { readonly headers?: Record<string, string> },
): Promise<Called> {
  const authorization = `Bearer ${key}`;
  const response = await fetch(url, { ...request, keepalive: false, headers: { ...headers, authorization } });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}
