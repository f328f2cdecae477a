// Files that are pictures: PNG, JPEG, WebP and TIFF. Their text is recognised (src/ocr), page by page.

import { ReadFailure, UnreadPictures } from "../../ports/document-reader.ts";
import { outcomeOf, refuse } from "../budget.ts";
import { beginsWith } from "../file-bytes.ts";
import type { FileFormat } from "../format.ts";
import { type FilePictures, noPictures } from "../recognition.ts";

interface Kind {
  readonly name: string;
  readonly mediaType: string;
  readonly extensions: readonly string[];
  /** Signatures with which files of this format begin. */
  readonly signatures: readonly (readonly { readonly bytes: string; readonly at?: number }[])[];
}

const KINDS: readonly Kind[] = [
  { name: "PNG", mediaType: "image/png", extensions: ["png"], signatures: [[{ bytes: "\x89PNG\r\n\x1a\n" }]] },
  {
    name: "JPEG",
    mediaType: "image/jpeg",
    extensions: ["jpg", "jpeg", "jpe"],
    signatures: [[{ bytes: "\xff\xd8\xff" }]],
  },
  {
    name: "WebP",
    mediaType: "image/webp",
    extensions: ["webp"],
    signatures: [[{ bytes: "RIFF" }, { bytes: "WEBP", at: 8 }]],
  },
  {
    name: "TIFF",
    mediaType: "image/tiff",
    extensions: ["tif", "tiff"],
    signatures: [[{ bytes: "II*\0" }], [{ bytes: "MM\0*" }], [{ bytes: "II+\0" }], [{ bytes: "MM\0+" }]],
  },
];

/** PNG, JPEG, WebP and TIFF. */
export const PICTURES: readonly FileFormat[] = KINDS.map((kind) => ({
  name: kind.name,
  mediaType: kind.mediaType,
  extensions: kind.extensions,
  recognise({ head, extension, isUnknownBinary }) {
    const isOfKind = kind.signatures.some((parts) => parts.every(({ bytes, at }) => beginsWith(head, bytes, at)));
    if (isOfKind) return "content";
    return kind.extensions.includes(extension) && isUnknownBinary ? "name" : null;
  },
  async read({ bytes, pictures = noPictures() }) {
    const pages = await pagesOf(kind, bytes);
    if (pages instanceof ReadFailure) return pages;
    const { readPictures } = await import("../pdf/read-pdf.ts");
    const text = await readPictures(
      Array.from({ length: pages }, (_, at) => String(at + 1)),
      pictures,
    );
    if (!(text instanceof ReadFailure) || text instanceof UnreadPictures) return text;
    return new ReadFailure("unreadable_document", pictures.failure("The file is a picture"));
  },
  openPictures: (bytes) => openPages(kind, bytes),
}));

async function pagesOf(kind: Kind, bytes: Uint8Array): Promise<number | ReadFailure> {
  if (kind.name !== "TIFF") return 1;
  const { openTiff } = await import("./tiff.ts");
  return outcomeOf(() => openTiff(bytes).count || refuse("The file holds no picture."));
}

async function openPages(kind: Kind, bytes: Uint8Array): Promise<FilePictures> {
  if (kind.name === "TIFF") {
    const source = (await import("./tiff.ts")).openTiff(bytes);
    return { read: (id) => source.read(Number(id) - 1) };
  }
  const { decodePicture } = await import("./decode.ts");
  return { read: () => decodePicture(bytes), encoded: async () => bytes };
}
