// The child process that recognises the text of a file's pictures, or makes small JPEGs of them, and then exits. So a
// hostile picture can damage only this process. picture-recogniser.ts and picture-shrinker.ts start and limit it.

import { writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dieWithParent } from "../../children/parent-death.ts";
import { formatOfMediaType } from "../../documents/formats.ts";
import { smallJpeg } from "../../documents/pictures/shrink.ts";
import { encodeRecognised, type FilePictures } from "../../documents/recognition.ts";
import { readPicture } from "../../ocr/read-picture.ts";
import { type RecognisedPicture, recognised, unread } from "../../ocr/recognised.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { openPictureModels } from "../inference/onnxruntime-pictures.ts";
import type { JpegRequest, OcrRequest } from "./ocr-protocol.ts";

/** Reads the request on standard input, and writes the texts or the JPEGs of the pictures to standard output. */
export async function runOcrChild(): Promise<void> {
  dieWithParent();
  const request = JSON.parse(await Bun.stdin.text()) as OcrRequest | JpegRequest;
  if ("detection" in request) await readTexts(request);
  else await writeJpegs(request);
}

/** Pictures that cannot be decoded are left out. */
async function writeJpegs(request: JpegRequest): Promise<void> {
  const pictures = await openPictures(request);
  for (const id of request.ids) {
    const jpeg = await jpegOf(pictures, id);
    if (jpeg !== null) write(`${JSON.stringify({ id, jpeg: Buffer.from(jpeg).toString("base64") })}\n`);
  }
  await pictures.close?.();
}

async function jpegOf(pictures: FilePictures, id: string): Promise<Uint8Array | null> {
  try {
    return await smallJpeg(pictures, id);
  } catch {
    return null; // a damaged picture is left out
  }
}

async function readTexts(request: OcrRequest): Promise<void> {
  const models = await openPictureModels(request);
  let pictures: FilePictures;
  try {
    pictures = await openPictures(request);
  } catch (error) {
    const problem = problemOf(error);
    for (const id of request.ids) write(encodeRecognised(unread(id, problem)));
    return;
  }
  for (const id of request.ids) {
    let text: RecognisedPicture;
    try {
      text = recognised(id, await readPicture(await pictures.read(id), models));
    } catch (error) {
      text = unread(id, problemOf(error));
    }
    write(encodeRecognised(text));
  }
  await pictures.close?.();
}

async function openPictures({ path, mediaType }: JpegRequest): Promise<FilePictures> {
  const bytes = await readFile(path);
  const format = formatOfMediaType(mediaType);
  if (format.openPictures === undefined) throw new Error(`files of the type ${mediaType} have no pictures`);
  return format.openPictures(new Uint8Array(bytes));
}

/** Writes at once, so that the picture counts as read even if the next one kills this process. */
function write(line: string): void {
  const bytes = Buffer.from(line);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

function problemOf(error: unknown): string {
  if (!(error instanceof ReadFailure)) return "cannot be decoded";
  return error.message.replace(/\.$/, "");
}
