// The declaration of a tool. server.ts lists and calls tools, tools.ts has all of them.

import type { Static, TObject } from "@sinclair/typebox";
import { Text } from "../api/check.ts";
import type { Operations } from "../api/operation-calls.ts";
import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { KeyScope } from "../domain/scope.ts";
import type { JsonRecord } from "../kit/record.ts";
import type { Profile, RequestedProfile } from "../services/profile.ts";

/** What a tool may do. Clients use this to decide whether they ask a person before a call. */
export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
}

/** What a tool gets besides its arguments. */
export interface ToolCall {
  readonly operations: Operations;
  /** Waits until a memory is no longer processing; null if the caller may not see it. */
  readonly settled: (id: MemoryId, timeoutMs: number) => Promise<Memory | null>;
  /** Makes a profile of the memories that the caller may see. */
  readonly profile: (requested: RequestedProfile) => Promise<Profile>;
  /** Base address under which the caller reaches the server, such as `http://127.0.0.1:8383`. */
  readonly origin: string;
}

interface Declared {
  readonly name: string;
  readonly title: string;
  /** What the tool does and when to use it, for the language model that chooses tools. */
  readonly description: string;
  /** Permission of the key without which the tool is not listed. */
  readonly scope: KeyScope;
  readonly annotations: Annotations;
  readonly input: TObject;
  readonly output: TObject;
}

/** A tool. */
export interface Tool extends Declared {
  /**
   * Runs the tool; returns a result that fits `output`.
   * @param args checked against `input`
   * @throws Fault if an operation refuses, or an argument is not valid
   */
  readonly run: (args: unknown, call: ToolCall) => Promise<JsonRecord>;
}

/** Declares a tool; the type of its arguments derives from its schema. */
export function tool<Input extends TObject, Output extends TObject>(
  declared: Omit<Declared, "input" | "output"> & {
    readonly input: Input;
    readonly output: Output;
    readonly run: (args: Static<Input>, call: ToolCall) => Promise<Static<Output>>;
  },
): Tool {
  return { ...declared, run: declared.run as Tool["run"] };
}

/** Annotations of a tool that only reads. */
export const READS: Annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };

/** The id of a memory, as an argument. */
export const MemoryIdArgument = Text({
  minLength: 1,
  maxLength: 64,
  description: "Id of the memory (mem_…), from a search, a list or add_memory",
});
