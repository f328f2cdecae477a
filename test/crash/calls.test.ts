// The calls of the oracle: each request is sent once, so that its answer says whether it was carried out.

import { afterAll, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { callerOf, ifAnswered } from "./oracle/calls.ts";

const sent: string[] = [];
/** Answers a GET, and closes the connection of each other request without an answer. */
const server = createServer((socket) => {
  socket.on("data", (bytes) => {
    const method = bytes.toString("latin1").split(" ", 1)[0] ?? "";
    sent.push(method);
    if (method === "GET") socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    else socket.destroy();
  });
});
afterAll(() => void server.close());

test("a request whose connection is closed without an answer is not sent again", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const caller = callerOf({ url: `http://127.0.0.1:${port}`, key: "key" });
  for (const method of ["DELETE", "PUT", "POST"]) {
    expect((await caller.call("GET", "/before"))?.status).toBe(200); // a connection that could be used again
    expect(await ifAnswered(caller.call(method, "/x", { a: 1 }))).toBeNull();
  }
  expect(sent).toEqual(["GET", "DELETE", "GET", "PUT", "GET", "POST"]);
});
