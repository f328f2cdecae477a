// Receives a page or file from a URL into a file on disk, as upload.ts receives a form.

import { createHash } from "node:crypto";
import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { FileFormats } from "../ports/document-reader.ts";
import type { FetchedPage, OutboundFetcher } from "../ports/outbound.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import type { FileOnDisk } from "../services/intake.ts";
import { cleanName } from "./upload.ts";

/** A file that was fetched. It stays on disk until it is kept or disposed of. Disposing never rejects. */
export interface FetchedFile extends AsyncDisposable {
  readonly received: FileOnDisk;
}

/** Fetches files. */
export interface UrlFiles {
  /**
   * Downloads `url` to disk. After a failure, no file is left.
   * @throws Fault `unsafe_url`, also if the operator has switched this off; `fetch_failed`; `payload_too_large`;
   *   `unsupported_media_type`; `overloaded` if too many files are being fetched
   */
  receive(url: string, signal: AbortSignal): Promise<FetchedFile>;
}

/** Maximum number of files fetched at the same time. */
const FETCHING_MAX = 16;
/** File extensions by media type, because formats without a signature are recognised by the file name. */
const ENDINGS: Readonly<Record<string, string>> = {
  "text/html": ".html",
  "application/xhtml+xml": ".html",
  "text/plain": ".txt",
  "text/markdown": ".md",
  "text/csv": ".csv",
  "application/json": ".json",
  "application/pdf": ".pdf",
};

/** Creates the receiver of URLs; one per process. */
export function createUrlFiles(parts: {
  /** null if the operator has switched this off. */
  readonly fetcher: OutboundFetcher | null;
  readonly files: Pick<UploadFiles, "begin">;
  readonly formats: FileFormats;
}): UrlFiles {
  const { fetcher, files, formats } = parts;
  let fetching = 0;
  return {
    receive: async (url, signal) => {
      if (fetcher === null) {
        throw new Fault("unsafe_url", "This server fetches no URLs: its operator has switched that off.", {
          param: "url",
        });
      }
      if (fetching === FETCHING_MAX) {
        const message = "Too many URLs are being fetched. Try again in a moment.";
        throw new Fault("overloaded", message, { retryAfterSeconds: 1 });
      }
      fetching += 1;
      try {
        return await receive(url, signal, { fetcher, files, formats });
      } finally {
        fetching -= 1;
      }
    },
  };
}

async function receive(
  url: string,
  signal: AbortSignal,
  parts: {
    readonly fetcher: OutboundFetcher;
    readonly files: Pick<UploadFiles, "begin">;
    readonly formats: FileFormats;
  },
): Promise<FetchedFile> {
  const incoming = await parts.files.begin();
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    const write = async (piece: Uint8Array) => {
      bytes += piece.byteLength;
      hash.update(piece);
      await incoming.write(piece);
    };
    const page = await parts.fetcher.fetch(url, write, signal);
    await incoming.end();
    const name = filenameOf(page);
    const mediaType = await parts.formats.mediaTypeOf(incoming.path, name, page.mediaType);
    if (mediaType === null) {
      const message = `The format of this page is not supported. Supported: ${parts.formats.names}.`;
      throw new Fault("unsupported_media_type", message, { param: "url" });
    }
    const filename = [...name].slice(0, LIMITS.filenameCharacters).join("");
    // the URL that the caller named: fetched again, it may redirect to another page
    const source = { filename, media_type: mediaType, bytes, url };
    const received = { path: incoming.path, bytes, sha256: hash.digest(), source };
    return { received, [Symbol.asyncDispose]: () => incoming.discard() };
  } catch (error) {
    await incoming.discard();
    throw error;
  }
}

/** The name that the server suggests, or the end of the path, with an ending for its media type. */
function filenameOf({ url, mediaType, filename }: FetchedPage): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.split("/").findLast((part) => part !== "") ?? "";
  const name = cleanName(filename ?? decoded(last)) || hostname;
  const ending = ENDINGS[mediaType ?? ""] ?? "";
  const isNamed = name.toLowerCase().endsWith(ending) || (ending === ".html" && /\.html?$/i.test(name));
  return isNamed ? name : `${name}${ending}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not UTF-8
  }
}
