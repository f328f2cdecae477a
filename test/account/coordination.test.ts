// The contract of Coordination, in memory and for two nodes on PostgreSQL.

import { expect, test } from "bun:test";
import { InFlight } from "../../src/account/idempotency.ts";
import { localMonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { QueryQuota } from "../../src/account/query-quota.ts";
import { localDailyTokens } from "../../src/account/running-tokens.ts";
import { SlidingWindow } from "../../src/account/sliding-window.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { coordinationContract } from "../contract/coordination.ts";
import { addProject } from "../contract/stores.ts";
import { openDelayedStores } from "../in-memory/delayed-stores.ts";
import { type EmptyDatabase, emptyDatabase, withPostgres } from "../stores/open-postgres.ts";

const onEffectFailure = () => undefined;
const WINDOW_MS = 60_000;
const NODE = { name: "machine", role: "all", version: "1" };

coordinationContract("one process", async (clock) => {
  const stores = openDelayedStores({ clock, newWebhookSecret, onEffectFailure });
  const node = {
    window: new SlidingWindow({ windowMs: WINDOW_MS, clock, keysMax: 100 }),
    quotas: new QueryQuota(stores.accounts, clock),
    monthlyTokens: localMonthlyTokens(stores.accounts),
    dailyTokens: localDailyTokens(stores.extractions),
    flights: new InFlight(),
  };
  const project = await addProject(stores, "free");
  return { nodes: [node, node], transactions: stores.transactions, project, close: async () => stores.close() };
});

withPostgres("Coordination", () => {
  const openNode = (database: EmptyDatabase, nodeId: string) =>
    openPostgresStores({ url: database.url, nodeId, clock: systemClock, newWebhookSecret, onEffectFailure });

  coordinationContract("PostgreSQL", async (clock) => {
    const database = await emptyDatabase();
    const stores = [await openNode(database, "a"), await openNode(database, "b")] as const;
    const agreed = stores.map((node) => node.coordination(createLog("silent"), NODE));
    const [first, second] = agreed.map((each) => {
      const { quotas, monthlyTokens, dailyTokens, flights } = each;
      return { window: each.window("key", WINDOW_MS, () => clock.now()), quotas, monthlyTokens, dailyTokens, flights };
    });
    if (first === undefined || second === undefined) throw new Error("there are two nodes");
    return {
      nodes: [first, second],
      transactions: stores[0].transactions,
      project: await addProject(stores[0], "free"),
      close: async () => {
        for (const each of agreed) await each.stop();
        for (const each of stores) await each.close();
        await database.giveBack();
      },
    };
  });

  test("a task belongs to one node until that one stops; a restarted node gives up what it held before", async () => {
    const database = await emptyDatabase();
    const stores = [await openNode(database, "a"), await openNode(database, "b")] as const;
    const [one, two] = [
      stores[0].coordination(createLog("silent"), NODE),
      stores[1].coordination(createLog("silent"), NODE),
    ];
    await one.start();
    await two.start();
    const shown = async () => (await one.nodes()).map(({ id, name, isUp }) => [id, name, isUp]);
    expect((await shown()).toSorted()).toEqual([
      ["a", "machine", true],
      ["b", "machine", true],
    ]);
    const owners = await Promise.all([one, two, one, two].map((each) => each.tasks.isMine("sweep")));
    expect(owners.filter(Boolean)).toHaveLength(2);
    const [owner, other] = owners[0] === true ? [one, two] : [two, one];
    expect([await owner.tasks.isMine("sweep"), await other.tasks.isMine("sweep")]).toEqual([true, false]);
    expect(await other.tasks.isMine("upkeep")).toBe(true);
    expect(await owner.flights.begin("slot")).not.toBeNull();
    await owner.stop();
    expect(await other.tasks.isMine("sweep")).toBe(true);
    expect(await shown()).toHaveLength(1);
    expect(await other.flights.begin("slot")).not.toBeNull();

    // the process of this node was killed, and another one begins
    const again = stores[other === one ? 0 : 1].coordination(createLog("silent"), NODE);
    await again.start();
    expect(await again.flights.begin("slot")).not.toBeNull();
    await Promise.all([other.stop(), again.stop()]);
    for (const each of stores) await each.close();
    await database.giveBack();
  });
});
