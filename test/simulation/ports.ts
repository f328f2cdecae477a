// Preparation, document reading, uploaded files and models for the simulation: the simplest code that fulfils the
// ports, without processes, files and real time. Calls wait for the scheduler.

import type { Chunk } from "../../src/domain/chunk.ts";
import { Fault, invariant } from "../../src/domain/fault.ts";
import type { Extracted } from "../../src/domain/memory.ts";
import { PiecedText } from "../../src/kit/pieced-text.ts";
import { type DocumentFile, type DocumentReader, ReadFailure } from "../../src/ports/document-reader.ts";
import type { Embedder, Embedders, Rerankers } from "../../src/ports/models.ts";
import { type Prepared, PrepareFailure, type PrepareInput, type Preparer } from "../../src/ports/preparer.ts";
import type { IncomingFile, TextFile, UploadFiles } from "../../src/ports/upload-files.ts";
import { WordModels } from "../in-memory/models.ts";
import { embeddersOf } from "../support/shipped-models.ts";
import { InjectedError, type SimulatedProcess } from "./scheduler.ts";

/** A text with this word cannot be prepared, and a file with it cannot be read. */
export const UNREADABLE = "unreadable";

/** Preparation that makes each line of a text a chunk. */
export class LinePreparer implements Preparer {
  readonly parallelMax = 1;
  constructor(private readonly process: SimulatedProcess) {}

  async prepare(
    inputs: readonly PrepareInput[],
    signal?: AbortSignal,
  ): Promise<readonly (Prepared | PrepareFailure)[]> {
    await asOutage(this.process.next("preparer.prepare"));
    signal?.throwIfAborted();
    return inputs.map(prepared);
  }
}

function prepared(input: PrepareInput): Prepared | PrepareFailure {
  const { title, type, tags, language } = input;
  const content = input.content.slice(0);
  if (content.includes(UNREADABLE)) return new PrepareFailure("This text cannot be prepared.");
  const lines = content.split("\n");
  let start = 0;
  const chunks = lines.map((line, ordinal): Chunk => {
    const end = start + line.length;
    const chunk = { ordinal, start, end, tokens: line.split(" ").length, headings: [] };
    start = end + 1;
    return chunk;
  });
  const passage = ({ ordinal }: Chunk) => lines[ordinal] ?? "";
  const extracted: Extracted = {
    title: title ?? lines[0]?.split(" ")[0] ?? "",
    type: type ?? "note",
    tags: tags ?? [],
    language: language ?? "en",
  };
  return {
    extracted,
    chunks,
    lines: chunks.flatMap((_, at) => [at + 1, at + 1]),
    texts: { passage, embeddedText: passage, searchText: passage, contextText: () => null },
  };
}

/** What remains of uploaded files after a crash. */
export class FileDisk {
  readonly files = new Map<string, { readonly content: string; readonly writtenMs: number }>();
  nextName = 1;
}

/** Uploaded files in memory. Their names begin with `incoming-` or `kept-`. */
export class SimulatedFiles implements UploadFiles {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly disk: FileDisk,
  ) {
    for (const name of disk.files.keys()) if (name.startsWith("incoming-")) disk.files.delete(name);
  }

  async begin(): Promise<IncomingFile> {
    await this.process.next("files.begin");
    const path = `incoming-${this.disk.nextName++}`;
    this.#write(path, "");
    return {
      path,
      write: async (bytes) => {
        await this.process.next("files.write");
        this.#write(path, `${this.disk.files.get(path)?.content ?? ""}${Buffer.from(bytes).toString()}`);
      },
      end: () => this.process.next("files.end"),
      discard: async () => void this.disk.files.delete(path),
    };
  }

  async keep(path: string): Promise<string> {
    await this.process.next("files.keep", "begin");
    const file = this.disk.files.get(path);
    invariant(file !== undefined, "an incoming file exists until it is kept");
    const name = path.replace("incoming-", "kept-");
    this.disk.files.delete(path);
    this.disk.files.set(name, file);
    await this.process.next("files.keep", "end");
    return name;
  }

  async readText({ name }: TextFile): Promise<PiecedText | "missing"> {
    await this.process.next("files.read");
    const file = this.disk.files.get(name);
    return file === undefined ? "missing" : new PiecedText([file.content], Buffer.byteLength(file.content));
  }

  async fetch(name: string): Promise<string> {
    return this.pathOf(name);
  }

  pathOf(name: string): string {
    return name;
  }

  async remove(name: string): Promise<void> {
    await this.process.next("files.remove");
    this.disk.files.delete(name);
  }

  async removeAgain(): Promise<void> {
    // here every removal succeeds
  }

  async names(ageMs: number): Promise<readonly string[]> {
    await this.process.next("files.names");
    const kept = [...this.disk.files].filter(([name]) => name.startsWith("kept-"));
    return kept.flatMap(([name, { writtenMs }]) => (writtenMs <= this.process.now() - ageMs ? [name] : []));
  }

  #write(path: string, content: string): void {
    this.disk.files.set(path, { content, writtenMs: this.process.now() });
  }
}

/** Reads simulated files. */
export class SimulatedReader implements DocumentReader {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly disk: FileDisk,
  ) {}

  async read({ path }: DocumentFile, onPages?: Parameters<DocumentReader["read"]>[1], signal?: AbortSignal) {
    await asOutage(this.process.next("documents.read"));
    signal?.throwIfAborted();
    const content = this.disk.files.get(path)?.content;
    if (content === undefined) throw new InjectedError(`${path} does not exist`);
    if (content.includes(UNREADABLE)) return new ReadFailure("unreadable_document", "This file cannot be read.");
    onPages?.({ done: 1, total: 1 });
    return { content, title: null, marks: [] };
  }
}

/** Two models whose lane can die at each call. The second can replace the first. */
export function simulatedModels(process: SimulatedProcess): { embedders: Embedders; rerankers: Rerankers } {
  const models = ["embedder-a", "embedder-b"].map((id) => new WordModels({ id, dimensions: 16, delays: process }));
  const [first, second] = models.map((model): Embedder => {
    const { id, fingerprint, dimensions, tokensMax, languages, tuning } = model;
    const embed: Embedder["embed"] = (texts, options) => asOutage(model.embed(texts, options));
    const countTokens: Embedder["countTokens"] = (texts, options) => asOutage(model.countTokens(texts, options));
    return { id, fingerprint, dimensions, tokensMax, languages, tuning, embed, countTokens };
  });
  invariant(first !== undefined && second !== undefined, "there are two models");
  const [model] = models;
  const rerankers: Rerankers = {
    for: ({ id }) =>
      model !== undefined && id === model.id
        ? {
            languages: model.languages,
            score: (query, passages, options) => asOutage(model.score(query, passages, options)),
          }
        : null,
  };
  return { embedders: embeddersOf(first, second), rerankers };
}

/** Turns injected errors into the Fault that callers of a lane or a child process get while it restarts. */
async function asOutage<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof InjectedError)) throw error;
    throw new Fault("model_unavailable", error.message, { retryAfterSeconds: 1, cause: error });
  }
}
