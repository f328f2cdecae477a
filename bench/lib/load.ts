// Load generator over keep-alive connections. It does as little work per request as possible, so that the server is the
// bottleneck: raw sockets, one request at a time on each, answers delimited by Content-Length.

/** Result of a load run. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Number of answers with another status than 200. */
  readonly others: number;
}

/**
 * Sends GET requests for `seconds` over `connections` connections.
 * @param paths paths that are requested one after the other
 * @throws Error if the server closes a connection or answers without Content-Length
 */
export async function load(
  port: number,
  paths: readonly string[],
  headers: Readonly<Record<string, string>>,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<LoadResult> {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const requests = paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`));
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let answered = 0;
  let others = 0;
  let turn = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const { promise: finished, resolve, reject } = Promise.withResolvers<void>();
      let received: Buffer = Buffer.alloc(0);
      const next = () => requests[turn++ % requests.length] ?? Buffer.alloc(0);
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port,
        socket: {
          data: (connection, part) => {
            received = received.length === 0 ? part : Buffer.concat([received, part]);
            const end = answerEnd(received);
            if (end === null || received.length < end) return;
            if (!received.subarray(0, 12).equals(OK)) others += 1;
            answered += 1;
            received = Buffer.alloc(0);
            if (performance.now() >= endsAt) {
              resolve();
              connection.end();
            } else {
              connection.write(next());
            }
          },
          close: () => reject(new Error("the server closed a connection")),
          error: (_connection, error) => reject(error),
        },
      });
      socket.write(next());
      await finished;
    }),
  );
  return { requestsPerSecond: answered / ((performance.now() - startedAt) / 1000), others };
}

const OK = Buffer.from("HTTP/1.1 200");
const HEAD_END = Buffer.from("\r\n\r\n");

// Position where the first answer in `received` ends; null while the answer's head is incomplete.
function answerEnd(received: Buffer): number | null {
  const head = received.indexOf(HEAD_END);
  if (head === -1) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.toString("latin1", 0, head))?.[1];
  if (length === undefined) throw new Error("an answer has no Content-Length");
  return head + HEAD_END.length + Number(length);
}
