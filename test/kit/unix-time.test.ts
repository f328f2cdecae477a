// Units of Unix times.

import { expect, test } from "bun:test";
import { unixMilliseconds } from "../../src/kit/unix-time.ts";

test("takes small numbers for seconds and large ones for milliseconds", () => {
  expect(unixMilliseconds(1_700_000_000)).toBe(1_700_000_000_000);
  expect(unixMilliseconds(1_700_000_000_000)).toBe(1_700_000_000_000);
  expect(unixMilliseconds(0.5)).toBe(500);
});
