// The PDF format. read-pdf.ts extracts the text.

import type { FileFormat } from "../format.ts";

/**
 * The signature of a PDF begins within this many bytes (implementation note 13 in the PDF Reference 1.7, the
 * predecessor of ISO 32000-1).
 */
const SIGNATURE_WITHIN_BYTES = 1024;

/** PDF. */
export const PDF: FileFormat = {
  name: "PDF",
  mediaType: "application/pdf",
  extensions: ["pdf"],
  recognise(sample) {
    if (sample.container !== null) return null;
    const isNamed = this.extensions.includes(sample.extension);
    const at = sample.head.subarray(0, SIGNATURE_WITHIN_BYTES).indexOf("%PDF-", 0, "latin1");
    // texts about PDF contain the signature as well, but not at their beginning
    if (at === 0 || (at > 0 && (isNamed || sample.head.includes(0)))) return "content";
    return isNamed && sample.isUnknownBinary ? "name" : null;
  },
  async read({ bytes, pictures }, onPages) {
    return (await import("./read-pdf.ts")).readPdf(bytes, { onProgress: onPages, ...(pictures && { pictures }) });
  },
  async openPictures(bytes) {
    return (await import("./pdfjs-pictures.ts")).openPdfPictures(bytes);
  },
};
