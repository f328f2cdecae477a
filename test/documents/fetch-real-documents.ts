// Downloads the documents that real-documents.tsv lists, about 17 MB, from their public repositories on GitHub into a
// folder, and verifies their checksums. Usage: bun test/documents/fetch-real-documents.ts FOLDER

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A line of real-documents.tsv. */
interface Source {
  readonly file: string;
  /** The first 16 hexadecimal digits of the SHA-256. */
  readonly sha256: string;
  readonly url: string;
}

function sources(): readonly Source[] {
  const [, ...lines] = readFileSync(join(import.meta.dir, "real-documents.tsv"), "utf8")
    .trimEnd()
    .split("\n");
  return lines.map((line) => {
    const [file = "", , sha256 = "", repository = "", commit = "", path = ""] = line.split("\t");
    const escaped = path.split("/").map(encodeURIComponent).join("/");
    return { file, sha256, url: `https://raw.githubusercontent.com/${repository}/${commit}/${escaped}` };
  });
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: bun test/documents/fetch-real-documents.ts FOLDER");
for (const { file, sha256, url } of sources()) {
  const target = join(folder, file);
  if (existsSync(target)) continue;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} was answered with ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const found = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  if (found !== sha256) throw new Error(`${url} has the checksum ${found} instead of ${sha256}`);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, bytes);
  process.stdout.write(`${file}\n`);
}
