// Tests an index whose disk gets full: the publication that fails reports it, nothing acknowledged is lost, and the
// index can publish again when there is space, without being reopened.

import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NativeError } from "../../src/adapters/native/addon.ts";
import { NO_MOUNT, smallDisk } from "../stores/temporary-folder.ts";
import { chunkKeysOf, FINGERPRINT, live, MODEL, openIndex, publication, publish, vectorOf } from "./corpus.ts";

const DISK_MB = 24;
const BALLAST_BYTES = 12_000_000;
const CHUNKS_EACH = 40;
/** Maximum number of rounds until the disk is full. */
const ROUNDS_MAX = 2_000;

const disk = smallDisk(DISK_MB);
if (disk === null) console.warn(`disk-full.test.ts is skipped: it ${NO_MOUNT}`);

test.skipIf(disk === null)(
  "on a full disk, publishing fails with no_space and nothing is lost; it works again when there is space",
  async () => {
    if (disk === null) return;
    const ballast = join(disk.path, "ballast");
    writeFileSync(ballast, new Uint8Array(BALLAST_BYTES));
    const options = {
      directory: join(disk.path, "project"),
      newModel: MODEL,
    };
    let { index } = await openIndex(options);
    const publishNext = (memoryKey: bigint) => {
      const { memoryKeys, chunks, vectors } = publication([memoryKey], 1, CHUNKS_EACH);
      const texts = chunks.map((chunk) => ({
        ...chunk,
        passage: `${chunk.passage} ${incompressible(chunk.chunkKey)}`,
      }));
      return publish(index, memoryKeys, texts, live(vectors));
    };
    const expectWhole = async (acknowledged: bigint) => {
      const memoryKeys = Array.from({ length: Number(acknowledged) }, (_, at) => BigInt(at + 1));
      const chunkKeys = memoryKeys.flatMap((memoryKey) => chunkKeysOf(memoryKey, 1, CHUNKS_EACH));
      const { missingVectors, missingPostings } = await index.reconcile(BigUint64Array.from(chunkKeys));
      expect([missingVectors.length, missingPostings.length]).toEqual([0, 0]);
      index.show(
        BigUint64Array.from(memoryKeys),
        new BigUint64Array(memoryKeys.length),
        new Float64Array(memoryKeys.length),
      );
      const [last = 0n] = chunkKeysOf(acknowledged, 1, CHUNKS_EACH);
      const within = index.admit(null, 1);
      expect((await index.searchVectors(FINGERPRINT, vectorOf(last), within, 1)).chunkKeys[0]).toBe(last);
      expect((await index.searchText(`c${last}`, within, 1)).chunkKeys[0]).toBe(last);
      expect((await index.passages(BigUint64Array.of(last)))[0]?.text).toStartWith(`passage ${last} `);
    };

    try {
      let acknowledged = 0n;
      let refusal: unknown;
      while (refusal === undefined && acknowledged < ROUNDS_MAX) {
        await publishNext(acknowledged + 1n).then(
          () => acknowledged++,
          (cause: unknown) => {
            refusal = cause;
          },
        );
      }
      expect(refusal).toBeInstanceOf(NativeError);
      expect(refusal).toMatchObject({ code: "no_space" });
      await expectWhole(acknowledged);
      await expect(publishNext(acknowledged + 1n)).rejects.toMatchObject({ code: "no_space" });
      await expectWhole(acknowledged);

      rmSync(ballast);
      for (let round = 0; round < 20; round++) {
        await publishNext(acknowledged + 1n);
        acknowledged++;
      }
      await expectWhole(acknowledged);
      await index.close();
      const reopened = await openIndex(options);
      index = reopened.index;
      expect(reopened.repairs).toEqual([]);
      await expectWhole(acknowledged);
    } finally {
      await index.close();
      disk.remove();
    }
  },
);

/** A kilobyte of text that can hardly be compressed to less than half its size. */
function incompressible(chunkKey: bigint): string {
  const digest = (at: number) => new Bun.CryptoHasher("sha512").update(`${chunkKey} ${at}`).digest("hex");
  return Array.from({ length: 8 }, (_, at) => digest(at)).join("");
}
