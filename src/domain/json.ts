// JSON values as types.

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object, such as `metadata`. */
export type JsonObject = { readonly [key: string]: Json };
