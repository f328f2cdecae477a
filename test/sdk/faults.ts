// A server that fails as a test wishes, for the tests of the clients in both languages.

/** A request that the server received. */
export interface Received {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A running server. */
export interface FaultServer {
  readonly url: string;
  readonly received: readonly Received[];
  /** The next answers, in order; the last one is repeated. */
  answer(...answers: readonly ((received: Received) => Response | Promise<Response>)[]): void;
  stop(): Promise<void>;
}

/** Starts a server on a free port of the loopback address. */
export function startFaultServer(): FaultServer {
  const received: Received[] = [];
  let answers: readonly ((received: Received) => Response | Promise<Response>)[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch: async (request) => {
      const url = new URL(request.url);
      const one = { ...pick(request), target: url.pathname + url.search, body: await request.text() };
      received.push(one);
      const [next, ...rest] = answers;
      if (rest.length > 0) answers = rest;
      return next?.(one) ?? new Response("no answer was planned", { status: 500 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    answer: (...next) => {
      received.length = 0;
      answers = next;
    },
    stop: () => server.stop(true),
  };
}

function pick({ method, headers }: Request): Pick<Received, "method" | "headers"> {
  return { method, headers };
}

/** An error in Mneme's form. */
export function fault(status: number, code: string, more: object = {}, headers: Record<string, string> = {}) {
  const error = { code, message: `planned ${code}`, status, request_id: "req-1", ...more };
  return () => Response.json({ error }, { status, headers: { "x-request-id": "req-1", ...headers } });
}

/** A JSON answer. */
export function json(body: unknown, status = 200) {
  return () => Response.json(body, { status, headers: { "x-request-id": "req-1" } });
}

/** An event stream with this text. */
export function stream(text: string) {
  return () => new Response(text, { headers: { "content-type": "text/event-stream", "x-request-id": "req-1" } });
}

/** Starts a server that sends this part of an event stream, and goes away when `vanish` is called. */
export function startVanishingServer(text: string): { readonly url: string; readonly vanish: () => void } {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket) => {
        socket.write(`${head}${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
      },
    },
  });
  return { url: `http://127.0.0.1:${listener.port}`, vanish: () => listener.stop(true) };
}

/** A memory as the server shows it. */
export function memory(id: string, status: "processing" | "completed" | "failed" = "completed"): object {
  const time = "2026-11-23T10:00:00.000Z";
  return {
    ...{ id, status, content: "a text", title: null, type: null, tags: [], metadata: {}, userId: null, language: "en" },
    ...{ agentId: null, sessionId: null },
    ...{ externalId: null, created_at: time, updated_at: time, expires_at: null, occurred_at: null, source: null },
    ...(status === "failed" && { error: { code: "unreadable_document", message: "The file is damaged." } }),
  };
}
