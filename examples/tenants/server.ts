// An API for many users on one Mneme project. Each user gets a key of Mneme that is confined to them, so that no mistake
// in this server can mix up their data. Replace `userOf` with your own sign-in.

import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { ApiError, Mneme } from "mneme-client";

const mneme = new Mneme(); // MNEME_URL, and in MNEME_API_KEY a key with the scope `*`
const BODY_BYTES_MAX = 100_000;
const HOUR_MS = 3_600_000;

/** A client per user, and when its key ends. */
const clients = new Map<string, { readonly mneme: Promise<Mneme>; readonly endsMs: number }>();

/** Tokens of this example: `token-of-ada` is Ada's. Yours are signed. */
function userOf(request: IncomingMessage): string | null {
  return /^Bearer token-of-(\w{1,40})$/.exec(request.headers.authorization ?? "")?.[1] ?? null;
}

/** The client whose key sees this user only. A key lives for an hour, and is replaced five minutes before its end. */
function clientOf(userId: string): Promise<Mneme> {
  const known = clients.get(userId);
  if (known !== undefined && known.endsMs - HOUR_MS / 12 > Date.now()) return known.mneme;
  const endsMs = Date.now() + HOUR_MS;
  const made = mneme.keys
    .create({
      name: `tenant ${createHash("sha256").update(userId).digest("hex").slice(0, 12)}`,
      userId,
      scopes: ["memories:read", "memories:write", "query"],
      expires_at: new Date(endsMs).toISOString(),
    })
    .then(({ key }) => new Mneme({ apiKey: key }));
  clients.set(userId, { mneme: made, endsMs });
  made.catch(() => clients.delete(userId));
  return made;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new RangeError(`a body may have ${BODY_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

async function answer(request: IncomingMessage): Promise<{ readonly status: number; readonly body: unknown }> {
  const user = userOf(request);
  if (user === null) return { status: 401, body: { error: "send Authorization: Bearer token-of-NAME" } };
  const own = await clientOf(user);
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (request.method === "POST" && pathname === "/notes") {
    const { id } = await own.memories.add(await textOf(request), { wait: true });
    return { status: 201, body: { id } };
  }
  if (request.method === "GET" && pathname === "/ask") {
    const { answer, answer_state } = await own.memories.query(searchParams.get("q") ?? "");
    return { status: 200, body: { answer, answer_state } };
  }
  return { status: 404, body: { error: "POST /notes stores a text, GET /ask?q=… asks" } };
}

const server = createServer((request, response) => {
  answer(request)
    .catch((error: unknown) => {
      if (error instanceof RangeError) return { status: 413, body: { error: error.message } };
      if (error instanceof ApiError) return { status: error.status < 500 ? 400 : 503, body: { error: error.message } };
      return { status: 500, body: { error: "something failed here" } };
    })
    .then(({ status, body }) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
});
server.listen(Number(process.env.PORT ?? 8400), "127.0.0.1", () => {
  process.stdout.write(`listening on ${JSON.stringify(server.address())}\n`);
});
