// What AccountStore (`src/ports/account-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import { type ChunkKey, isId, type KeyId, type ProjectId } from "../../src/domain/ids.ts";
import type { KeyDraft } from "../../src/domain/key.ts";
import type { MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_LLM_MODEL, DEFAULT_SETTINGS, type Project, type ProjectSettings } from "../../src/domain/project.ts";
import type { KeyScope } from "../../src/domain/scope.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { codeOf, inTurn, messageOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";

const MINUTE_MS = 60_000;
const SECRET = /^ctx_[A-Za-z0-9_-]{43}$/;
const OPERATOR_SECRET = "ctx_chosen_by_the_operator_0001";
const NOWHERE = "prj_nowhere" as ProjectId;

onEachDatabase("AccountStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: AccountStore;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    store = stores.accounts;
  });
  afterEach(() => stores.close());

  const project = async (name = "p"): Promise<Project> =>
    await store.createProject({ name, plan: "free", settings: DEFAULT_SETTINGS });
  const issue = async (projectId: ProjectId, draft: Partial<KeyDraft> = {}) =>
    await store.issueKey(projectId, { name: "k", scopes: ["*"], userId: null, expiresAt: null, ...draft });

  /** Adds a memory whose content has this number of bytes to a project. */
  const addMemory = async (projectId: ProjectId, contentBytes: number, draft: Partial<MemoryDraft> = {}) => {
    const drafts = [{ content: "x".repeat(contentBytes), ...draft }];
    const [accepted] = await stores.memories.accept(projectId, drafts);
    if (accepted === undefined || accepted instanceof Fault) throw new Error("the memory was refused");
    return accepted.memory;
  };

  describe("projects", () => {
    test("the default project is created once, on the plan enterprise", async () => {
      const id = await store.defaultProject();
      expect(isId("prj", id)).toBe(true);
      expect(await store.defaultProject()).toBe(id);
      expect(await store.projects()).toEqual([id]);
      expect(await store.project(id)).toEqual({
        id,
        name: "default",
        plan: "enterprise",
        settings: DEFAULT_SETTINGS,
        isDefault: true,
        createdAt: clock.now(),
      });
    });

    test("a project is read as it was created", async () => {
      const settings: ProjectSettings = {
        llm: {
          provider: "anthropic",
          is_address_trusted: true,
          base_url: "http://a",
          model: "m",
          api_key: "s",
          temperature: 0.5,
          max_output_tokens: 7,
          monthly_token_limit: 9,
          vision: true,
          fallbacks: [{ ...DEFAULT_LLM_MODEL, provider: "ollama", base_url: "http://b", api_key: "t" }],
        },
        smart_ingestion: { enabled: false, daily_token_limit: 0 },
        retention_days: 0,
        min_evidence: 0.25,
        default_mode: "hybrid",
        superseding: "suggest",
        ocr: "off",
        time_zone: "Asia/Tokyo",
        keep_files: true,
        vector_index: "hnsw",
      };
      const made = await store.createProject({ name: "ö 😀", plan: "pro", settings });
      expect(isId("prj", made.id)).toBe(true);
      expect(made).toEqual({
        id: made.id,
        name: "ö 😀",
        plan: "pro",
        settings,
        isDefault: false,
        createdAt: clock.now(),
      });
      expect(await store.project(made.id)).toEqual(made);
    });

    test("a project keeps null as its min_evidence", async () => {
      const { id } = await store.createProject({ name: "p", plan: "pro", settings: DEFAULT_SETTINGS });
      expect((await store.project(id))?.settings.min_evidence).toBeNull();
      await store.changeProject(id, { settings: { ...DEFAULT_SETTINGS, min_evidence: 0 } });
      expect((await store.project(id))?.settings.min_evidence).toBe(0);
      await store.changeProject(id, { settings: DEFAULT_SETTINGS });
      expect((await store.project(id))?.settings.min_evidence).toBeNull();
    });

    test("projects can have the same name; listProjects is newest first, projects is oldest first", async () => {
      const made = [await project("same"), await project("same"), await project("other")];
      const unused = { documents: 0, storageBytes: 0, lastUsedAt: null };
      const items = made.toReversed().map((one) => ({ ...one, ...unused }));
      expect(await store.listProjects({ limit: 9 })).toEqual({ items, cursor: null });
      expect(await store.projects()).toEqual(made.map(({ id }) => id));
    });

    test("ids of chunks stay the same, and those of two projects have nothing in common", async () => {
      const [one, other] = [await project(), await project()];
      const keys = Array.from({ length: 100 }, (_, at) => BigInt(at + 1) as ChunkKey);
      const idsOf = async (id: ProjectId) => {
        const ids = await store.chunkIds(id);
        return keys.map((key) => ids?.of(key) ?? "");
      };
      const made = await idsOf(one.id);
      for (const id of made) expect(isId("chunk", id)).toBe(true);
      await store.changeProject(one.id, { name: "new", plan: "pro", settings: DEFAULT_SETTINGS });
      expect(await idsOf(one.id)).toEqual(made);
      expect(new Set([...made, ...(await idsOf(other.id)), ...(await idsOf(await store.defaultProject()))]).size).toBe(
        3 * keys.length,
      );
      await store.removeProject(one.id);
      expect(await store.chunkIds(one.id)).toBeNull();
    });

    test("a change affects only the fields that are given", async () => {
      const before = await project();
      const other = await project();
      clock.advance(1);
      expect(await store.changeProject(before.id, {})).toEqual(before);
      expect(await store.changeProject(before.id, { name: "new" })).toEqual({ ...before, name: "new" });
      expect(await store.changeProject(before.id, { plan: "starter" })).toEqual({
        ...before,
        name: "new",
        plan: "starter",
      });
      const settings = { ...DEFAULT_SETTINGS, retention_days: 3 };
      const after: Project = { ...before, name: "new", plan: "starter", settings };
      expect(await store.changeProject(before.id, { settings })).toEqual(after);
      expect(await store.project(before.id)).toEqual(after);
      expect(await store.project(other.id)).toEqual(other);
    });

    test("an unknown project is absent from every read", async () => {
      expect(await store.project(NOWHERE)).toBeNull();
      expect(await store.chunkIds(NOWHERE)).toBeNull();
      expect(await store.changeProject(NOWHERE, { name: "x" })).toBeNull();
      expect(await store.removeProject(NOWHERE)).toBe(false);
      expect(await store.hasAdminKey(NOWHERE)).toBe(false);
      expect(await store.listKeys(NOWHERE, { limit: 5 })).toEqual({ items: [], cursor: null });
      await expectFault("project_not_found", async () => await issue(NOWHERE));
      await expectFault("project_not_found", async () => await store.usage(NOWHERE));
      await store.countQuery(NOWHERE, { prompt: 1, completion: 1 });
    });
  });

  describe("a removed project", () => {
    test("is absent from every read, and its keys are invalid", async () => {
      const gone = await project();
      const kept = await project();
      const { key, secret } = await issue(gone.id, { scopes: ["admin"] });
      const keptKey = await issue(kept.id);
      expect(await store.removeProject(gone.id)).toBe(true);
      expect(await store.removeProject(gone.id)).toBe(false);

      expect(await store.project(gone.id)).toBeNull();
      expect(await store.projects()).toEqual([kept.id]);
      expect((await store.listProjects({ limit: 9 })).items.map(({ id }) => id)).toEqual([kept.id]);
      expect(await store.changeProject(gone.id, { name: "back" })).toBeNull();
      expect(await store.authenticate(secret)).toBeNull();
      expect(await store.key(gone.id, key.id)).toBeNull();
      expect((await store.listKeys(gone.id, { limit: 9 })).items).toEqual([]);
      expect(await store.changeKey(gone.id, key.id, { name: "back" })).toBeNull();
      expect(await store.rotateKey(gone.id, key.id, 0)).toBeNull();
      expect(await store.removeKey(gone.id, key.id)).toBe(false);
      expect(await store.hasAdminKey(gone.id)).toBe(false);
      await expectFault("project_not_found", async () => await issue(gone.id));
      await expectFault("project_not_found", async () => await store.usage(gone.id));
      await store.countQuery(gone.id, { prompt: 1, completion: 1 });
      expect((await store.authenticate(keptKey.secret))?.projectId).toBe(kept.id);
    });

    test("cannot be the default project", async () => {
      const id = await store.defaultProject();
      const { secret } = await issue(id);
      await expectFault("invalid_state", async () => await store.removeProject(id));
      expect((await store.authenticate(secret))?.projectId).toBe(id);
    });

    test("is erased after its memories, which are listed in portions and include deleted ones", async () => {
      const gone = await project();
      const kept = await project();
      const memories = await inTurn([1, 2, 3, 4, 5], async (bytes) => await addMemory(gone.id, bytes));
      const keys: bigint[] = memories.map(({ key }) => key);
      const { key: keptKey } = await addMemory(kept.id, 10);
      for (const { id } of memories.slice(0, 2)) await stores.memories.remove(gone.id, id);
      await store.countQuery(gone.id, { prompt: 1, completion: 1 });
      await issue(gone.id);
      expect(await store.memoriesOfRemoved(gone.id, 9)).toEqual([]);
      await store.removeProject(gone.id);
      expect(await store.removedProjects()).toEqual([gone.id]);

      const seen: bigint[] = [];
      for (;;) {
        const portion = await store.memoriesOfRemoved(gone.id, 2);
        if (portion.length === 0) break;
        expect(portion.length).toBeLessThanOrEqual(2);
        expect(await messageOf(async () => await store.eraseProject(gone.id))).toContain("bug in Mneme");
        await store.eraseMemoriesOfRemoved(gone.id, [...portion, keptKey]);
        seen.push(...portion);
      }
      expect(seen.toSorted()).toEqual(keys);
      await store.eraseProject(gone.id);
      expect(await store.removedProjects()).toEqual([]);
      await store.eraseProject(gone.id);
      expect(await store.usage(kept.id)).toMatchObject({ documents: 1, storageBytes: 10 });
    });

    test("is the only kind of project that can be erased", async () => {
      const kept = await project();
      const { key } = await addMemory(kept.id, 10);
      const { secret } = await issue(kept.id);
      await store.eraseMemoriesOfRemoved(kept.id, [key]);
      await store.eraseProject(kept.id);
      expect(await store.project(kept.id)).toEqual(kept);
      expect((await store.usage(kept.id)).documents).toBe(1);
      expect((await store.authenticate(secret))?.projectId).toBe(kept.id);
    });
  });

  describe("a key", () => {
    test("is returned with its secret once, later with the first and last characters of it", async () => {
      const { id: projectId } = await project();
      const draft = {
        name: "ö",
        scopes: ["query", "memories:read"] as const,
        userId: "u",
        expiresAt: clock.now() + 9,
      };
      const { key, secret } = await store.issueKey(projectId, draft);
      expect(secret).toMatch(SECRET);
      expect(isId("key", key.id)).toBe(true);
      expect(key).toEqual({
        id: key.id,
        projectId,
        ...draft,
        lastUsedAt: null,
        lastClient: null,
        createdAt: clock.now(),
        redacted: `${secret.slice(0, 6)}…${secret.slice(-4)}`,
      });
      expect(await store.key(projectId, key.id)).toEqual(key);
      expect(await store.listKeys(projectId, { limit: 1 })).toEqual({ items: [key], cursor: null });
      expect((await issue(projectId)).secret).not.toBe(secret);
    });

    test("authenticates with its project, scopes and user; no other text authenticates", async () => {
      const { id: projectId } = await project();
      const whole = await issue(projectId, { scopes: ["*", "admin"] });
      const confined = await issue(projectId, { scopes: ["query"], userId: "ada" });
      expect(await store.authenticate(whole.secret)).toEqual({
        keyId: whole.key.id,
        projectId,
        userId: null,
        scopes: ["*", "admin"],
      });
      expect(await store.authenticate(confined.secret)).toEqual({
        keyId: confined.key.id,
        projectId,
        userId: "ada",
        scopes: ["query"],
      });
      const { secret } = whole;
      const wrong = ["", "ctx_", secret.slice(0, -1), `${secret}x`, secret.toLowerCase(), whole.key.redacted, "\0"];
      for (const text of [...wrong, "x".repeat(100_000)]) expect(await store.authenticate(text)).toBeNull();
    });

    test("is invalid from the millisecond of its expiry, but still listed", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id, { expiresAt: clock.now() + 100 });
      clock.advance(99);
      expect((await store.authenticate(secret))?.keyId).toBe(key.id);
      clock.advance(1);
      expect(await store.authenticate(secret)).toBeNull();
      expect((await store.listKeys(id, { limit: 9 })).items.map((listed) => listed.id)).toEqual([key.id]);
    });

    test("changes only in the fields that are given, at once", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id, { userId: "u", expiresAt: clock.now() + 100 });
      expect(await store.changeKey(id, key.id, {})).toEqual(key);
      expect(await store.changeKey(id, key.id, { name: "new" })).toEqual({ ...key, name: "new" });
      const scopes: KeyScope[] = ["usage"];
      expect(await store.changeKey(id, key.id, { scopes })).toEqual({ ...key, name: "new", scopes });
      expect((await store.authenticate(secret))?.scopes).toEqual(["usage"]);
      expect((await store.changeKey(id, key.id, { expiresAt: null }))?.expiresAt).toBeNull();
      clock.advance(1_000);
      expect((await store.authenticate(secret))?.keyId).toBe(key.id);
      expect((await store.changeKey(id, key.id, { expiresAt: clock.now() }))?.expiresAt).toBe(clock.now());
      expect(await store.authenticate(secret)).toBeNull();
    });

    test("is invalid and absent from every read after its removal", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id);
      const kept = await issue(id);
      expect(await store.removeKey(id, key.id)).toBe(true);
      expect(await store.removeKey(id, key.id)).toBe(false);
      expect(await store.authenticate(secret)).toBeNull();
      expect(await store.key(id, key.id)).toBeNull();
      expect((await store.authenticate(kept.secret))?.keyId).toBe(kept.key.id);
    });

    test("does not exist in another project", async () => {
      const { id } = await project();
      const { id: other } = await project();
      const { key, secret } = await issue(id);
      expect(await store.key(other, key.id)).toBeNull();
      expect((await store.listKeys(other, { limit: 9 })).items).toEqual([]);
      expect(await store.changeKey(other, key.id, { name: "stolen" })).toBeNull();
      expect(await store.rotateKey(other, key.id, 0)).toBeNull();
      expect(await store.removeKey(other, key.id)).toBe(false);
      expect(await store.key(id, key.id)).toEqual(key);
      expect((await store.authenticate(secret))?.projectId).toBe(id);
      expect(await store.key(id, "key_nobody" as KeyId)).toBeNull();
    });
  });

  describe("rotation", () => {
    test("keeps the id and all other fields, and ends the old secret at once", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id, { userId: "u", expiresAt: clock.now() + 9e6 });
      clock.advance(5);
      const rotated = await store.rotateKey(id, key.id, 0);
      expect(rotated?.secret).toMatch(SECRET);
      expect(rotated?.secret).not.toBe(secret);
      expect(rotated?.key).toEqual({
        ...key,
        redacted: `${rotated?.secret.slice(0, 6)}…${rotated?.secret.slice(-4)}`,
      });
      expect(await store.authenticate(secret)).toBeNull();
      expect((await store.authenticate(rotated?.secret ?? ""))?.keyId).toBe(key.id);
    });

    test("keeps the old secret valid for the grace period, to the millisecond", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id);
      const rotated = await store.rotateKey(id, key.id, 1_000);
      clock.advance(999);
      expect((await store.authenticate(secret))?.keyId).toBe(key.id);
      clock.advance(1);
      expect(await store.authenticate(secret)).toBeNull();
      clock.advance(9e9);
      expect((await store.authenticate(rotated?.secret ?? ""))?.keyId).toBe(key.id);
    });

    test("never extends the grace period of an older secret, and can shorten it", async () => {
      const { id } = await project();
      const { key, secret: first } = await issue(id);
      const second = (await store.rotateKey(id, key.id, 1_000))?.secret ?? "";
      const third = (await store.rotateKey(id, key.id, 5_000))?.secret ?? "";
      clock.advance(1_000);
      expect(
        await inTurn([first, second, third], async (secret) => (await store.authenticate(secret)) !== null),
      ).toEqual([false, true, true]);
      const fourth = (await store.rotateKey(id, key.id, 0))?.secret ?? "";
      expect(
        await inTurn([second, third, fourth], async (secret) => (await store.authenticate(secret)) !== null),
      ).toEqual([false, false, true]);
    });

    test("of an expired key leaves it expired", async () => {
      const { id } = await project();
      const { key } = await issue(id, { expiresAt: clock.now() + 1 });
      clock.advance(1);
      expect(await store.authenticate((await store.rotateKey(id, key.id, 0))?.secret ?? "")).toBeNull();
    });

    test("leaves no valid secret after the key was removed", async () => {
      const { id } = await project();
      const { key, secret } = await issue(id);
      const rotated = await store.rotateKey(id, key.id, MINUTE_MS);
      await store.removeKey(id, key.id);
      expect(await store.authenticate(secret)).toBeNull();
      expect(await store.authenticate(rotated?.secret ?? "")).toBeNull();
    });
  });

  test("every read of a key shows its last use at once, also before flush", async () => {
    const { id } = await project();
    const { key, secret } = await issue(id);
    for (const waitMs of [10, 1, 30_000, 40_000, 5]) {
      clock.advance(waitMs);
      await store.authenticate("ctx_wrong");
      await store.authenticate(secret, `agent-${waitMs}/1 (test)`);
      await store.authenticate(secret);
      const usedAt = clock.now();
      clock.advance(1);
      expect((await store.key(id, key.id))?.lastClient).toBe(`agent-${waitMs}/1`);
      expect((await store.key(id, key.id))?.lastUsedAt).toBe(usedAt);
      expect((await store.listKeys(id, { limit: 1 })).items[0]?.lastUsedAt).toBe(usedAt);
      expect((await store.changeKey(id, key.id, {}))?.lastUsedAt).toBe(usedAt);
    }
    await store.flush();
    await store.authenticate(secret);
    const usedAt = (await store.key(id, key.id))?.lastUsedAt;
    await store.flush();
    expect((await store.key(id, key.id))?.lastClient).toBe("agent-5/1");
    expect((await store.key(id, key.id))?.lastUsedAt).toBe(usedAt ?? 0);
    expect((await store.listProjects({ limit: 1 })).items[0]?.lastUsedAt).toBe(usedAt ?? 0);
    expect((await store.rotateKey(id, key.id, 0))?.key.lastUsedAt).toBe(usedAt ?? 0);
  });

  test("hasAdminKey is true if the project has an admin key that is neither expired nor confined to a user", async () => {
    const { id } = await project();
    const { id: other } = await project();
    await issue(other, { scopes: ["admin"] });
    await issue(id, { scopes: ["*"] });
    await issue(id, { scopes: ["admin"], userId: "u" });
    await issue(id, { scopes: ["admin"], expiresAt: clock.now() });
    expect(await store.hasAdminKey(id)).toBe(false);
    const { key } = await issue(id, { scopes: ["*", "admin"], expiresAt: clock.now() + 1 });
    expect(await store.hasAdminKey(id)).toBe(true);
    await store.removeKey(id, key.id);
    expect(await store.hasAdminKey(id)).toBe(false);
  });

  describe("the operator's key", () => {
    const OTHER = "ctx_chosen_by_the_operator_0002";
    const operatorOf = async (secret = OPERATOR_SECRET) => {
      await store.setOperatorKey(secret);
      const principal = await store.authenticate(secret);
      if (principal === null) throw new Error("the operator's key opens nothing");
      return principal;
    };

    test("has all scopes on the default project, and is listed like any other key", async () => {
      const principal = await operatorOf();
      const projectId = await store.defaultProject();
      expect(principal).toEqual({ keyId: principal.keyId, projectId, userId: null, scopes: ["*", "admin"] });
      expect(await store.key(projectId, principal.keyId)).toMatchObject({
        name: "operator",
        redacted: "ctx_ch…0001",
        expiresAt: null,
      });
      expect(await store.hasAdminKey(projectId)).toBe(true);
    });

    test("is the same key after it was set again", async () => {
      const { keyId, projectId } = await operatorOf();
      const before = await store.key(projectId, keyId);
      clock.advance(5 * MINUTE_MS);
      await store.setOperatorKey(OPERATOR_SECRET);
      expect((await store.listKeys(projectId, { limit: 9 })).items).toEqual([before].filter((key) => key !== null));
    });

    test("ends when another operator key is set, and no other key ends with it", async () => {
      const issued = await issue(await store.defaultProject());
      await operatorOf();
      const { keyId, projectId } = await operatorOf(OTHER);
      expect(await store.authenticate(OPERATOR_SECRET)).toBeNull();
      expect((await store.listKeys(projectId, { limit: 9 })).items.map(({ id }) => id)).toEqual([keyId, issued.key.id]);
    });

    test("has all scopes again when it is set after it was changed, rotated or removed", async () => {
      const { keyId, projectId } = await operatorOf();
      await store.changeKey(projectId, keyId, { name: "mine", scopes: ["query"], expiresAt: clock.now() });
      expect(await operatorOf()).toMatchObject({ keyId, scopes: ["*", "admin"] });
      const rotated = (await store.rotateKey(projectId, keyId, MINUTE_MS))?.secret ?? "";
      expect((await operatorOf()).keyId).toBe(keyId);
      expect(await store.authenticate(rotated)).toBeNull();
      clock.advance(MINUTE_MS);
      expect((await operatorOf()).keyId).toBe(keyId);
      const rotatedAtOnce = (await store.rotateKey(projectId, keyId, 0))?.secret ?? "";
      await operatorOf();
      expect(await store.authenticate(rotatedAtOnce)).toBeNull();
      await store.removeKey(projectId, (await operatorOf()).keyId);
      expect((await operatorOf()).scopes).toEqual(["*", "admin"]);
      expect((await store.listKeys(projectId, { limit: 9 })).items).toHaveLength(1);
    });

    test("cannot be the secret of an issued key of any project; the attempt changes nothing", async () => {
      await operatorOf();
      for (const projectId of [await store.defaultProject(), (await project()).id]) {
        const { secret, key } = await issue(projectId, { scopes: ["query"] });
        await expectFault("invalid_request", async () => await store.setOperatorKey(secret));
        expect(await store.key(projectId, key.id)).toEqual(key);
        expect((await store.authenticate(OPERATOR_SECRET))?.scopes).toEqual(["*", "admin"]);
      }
    });
  });

  describe("usage", () => {
    test("counts queries and tokens of the month, and starts at 0 in the next month", async () => {
      const { id } = await project();
      const { id: other } = await project();
      const start = Date.UTC(2027, 0, 1);
      const end = Date.UTC(2027, 1, 1);
      expect(await store.usage(id)).toEqual({
        plan: "free",
        period: { start, end },
        queries: 0,
        documents: 0,
        storageBytes: 0,
        tokens: { prompt: 0, completion: 0 },
      });
      await store.countQuery(id, { prompt: 10, completion: 3 });
      await store.countQuery(id, { prompt: 0, completion: 0 });
      await store.countQuery(id, { prompt: 5, completion: 4 });
      await store.countQuery(other, { prompt: 1, completion: 1 });
      expect(await store.usage(id)).toMatchObject({ queries: 3, tokens: { prompt: 15, completion: 7 } });
      clock.advance(end - clock.now() - 1);
      expect((await store.usage(id)).queries).toBe(3);
      clock.advance(1);
      expect(await store.usage(id)).toMatchObject({
        period: { start: end, end: Date.UTC(2027, 2, 1) },
        queries: 0,
        tokens: { prompt: 0, completion: 0 },
      });
      await store.countQuery(id, { prompt: 1, completion: 1 });
      expect((await store.usage(id)).queries).toBe(1);
    });

    test("counts the memories of the project that are not deleted, and returns the current plan", async () => {
      const { id } = await project();
      const memory = await addMemory(id, 100);
      await addMemory(id, 23);
      await addMemory((await project()).id, 7);
      expect(await store.usage(id)).toMatchObject({ documents: 2, storageBytes: 123 });
      await stores.memories.remove(id, memory.id);
      await store.changeProject(id, { plan: "pro" });
      expect(await store.usage(id)).toMatchObject({ plan: "pro", documents: 1, storageBytes: 23 });
    });

    test("records expired memories before it counts", async () => {
      const { id } = await project();
      await addMemory(id, 100, { expiresAt: clock.now() + 10 });
      await addMemory(id, 20);
      clock.advance(9);
      expect(await store.usage(id)).toMatchObject({ documents: 2, storageBytes: 120 });
      clock.advance(1);
      expect(await store.usage(id)).toMatchObject({ documents: 1, storageBytes: 20 });
    });
  });

  describe("paging", () => {
    test("a cursor is valid only for its own list", async () => {
      const { id } = await project();
      const { id: other } = await project();
      for (const projectId of [id, id, other, other]) await issue(projectId);
      const ofProjects = (await store.listProjects({ limit: 1 })).cursor ?? "";
      const ofKeys = (await store.listKeys(id, { limit: 1 })).cursor ?? "";
      expect((await store.listKeys(id, { limit: 1, cursor: ofKeys })).items).toHaveLength(1);
      expect((await store.listProjects({ limit: 1, cursor: ofProjects })).items).toHaveLength(1);
      for (const cursor of [ofProjects, "", "x", `${ofKeys}x`, ofKeys.slice(1)]) {
        await expectFault("invalid_cursor", async () => await store.listKeys(id, { limit: 1, cursor }));
      }
      await expectFault("invalid_cursor", async () => await store.listKeys(other, { limit: 1, cursor: ofKeys }));
      await expectFault("invalid_cursor", async () => await store.listProjects({ limit: 1, cursor: ofKeys }));
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
    const steps = Number(process.env.MNEME_TEST_STEPS ?? 600);
    test(`is stable while keys and projects are added and removed (${steps} random steps, seed ${seed})`, async () => {
      await walkPages(store, seeded(seed), steps, project, issue);
    });
  });
});

