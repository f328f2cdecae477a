// How an oracle and its writers call a server.

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
  callAs?(key: string, method: string, path: string): Promise<Called>;
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
export function callerOf(server: {
  readonly url: string;
  readonly key: string;
  readonly call: Caller["call"];
}): Required<Caller> {
  return {
    call: (method, path, body) => server.call(method, path, body),
    callAs: (key, method, path) => send(`${server.url}${path}`, key, { method }),
    upload: (filename, text, metadata) => {
      const form = new FormData();
      form.set("file", new File([text], filename, { type: "text/plain" }));
      form.set("metadata", JSON.stringify(metadata));
      return send(`${server.url}/v1/memories/upload`, server.key, { method: "POST", body: form });
    },
  };
}

async function send(url: string, key: string, request: RequestInit): Promise<Called> {
  const response = await fetch(url, { ...request, headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}
