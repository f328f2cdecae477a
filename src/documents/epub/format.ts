// The EPUB format (versions 2 and 3). read-epub.ts extracts the text.

import type { FileFormat } from "../format.ts";

/** Electronic books. */
export const EPUB: FileFormat = {
  name: "EPUB",
  mediaType: "application/epub+zip",
  extensions: ["epub"],
  recognise({ container, packageType, extension }) {
    if (container?.kind !== "zip") return null;
    if (packageType === this.mediaType || container.entryNames.includes("META-INF/container.xml")) return "content";
    return container.isDamaged && extension === "epub" ? "name" : null;
  },
  async read({ bytes, pictures }) {
    return (await import("./read-epub.ts")).readEpub(bytes, undefined, pictures);
  },
  openPictures: async (bytes) => (await import("../office/package.ts")).openOfficePictures(bytes),
};
