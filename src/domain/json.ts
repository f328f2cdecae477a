// JSON values as types.

import type { ExactInteger } from "../kit/exact-json.ts";

/** Any JSON value. */
export type Json = null | boolean | number | ExactInteger | string | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object, such as `metadata`. */
export type JsonObject = { readonly [key: string]: Json };
