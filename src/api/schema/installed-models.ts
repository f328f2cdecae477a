// Requests and answers of the models of a deployment.

import { Type } from "@sinclair/typebox";
import { CALIBRATION_STATES, CALIBRATIONS } from "../../domain/calibration.ts";
import { ADDED_TASKS, MODEL_KINDS, MODEL_STATUSES, MODEL_TASKS, REMOTE_APIS } from "../../domain/installed-model.ts";
import { Text } from "../check.ts";
import { Body, ListOf, Nullable, OneOf, Optional, paging, Query, Time } from "./fields.ts";

const Id = Text({ minLength: 1, maxLength: 100 });

/** Query parameters of listInstalledModels. */
export const ListInstalledModels = Query({ ...paging, task: OneOf(MODEL_TASKS) });

/** Body of addInstalledModel. */
export const AddInstalledModel = Body({
  source: Optional(
    Text({
      minLength: 1,
      maxLength: 2_048,
      description:
        "a folder below the folder of models (`MNEME_MODELS_DIR`) or below `models` in the data directory, the address of an archive (.tar.gz, .zip), or `hub:OWNER/NAME`",
    }),
  ),
  remote: Optional(
    Body({
      api: OneOf(REMOTE_APIS),
      base_url: Text({
        minLength: 1,
        maxLength: 2_048,
        description: "ends in `/v1` for openai and jina; the root of the server for tei, ollama and cohere",
      }),
      model: Text({ minLength: 1, maxLength: 256, description: "its name on that server" }),
      task: OneOf(ADDED_TASKS),
      api_key: Optional(Text({ minLength: 1, maxLength: 1_024, description: "never part of an answer" })),
      languages: Optional(
        Type.Array(Text({ minLength: 2, maxLength: 35 }), {
          minItems: 1,
          maxItems: 200,
          description: "BCP 47; default: those of large multilingual models",
        }),
      ),
      prefixes: Optional(
        Body({
          query: Optional(Text({ maxLength: 1_000, description: "before queries, such as `query: ` of E5" })),
          passage: Optional(Text({ maxLength: 1_000, description: "before stored texts" })),
        }),
      ),
      tokens_max: Optional(
        Type.Integer({ minimum: 16, maximum: 8_192, description: "tokens that are sent of a text; default: 512" }),
      ),
      says_purpose: Optional(
        Type.Boolean({
          description:
            "say whether a text is a query or a passage: `task` for jina, `input_type` for openai, `prompt_name` for tei; cohere always does, ollama cannot",
        }),
      ),
    }),
  ),
  sha256: Optional(Text({ minLength: 64, maxLength: 64, description: "that of the archive, in hexadecimal digits" })),
  id: Optional(Text({ ...Id, description: "name of the model here; default: made from the source" })),
});

/** Body of calibrateInstalledModel. */
export const CalibrateInstalledModel = Body({
  projectId: Optional(
    Text({
      ...Id,
      description: "project whose texts lie beside the judged samples, so that scores fit texts like them",
    }),
  ),
});

/** Body of setProjectReranker. */
export const SetReranker = Body({
  model: Nullable(Text({ ...Id, description: "id of a reranker; null: the one that belongs to the embedding model" })),
});

/** A model that projects can use. */
export const InstalledModel = Type.Object(
  {
    id: Text(),
    task: OneOf(MODEL_TASKS),
    kind: OneOf(MODEL_KINDS),
    dimensions: Nullable(Type.Integer({ description: "null for a reranker, and until it is known" })),
    tokens_max: Nullable(Type.Integer({ description: "maximum number of tokens that it reads of a text" })),
    languages: Type.Array(Text(), { description: "BCP 47; empty: unknown" }),
    licence: Nullable(Text({ description: "SPDX" })),
    source: Nullable(Text({ description: "where its files came from" })),
    remote: Nullable(
      Type.Object({ api: OneOf(REMOTE_APIS), base_url: Text(), model: Text() }, { description: "the endpoint" }),
    ),
    status: OneOf(MODEL_STATUSES),
    progress: Nullable(Type.Object({ bytes_done: Type.Integer(), bytes_total: Nullable(Type.Integer()) })),
    error: Nullable(Text({ description: "why it cannot be used" })),
    calibration: OneOf(
      CALIBRATIONS,
      "where the curves of its scores come from; `none`: its scores are no probabilities",
    ),
    calibration_job: Nullable(
      Type.Object(
        {
          state: OneOf(CALIBRATION_STATES),
          projectId: Nullable(Text({ description: "project whose texts are used besides" })),
          done: Type.Integer({ description: "searches that were made" }),
          total: Nullable(Type.Integer({ description: "all searches; null until it is known" })),
          error: Nullable(Text({ description: "why it failed, or waits for another attempt" })),
        },
        { description: "a calibration that is not finished; null: there is none" },
      ),
    ),
    used_by: Type.Array(Text(), { description: "ids of projects" }),
    created_at: Nullable(Time),
  },
  { $id: "InstalledModel" },
);
/** One page of models. */
export const InstalledModelList = ListOf("InstalledModelList", InstalledModel);

/** The result of testInstalledModel. */
export const ModelTest = Type.Object(
  {
    ok: Type.Boolean(),
    ms: Type.Integer(),
    checks: Type.Array(Type.Object({ name: Text(), ok: Type.Boolean(), message: Text() })),
  },
  { $id: "ModelTest" },
);
