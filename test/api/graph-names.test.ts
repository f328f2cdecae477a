// Searches with `includeGraph` for a name that one memory contains: they also find the memories that share another name
// with it, although those resemble the question less than many others do.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const ENGINEER = "Zephyrine Okonkwo is the chief engineer at the Calder Vale Observatory.";
const MIRRORS = "Spare mirrors of the Calder Vale Observatory rest under Brackwater Bridge.";
/** Chief engineers of other places. */
const OTHERS = [
  ["Tomas Lindqvist", "Harrow Point Lighthouse"],
  ["Amara Nwosu", "Pelham Reach Waterworks"],
  ["Ingrid Solberg", "Fjellheim Dam"],
  ["Kwame Boateng", "Saltmarsh Ferry Terminal"],
  ["Priya Raghunathan", "Lantern Hill Tramway"],
  ["Marek Dvořák", "Old Foundry Museum"],
  ["Chinwe Okafor", "Tidewater Power Station"],
  ["Elena Marchetti", "Monte Serra Cable Car"],
  ["Oluwaseun Adeyemi", "Northgate Signal Works"],
  ["Fatima Benali", "Red Quarry Railway"],
  ["Callum Strachan", "Glen Orrin Distillery"],
  ["Yuki Hanabusa", "Seven Pines Weather Station"],
  ["Beatriz Fontes", "Porto Alvo Shipyard"],
  ["Dmitri Volkonsky", "Iron Gate Locks"],
  ["Nneka Eze", "Cobalt Row Brewery"],
  ["Sander van Dijk", "Westerhaven Pumping Station"],
  ["Leila Haddad", "Cedar Ridge Planetarium"],
  ["Rowan Ashdown", "Bellmouth Organ Workshop"],
].map(([name, place]) => `${name} is the chief engineer at the ${place}.`);

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService({ countsWords: true });
  const memories = [ENGINEER, MIRRORS, ...OTHERS].map((content) => ({ content }));
  await mneme.call("POST", "/v1/memories/batch", { memories });
  await until("all are completed", async () => {
    const { body } = await mneme.call("GET", "/v1/memories?status=completed&limit=100");
    return body.data.length === memories.length;
  });
});
afterAll(() => mneme.stop());

for (const mode of MODE_NAMES) {
  test(`${mode}: the neighbour of a name in a single memory is among the first ten, with its path`, async () => {
    const search = { query: "Zephyrine Okonkwo", mode, includeGraph: true, explain: true, limit: 10 };
    const { status, body } = await mneme.call("POST", "/v1/memories/search", search);
    expect(status).toBe(200);
    const texts: string[] = body.results.map((result: { content: string }) => result.content);
    expect(texts[0]).toBe(ENGINEER);
    const neighbour = body.results[texts.indexOf(MIRRORS)];
    const [from, via, through, own] = neighbour.explain.signals.graph.path;
    expect([from, through]).toEqual(["Zephyrine Okonkwo", "Calder Vale Observatory"]);
    expect([via, own]).toEqual([expect.stringMatching(/^chunk_/), expect.stringMatching(/^chunk_/)]);
  });
}
