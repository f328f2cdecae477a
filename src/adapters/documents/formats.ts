// Recognises the formats of uploaded files in the server process. Does not load the code that reads them.

import { mediaTypeOf } from "../../documents/detect.ts";
import { FORMAT_NAMES } from "../../documents/formats.ts";
import type { FileFormats } from "../../ports/document-reader.ts";

/** The formats that Mneme reads. Recognising a format takes a few milliseconds, whatever the file contains. */
export const fileFormats: FileFormats = { names: FORMAT_NAMES, mediaTypeOf };
