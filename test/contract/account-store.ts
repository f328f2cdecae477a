// What every AccountStore owes (src/ports/account-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import { isId, type KeyId, type ProjectId } from "../../src/domain/ids.ts";
import type { KeyDraft } from "../../src/domain/key.ts";
import { DEFAULT_SETTINGS, type Project, type ProjectSettings } from "../../src/domain/project.ts";
import type { KeyScope } from "../../src/domain/scope.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";

/** An empty store, and what happens beside it. */
export interface OpenedAccountStore {
  readonly store: AccountStore;
  /** Puts a memory of so many bytes into a project; returns its key. */
  addMemory(projectId: ProjectId, contentBytes: number): bigint;
  /** Soft-deletes a memory. */
  deleteMemory(key: bigint): void;
  /** What the store is given to write down expiry; replaced by tests. */
  expire: (projectId: ProjectId) => void;
  close(): void;
}

const MINUTE_MS = 60_000;
const SECRET = /^ctx_[A-Za-z0-9_-]{43}$/;
const OPERATOR_SECRET = "ctx_chosen_by_the_operator_0001";
const NOWHERE = "prj_nowhere" as ProjectId;

/** Runs the contract against the stores that `open` makes. */
export function accountStoreContract(name: string, open: (clock: Clock) => OpenedAccountStore): void {
  describe(`${name} as AccountStore`, () => {
    let clock: ManualClock;
    let opened: OpenedAccountStore;
    let store: AccountStore;

    beforeEach(() => {
      clock = new ManualClock();
      opened = open(clock);
      store = opened.store;
    });
    afterEach(() => opened.close());

    const project = (name = "p"): Project => store.createProject({ name, plan: "free", settings: DEFAULT_SETTINGS });
    const issue = (projectId: ProjectId, draft: Partial<KeyDraft> = {}) =>
      store.issueKey(projectId, { name: "k", scopes: ["*"], userId: null, expiresAt: null, ...draft });

    describe("projects", () => {
      test("begin with a default one, made once, on plan enterprise", () => {
        const id = store.defaultProject();
        expect(isId("prj", id)).toBe(true);
        expect(store.defaultProject()).toBe(id);
        expect(store.projects()).toEqual([id]);
        expect(store.project(id)).toEqual({
          id,
          name: "default",
          plan: "enterprise",
          settings: DEFAULT_SETTINGS,
          isDefault: true,
          createdAt: clock.now(),
        });
      });

      test("come back as they were made", () => {
        const settings: ProjectSettings = {
          llm: {
            is_address_trusted: true,
            base_url: "http://a",
            model: "m",
            api_key: "s",
            temperature: 0.5,
            max_output_tokens: 7,
          },
          smart_ingestion: { enabled: false, daily_token_limit: 0 },
          retention_days: 0,
          min_evidence: 0.25,
        };
        const made = store.createProject({ name: "ö 😀", plan: "pro", settings });
        expect(isId("prj", made.id)).toBe(true);
        expect(made).toEqual({
          id: made.id,
          name: "ö 😀",
          plan: "pro",
          settings,
          isDefault: false,
          createdAt: clock.now(),
        });
        expect(store.project(made.id)).toEqual(made);
      });

      test("may share a name, and are listed newest first, their ids oldest first", () => {
        const made = [project("same"), project("same"), project("other")];
        expect(store.listProjects({ limit: 9 })).toEqual({ items: made.toReversed(), cursor: null });
        expect(store.projects()).toEqual(made.map(({ id }) => id));
      });

      test("change in what is given only", () => {
        const before = project();
        const other = project();
        clock.advance(1);
        expect(store.changeProject(before.id, {})).toEqual(before);
        expect(store.changeProject(before.id, { name: "new" })).toEqual({ ...before, name: "new" });
        expect(store.changeProject(before.id, { plan: "starter" })).toEqual({
          ...before,
          name: "new",
          plan: "starter",
        });
        const settings = { ...DEFAULT_SETTINGS, retention_days: 3 };
        const after: Project = { ...before, name: "new", plan: "starter", settings };
        expect(store.changeProject(before.id, { settings })).toEqual(after);
        expect(store.project(before.id)).toEqual(after);
        expect(store.project(other.id)).toEqual(other);
      });

      test("that were never made are nowhere", () => {
        expect(store.project(NOWHERE)).toBeNull();
        expect(store.changeProject(NOWHERE, { name: "x" })).toBeNull();
        expect(store.removeProject(NOWHERE)).toBe(false);
        expect(store.hasAdminKey(NOWHERE)).toBe(false);
        expect(store.listKeys(NOWHERE, { limit: 5 })).toEqual({ items: [], cursor: null });
        expectFault("project_not_found", () => issue(NOWHERE));
        expectFault("project_not_found", () => store.usage(NOWHERE));
        store.countQuery(NOWHERE, { prompt: 1, completion: 1 });
      });
    });

    describe("a removed project", () => {
      test("is absent from every read, once, and its keys open nothing", () => {
        const gone = project();
        const kept = project();
        const { key, secret } = issue(gone.id, { scopes: ["admin"] });
        const keptKey = issue(kept.id);
        expect(store.removeProject(gone.id)).toBe(true);
        expect(store.removeProject(gone.id)).toBe(false);

        expect(store.project(gone.id)).toBeNull();
        expect(store.projects()).toEqual([kept.id]);
        expect(store.listProjects({ limit: 9 }).items).toEqual([kept]);
        expect(store.changeProject(gone.id, { name: "back" })).toBeNull();
        expect(store.authenticate(secret)).toBeNull();
        expect(store.key(gone.id, key.id)).toBeNull();
        expect(store.listKeys(gone.id, { limit: 9 }).items).toEqual([]);
        expect(store.changeKey(gone.id, key.id, { name: "back" })).toBeNull();
        expect(store.rotateKey(gone.id, key.id, 0)).toBeNull();
        expect(store.removeKey(gone.id, key.id)).toBe(false);
        expect(store.hasAdminKey(gone.id)).toBe(false);
        expectFault("project_not_found", () => issue(gone.id));
        expectFault("project_not_found", () => store.usage(gone.id));
        store.countQuery(gone.id, { prompt: 1, completion: 1 });
        expect(store.authenticate(keptKey.secret)?.projectId).toBe(kept.id);
      });

      test("is not the default one", () => {
        const id = store.defaultProject();
        const { secret } = issue(id);
        expectFault("invalid_state", () => store.removeProject(id));
        expect(store.authenticate(secret)?.projectId).toBe(id);
      });

      test("gives up its memories in portions, whatever their state, and then itself", () => {
        const gone = project();
        const kept = project();
        const keys = [1, 2, 3, 4, 5].map((bytes) => opened.addMemory(gone.id, bytes));
        const keptKey = opened.addMemory(kept.id, 10);
        for (const key of keys.slice(0, 2)) opened.deleteMemory(key);
        store.countQuery(gone.id, { prompt: 1, completion: 1 });
        issue(gone.id);
        expect(store.memoriesOfRemoved(gone.id, 9)).toEqual([]);
        store.removeProject(gone.id);
        expect(store.removedProjects()).toEqual([gone.id]);

        const seen: bigint[] = [];
        for (;;) {
          const portion = store.memoriesOfRemoved(gone.id, 2);
          if (portion.length === 0) break;
          expect(portion.length).toBeLessThanOrEqual(2);
          expect(() => store.eraseProject(gone.id)).toThrow("bug in Mneme");
          store.eraseMemoriesOfRemoved(gone.id, [...portion, keptKey]);
          seen.push(...portion);
        }
        expect(seen.toSorted()).toEqual(keys);
        store.eraseProject(gone.id);
        expect(store.removedProjects()).toEqual([]);
        store.eraseProject(gone.id);
        expect(store.usage(kept.id)).toMatchObject({ documents: 1, storageBytes: 10 });
      });

      test("is the only one that can be erased", () => {
        const kept = project();
        const key = opened.addMemory(kept.id, 10);
        const { secret } = issue(kept.id);
        store.eraseMemoriesOfRemoved(kept.id, [key]);
        store.eraseProject(kept.id);
        expect(store.project(kept.id)).toEqual(kept);
        expect(store.usage(kept.id).documents).toBe(1);
        expect(store.authenticate(secret)?.projectId).toBe(kept.id);
      });
    });

    describe("a key", () => {
      test("is shown with its secret once, and then by the ends of it", () => {
        const { id: projectId } = project();
        const draft = {
          name: "ö",
          scopes: ["query", "memories:read"] as const,
          userId: "u",
          expiresAt: clock.now() + 9,
        };
        const { key, secret } = store.issueKey(projectId, draft);
        expect(secret).toMatch(SECRET);
        expect(isId("key", key.id)).toBe(true);
        expect(key).toEqual({
          id: key.id,
          projectId,
          ...draft,
          lastUsedAt: null,
          createdAt: clock.now(),
          redacted: `${secret.slice(0, 6)}…${secret.slice(-4)}`,
        });
        expect(store.key(projectId, key.id)).toEqual(key);
        expect(store.listKeys(projectId, { limit: 1 })).toEqual({ items: [key], cursor: null });
        expect(issue(projectId).secret).not.toBe(secret);
      });

      test("opens its project with its scopes and its user, and no other text does", () => {
        const { id: projectId } = project();
        const whole = issue(projectId, { scopes: ["*", "admin"] });
        const confined = issue(projectId, { scopes: ["query"], userId: "ada" });
        expect(store.authenticate(whole.secret)).toEqual({
          keyId: whole.key.id,
          projectId,
          userId: null,
          scopes: ["*", "admin"],
        });
        expect(store.authenticate(confined.secret)).toEqual({
          keyId: confined.key.id,
          projectId,
          userId: "ada",
          scopes: ["query"],
        });
        const { secret } = whole;
        const wrong = ["", "ctx_", secret.slice(0, -1), `${secret}x`, secret.toLowerCase(), whole.key.redacted, "\0"];
        for (const text of [...wrong, "x".repeat(100_000)]) expect(store.authenticate(text)).toBeNull();
      });

      test("opens nothing from the millisecond on in which it expires, but is still listed", () => {
        const { id } = project();
        const { key, secret } = issue(id, { expiresAt: clock.now() + 100 });
        clock.advance(99);
        expect(store.authenticate(secret)?.keyId).toBe(key.id);
        clock.advance(1);
        expect(store.authenticate(secret)).toBeNull();
        expect(store.listKeys(id, { limit: 9 }).items.map((listed) => listed.id)).toEqual([key.id]);
      });

      test("changes in what is given only, at once", () => {
        const { id } = project();
        const { key, secret } = issue(id, { userId: "u", expiresAt: clock.now() + 100 });
        expect(store.changeKey(id, key.id, {})).toEqual(key);
        expect(store.changeKey(id, key.id, { name: "new" })).toEqual({ ...key, name: "new" });
        const scopes: KeyScope[] = ["usage"];
        expect(store.changeKey(id, key.id, { scopes })).toEqual({ ...key, name: "new", scopes });
        expect(store.authenticate(secret)?.scopes).toEqual(["usage"]);
        expect(store.changeKey(id, key.id, { expiresAt: null })?.expiresAt).toBeNull();
        clock.advance(1_000);
        expect(store.authenticate(secret)?.keyId).toBe(key.id);
        expect(store.changeKey(id, key.id, { expiresAt: clock.now() })?.expiresAt).toBe(clock.now());
        expect(store.authenticate(secret)).toBeNull();
      });

      test("that was removed opens nothing and is nowhere", () => {
        const { id } = project();
        const { key, secret } = issue(id);
        const kept = issue(id);
        expect(store.removeKey(id, key.id)).toBe(true);
        expect(store.removeKey(id, key.id)).toBe(false);
        expect(store.authenticate(secret)).toBeNull();
        expect(store.key(id, key.id)).toBeNull();
        expect(store.authenticate(kept.secret)?.keyId).toBe(kept.key.id);
      });

      test("is nowhere in another project", () => {
        const { id } = project();
        const { id: other } = project();
        const { key, secret } = issue(id);
        expect(store.key(other, key.id)).toBeNull();
        expect(store.listKeys(other, { limit: 9 }).items).toEqual([]);
        expect(store.changeKey(other, key.id, { name: "stolen" })).toBeNull();
        expect(store.rotateKey(other, key.id, 0)).toBeNull();
        expect(store.removeKey(other, key.id)).toBe(false);
        expect(store.key(id, key.id)).toEqual(key);
        expect(store.authenticate(secret)?.projectId).toBe(id);
        expect(store.key(id, "key_nobody" as KeyId)).toBeNull();
      });
    });

    describe("rotation", () => {
      test("keeps the id and everything else, and ends the old secret at once", () => {
        const { id } = project();
        const { key, secret } = issue(id, { userId: "u", expiresAt: clock.now() + 9e6 });
        clock.advance(5);
        const rotated = store.rotateKey(id, key.id, 0);
        expect(rotated?.secret).toMatch(SECRET);
        expect(rotated?.secret).not.toBe(secret);
        expect(rotated?.key).toEqual({
          ...key,
          redacted: `${rotated?.secret.slice(0, 6)}…${rotated?.secret.slice(-4)}`,
        });
        expect(store.authenticate(secret)).toBeNull();
        expect(store.authenticate(rotated?.secret ?? "")?.keyId).toBe(key.id);
      });

      test("lets the old secret live on for the time of grace, to the millisecond", () => {
        const { id } = project();
        const { key, secret } = issue(id);
        const rotated = store.rotateKey(id, key.id, 1_000);
        clock.advance(999);
        expect(store.authenticate(secret)?.keyId).toBe(key.id);
        clock.advance(1);
        expect(store.authenticate(secret)).toBeNull();
        clock.advance(9e9);
        expect(store.authenticate(rotated?.secret ?? "")?.keyId).toBe(key.id);
      });

      test("never prolongs what ends already, and can end it sooner", () => {
        const { id } = project();
        const { key, secret: first } = issue(id);
        const second = store.rotateKey(id, key.id, 1_000)?.secret ?? "";
        const third = store.rotateKey(id, key.id, 5_000)?.secret ?? "";
        clock.advance(1_000);
        expect([first, second, third].map((secret) => store.authenticate(secret) !== null)).toEqual([
          false,
          true,
          true,
        ]);
        const fourth = store.rotateKey(id, key.id, 0)?.secret ?? "";
        expect([second, third, fourth].map((secret) => store.authenticate(secret) !== null)).toEqual([
          false,
          false,
          true,
        ]);
      });

      test("of an expired key does not bring it back", () => {
        const { id } = project();
        const { key } = issue(id, { expiresAt: clock.now() + 1 });
        clock.advance(1);
        expect(store.authenticate(store.rotateKey(id, key.id, 0)?.secret ?? "")).toBeNull();
      });

      test("leaves nothing to open with after the key was removed", () => {
        const { id } = project();
        const { key, secret } = issue(id);
        const rotated = store.rotateKey(id, key.id, MINUTE_MS);
        store.removeKey(id, key.id);
        expect(store.authenticate(secret)).toBeNull();
        expect(store.authenticate(rotated?.secret ?? "")).toBeNull();
      });
    });

    test("every read of a key shows its last use at once, also while that is not written down", () => {
      const { id } = project();
      const { key, secret } = issue(id);
      for (const waitMs of [10, 1, 30_000, 40_000, 5]) {
        clock.advance(waitMs);
        store.authenticate("ctx_wrong");
        store.authenticate(secret);
        const usedAt = clock.now();
        clock.advance(1);
        expect(store.key(id, key.id)?.lastUsedAt).toBe(usedAt);
        expect(store.listKeys(id, { limit: 1 }).items[0]?.lastUsedAt).toBe(usedAt);
        expect(store.changeKey(id, key.id, {})?.lastUsedAt).toBe(usedAt);
      }
      store.flush();
      const usedAt = store.key(id, key.id)?.lastUsedAt;
      store.flush();
      expect(store.key(id, key.id)?.lastUsedAt).toBe(usedAt ?? 0);
      expect(store.rotateKey(id, key.id, 0)?.key.lastUsedAt).toBe(usedAt ?? 0);
    });

    test("hasAdminKey asks for an admin key of this project that is neither expired nor confined", () => {
      const { id } = project();
      const { id: other } = project();
      issue(other, { scopes: ["admin"] });
      issue(id, { scopes: ["*"] });
      issue(id, { scopes: ["admin"], userId: "u" });
      issue(id, { scopes: ["admin"], expiresAt: clock.now() });
      expect(store.hasAdminKey(id)).toBe(false);
      const { key } = issue(id, { scopes: ["*", "admin"], expiresAt: clock.now() + 1 });
      expect(store.hasAdminKey(id)).toBe(true);
      store.removeKey(id, key.id);
      expect(store.hasAdminKey(id)).toBe(false);
    });

    describe("the operator's key", () => {
      const OTHER = "ctx_chosen_by_the_operator_0002";
      const operatorOf = (secret = OPERATOR_SECRET) => {
        store.setOperatorKey(secret);
        const principal = store.authenticate(secret);
        if (principal === null) throw new Error("the operator's key opens nothing");
        return principal;
      };

      test("has all rights on the default project, and is listed like any other", () => {
        const principal = operatorOf();
        const projectId = store.defaultProject();
        expect(principal).toEqual({ keyId: principal.keyId, projectId, userId: null, scopes: ["*", "admin"] });
        expect(store.key(projectId, principal.keyId)).toMatchObject({
          name: "operator",
          redacted: "ctx_ch…0001",
          expiresAt: null,
        });
        expect(store.hasAdminKey(projectId)).toBe(true);
      });

      test("set again is the same key", () => {
        const { keyId, projectId } = operatorOf();
        const before = store.key(projectId, keyId);
        clock.advance(5 * MINUTE_MS);
        store.setOperatorKey(OPERATOR_SECRET);
        expect(store.listKeys(projectId, { limit: 9 }).items).toEqual([before].filter((key) => key !== null));
      });

      test("ends when another is set, and no other key with it", () => {
        const issued = issue(store.defaultProject());
        operatorOf();
        const { keyId, projectId } = operatorOf(OTHER);
        expect(store.authenticate(OPERATOR_SECRET)).toBeNull();
        expect(store.listKeys(projectId, { limit: 9 }).items.map(({ id }) => id)).toEqual([keyId, issued.key.id]);
      });

      test("has all rights again when it is set after it was changed, rotated or removed", () => {
        const { keyId, projectId } = operatorOf();
        store.changeKey(projectId, keyId, { name: "mine", scopes: ["query"], expiresAt: clock.now() });
        expect(operatorOf()).toMatchObject({ keyId, scopes: ["*", "admin"] });
        const rotated = store.rotateKey(projectId, keyId, MINUTE_MS)?.secret ?? "";
        expect(operatorOf().keyId).toBe(keyId);
        expect(store.authenticate(rotated)).toBeNull();
        clock.advance(MINUTE_MS);
        expect(operatorOf().keyId).toBe(keyId);
        const rotatedAtOnce = store.rotateKey(projectId, keyId, 0)?.secret ?? "";
        operatorOf();
        expect(store.authenticate(rotatedAtOnce)).toBeNull();
        store.removeKey(projectId, operatorOf().keyId);
        expect(operatorOf().scopes).toEqual(["*", "admin"]);
        expect(store.listKeys(projectId, { limit: 9 }).items).toHaveLength(1);
      });

      test("cannot be an issued key's secret, of whatever project, and such an attempt changes nothing", () => {
        operatorOf();
        for (const projectId of [store.defaultProject(), project().id]) {
          const { secret, key } = issue(projectId, { scopes: ["query"] });
          expectFault("invalid_request", () => store.setOperatorKey(secret));
          expect(store.key(projectId, key.id)).toEqual(key);
          expect(store.authenticate(OPERATOR_SECRET)?.scopes).toEqual(["*", "admin"]);
        }
      });
    });

    describe("usage", () => {
      test("counts queries and tokens of the month, and forgets them with the next", () => {
        const { id } = project();
        const { id: other } = project();
        const start = Date.UTC(2027, 0, 1);
        const end = Date.UTC(2027, 1, 1);
        expect(store.usage(id)).toEqual({
          plan: "free",
          period: { start, end },
          queries: 0,
          documents: 0,
          storageBytes: 0,
          tokens: { prompt: 0, completion: 0 },
        });
        store.countQuery(id, { prompt: 10, completion: 3 });
        store.countQuery(id, { prompt: 0, completion: 0 });
        store.countQuery(id, { prompt: 5, completion: 4 });
        store.countQuery(other, { prompt: 1, completion: 1 });
        expect(store.usage(id)).toMatchObject({ queries: 3, tokens: { prompt: 15, completion: 7 } });
        clock.advance(end - clock.now() - 1);
        expect(store.usage(id).queries).toBe(3);
        clock.advance(1);
        expect(store.usage(id)).toMatchObject({
          period: { start: end, end: Date.UTC(2027, 2, 1) },
          queries: 0,
          tokens: { prompt: 0, completion: 0 },
        });
        store.countQuery(id, { prompt: 1, completion: 1 });
        expect(store.usage(id).queries).toBe(1);
      });

      test("counts memories that are not deleted, of this project, and names the plan of now", () => {
        const { id } = project();
        const key = opened.addMemory(id, 100);
        opened.addMemory(id, 23);
        opened.addMemory(project().id, 7);
        expect(store.usage(id)).toMatchObject({ documents: 2, storageBytes: 123 });
        opened.deleteMemory(key);
        store.changeProject(id, { plan: "pro" });
        expect(store.usage(id)).toMatchObject({ plan: "pro", documents: 1, storageBytes: 23 });
      });

      test("writes down what has expired before it counts", () => {
        const { id } = project();
        const key = opened.addMemory(id, 100);
        const asked: ProjectId[] = [];
        opened.expire = (projectId) => {
          asked.push(projectId);
          opened.deleteMemory(key);
        };
        expect(store.usage(id)).toMatchObject({ documents: 0, storageBytes: 0 });
        expect(asked).toEqual([id]);
      });
    });

    describe("paging", () => {
      test("a cursor opens its own list only", () => {
        const { id } = project();
        const { id: other } = project();
        for (const projectId of [id, id, other, other]) issue(projectId);
        const ofProjects = store.listProjects({ limit: 1 }).cursor ?? "";
        const ofKeys = store.listKeys(id, { limit: 1 }).cursor ?? "";
        expect(store.listKeys(id, { limit: 1, cursor: ofKeys }).items).toHaveLength(1);
        expect(store.listProjects({ limit: 1, cursor: ofProjects }).items).toHaveLength(1);
        for (const cursor of [ofProjects, "", "x", `${ofKeys}x`, ofKeys.slice(1)]) {
          expectFault("invalid_cursor", () => store.listKeys(id, { limit: 1, cursor }));
        }
        expectFault("invalid_cursor", () => store.listKeys(other, { limit: 1, cursor: ofKeys }));
        expectFault("invalid_cursor", () => store.listProjects({ limit: 1, cursor: ofKeys }));
      });

      const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
      const steps = Number(process.env.MNEME_TEST_STEPS ?? 600);
      test(`is stable while keys and projects come and go (${steps} random steps, seed ${seed})`, () => {
        walkPages(store, seeded(seed), steps, project, issue);
      });
    });
  });
}

