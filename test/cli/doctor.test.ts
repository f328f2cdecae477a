// `mneme doctor`: each check finds what it looks for, and says what to do; the command works without a server.

import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkDatabase,
  checkDisk,
  checkInstalledModels,
  checkPermissions,
  checkPort,
} from "../../src/cli/doctor/data.ts";
import { doctor } from "../../src/cli/doctor/doctor.ts";
import { checkClock, checkLimits, checkMemory, checkProcessor, checkProxy } from "../../src/cli/doctor/machine.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { DEFAULT, ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
import { SMALL_READER, smallReaderFolder } from "../support/small-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const MODELS = join(import.meta.dir, "../../data/models");

const clockAt = (at: number): Clock => ({ now: () => at, sleep: async () => undefined });

/** A folder of a test. */
function made(name: string, mode = 0o700): string {
  const path = join(folder, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

/** A server on a free port of this machine. */
async function listening(): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, close: () => server.close() };
}

describe("checks of the machine", () => {
  test("a processor without AVX2 is slow, and one without native parts is no use", () => {
    expect(checkProcessor("flags : sse4_2 avx", "x64")).toMatchObject({ verdict: "warning" });
    expect(checkProcessor("flags : sse4_2 avx2 avx512_vnni", "x64")).toMatchObject({ verdict: "good" });
    expect(checkProcessor("flags : avx2 avx512_vnni", "x64").found).toContain("AVX512-VNNI");
    expect(checkProcessor("", "arm64").verdict).toBe("good");
    expect(checkProcessor("", "riscv64").verdict).toBe("bad");
  });

  test("memory is good from 2 GiB on, and too little below 1 GiB", () => {
    const GiB = 1024 ** 3;
    const verdicts = [GiB - 1, GiB, 2 * GiB - 1, 2 * GiB].map((bytes) => checkMemory(bytes).verdict);
    expect(verdicts).toEqual(["bad", "warning", "warning", "good"]);
  });

  test("the limit of open files is read, and a low one is named", () => {
    const of = (files: string) => checkLimits(`Max open files            ${files}       8192      files\n`);
    expect([of("256"), of("1024"), of("8192"), of("unlimited")].map(({ verdict }) => verdict)).toEqual([
      "bad",
      "warning",
      "good",
      "good",
    ]);
    expect(of("256").advice).toContain("ulimit -n 8192");
    expect(checkLimits("").verdict).toBe("good");
  });

  test("a clock before all versions, or before the data, is wrong", () => {
    const dataDir = made("clock");
    const clock = clockAt(Date.UTC(2026, 10, 29));
    expect(checkClock(dataDir, clock).verdict).toBe("good");
    writeFileSync(join(dataDir, "mneme.sqlite"), "");
    const later = (clock.now() + 3_600_000) / 1000;
    utimesSync(join(dataDir, "mneme.sqlite"), later, later);
    expect(checkClock(dataDir, clock)).toMatchObject({ verdict: "warning", found: expect.stringContaining("later") });
    expect(checkClock(dataDir, clockAt(0)).verdict).toBe("bad");
  });

  test("a proxy without exception of this machine is named", () => {
    expect(checkProxy({}).verdict).toBe("good");
    expect(checkProxy({ https_proxy: "http://p:1" })).toMatchObject({
      ...{ verdict: "warning", found: "HTTPS_PROXY is set.", advice: expect.stringContaining("NO_PROXY") },
    });
    expect(checkProxy({ HTTP_PROXY: "http://p:1", NO_PROXY: "localhost, 127.0.0.1" }).verdict).toBe("good");
    expect(checkProxy({ HTTP_PROXY: "http://p:1", no_proxy: "localhost" }).verdict).toBe("warning");
  });
});

