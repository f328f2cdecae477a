// Detects the format of an uploaded file: by its content, and by its name if the content alone does not decide. Each
// format has a function that recognises its files (formats.ts).

import { open } from "node:fs/promises";
import { type ReadableFile, readableBytes } from "./file-bytes.ts";
import { sampleFile } from "./file-sample.ts";
import { CERTAINTIES } from "./format.ts";
import { extensionOfMediaType, FORMATS, isKnownExtension } from "./formats.ts";

/**
 * Returns the media type of a file; null if the file has none of the formats that Mneme reads. For an encrypted Office
 * document, the extension of its name decides the media type.
 * @param declared the media type that the sender named; it counts if the extension is unknown
 * @throws Error of the operating system if the file cannot be read
 */
export async function mediaTypeOf(
  path: string,
  filename: string,
  declared: string | null = null,
): Promise<string | null> {
  const file = await open(path, "r");
  try {
    return await mediaTypeOfFile(file, filename, declared);
  } finally {
    await file.close();
  }
}

/** Like `mediaTypeOf`, of a file in memory. */
export function mediaTypeOfBytes(bytes: Uint8Array, filename: string, declared: string | null): Promise<string | null> {
  return mediaTypeOfFile(readableBytes(bytes), filename, declared);
}

async function mediaTypeOfFile(file: ReadableFile, filename: string, declared: string | null): Promise<string | null> {
  const named = extensionOf(filename);
  const extension = isKnownExtension(named) ? named : (extensionOfMediaType(declared) ?? named);
  const sample = await sampleFile(file, { extension, isKnown: isKnownExtension(extension) });
  let best: { readonly mediaType: string; readonly rank: number } | null = null;
  for (const format of FORMATS) {
    const certainty = format.recognise(sample);
    if (certainty === "content") return format.mediaType;
    const rank = certainty === null ? -1 : CERTAINTIES.indexOf(certainty);
    if (rank > (best?.rank ?? -1)) best = { mediaType: format.mediaType, rank };
  }
  return best?.mediaType ?? null;
}

function extensionOf(filename: string): string {
  return /\.([a-z0-9]{1,16})$/i.exec(filename)?.[1]?.toLowerCase() ?? "";
}
