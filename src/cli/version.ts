// Which version is this? package.json says so; everything else asks here.

import packageJson from "../../package.json";

/** The version of the program, as package.json states it. */
export const VERSION: string = packageJson.version;
