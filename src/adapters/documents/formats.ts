// The formats of uploaded files, for the server process. Loads no reader.

import { mediaTypeOf } from "../../documents/detect.ts";
import { FORMAT_NAMES } from "../../documents/formats.ts";
import type { FileFormats } from "../../ports/document-reader.ts";

/** The formats that Mneme reads. Detection takes a few milliseconds, whatever the file holds. */
export const fileFormats: FileFormats = { names: FORMAT_NAMES, mediaTypeOf };
