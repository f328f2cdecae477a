// JSON whose whole numbers keep all their digits, although a double rounds those beyond 2^53. A number that a double
// would change is read as an `ExactInteger`, which JSON.stringify writes with the same digits.

/** A whole number that a double would change. */
export interface ExactInteger {
  /** Its digits, after a minus if it is negative. */
  readonly rawJSON: string;
}

// Functions of ECMAScript that TypeScript's library does not declare yet.
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => ExactInteger;
  readonly isRawJSON: (value: unknown) => value is ExactInteger;
};
const parseWithSources = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** Finds texts that may have an `ExactInteger`. A double keeps all whole numbers of up to 15 digits. */
const MANY_DIGITS = /\d{16}/;
const WHOLE = /^-?\d+$/;

/** Parses a JSON text; numbers that a double would change become `ExactInteger`. @throws SyntaxError */
export function parseJson(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  return parseWithSources(text, (_, value, { source = "" }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !WHOLE.test(source)) return value;
    return Number.isFinite(value) && String(value) !== source ? rawJSON(source) : value;
  });
}

/** Whether a JSON value is a whole number that a double would change. */
export function isExactInteger(value: unknown): value is ExactInteger {
  return isRawJSON(value);
}

/** A number that JSON.stringify writes with these digits. */
export function exactInteger(value: bigint): ExactInteger {
  return rawJSON(String(value));
}

/**
 * The value of a number, for comparisons: a bigint if JSON.stringify writes another value for its nearest double.
 */
export function comparableNumber(value: number | ExactInteger): number | bigint {
  if (typeof value === "number") return value;
  const exact = BigInt(value.rawJSON);
  const nearest = Number(value.rawJSON);
  return integerOf(nearest) === exact ? nearest : exact;
}

/** Less than 0 if `left` is less than `right`, 0 if they are equal, otherwise more than 0. */
export function compareNumbers(left: number | bigint, right: number | bigint): number {
  const [a, b] = [exactly(left), exactly(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A bigint for a double beyond 2^53, so that it can be compared with the digits of other numbers. */
function exactly(value: number | bigint): number | bigint {
  return typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && Number.isFinite(value)
    ? integerOf(value)
    : value;
}

/** The whole number that JSON.stringify writes for a double beyond 2^53, such as 12345678901234567000 or 1.5e+21. */
export function integerOf(value: number): bigint {
  const [digits = "", exponent = "0"] = String(value).split("e");
  const [whole = "", decimals = ""] = digits.split(".");
  return BigInt(`${whole}${decimals}${"0".repeat(Math.max(0, Number(exponent) - decimals.length))}`);
}
