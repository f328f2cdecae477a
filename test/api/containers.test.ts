// Files that contain files: archives, mailboxes and messages with attachments become a memory, and each file in them
// one of its own. Limits, hostile archives, quotas, deletion, new content, and a crash between the parts and their
// container.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { strToU8, type Zippable, zipSync } from "fflate";
import { mail, mbox } from "../documents/fixtures/mail.ts";
import { WORD_PORTS } from "../in-memory/ports.ts";
import { testOfAll } from "../support/extent.ts";
import { fileForm, formRequest } from "../support/forms.ts";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const EACH_MS = 600_000;
let service: TestService;
beforeAll(async () => {
  service = await startService({ ports: WORD_PORTS });
}, EACH_MS);
afterAll(() => service?.stop(), EACH_MS);

function upload(filename: string, bytes: Uint8Array, fields: Record<string, string> = {}, key = TEST_KEY) {
  const form = fileForm(filename, bytes, fields);
  return service.send(
    formRequest("http://mneme.test/v1/memories/upload", form, { headers: { authorization: `Bearer ${key}` } }),
  );
}

/** The memories of the files in a file, in the order of their paths. */
async function partsOf(id: string, key = TEST_KEY) {
  const { body } = await service.call("GET", `/v1/memories?container=${id}&limit=100`, undefined, {
    authorization: `Bearer ${key}`,
  });
  const parts = body.data as Answered["body"][];
  return parts.toSorted((a, b) => (a.source.path < b.source.path ? -1 : 1));
}

/** Uploads a container. Returns it when it and all its parts are no longer processing. */
async function stored(filename: string, bytes: Uint8Array, fields: Record<string, string> = {}) {
  const { status, body: accepted } = await upload(filename, bytes, fields);
  expect(status).toBe(202);
  await service.settled(accepted.id);
  return until(
    "all parts are settled",
    async () => {
      const { body } = await service.call("GET", `/v1/memories/${accepted.id}`);
      const { total = 0, completed = 0, failed = 0 } = body.parts ?? {};
      return completed + failed === total ? body : null;
    },
    EACH_MS,
  );
}

const zip = (files: Zippable) => zipSync(files);
const text = (content: string) => strToU8(content);

