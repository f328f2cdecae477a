// The operation that returns the original of an uploaded file.

import { Fault } from "../domain/fault.ts";
import type { MemoryService } from "../services/memories.ts";
import { memoryPathId } from "./ids.ts";
import { absent } from "./memories.ts";
import { FileBody, type Operation, reading } from "./operation.ts";
import { askedOf } from "./ranges.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";

/** The operation GET /v1/memories/{id}/file. */
export function fileOperation({ memories }: { readonly memories: MemoryService }): Operation {
  return reading({
    name: "getMemoryFile",
    group: "Memories",
    summary:
      "Read the file that a memory was made from, if the project keeps files (`keep_files`). One `Range` of bytes is answered with 206, several with the whole file.",
    method: "GET",
    path: "/v1/memories/:id/file",
    scope: "memories:read",
    query: NoQuery,
    answersFile: true,
    answers: { 200: schema.FileContent, 206: schema.FileContent, 304: null },
    faults: ["memory_not_found", "file_not_found", "range_not_satisfiable"],
    read: async ({ principal, params, request }) => {
      const id = memoryPathId(params.id);
      const original = await memories.original(principal, id);
      if (original === null) throw absent(id);
      const { name, source, locate } = original;
      const { bytes } = source;
      const etag = `"${name}"`;
      const asked = askedOf(request, { bytes, etag });
      if (asked === "unsatisfiable") {
        const message = `The file has ${bytes} bytes: ask for a range that begins before its end.`;
        throw new Fault("range_not_satisfiable", message, { param: "Range", fileBytes: bytes });
      }
      // a cache must not return a deleted file, nor a file to another key
      const validators = { etag, "cache-control": "private, no-cache" };
      if (asked === "not modified") return { status: 304, body: new FileBody(null, validators) };
      const { start, end } = asked === "whole" ? { start: 0, end: bytes } : asked;
      const headers = {
        ...validators,
        ...{ "content-type": source.media_type, "content-length": String(end - start), "accept-ranges": "bytes" },
        "content-disposition": attachment(source.filename),
        // whatever the file is, a browser neither runs nor shows it with the rights of the console
        ...{ "x-content-type-options": "nosniff", "content-security-policy": "sandbox" },
        ...(asked !== "whole" && { "content-range": `bytes ${start}-${end - 1}/${bytes}` }),
      };
      const content = request.method === "HEAD" ? null : Bun.file(await locate()).slice(start, end);
      return { status: asked === "whole" ? 200 : 206, body: new FileBody(content, headers) };
    },
  });
}

/** The header for a file to save (RFC 6266): a name in ASCII, and the name itself where it differs. */
function attachment(filename: string): string {
  const name = filename.split(/[\\/]/).at(-1)?.toWellFormed() ?? "";
  const plain = name.replace(/[^ -~]|["\\%]/gu, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"${plain === name ? "" : `; filename*=UTF-8''${encoded}`}`;
}
