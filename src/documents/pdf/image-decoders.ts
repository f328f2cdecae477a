// Gives pdf.js the decoders of JBIG2, fax and JPEG 2000 images, which unpdf leaves out (data/pdf-image-decoders). Loads
// a decoder when the first such image is decoded.

import { readFileSync } from "node:fs";
import { invariant } from "../../domain/fault.ts";

/** Matches the module of pdf.js in unpdf. */
export const PDFJS_MODULE = /\/unpdf\/dist\/pdfjs\.mjs$/;

/** Code in unpdf that looks for a decoder, and never finds one. */
const WITHOUT_DECODER = "_getModule(e){return this.#a}";
/** Name of the global function that pdf.js calls in its place. */
const HOOK = "mnemePdfImageDecoder";
const WITH_DECODER = `_getModule(){return this.#a??=globalThis.${HOOK}?.(this._filename)??null}`;

/** The module of pdf.js with a call of the hook. */
export function pdfjsWithDecoders(source: string): string {
  invariant(source.includes(WITHOUT_DECODER), "pdf.js in unpdf looks for image decoders as it did in version 1.8.1");
  return source.replace(WITHOUT_DECODER, WITH_DECODER);
}

/**
 * Makes pdf.js use the decoders in this process. Must be called before it is loaded. In the single binary, the module
 * has been changed already (binary/build.ts).
 */
export function useImageDecoders(): void {
  if (Reflect.has(globalThis, HOOK)) return;
  Reflect.set(globalThis, HOOK, decoderOf);
  Bun.plugin({
    name: "pdf-image-decoders",
    setup: (builder) => {
      builder.onLoad({ filter: PDFJS_MODULE }, ({ path }) => ({
        contents: pdfjsWithDecoders(readFileSync(path, "utf8")),
        loader: "js",
      }));
    },
  });
}

async function decoderOf(name: string): Promise<object | null> {
  const warn = () => undefined;
  if (name === "jbig2.wasm") return (await import("../../../data/pdf-image-decoders/jbig2.js")).default({ warn });
  if (name === "openjpeg.wasm") return (await import("../../../data/pdf-image-decoders/openjpeg.js")).default({ warn });
  return null;
}