function expectFault(code: FaultCode, call: () => unknown): void {
  try {
    call();
  } catch (error) {
    if (error instanceof Fault) {
      expect(error.code).toBe(code);
      return;
    }
    throw error;
  }
  throw new Error(`nothing was thrown instead of a Fault ${code}`);
}

// Lists are read on page by page, each from the cursor that its last page gave, while what they show is added to and removed
// from. The oracle keeps everything in the order of its making.
function walkPages(
  store: AccountStore,
  chance: () => number,
  steps: number,
  makeProject: () => Project,
  issue: (projectId: ProjectId) => { readonly key: { readonly id: KeyId } },
): void {
  interface Entry {
    readonly id: string;
    isThere: boolean;
  }
  interface Reading {
    readonly project: string | null;
    cursor: string;
    /** Position in the oracle's list that the next page stays below. */
    below: number;
  }
  const projects: Entry[] = [{ id: store.defaultProject(), isThere: true }];
  const keys = new Map<string, Entry[]>([[store.defaultProject(), []]]);
  let readings: Reading[] = [];
  const below = (bound: number) => Math.floor(chance() * bound);
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)];
  const living = () => projects.filter(({ isThere }) => isThere);
  const entriesOf = (project: string | null) => (project === null ? projects : (keys.get(project) ?? []));

  const readPage = (project: string | null, reading: Reading | null) => {
    const limit = 1 + below(4);
    const entries = entriesOf(project);
    const expected = entries
      .slice(0, reading?.below ?? entries.length)
      .filter(({ isThere }) => isThere)
      .reverse();
    const listing = { limit, ...(reading === null ? {} : { cursor: reading.cursor }) };
    const page = project === null ? store.listProjects(listing) : store.listKeys(project as ProjectId, listing);
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
      const made = makeProject();
      projects.push({ id: made.id, isThere: true });
      keys.set(made.id, []);
    } else if (action < 11) {
      const doomed = pick(living().slice(1));
      if (doomed === undefined) continue;
      expect(store.removeProject(doomed.id as ProjectId)).toBe(true);
      doomed.isThere = false;
      for (const key of entriesOf(doomed.id)) key.isThere = false;
    } else if (action < 45 && home !== undefined) {
      entriesOf(home.id).push({ id: issue(home.id as ProjectId).key.id, isThere: true });
    } else if (action < 60 && home !== undefined) {
      const doomed = pick(entriesOf(home.id).filter(({ isThere }) => isThere));
      if (doomed === undefined) continue;
      expect(store.removeKey(home.id as ProjectId, doomed.id as KeyId)).toBe(true);
      doomed.isThere = false;
    } else if (action < 75) {
      readPage(chance() < 0.5 ? null : (home?.id ?? null), null);
    } else {
      const reading = pick(readings);
      if (reading === undefined) continue;
      readings = readings.filter((other) => other !== reading);
      readPage(reading.project, reading);
    }
  }
}
