// Which formats of files are taken in, as receiving asks: the reader's own knowledge of them, in the server's process.

import type { FileFormats } from "../../ports/upload-files.ts";
import { FORMATS_READ } from "../../reading/formats.ts";
import { mediaTypeOf } from "../../reading/sniff.ts";

/** The formats that reading knows; a look at a file takes some milliseconds, whatever it holds. */
export const fileFormats: FileFormats = { names: FORMATS_READ, mediaTypeOf };
