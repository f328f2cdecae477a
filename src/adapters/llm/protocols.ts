// Maps each provider of language models to the protocol that it speaks: addresses, bodies, parts of a response.
// protocol.ts defines what a protocol is.

import type { LlmProvider } from "../../domain/project.ts";
import { ANTHROPIC } from "./anthropic.ts";
import { GEMINI } from "./gemini.ts";
import { OLLAMA } from "./ollama.ts";
import { OPENAI } from "./openai.ts";
import type { Protocol } from "./protocol.ts";

/** Protocols by the name of a provider, as it is in the settings of a project. */
export const PROTOCOLS: Readonly<Record<LlmProvider, Protocol>> = {
  openai: OPENAI,
  ollama: OLLAMA,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
};
