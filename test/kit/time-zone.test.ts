// Time zones: names, offsets, and the way from an instant to the wall and back, also where clocks are changed.

import { describe, expect, test } from "bun:test";
import { instantOf, isTimeZone, offsetIn, wallTime } from "../../src/kit/time-zone.ts";

const at = (time: string) => Date.parse(time);
const iso = (ms: number) => new Date(ms).toISOString();

test("IANA names are time zones, and nothing else is", () => {
  for (const name of ["UTC", "Europe/Zurich", "America/Argentina/Ushuaia", "Asia/Kolkata"]) {
    expect(isTimeZone(name)).toBe(true);
  }
  for (const name of ["", "Mars/Olympus", "+09:00", "-05:00", "Europe/Zurich ", "9", "../UTC", "\u0000"]) {
    expect(isTimeZone(name)).toBe(false);
  }
});

test("a time has an offset only if it is written, and Z is none", () => {
  expect(offsetIn("2026-11-30T01:00:00+09:00")).toBe("+09:00");
  expect(offsetIn("2026-11-30T01:00-03:30")).toBe("-03:30");
  for (const time of ["2026-11-30T01:00:00Z", "2026-11-30", "2026-11-30T01:00:00"]) expect(offsetIn(time)).toBeNull();
});

describe("wall times", () => {
  const rows = [
    ["UTC", "2026-11-29T16:00:00.000Z", "2026-11-29T16:00:00.000Z"],
    ["+09:00", "2026-11-29T16:00:00.000Z", "2026-11-30T01:00:00.000Z"],
    ["-03:30", "2026-11-29T02:00:00.500Z", "2026-11-28T22:30:00.500Z"],
    ["Asia/Tokyo", "2026-11-29T16:00:00.000Z", "2026-11-30T01:00:00.000Z"],
    ["America/New_York", "2026-07-01T03:59:59.999Z", "2026-06-30T23:59:59.999Z"],
    ["Europe/Berlin", "2026-03-29T00:59:59.000Z", "2026-03-29T01:59:59.000Z"],
    ["Europe/Berlin", "2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00.000Z"],
    ["Asia/Kathmandu", "1969-12-31T23:59:59.000Z", "1970-01-01T05:29:59.000Z"],
  ] as const;
  for (const [zone, instant, wall] of rows) {
    test(`${zone} shows ${wall} at ${instant}, and back`, () => {
      expect(iso(wallTime(at(instant), zone))).toBe(wall);
      expect(iso(instantOf(at(wall), zone))).toBe(instant);
    });
  }

  test("that come twice are the earlier instant, and those that never come are near the gap", () => {
    expect(iso(instantOf(at("2026-10-25T02:30:00Z"), "Europe/Berlin"))).toBe("2026-10-25T00:30:00.000Z");
    const skipped = instantOf(at("2026-03-29T02:30:00Z"), "Europe/Berlin");
    expect(Math.abs(skipped - at("2026-03-29T01:00:00Z"))).toBeLessThanOrEqual(3_600_000);
  });

  test("far from today are numbers too", () => {
    for (const zone of ["Asia/Tokyo", "+09:00"]) {
      for (const instant of [at("0001-01-01T00:00:00Z"), at("9999-12-31T23:59:59Z")]) {
        expect(Math.abs(wallTime(instant, zone) - instant)).toBeLessThan(86_400_000);
      }
    }
  });
});
