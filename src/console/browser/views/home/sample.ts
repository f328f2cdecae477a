// The sample library: invented notes of two people and ten short documents, for trying searches and questions. It was
// written for Mneme and has its licence. Each memory has the tag `SAMPLE_TAG`, by which all can be removed again.

import { call } from "../../core/api.ts";

/** Tag of all memories of the sample library. */
export const SAMPLE_TAG = "mneme-sample";

interface Sample {
  readonly title?: string;
  readonly content: string;
  readonly userId?: string;
  readonly occurred_at?: string;
}

const NOTES: readonly (readonly [userId: string, day: string, text: string])[] = [
  ["lena", "2026-03-02", "Lena prefers meetings before noon and keeps Friday afternoons free for deep work."],
  ["lena", "2026-03-09", "The workshop with the harbour team is in room 114 on 20 May."],
  ["lena", "2026-03-30", "The workshop with the harbour team was moved from room 114 to room 220."],
  ["lena", "2026-04-04", "Lena is allergic to hazelnuts; order the lemon cake for her birthday on 12 June."],
  ["lena", "2026-04-18", "Lena moved from Bremen to Lisbon in April 2026 and works from there now."],
  ["omar", "2026-03-05", "Omar leads the tide-gauge project and reports to Ingrid Solberg."],
  ["omar", "2026-03-21", "Omar likes short answers with figures, and wants sources for every claim."],
  ["omar", "2026-04-11", "The budget of the tide-gauge project is 48,000 euros; sensors take 60 % of it."],
  ["omar", "2026-05-02", "Omar's flight to Bergen leaves on 3 June at 07:40 from gate B12."],
];

const DOCUMENTS: readonly (readonly [title: string, text: string])[] = [
  [
    "Handbook: holidays",
    "# Holidays\n\nEveryone has 28 days of holiday a year. Requests go to the team lead at least two weeks ahead. Up to five " +
      "unused days move to the next year and must be taken by the end of March.",
  ],
  [
    "Handbook: expenses",
    "# Expenses\n\nTrain journeys are booked in second class. Hotels cost at most 140 euros a night, in Bergen 180 euros. " +
      "Receipts are handed in within 30 days; without a receipt at most 25 euros are paid back.",
  ],
  [
    "Tide gauge TG-7: data sheet",
    "# Tide gauge TG-7\n\nThe TG-7 measures the water level by radar, with an accuracy of 2 mm at up to 30 m. It needs 12 V " +
      "and 80 mA. Its housing stands spray and ice (IP68). The battery lasts 14 months at one reading a minute.",
  ],
  [
    "Tide gauge TG-7: error codes",
    "# Error codes of the TG-7\n\nE-101: no echo; clean the antenna. E-204: the battery is below 11.2 V. E-317: the clock has " +
      "no time signal for 24 hours; check the antenna cable. E-402: the memory is full; fetch the readings.",
  ],
  [
    "Minutes: kick-off of the tide-gauge project",
    "# Kick-off, 10 March 2026\n\nPresent: Omar, Ingrid Solberg, Lena. Decided: six gauges along the fjord, the first at the " +
      "harbour of Bergen. Ingrid signs the contract with Nordlys AS. The first readings are due on 1 June.",
  ],
  [
    "Minutes: harbour authority",
    "# Harbour authority, 22 April 2026\n\nThe authority allows the gauge at pier 4, not at pier 2 as planned, because cruise " +
      "ships moor there. The permit runs until 31 December 2028 and costs 1,200 euros a year.",
  ],
  [
    "Contract with Nordlys AS (summary)",
    "# Contract, summary\n\nNordlys AS delivers six TG-7 gauges by 15 May 2026 for 28,800 euros. Late delivery costs 1 % of the " +
      "price per week. The warranty is 36 months. Either side may end the contract with 60 days of notice.",
  ],
  [
    "Recipe: lemon cake",
    "# Lemon cake\n\n250 g flour, 200 g sugar, 3 eggs, 125 ml oil, zest and juice of 2 lemons. No nuts. Bake 45 minutes at " +
      "175 °C. It keeps for four days in a tin.",
  ],
  [
    "Guide: working from Lisbon",
    "# Working from Lisbon\n\nLisbon is one hour behind Berlin. The coworking space is at Rua do Alecrim 12; the door code " +
      "changes each month and is sent by mail. Calls with Bergen are best between 10 and 16 o'clock local time.",
  ],
  [
    "Checklist: before a trip",
    "# Before a trip\n\n1. Book the train or flight at least three weeks ahead. 2. Tell the host when you arrive. 3. Charge the " +
      "spare battery of the tide gauge. 4. Save the emergency numbers: in Norway 113 is the ambulance.",
  ],
];

const SAMPLES: readonly Sample[] = [
  ...NOTES.map(([userId, day, content]) => ({ content, userId, occurred_at: day })), // the server makes their titles
  ...DOCUMENTS.map(([title, content]) => ({ title, content })),
];

/** Stores the sample library. Storing it again changes nothing. @throws ApiError */
export async function loadSample(): Promise<void> {
  for (const [at, sample] of SAMPLES.entries()) {
    await call("createMemory", { body: { ...sample, externalId: `${SAMPLE_TAG}-${at}`, tags: [SAMPLE_TAG] } });
  }
}

/** Deletes the memories of the sample library for good. Returns their number. @throws ApiError */
export async function removeSample(): Promise<number> {
  let removed = 0;
  for (;;) {
    const { data } = await call("listMemories", { query: { tag: SAMPLE_TAG, limit: 100 } });
    if (data.length === 0) return removed;
    for (const { id } of data) await call("deleteMemory", { params: { id }, query: { purge: true } });
    removed += data.length;
  }
}
