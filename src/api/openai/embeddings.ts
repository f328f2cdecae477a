// The operation createEmbeddings: vectors of the embedding models that searches use.

import { Fault } from "../../domain/fault.ts";
import { userOf } from "../../domain/scope.ts";
import type { EmbeddingService } from "../../services/embeddings.ts";
import type { ProjectModelService } from "../../services/project-models.ts";
import { type Operation, reading } from "../operation.ts";
import { NoQuery } from "../schema/fields.ts";
import * as schema from "../schema/openai.ts";
import { explainEmbeddingsRefusal, unknownModel } from "./refusals.ts";

/** What the operation calls. */
export interface EmbeddingsDependencies {
  readonly embeddings: EmbeddingService;
  readonly projectModels: ProjectModelService;
}

/** The operation createEmbeddings. */
export function embeddingsOperation({ embeddings, projectModels }: EmbeddingsDependencies): Operation {
  return reading({
    name: "createEmbeddings",
    group: "OpenAI",
    summary: "Compute the embeddings of texts. Nothing is stored.",
    method: "POST",
    path: "/v1/embeddings",
    scope: "memories:read",
    query: NoQuery,
    body: schema.CreateEmbeddings,
    answers: { 200: schema.Embeddings },
    faults: ["model_not_found", "model_unavailable"],
    conventions: "openai",
    explainRefusal: explainEmbeddingsRefusal,
    read: async (call) => {
      const { principal, body } = call;
      userOf(principal, body.user, "user");
      const models = projectModels.installed();
      const model = models.find(({ id }) => id === body.model);
      if (model === undefined) {
        throw unknownModel(
          body.model,
          models.map(({ id }) => id),
        );
      }
      checkDimensions(body.dimensions, model);
      const { input } = body;
      const texts = typeof input === "string" ? [input] : input;
      const { vectors, tokens } = await embeddings.embed(
        principal,
        {
          model: model.id,
          texts,
          purpose: body.input_type ?? "passage",
          isTruncated: body.truncate ?? false,
        },
        (index) => (typeof input === "string" ? "input" : `input[${index}]`),
        call,
      );
      const shown = body.encoding_format === "base64" ? base64Of : numbersOf;
      const data = vectors.map((vector, index) => ({ object: "embedding", index, embedding: shown(vector) }));
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      return { status: 200, body: { object: "list", data, model: model.id, usage } };
    },
  });
}

function checkDimensions(
  asked: number | null | undefined,
  { id, dimensions }: { readonly id: string; readonly dimensions: number },
): void {
  if (asked === null || asked === undefined || asked === dimensions) return;
  throw new Fault("invalid_request", `'dimensions' must be ${dimensions}, the length of the vectors of ${id}.`, {
    param: "dimensions",
  });
}

function numbersOf(vector: Float32Array): readonly number[] {
  return Array.from(vector);
}

/** The components as 32-bit floats, little-endian. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, component] of vector.entries()) bytes.writeFloatLE(component, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString("base64");
}
