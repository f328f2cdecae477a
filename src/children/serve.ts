// The child's side of the connection: handles requests one at a time and ends with its server. The caller supplies the
// handlers; supervisor.ts starts and restarts the child.

import type { JsonObject } from "../domain/json.ts";
import { connectTo } from "./connection.ts";
import { encodeFrame, type Frame } from "./frames.ts";
import { dieWithParent } from "./parent-death.ts";

/** Content of a request or reply. */
export interface ChildMessage {
  readonly header: JsonObject;
  /** Binary data with a buffer of its own at offset 0; absent if there is none. */
  readonly payload?: Uint8Array;
}

/** A request as passed to a handler. */
export interface ChildRequest extends ChildMessage {
  readonly payload: Uint8Array<ArrayBuffer>;
}

/**
 * Handles one kind of request. An error that it throws is sent to the server as a `failure`; the child keeps running.
 */
export type ChildHandler = (request: ChildRequest) => Promise<ChildMessage> | ChildMessage;

/** Thrown if the child cannot work and a restart would not help. The message, one line, is shown to the operator. */
export class ChildRefusal extends Error {
  override readonly name = "ChildRefusal";
}

/** Exit code of a child that refuses to run (EX_CONFIG of sysexits.h). The supervisor does not restart it. */
export const REFUSED_EXIT_CODE = 78;

/**
 * Connects to the server, sends hello and handles requests one at a time, in order of arrival. `header.op` selects the
 * handler. Call it when everything is loaded, because hello tells the server that the child is ready. Never resolves:
 * the process ends when the server closes the connection or dies.
 * @param hello header of the hello frame
 */
export async function serveChild(
  socketPath: string,
  handlers: Readonly<Record<string, ChildHandler>>,
  hello: JsonObject = {},
): Promise<never> {
  dieWithParent();
  let lastAnswer = Promise.resolve();
  const fail = ({ message }: Error): never => {
    process.stderr.write(`connection to the server failed: ${message}\n`);
    process.exit(1);
  };
  const connection = await connectTo(socketPath, {
    onFrame: (request) => {
      lastAnswer = lastAnswer.then(async () => connection.send(await answerTo(request, handlers)));
    },
    onError: fail,
    onClose: () => process.exit(0),
  }).catch(fail);
  connection.send(encodeFrame({ id: 0, kind: "hello", header: hello }));
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
