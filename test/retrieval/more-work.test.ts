// More work never ranks worse: on conversations of a user with an assistant, no mode is behind a mode that does less by
// more than .003 nDCG@10 and by more than chance explains. The real models read real text in three languages.

import { expect } from "bun:test";
import { askDialogues, dialoguesContent, readDialogues } from "../../bench/lib/dialogues.ts";
import { moreWorkFloors } from "../../bench/lib/floors.ts";
import { serve } from "../../bench/lib/served-collection.ts";
import { Client } from "../../src/cli/client.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { testOfAll } from "../support/extent.ts";

/** English, German, Japanese. */
const CONVERSATIONS = new Set(["c01", "c04", "c09"]);

testOfAll("more work never ranks worse", async () => {
  const dialogues = readDialogues("dev").filter(({ passage }) => CONVERSATIONS.has(passage.id));
  expect(dialogues).toHaveLength(CONVERSATIONS.size);
  await using server = await serve(dialoguesContent("more-work", dialogues), null);
  const client = new Client(server.url, server.key);
  const ndcg = new Map<string, readonly number[]>();
  for (const mode of MODE_NAMES) {
    const scores = await askDialogues(client, dialogues, mode);
    ndcg.set(
      mode,
      scores.map((score) => score.ndcg),
    );
  }
  const floors = moreWorkFloors("conversations", ndcg);
  expect(floors).toHaveLength(6);
  expect(floors.filter(({ holds }) => !holds).map(({ sentence }) => sentence)).toEqual([]);
});
