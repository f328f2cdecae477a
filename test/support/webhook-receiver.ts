// A webhook receiver on loopback. Records requests unchanged, and responds as the test specifies.

import { Webhook } from "standardwebhooks";

/** One received request. */
export interface Received {
  readonly path: string;
  readonly headers: Headers;
  /** The body as it was received, byte for byte. */
  readonly body: string;
  /** The header `webhook-id`. */
  readonly id: string;
}

/** The parsed body of an event. */
export interface ReceivedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A listening receiver. */
export interface WebhookReceiver {
  /** The address for a `path`. */
  url(path: string): string;
  /** Requests received at a path, oldest first. */
  at(path: string): readonly Received[];
  /** Sets the response for a path: a status, or a complete response. Default: 200. */
  answer(path: string, how: number | ((call: Received) => Response | Promise<Response>)): void;
  stop(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. */
export function receiveWebhooks(): WebhookReceiver {
  const received: Received[] = [];
  const answers = new Map<string, (call: Received) => Response | Promise<Response>>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      const { pathname: path } = new URL(request.url);
      const id = request.headers.get("webhook-id") ?? "";
      const call = { path, headers: request.headers, body: await request.text(), id };
      received.push(call);
      return answers.get(path)?.(call) ?? new Response(null, { status: 200 });
    },
  });
  return {
    url: (path) => `http://127.0.0.1:${server.port}${path}`,
    at: (path) => received.filter((call) => call.path === path),
    answer: (path, how) => {
      answers.set(path, typeof how === "number" ? () => new Response(null, { status: how }) : how);
    },
    stop: () => server.stop(true),
  };
}

/**
 * Verifies the signature of a request with the reference library, and returns the event.
 * @throws WebhookVerificationError if the signature is invalid
 */
export function verified({ headers, body }: Received, secret: string): ReceivedEvent {
  const signed = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const named = Object.fromEntries(signed.map((name) => [name, headers.get(name) ?? ""]));
  return new Webhook(secret).verify(body, named) as ReceivedEvent;
}
