// The operation that tests the language model of a project.

import type { LanguageModelService, LlmTest } from "../services/language-models.ts";
import { namedProjectId } from "./ids.ts";
import { changing, type Operation } from "./operation.ts";
import * as schema from "./schema/platform.ts";
import type { View } from "./views.ts";

/** Tests the language model. The tokens count in the project's usage, so it is an operation that changes something. */
export function languageModelOperation(models: LanguageModelService): Operation {
  return changing({
    name: "testLanguageModel",
    group: "Projects",
    summary:
      "Call the language model of the project, and each of its fallbacks, with a short question; with a body, those of settings that are not stored yet.",
    method: "POST",
    path: "/v1/project/llm/test",
    scope: "project",
    isForConfinedKeys: false,
    query: schema.OfProject,
    body: schema.TestLanguageModel,
    isBodyOptional: true,
    answers: { 200: schema.LlmTest },
    faults: ["project_not_found", "unsafe_url"],
    prepare: ({ principal, query, body, signal }) =>
      models.test(principal, namedProjectId(query.projectId), body.llm ?? null, signal),
    change: async (_tx, _call, test) => test,
    answer: (test) => ({ status: 200, body: llmTestView(test) }),
  });
}

/** Converts the result of a test to the schema `LlmTest`. */
export function llmTestView({ models: [first, ...fallbacks] }: LlmTest): View<typeof schema.LlmTest> {
  return { ...first, fallbacks };
}
