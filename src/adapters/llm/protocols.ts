// The protocol of each provider.

import type { LlmProvider } from "../../domain/project.ts";
import { ANTHROPIC } from "./anthropic.ts";
import { GEMINI } from "./gemini.ts";
import { OLLAMA } from "./ollama.ts";
import { OPENAI } from "./openai.ts";
import type { Protocol } from "./protocol.ts";

/** The protocol of each provider. */
export const PROTOCOLS: Readonly<Record<LlmProvider, Protocol>> = {
  openai: OPENAI,
  ollama: OLLAMA,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
};
