// The child's half of the connection: takes requests one after the other, answers each, and ends with its server.
// What the requests mean is the business of the handlers; who starts and restarts the child is supervisor.ts.

import { connect } from "node:net";
import { createFrameDecoder, encodeFrame, type Frame, type JsonObject } from "./frames.ts";
import { dieWithParent } from "./parent-death.ts";

/** What a request brings, and what its answer carries. */
export interface ChildMessage {
  readonly header: JsonObject;
  /** Raw bytes; its own memory, offset 0. Absent means none. */
  readonly payload?: Uint8Array;
}

/** A request as a handler sees it. */
export interface ChildRequest extends ChildMessage {
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Does one kind of request. What it throws travels to the server as the request's failure; the child lives on. */
export type ChildHandler = (request: ChildRequest) => Promise<ChildMessage> | ChildMessage;

/** The child cannot do its work and a restart would not help: its one-line message reaches the operator. */
export class ChildRefusal extends Error {
  override readonly name = "ChildRefusal";
}

/** Exit code of a child that refused (EX_CONFIG of sysexits.h): the supervisor does not start it again. */
export const REFUSED_EXIT_CODE = 78;

/**
 * Connects to the server, says hello and answers requests, one at a time in the order of their arrival, chosen by
 * `header.op`. Call it when everything is loaded: hello means ready. Never resolves; when the server closes the
 * connection or dies, the process ends.
 * @param hello what the server is told about this child, once
 */
export function serveChild(
  socketPath: string,
  handlers: Readonly<Record<string, ChildHandler>>,
  hello: JsonObject = {},
): Promise<never> {
  dieWithParent();
  const socket = connect(socketPath);
  const decoder = createFrameDecoder();
  let turn = Promise.resolve();

  const answer = async (request: Frame) => {
    socket.write(await answerTo(request, handlers));
  };

  socket.on("connect", () => socket.write(encodeFrame({ id: 0, kind: "hello", header: hello })));
  socket.on("data", (bytes: Buffer) => {
    for (const frame of decoder.push(bytes)) turn = turn.then(() => answer(frame));
  });
  socket.on("error", (error) => {
    process.stderr.write(`connection to the server: ${error.message}\n`);
    process.exit(1);
  });
  socket.on("close", () => process.exit(0));
  return new Promise<never>(() => {});
}

async function answerTo(request: Frame, handlers: Readonly<Record<string, ChildHandler>>): Promise<Uint8Array> {
  const { id, header, payload } = request;
  try {
    const op = header.op;
    const handler = typeof op === "string" && Object.hasOwn(handlers, op) ? handlers[op] : undefined;
    if (handler === undefined) throw new Error(`no handler for ${JSON.stringify(op)}`);
    const reply = await handler({ header, payload });
    return encodeFrame({ id, kind: "reply", ...reply });
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return encodeFrame({ id, kind: "failure", header: { name, message } });
  }
}
