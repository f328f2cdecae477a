// Versions of the program and of the API.

import packageJson from "../../package.json";

/** Version of the HTTP API. Its base path ends with `v1`. */
export const INTERFACE_VERSION = "1.0";

/** Version of the program, from package.json. */
export const VERSION: string = packageJson.version;
