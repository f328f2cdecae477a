// The lines of an export: header, records and end.

import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRecord,
} from "../../../domain/project-export.ts";
import { isoTime } from "../../../kit/clock.ts";
import { VERSION } from "../../../kit/version.ts";
import { type ExportSource, ProjectExport } from "./project-export.ts";

/** The lines of the export of a project, each with its line end. @throws as ProjectExport does */
export async function* exportLines(source: ExportSource, named: string | null, now: number): AsyncGenerator<string> {
  const project = await ProjectExport.open(source, named, now);
  const header: ExportHeader = {
    ...{ type: "header", format: EXPORT_FORMAT, version: EXPORT_VERSION, mneme: VERSION },
    ...{ exported_at: isoTime(now), counts: await project.counts() },
  };
  yield lineOf(header);
  const hash = new Bun.CryptoHasher("sha256");
  let lines = 0;
  for await (const record of project.records()) {
    const line = lineOf(record);
    hash.update(line);
    lines += 1;
    yield line;
  }
  yield lineOf({ type: "end", lines, sha256: hash.digest("hex") });
}

function lineOf(record: ExportHeader | ExportRecord | ExportEnd): string {
  return `${JSON.stringify(record)}\n`;
}
