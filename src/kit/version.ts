// Which version is this? package.json says so; everything else asks here.

import packageJson from "../../package.json";

/** The version of the interface that the program speaks, whose base address ends with `v1`. */
export const INTERFACE_VERSION = "1.0";

/** The version of the program, as package.json states it. */
export const VERSION: string = packageJson.version;