describe("checks of the data", () => {
  test("a directory is good if it is closed to others, absent if its parent is writable", () => {
    expect(checkPermissions(made("closed")).verdict).toBe("good");
    expect(checkPermissions(made("open", 0o755))).toMatchObject({
      verdict: "warning",
      advice: expect.stringContaining("chmod 700"),
    });
    expect(checkPermissions(join(folder, "not", "there", "yet")).verdict).toBe("good");
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(checkPermissions(file).verdict).toBe("bad");
  });

  test("files of another user keep a server from starting", () => {
    const dataDir = made("foreign");
    writeFileSync(join(dataDir, "mneme.sqlite"), "");
    expect(checkPermissions(dataDir, 4_242)).toMatchObject({
      verdict: "bad",
      found: expect.stringContaining("mneme.sqlite"),
    });
  });

  test("the disk of a directory is found, also of one that does not exist", () => {
    expect(checkDisk(join(folder, "not", "there")).found).toContain("free");
  });

  test("models are verified; a folder without them is named", async () => {
    const config = { modelsDir: MODELS, embedder: DEFAULT };
    const found = expect.stringContaining(DEFAULT);
    expect(await checkInstalledModels(config)).toMatchObject({ verdict: "good", found });
    expect((await checkInstalledModels({ ...config, embedder: ENGLISH })).found).toContain(`${ENGLISH} has no reader`);
    const models = await smallReaderFolder();
    const { found: withReader } = await checkInstalledModels({ modelsDir: models, embedder: MULTILINGUAL });
    expect(withReader).toContain(SMALL_READER);
    expect(withReader).not.toContain("no reader");
    rmSync(models, { recursive: true });
    expect((await checkInstalledModels({ ...config, embedder: "none" })).verdict).toBe("bad");
    expect((await checkInstalledModels({ ...config, modelsDir: join(folder, "absent") })).verdict).toBe("bad");
  });

  test("a port that is in use is named, unless the server has it", async () => {
    const { port, close } = await listening();
    const at = { host: "127.0.0.1", port };
    expect(await checkPort(at, false)).toMatchObject({ verdict: "bad", found: expect.stringContaining(`${port}`) });
    expect((await checkPort(at, true)).verdict).toBe("good");
    close();
    expect((await checkPort({ host: "127.0.0.1", port: 0 }, false)).verdict).toBe("good");
    expect((await checkPort({ host: "no.such.host.invalid", port: 1_234 }, false)).verdict).toBe("bad");
  });

  test("a database that does not answer is named, without its password", async () => {
    expect(await checkDatabase({ store: null })).toBeNull();
    const { port, close } = await listening();
    const store = `postgres://user:secret@127.0.0.1:${port}/mneme`;
    expect(await checkDatabase({ store })).toMatchObject({ verdict: "good" });
    close();
    const found = await checkDatabase({ store: "postgres://user:secret@127.0.0.1:1/mneme" });
    expect(found?.verdict).toBe("bad");
    expect(JSON.stringify(found)).not.toContain("secret");
  });
});

describe("the command", () => {
  const start = (environment = {}) => ({
    environment,
    place: { workingDirectory: folder, shippedModelsDirectory: () => MODELS },
  });
  const argv = ["--data-dir", join(folder, "new"), "--port", "0"];

  test("lists all findings, and their advice below them", async () => {
    const { text, isWell } = await doctor([...argv], start({ http_proxy: "http://p:1" }));
    expect(isWell).toBe(true);
    for (const name of ["processor", "memory", "limits", "proxy", "clock", "data directory", "disk", "models", "port"])
      expect(text).toContain(name);
    expect(text).toMatch(/warning +proxy .*\n +→ Add localhost/);
  });

  test("prints JSON, and names a wrong setting instead of failing", async () => {
    const { text, isWell } = await doctor(["--json", "--port", "many"], start());
    expect(isWell).toBe(false);
    const { is_well, findings } = JSON.parse(text);
    expect(is_well).toBe(false);
    expect(findings[0]).toMatchObject({ name: "settings", verdict: "bad", found: expect.stringContaining("--port") });
  });
});
