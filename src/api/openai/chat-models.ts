// Ids of the chat models. Each stands for a search mode; the language model is the one of the project's settings.

import { MODE_NAMES, type ModeName } from "../../domain/ranking.ts";

/** The model that searches with the project's `default_mode`. */
export const DEFAULT_CHAT_MODEL = "mneme";

/** The chat models, the default first. */
export const CHAT_MODELS: readonly string[] = [DEFAULT_CHAT_MODEL, ...MODE_NAMES.map((mode) => `mneme/${mode}`)];

/** The search mode of a chat model; null if the project's `default_mode` is used. */
export function modeOf(model: string): ModeName | null {
  return MODE_NAMES.find((mode) => model === `mneme/${mode}`) ?? null;
}
