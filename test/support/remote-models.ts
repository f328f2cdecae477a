// A server of embeddings and rerankings on loopback, in the form of each API, that misbehaves as a test says.

import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { RemoteApi } from "../../src/domain/installed-model.ts";

/** Length of the vectors. */
export const DIMENSIONS = 64;

/** How the server can misbehave. */
export const FAULTS = [
  "dimension",
  "nan",
  "null",
  "zero",
  "shuffled",
  "half",
  "busy",
  "broken",
  "reset",
  "redirect",
  "page",
  "cut",
  "broken off",
  "not gzip",
  "endless",
  "slow",
  "other model",
] as const;
/** A way to misbehave. */
export type RemoteFault = (typeof FAULTS)[number];

/** A request that the server got. */
export interface RemoteRequest {
  readonly path: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: each API has its own form
  readonly body: any;
}

/** A running server. */
export interface RemoteStub {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly RemoteRequest[];
  /** Number of requests that were answered wrongly. */
  faults(): number;
  /** Decides how each request from now on is answered; null: well. */
  behave(how: () => RemoteFault | null): void;
  stop(): Promise<void>;
}

/** Starts a server. @param port a fixed port, to start one again at the same address */
export async function startRemote(api: RemoteApi, port = 0): Promise<RemoteStub> {
  const requests: RemoteRequest[] = [];
  let faultOf: () => RemoteFault | null = () => null;
  let faults = 0;
  const answer = async (
    path: string,
    headers: Headers,
    text: string,
  ): Promise<Response | null | "endless" | "slow" | "broken off"> => {
    const body = JSON.parse(text) as RemoteRequest["body"];
    requests.push({ path, headers, body });
    const fault = faultOf();
    if (fault !== null) faults++;
    if (fault === "reset") return null;
    if (fault === "endless" || fault === "slow" || fault === "broken off") return fault;
    if (path.endsWith("/rerank")) return rerank(api, body, fault);
    const texts: readonly string[] = body.input ?? body.inputs ?? body.texts;
    return refusal(fault) ?? Response.json(embedded(api, vectorsOf(texts, fault), fault));
  };
  const server = createServer((request, outgoing) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", async () => {
      const headers = new Headers(request.headers as Record<string, string>);
      const response = await answer(request.url ?? "", headers, Buffer.concat(pieces).toString("utf8"));
      if (response === "endless") return sendForEver(outgoing);
      if (response === "slow") return void outgoing.writeHead(200).write("[");
      if (response === "broken off") {
        outgoing.writeHead(200, { "content-length": "1000" });
        return void outgoing.write("[0.1, 0.2", () => request.socket.destroy());
      }
      if (response === null) return request.socket.destroy();
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: chosen } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${chosen}`,
    port: chosen,
    requests,
    faults: () => faults,
    behave: (how) => {
      faultOf = how;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The vector of a text, of unit length: texts that share words are similar. @param salt names a model */
export function vectorOf(text: string, salt = ""): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? ["-"]) {
    const bytes = createHash("sha256").update(salt).update(word).digest();
    for (let at = 0; at < 8; at++) {
      const place = (bytes[2 * at] ?? 0) % DIMENSIONS;
      vector[place] = (vector[place] ?? 0) + ((bytes[2 * at + 1] ?? 0) % 2 === 0 ? 1 : -1);
    }
  }
  vector[0] = (vector[0] ?? 0) + 0.01;
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}

function vectorsOf(texts: readonly string[], fault: RemoteFault | null): readonly unknown[] {
  const vectors = texts.map((text) => vectorOf(text, fault === "other model" ? "other" : ""));
  const [first = [], ...others] = vectors;
  switch (fault) {
    case "dimension":
      return vectors.map((vector) => vector.slice(1));
    case "nan":
      return [first.map((number, at) => (at === 3 ? "NaN" : number)), ...others];
    case "null":
      return [first.map((number, at) => (at === 3 ? null : number)), ...others];
    case "zero":
      return [first.map(() => 0), ...others];
    case "shuffled":
      return [...others, first];
    case "half":
      return vectors.slice(0, Math.floor(vectors.length / 2));
    default:
      return vectors;
  }
}

/** Sends spaces until the caller closes the connection. */
function sendForEver(outgoing: ServerResponse): void {
  const piece = Buffer.alloc(1 << 16, " ");
  const send = () => {
    while (!outgoing.destroyed && outgoing.write(piece));
    if (!outgoing.destroyed) outgoing.once("drain", send);
  };
  outgoing.writeHead(200);
  send();
}

function refusal(fault: RemoteFault | null): Response | null {
  switch (fault) {
    case "busy":
      return Response.json({ error: "busy" }, { status: 429, headers: { "retry-after": "0" } });
    case "broken":
      return Response.json({ error: "broken" }, { status: 500 });
    case "redirect":
      return new Response(null, { status: 307, headers: { location: "http://169.254.169.254/latest/meta-data" } });
    case "page":
      return new Response("<html>Welcome</html>");
    case "not gzip":
      return new Response("no gzip at all", { headers: { "content-encoding": "gzip" } });
    case "cut":
      return new Response('{"data": [{"index": 0, "embedding": [0.1, 0.2');
    default:
      return null;
  }
}

function embedded(api: RemoteApi, vectors: readonly unknown[], fault: RemoteFault | null): unknown {
  // a server that numbers its results may send them in any order
  const numbered = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
  if (fault === null) numbered.reverse();
  switch (api) {
    case "tei":
      return vectors;
    case "ollama":
      return { model: "m", embeddings: vectors, prompt_eval_count: 9 };
    case "cohere":
      return { id: "1", embeddings: { float: vectors }, meta: { billed_units: { input_tokens: 9 } } };
    default:
      return { object: "list", data: numbered, model: "m", usage: { prompt_tokens: 9, total_tokens: 9 } };
  }
}

function rerank(
  api: RemoteApi,
  { query, texts, documents = texts }: RemoteRequest["body"],
  fault: RemoteFault | null,
): Response {
  const refused = refusal(fault);
  if (refused !== null) return refused;
  const asked = vectorOf(query);
  const scored = (documents as string[]).map((text, index) => {
    const cosine = vectorOf(text).reduce((sum, number, at) => sum + number * (asked[at] ?? 0), 0);
    return { index, cosine };
  });
  scored.sort((left, right) => right.cosine - left.cosine);
  if (fault === "half") scored.pop();
  if (api === "tei") return Response.json(scored.map(({ index, cosine }) => ({ index, score: 8 * cosine - 4 })));
  const results = scored.map(({ index, cosine }) => ({ index, relevance_score: (cosine + 1) / 2 }));
  return Response.json({ id: "1", results });
}
