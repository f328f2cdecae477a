// Reads the copy of the stores that a server, or the command itself, answers with (control.ts).

import type { FilledPart, StoreSummary } from "../domain/store-copy.ts";
import { ByteReader } from "./byte-reader.ts";
import type { CopyLine, CopyPart } from "./control.ts";

/** Reads an answer with a copy of the stores. */
export async function readCopy(
  response: Response,
): Promise<{ readonly summary: StoreSummary; readonly parts: AsyncGenerator<FilledPart> }> {
  const reader = new ByteReader(response.body);
  const first = await lineOf(reader);
  if (first.type !== "copy") throw new Error("The server answered with something else than a copy of its stores.");
  return { summary: first.summary, parts: partsIn(reader) };
}

async function* partsIn(reader: ByteReader): AsyncGenerator<FilledPart> {
  try {
    for (let parts = 0; ; parts++) {
      const line = await lineOf(reader);
      if (line.type === "end" && line.parts === parts) return;
      if (line.type !== "part") throw new Error("The copy of the stores is not complete.");
      const { part, bytes }: CopyPart = line;
      yield { part, bytes: await reader.take(bytes) };
    }
  } finally {
    await reader.cancel();
  }
}

async function lineOf(reader: ByteReader): Promise<CopyLine> {
  const line = await reader.line();
  if (line === null) throw new Error("The server stopped before the copy of its stores was complete; try again.");
  const parsed: CopyLine = JSON.parse(line);
  if (parsed.type === "error") throw new Error(parsed.message);
  return parsed;
}
