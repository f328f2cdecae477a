// `mneme serve` as its operator sees it: output, errors at the start, and shutdown; and `mneme import` into a running
// server.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../../src/kit/record.ts";
import { runMneme } from "../support/command.ts";
import { type RunningServer, startServer, TEST_KEY } from "../support/server.ts";
import { until } from "../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-serve-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const mneme = (argv: readonly string[], environment?: Readonly<Record<string, string>>) =>
  runMneme(argv, folder, environment);

describe("a running server", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  test("prints its address, and no key if one was configured", () => {
    expect(server.stdout()).toContain(`\nlistening on ${server.url}\n`);
    expect(server.stdout()).not.toContain(TEST_KEY);
    expect(server.stdout()).toContain("curl ");
  });

  test("a second server on the same port fails with one line", () => {
    const { port } = new URL(server.url);
    const other = join(folder, "second-port");
    const { exitCode, stdout, stderr } = mneme(["serve", "--port", port, "--data-dir", other, "--log-level", "silent"]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ {2}KEY=ctx_/m); // this start created the key, and no later start prints it
    expect(stderr).toBe(
      `mneme: Cannot listen on 127.0.0.1:${port}: another program is using this port. Choose another address with --port or --host.\n`,
    );
  });

  test("a second server on the same data fails with one line that names the folder", () => {
    const { exitCode, stderr } = mneme(["--port", "0", "--data-dir", server.dataDir, "--log-level", "silent"]);
    expect(exitCode).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain(server.dataDir);
  });

  describe("import", () => {
    const file = join(folder, "documents.jsonl.gz");
    const documents = Array.from({ length: 7 }, (_, at) => ({
      _id: `doc-${at}`,
      title: `Document ${at}`,
      text: `The ${["red", "orange", "yellow", "green", "blue", "indigo", "violet"][at]} lantern hangs in room ${at}.`,
      metadata: { userId: "importer", room: at },
    }));
    const importInto = (path: string, ...flags: string[]) =>
      mneme(["import", path, "--url", server.url, "--wait", ...flags], { MNEME_API_KEY: TEST_KEY });

    test("stores every line, waits until they are searchable, and prints their number", async () => {
      writeFileSync(file, Bun.gzipSync(documents.map((line) => JSON.stringify(line)).join("\n")));
      const { exitCode, stderr } = importInto(file, "--batch", "3");
      expect(stderr).toContain("7 created, 0 updated, 0 unchanged, 0 refused");
      expect(exitCode).toBe(0);
      const found = await server.call("POST", "/v1/memories/search", {
        query: "green lantern",
        userId: "importer",
        limit: 1,
      });
      const [best] = isRecord(found.body) && Array.isArray(found.body.results) ? found.body.results : [];
      expect(best.content).toContain("green lantern");
      expect(best.metadata.room).toBe(3);
    });

    test("a repeated import changes nothing and says so", async () => {
      const { exitCode, stderr } = importInto(file);
      expect(stderr).toContain("0 created, 0 updated, 7 unchanged, 0 refused");
      expect(exitCode).toBe(0);
      const list = await server.call("GET", "/v1/memories?userId=importer&limit=100");
      expect(isRecord(list.body) && Array.isArray(list.body.data) ? list.body.data.length : null).toBe(7);
    });

    test("names each refused line, stores the others, and ends with exit code 1", () => {
      const path = join(folder, "flawed.jsonl");
      const lines = ['{"content":"a good line"}', "{", '{"content":"x","tags":7}', '{"content":"another good line"}'];
      writeFileSync(path, lines.join("\n"));
      const { exitCode, stderr } = importInto(path);
      expect(exitCode).toBe(1);
      expect(stderr).toContain("line 2 is not valid JSON");
      expect(stderr).toContain("line 3 was refused: ");
      expect(stderr).toContain("2 created, 0 updated, 0 unchanged, 2 refused");
    });

    test("reports a wrong key and a missing file in one line", () => {
      const wrong = mneme(["import", file, "--url", server.url, "--key", "ctx_this-key-nobody-has"]);
      expect(wrong.exitCode).toBe(1);
      expect(wrong.stderr).toMatch(/^mneme: .+\n$/);
      const missing = importInto(join(folder, "missing.jsonl"));
      expect(missing.exitCode).toBe(1);
      expect(missing.stderr).toMatch(/^mneme: .*missing\.jsonl.*\n$/);
    });
  });
});

describe("starting and stopping", () => {
  test("the first start creates a key and prints it once; SIGTERM ends it with exit code 0", async () => {
    const dataDir = join(folder, "own-key");
    const options = { dataDir, environment: { MNEME_ADMIN_KEY: null } };
    const first = await startServer(options);
    expect(first.key).toMatch(/^ctx_[A-Za-z0-9_-]{43}$/);
    expect((await first.call("GET", "/v1/memories")).status).toBe(200);
    expect(await first.stop()).toBe(0);
    expect(first.stdout()).toContain("\nstopped\n");

    const second = await startServer(options);
    expect(second.stdout()).not.toContain("ctx_");
    expect(await second.stop()).toBe(0);
  });

  test("SIGTERM under load: what was read is answered with Connection: close, no connection is reset", async () => {
    const server = await startServer({ environment: { MNEME_RATE_LIMITS: "off" } });
    try {
      const { port } = new URL(server.url);
      const request = `GET /v1/memories HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${server.key}\r\n\r\n`;
      const load = Array.from({ length: 32 }, () => sendUntilClosed(Number(port), request));
      await until("the load runs", () => load.every(({ answers }) => answers() > 20));
      const exitCode = server.stop();
      const ends = await Promise.all(load.map(({ ended }) => ended));
      expect(ends).toEqual(load.map(() => "closed by the last answer"));
      expect(await sendUntilClosed(Number(port), request).ended).toContain("ECONNREFUSED");
      expect(await exitCode).toBe(0);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });

  test("missing models stop the start with one line", () => {
    const { exitCode, stderr } = mneme([
      ...["--port", "0", "--data-dir", join(folder, "no-models"), "--log-level", "silent"],
      ...["--models-dir", join(folder, "nowhere")],
    ]);
    expect(exitCode).toBe(1);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain("nowhere");
  });
});

/** Sends a request again and again over one connection, until the server closes it. */
function sendUntilClosed(port: number, request: string) {
  let answers = 0;
  let last = "";
  let isLast = false;
  const ended = new Promise<string>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    socket.on("data", (part) => {
      last += part.toString("latin1");
      const head = last.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(last)?.[1]);
      if (head === -1 || last.length < head + 4 + length) return;
      answers += 1;
      isLast = /^connection: close\r$/im.test(last);
      if (isLast) return;
      last = "";
      socket.write(request);
    });
    socket.on("error", (error) => resolve(`error ${String(error)}`));
    socket.on("close", () => resolve(isLast ? "closed by the last answer" : "closed without an answer"));
  });
  return { ended, answers: () => answers };
}
