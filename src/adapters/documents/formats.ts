// Which formats of files are taken in, as receiving asks: the reader's own knowledge of them, in the server's process.

import { FORMATS_READ } from "../../documents/formats.ts";
import { mediaTypeOf } from "../../documents/sniff.ts";
import type { FileFormats } from "../../ports/upload-files.ts";

/** The formats that reading knows; a look at a file takes some milliseconds, whatever it holds. */
export const fileFormats: FileFormats = { names: FORMATS_READ, mediaTypeOf };