describe("a container", () => {
  test(
    "is a list of its files, each of which is a memory with its scope, tags, metadata and expiry",
    async () => {
      const expires = "2199-01-01T00:00:00.000Z";
      const fields = {
        ...{ userId: "ada", agentId: "bot", sessionId: "s1", tags: '["trip"]', metadata: '{"k":1}' },
        expires_at: expires,
      };
      const files = zip({
        "docs/plan.md": text("# Plan\n\nThe ferry leaves at nine."),
        "docs/empty/": new Uint8Array(),
        "data.csv": text("port,depth\nNewquay,9\nPar,7\n"),
        "picture.gif": text("GIF89a\0\0\0"),
        "__MACOSX/._plan.md": text("x"),
      });
      const { body: first, status } = await upload("trip.zip", files, fields);
      expect([status, first.parts, first.source.media_type]).toEqual([
        202,
        { total: 0, completed: 0, failed: 0 },
        "application/zip",
      ]);
      const container = await stored("trip.zip", files, fields);
      expect(container.status).toBe("completed");
      expect(container.content).toBe("- docs/plan.md\n- data.csv\n- picture.gif");
      expect(container.parts).toEqual({ total: 2, completed: 2, failed: 0 });
      expect(container.source.warnings).toEqual(["picture.gif was not read: its format is not supported."]);
      const parts = await partsOf(container.id);
      expect(parts.map(({ source }) => [source.path, source.filename, source.media_type, source.container])).toEqual([
        ["data.csv", "data.csv", "text/csv", container.id],
        ["docs/plan.md", "plan.md", "text/markdown", container.id],
      ]);
      for (const part of parts) {
        expect(part).toMatchObject({
          userId: "ada",
          agentId: "bot",
          sessionId: "s1",
          tags: ["trip"],
          metadata: { k: 1 },
        });
        expect(part.expires_at).toBe(expires);
      }
      const { body } = await service.call("POST", "/v1/memories/search", {
        query: "when does the ferry leave",
        userId: "ada",
      });
      expect(body.results.map(({ memory_id }: { memory_id: string }) => memory_id)).toContain(parts[1].id);
    },
    EACH_MS,
  );

  test(
    "that is a message has its headers and body as text, and its attachments as parts",
    async () => {
      const message = mail("Budget =?utf-8?Q?f=C3=BCr?= May", "The ferry costs 49 euros.", [
        { filename: "prices.csv", mediaType: "text/csv", bytes: "part,price\nA1,75\nB2,80\n" },
        { filename: "picture.gif", mediaType: "image/gif", bytes: text("GIF89a\0\0\0") },
        { filename: "../../etc/notes.txt", mediaType: "text/plain", bytes: "Notes of Bo." },
      ]);
      const { status, content, title, type, parts, id, source } = await stored("budget.eml", message);
      expect([status, title, type]).toEqual(["completed", "Budget für May", "email"]);
      for (const line of [
        ...["From: Ada L <ada@example.org>", "To: Bo <bo@example.org>, cy@example.org", "Cc: dee@example.org"],
        ...["Date: Tue, 5 May 2026 14:00:00 +0200", "Subject: Budget für May", "The ferry costs 49 euros."],
      ]) {
        expect(content).toContain(line);
      }
      expect(parts).toEqual({ total: 2, completed: 2, failed: 0 });
      expect(source.warnings).toEqual(["picture.gif was not read: its format is not supported."]);
      expect((await partsOf(id)).map(({ source: { path } }) => path)).toEqual(["notes.txt", "prices.csv"]);
      const plain = await stored("plain.eml", mail("Hello", "No attachments."));
      expect(plain.parts).toBeUndefined();
    },
    EACH_MS,
  );

  test(
    "that is a mailbox has a part per message, and the files in their attachments are parts of the messages",
    async () => {
      const box = mbox(
        mail("First note", "One.\r\nFrom here on it is quoted."),
        mail("Second note", "Two.", [{ filename: "list.txt", bytes: "milk and eggs" }]),
      );
      const container = await stored("all.mbox", box);
      expect(container.content).toBe("- First note — Ada L <ada@example.org>\n- Second note — Ada L <ada@example.org>");
      expect(container.parts.total).toBe(2);
      const [first, second] = await partsOf(container.id);
      expect(first.content).toContain("\nFrom here on it is quoted.");
      const inner = await until("the attachment is stored", async () => {
        const found = await partsOf(second.id);
        return found[0]?.status === "completed" ? found : null;
      });
      expect(inner.map(({ content, source }) => [content, source.path, source.container])).toEqual([
        ["milk and eggs", "list.txt", second.id],
      ]);
    },
    EACH_MS,
  );

  test(
    "may have a part that fails: it is counted, and the others are read",
    async () => {
      const { parts, source } = await stored(
        "mixed.zip",
        zip({ "a.txt": text("fine"), "b.pdf": text("%PDF-1.7 broken"), "c.zip": text("PK\x03\x04 broken") }),
      );
      expect(parts).toEqual({ total: 2, completed: 1, failed: 1 });
      expect(source.warnings).toHaveLength(1);
      expect(source.warnings[0]).toStartWith("c.zip was not read: it is damaged");
    },
    EACH_MS,
  );
});

