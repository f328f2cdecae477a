// The OpenDocument formats ODT, ODS and ODP (ISO/IEC 26300). read-opendocument.ts extracts the text.

import type { FileSample } from "../file-sample.ts";
import type { Certainty, FileFormat } from "../format.ts";

/** OpenDocument texts. */
export const ODT = openDocument("ODT", "odt", "text");
/** OpenDocument spreadsheets. */
export const ODS = openDocument("ODS", "ods", "spreadsheet");
/** OpenDocument presentations. */
export const ODP = openDocument("ODP", "odp", "presentation");

function openDocument(name: string, extension: string, kind: "text" | "spreadsheet" | "presentation"): FileFormat {
  const mediaType = `application/vnd.oasis.opendocument.${kind}`;
  return {
    name,
    mediaType,
    otherMediaTypes: [`${mediaType}-template`],
    extensions: [extension],
    recognise: (sample) => recognise(sample, mediaType, extension),
    async read({ bytes, pictures }) {
      return (await import("./read-opendocument.ts")).readOpenDocument(bytes, undefined, pictures);
    },
    openPictures: async (bytes) => (await import("../office/package.ts")).openOfficePictures(bytes),
  };
}

function recognise({ container, packageType, extension }: FileSample, type: string, own: string): Certainty | null {
  if (container?.kind !== "zip") return null;
  if (packageType !== null) return packageType === type || packageType === `${type}-template` ? "content" : null;
  // the entry that names the type may be anywhere in an archive that was packed again
  const isPackage = container.entryNames.includes("content.xml");
  return (isPackage || container.isDamaged) && extension === own ? "name" : null;
}
