// Backups in an S3 bucket, through the client that is part of Bun. Keys, region and endpoint come from the usual
// environment variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL).

import { S3Client } from "bun";
import { errorMessage } from "../kit/error-message.ts";
import { UsageError } from "../kit/flags.ts";
import type { Target } from "./target.ts";

/** Maximum number of names per answer; S3 allows no more. */
const PAGE_NAMES = 1_000;

/** A bucket, or a part of it whose keys have a common beginning. */
export class S3Target implements Target {
  readonly description: string;
  readonly #client: S3Client;
  readonly #prefix: string;

  /** @throws UsageError if the address is not `s3://BUCKET[/PREFIX]`, or the keys are missing */
  constructor(address: string, environment: Readonly<Record<string, string | undefined>>) {
    const [, bucket, prefix = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(address) ?? [];
    if (bucket === undefined) throw new UsageError(`${address} is not an address of S3: write s3://BUCKET/PREFIX.`);
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new UsageError("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to use S3.");
    }
    const { AWS_SESSION_TOKEN: sessionToken, AWS_REGION: region, AWS_ENDPOINT_URL: endpoint } = environment;
    this.description = address;
    this.#prefix = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
    this.#client = new S3Client({
      ...{ bucket, accessKeyId, secretAccessKey },
      ...(sessionToken !== undefined && { sessionToken }),
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
    });
  }

  async read(name: string): Promise<Uint8Array | null> {
    return this.#named("read", name, async () => {
      try {
        return await this.#client.file(this.#prefix + name).bytes();
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "NoSuchKey") return null;
        throw error;
      }
    });
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#named("write", name, () => this.#client.write(this.#prefix + name, bytes));
  }

  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (;;) {
      const last = names.at(-1);
      const page = await this.#named("list", prefix, () =>
        this.#client.list({
          ...{ prefix: this.#prefix + prefix, maxKeys: PAGE_NAMES },
          ...(last !== undefined && { startAfter: this.#prefix + last }),
        }),
      );
      names.push(...(page.contents ?? []).map(({ key }) => key.slice(this.#prefix.length)));
      if (page.isTruncated !== true) return names.sort();
    }
  }

  async remove(name: string): Promise<void> {
    await this.#named("remove", name, () => this.#client.delete(this.#prefix + name));
  }

  async removePartial(): Promise<void> {
    // S3 shows complete objects only, and a lifecycle rule of the bucket ends uploads that were cut
  }

  /** Adds the object and the place to the message of a failure. */
  async #named<T>(action: string, name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const why = errorMessage(cause);
      throw new Error(`Could not ${action} ${name || "the objects"} of ${this.description}: ${why}`, { cause });
    }
  }
}
