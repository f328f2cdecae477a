// Waits for the answer to a command's request (control.ts), and turns a refusal into an error for the operator.

import { UsageError } from "../kit/flags.ts";
import type { Control } from "./control.ts";

/** Returns the answer. @throws UsageError with the message of a refusal; Error if there is no answer */
export async function accepted(answer: ReturnType<Control>): Promise<Response> {
  let response: Response;
  try {
    response = await answer;
  } catch (cause) {
    throw new Error(
      `Another process uses the data directory, but does not answer: ${cause instanceof Error ? cause.message : cause}. If it is not a server, wait until it has ended.`,
      { cause },
    );
  }
  if (response.ok) return response;
  const body: unknown = await response.json();
  throw new UsageError(messageIn(body) ?? `The server answered ${response.status}.`);
}

function messageIn(body: unknown): string | null {
  return typeof body === "object" && body !== null && "error" in body ? String(body.error) : null;
}
