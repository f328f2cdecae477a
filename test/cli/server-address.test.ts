// The address of a server on the command line: what is removed from it, and what is refused.

import { expect, test } from "bun:test";
import { serverAddress } from "../../src/cli/server-address.ts";

test("an address may end with slashes, the path of the API, or that of MCP", () => {
  for (const given of [
    "http://host:1",
    "http://host:1/",
    "http://host:1/v1",
    "http://host:1/v1/",
    "http://host:1/mcp",
  ]) {
    expect(serverAddress(given)).toBe("http://host:1");
  }
  expect(serverAddress("https://host/v1/v1")).toBe("https://host/v1");
  expect(serverAddress("HTTPS://Host/below/mcp/")).toBe("HTTPS://Host/below");
  expect(serverAddress("http://[::1]:1/mcp2")).toBe("http://[::1]:1/mcp2");
});

test("anything but an http or https address is refused with an example", () => {
  for (const given of ["", "localhost:1", "host", "ftp://host", "http://", "http://a b"]) {
    expect(() => serverAddress(given)).toThrow(
      `--url must be an http or https address such as http://127.0.0.1:8383, not ${JSON.stringify(given)}.`,
    );
  }
});