async function expectFault(code: FaultCode, call: () => unknown): Promise<void> {
  expect(await codeOf(call)).toBe(code);
}

// Reads lists of keys and projects page by page while keys and projects are added and removed. Compares each page with
// lists in memory (the oracle), which have all of them in the order of their creation.
async function walkPages(
  store: AccountStore,
  chance: () => number,
  steps: number,
  makeProject: () => Promise<Project>,
  issue: (projectId: ProjectId) => Eventually<{ readonly key: { readonly id: KeyId } }>,
): Promise<void> {
  interface Entry {
    readonly id: string;
    isThere: boolean;
  }
  interface Reading {
    readonly project: string | null;
    cursor: string;
    /** The next page has only items that come before this position in the oracle's list. */
    below: number;
  }
  const projects: Entry[] = [{ id: await store.defaultProject(), isThere: true }];
  const keys = new Map<string, Entry[]>([[await store.defaultProject(), []]]);
  let readings: Reading[] = [];
  const below = (bound: number) => Math.floor(chance() * bound);
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)];
  const living = () => projects.filter(({ isThere }) => isThere);
  const entriesOf = (project: string | null) => (project === null ? projects : (keys.get(project) ?? []));

  const readPage = async (project: string | null, reading: Reading | null) => {
    const limit = 1 + below(4);
    const entries = entriesOf(project);
    const expected = entries
      .slice(0, reading?.below ?? entries.length)
      .filter(({ isThere }) => isThere)
      .reverse();
    const listing = { limit, ...(reading === null ? {} : { cursor: reading.cursor }) };
    const page =
      project === null ? await store.listProjects(listing) : await store.listKeys(project as ProjectId, listing);
    expect(page.items.map(({ id }) => id as string)).toEqual(expected.slice(0, limit).map(({ id }) => id));
    expect(page.cursor !== null).toBe(expected.length > limit);
    const last = page.items.at(-1);
    if (page.cursor === null || last === undefined) return;
    const at = entries.findIndex(({ id }) => id === last.id);
    readings.push({ project, cursor: page.cursor, below: at });
  };

  for (let step = 0; step < steps; step++) {
    const action = below(100);
    const home = pick(living());
    if (action < 8) {
      const made = await makeProject();
      projects.push({ id: made.id, isThere: true });
      keys.set(made.id, []);
    } else if (action < 11) {
      const doomed = pick(living().slice(1));
      if (doomed === undefined) continue;
      expect(await store.removeProject(doomed.id as ProjectId)).toBe(true);
      doomed.isThere = false;
      for (const key of entriesOf(doomed.id)) key.isThere = false;
    } else if (action < 45 && home !== undefined) {
      entriesOf(home.id).push({ id: (await issue(home.id as ProjectId)).key.id, isThere: true });
    } else if (action < 60 && home !== undefined) {
      const doomed = pick(entriesOf(home.id).filter(({ isThere }) => isThere));
      if (doomed === undefined) continue;
      expect(await store.removeKey(home.id as ProjectId, doomed.id as KeyId)).toBe(true);
      doomed.isThere = false;
    } else if (action < 75) {
      await readPage(chance() < 0.5 ? null : (home?.id ?? null), null);
    } else {
      const reading = pick(readings);
      if (reading === undefined) continue;
      readings = readings.filter((other) => other !== reading);
      await readPage(reading.project, reading);
    }
  }
}
