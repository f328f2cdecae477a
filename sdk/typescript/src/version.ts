// The version of this package, which is that of the server that it was made for.

/** The version. */
export const VERSION = "0.1.0";