describe("a container that breaks a rule fails, and nothing of it is stored", () => {
  const link: Zippable = { ok: text("x"), "to-passwd": [text("/etc/passwd"), { os: 3, attrs: 0o120777 << 16 }] };
  const inner = zip({ "a.txt": text("x") });
  const numbered = (count: number): Zippable =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.txt`, text("x")]));
  const zeros = zip({ "0.txt": new Uint8Array(90 * 1024 * 1024) });
  const CASES: readonly (readonly [what: string, filename: string, bytes: () => Uint8Array, message: RegExp])[] = [
    ["a path with ..", "a.zip", () => zip({ "ok.txt": text("x"), "../a.txt": text("x") }), /leads out of it/],
    ["a path with .. and backslashes", "a.zip", () => zip({ "a\\..\\..\\b.txt": text("x") }), /leads out of it/],
    ["an absolute path", "a.zip", () => zip({ "/etc/a.txt": text("x") }), /leads out of it/],
    ["a path with a drive", "a.zip", () => zip({ "C:\\a.txt": text("x") }), /leads out of it/],
    ["a link", "a.zip", () => zip(link), /is a link/],
    ["1,001 files", "a.zip", () => zip(numbered(1_001)), /more than 1,000 files/],
    [
      "1,001 files with those in the files in it",
      "a.zip",
      () => zip({ "a.zip": zip(numbered(600)), "b.zip": zip(numbered(399)) }),
      /more than 1,000 files/,
    ],
    [
      "10,000 attachments",
      "a.eml",
      () =>
        mail(
          "x",
          "x",
          Array.from({ length: 10_000 }, (_, at) => ({ filename: `${at}.txt`, bytes: "x" })),
        ),
      /more than 1,000 files/,
    ],
    [
      "a file in a file in a file that contains files",
      "a.zip",
      () => zip({ "b.zip": zip({ "c.zip": inner }) }),
      /in another one/,
    ],
    [
      "540 MB",
      "a.zip",
      () =>
        zip(Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`${at}.zip`, [zeros, { level: 0 }]])) as Zippable),
      /more than 500 MB/,
    ],
    ["no files", "a.zip", () => zip({ "empty/": new Uint8Array() }), /contains no files/],
    ["a broken directory", "a.zip", () => zip(numbered(3)).subarray(0, -40), /damaged/],
  ];
  for (const [what, filename, bytes, message] of CASES) {
    const testOfSize = what === "540 MB" ? testOfAll : test;
    testOfSize(
      what,
      async () => {
        const before = (await service.call("GET", "/v1/memories/count")).body.count;
        const { body } = await upload(filename, bytes());
        const { body: failed } = await service.settled(body.id);
        expect([failed.status, failed.error?.code]).toEqual(["failed", "unreadable_document"]);
        expect(failed.error.message).toMatch(message);
        expect(await partsOf(body.id)).toEqual([]);
        expect((await service.call("GET", "/v1/memories/count")).body.count).toBe(before + 1);
      },
      EACH_MS,
    );
  }

  test(
    "in mailboxes and messages, deeper containers are left out and named",
    async () => {
      const deep = mail("With a zip", "See the zip.", [
        { filename: "a.zip", bytes: inner },
        { filename: "b.txt", bytes: "kept" },
      ]);
      const container = await stored("all.mbox", mbox(deep));
      const [message] = await partsOf(container.id);
      const { body } = await service.settled(message.id);
      expect(body.source.warnings?.join()).toMatch(/^a.zip was not read: it contains files/);
      expect((await partsOf(message.id)).map(({ source }) => source.path)).toEqual(["b.txt"]);
    },
    EACH_MS,
  );
});

describe("the parts of a container", () => {
  test(
    "are not read before a file that is sent later",
    async () => {
      const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`${at}.txt`, text(`Berth ${at}.`)]));
      const { body: archive } = await upload("berths.zip", zip(files));
      await service.settled(archive.id);
      const { body: later } = await upload("later.txt", text("The crane is yellow."));
      expect((await service.settled(later.id)).body.status).toBe("completed");
      const { parts } = (await service.call("GET", `/v1/memories/${archive.id}`)).body;
      expect(parts.total).toBe(300);
      expect(parts.completed).toBeLessThan(300);
      expect((await service.call("DELETE", `/v1/memories/${archive.id}`)).status).toBe(204);
    },
    EACH_MS,
  );

  test(
    "are deleted with it, those in its parts too, and purged with it",
    async () => {
      const bytes = zip({
        "a.txt": text("The anchor is rusty."),
        "in.zip": zip({ "b.txt": text("The mast is new.") }),
      });
      for (const query of ["", "?purge=true"]) {
        const container = await stored("boat.zip", bytes);
        const [part, inner] = await partsOf(container.id);
        const deep = await until("the inner file is stored", async () => {
          const found = await partsOf(inner.id);
          return found[0]?.status === "completed" ? found[0] : null;
        });
        expect((await service.call("DELETE", `/v1/memories/${container.id}${query}`)).status).toBe(204);
        for (const id of [container.id, part.id, inner.id, deep.id]) {
          expect((await service.call("GET", `/v1/memories/${id}`)).status).toBe(404);
        }
        const { body } = await service.call("POST", "/v1/memories/search", { query: "mast anchor" });
        const found = body.results.map(({ memory_id }: { memory_id: string }) => memory_id);
        expect(found.filter((id: string) => [part.id, deep.id].includes(id))).toEqual([]);
      }
    },
    EACH_MS,
  );

  test(
    "of an earlier content are replaced by those of the new one, and go if the new one is a text",
    async () => {
      const externalId = { externalId: "boat" };
      const first = await stored("boat.zip", zip({ "a.txt": text("one"), "b.txt": text("two") }), externalId);
      const second = await stored("boat.zip", zip({ "c.txt": text("three") }), externalId);
      expect(second.id).toBe(first.id);
      expect((await partsOf(first.id)).map(({ content }) => content)).toEqual(["three"]);
      await service.call("PUT", `/v1/memories/${first.id}`, { content: "No file any more." });
      await service.settled(first.id);
      expect(await partsOf(first.id)).toEqual([]);
    },
    EACH_MS,
  );

  test(
    "belong to the user of their container and expire with it, also when these change, and keep their own tags",
    async () => {
      const bytes = zip({
        "a.txt": text("The capstan is greased."),
        "in.zip": zip({ "b.txt": text("The capstan has eight bars.") }),
      });
      const container = await stored("winch.zip", bytes, { userId: "wilma", agentId: "bot", tags: '["boat"]' });
      const [part, inner] = await partsOf(container.id);
      const deep = await until("the inner file is stored", async () => {
        const found = await partsOf(inner.id);
        return found[0]?.status === "completed" ? found[0] : null;
      });
      const given = { userId: "greta", agentId: null, expires_at: "2199-01-01T00:00:00.000Z", tags: ["ship"] };
      expect((await service.call("PUT", `/v1/memories/${container.id}`, given)).status).toBe(200);
      for (const id of [part.id, inner.id, deep.id]) {
        const { body } = await service.call("GET", `/v1/memories/${id}`);
        expect(body).toMatchObject({ userId: "greta", expires_at: given.expires_at, tags: ["boat"] });
        expect(body.agentId ?? null).toBeNull();
      }
      const foundBy = async (userId: string) => {
        const { body } = await service.call("POST", "/v1/memories/search", { query: "capstan", userId });
        return body.results.map(({ memory_id }: { memory_id: string }) => memory_id).toSorted();
      };
      expect(await foundBy("wilma")).toEqual([]);
      expect(await foundBy("greta")).toEqual([container.id, part.id, inner.id, deep.id].toSorted());
    },
    EACH_MS,
  );

  test(
    "beyond a quota become no memory and are named",
    async () => {
      const { body: project } = await service.call("POST", "/v1/projects", { name: "small", plan: "free" });
      const files = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`${10 + at}.txt`, text(`note ${at}`)]));
      const { body } = await upload("a.zip", zip(files), {}, project.key);
      const headers = { authorization: `Bearer ${project.key}` };
      const container = await until("the container is completed", async () => {
        const found = await service.call("GET", `/v1/memories/${body.id}`, undefined, headers);
        return found.body.status === "completed" ? found.body : null;
      });
      expect(container.parts.total).toBe(9);
      expect(container.source.warnings).toEqual(
        ["19", "20", "21"].map((name) => `${name}.txt was not stored: it is beyond a quota of the plan.`),
      );
    },
    EACH_MS,
  );

  test(
    "of another user's container are not listed",
    async () => {
      const container = await stored("mine.zip", zip({ "a.txt": text("mine") }), { userId: "grace" });
      const key = service.addKey(["memories:read"], undefined, { userId: "ada" });
      expect(await partsOf(container.id, key)).toEqual([]);
      expect((await partsOf(container.id)).map(({ userId }) => userId)).toEqual(["grace"]);
    },
    EACH_MS,
  );
});
