// Finds the pictures that a page contains itself, as data addresses (RFC 2397). Their text is recognised (src/ocr).
// They are numbered in the order of the page, from 1; pictures elsewhere are never fetched.

import { ReadFailure } from "../../ports/document-reader.ts";
import { decodePicture } from "../pictures/decode.ts";
import type { FilePictures } from "../recognition.ts";
import { readMarkup } from "./markup.ts";

/** Beginning of the address of a picture of a format that is read. */
const PICTURE = /^data:image\/(?:png|jpe?g|webp)(?:;[\w=.-]{1,40}){0,4};base64,/i;
/** Minimum length of an address in UTF-16 code units. A smaller picture is a dot or an icon. */
const UNITS_MIN = 400;

/** Whether an address is a picture that is read. */
function isPictureData(src: string | undefined): src is string {
  return src !== undefined && src.length >= UNITS_MIN && PICTURE.test(src);
}

/** Returns the id of the picture with this address; null if it is not read. Called once per picture, in their order. */
export type PictureIds = (address: string | undefined) => string | null;

/** Numbers the pictures that a page contains itself, from 1. */
export function numbered(): PictureIds {
  let count = 0;
  return (address) => (isPictureData(address) ? String(++count) : null);
}

/** Opens the pictures of a page by their numbers. */
export function openPagePictures(pieces: Iterable<string>): FilePictures {
  const found: string[] = [];
  readMarkup(
    [...pieces],
    {
      open: (name, { src }) => {
        if (name === "img" && isPictureData(src)) found.push(src);
      },
      close: () => undefined,
      text: () => undefined,
      title: () => undefined,
      isForeign: () => false,
    },
    () => undefined,
  );
  const encoded = async (id: string) => {
    const src = found[Number(id) - 1];
    if (src === undefined) throw new ReadFailure("unreadable_document", "The picture is missing.");
    return Buffer.from(src.replace(PICTURE, "").replace(/%([\da-f]{2})/gi, fromPercent), "base64");
  };
  return { encoded, read: async (id) => decodePicture(await encoded(id)) };
}

function fromPercent(_: string, code: string): string {
  return String.fromCharCode(Number.parseInt(code, 16));
}
