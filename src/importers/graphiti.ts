// Graphs of Graphiti: its nodes, edges and episodes as JSON, which `model_dump_json` of its classes makes. Graphiti is
// a library on a graph database and has no list of its own that could be read over HTTP.

import type { Importer } from "./imported.ts";
import { KNOWLEDGE_LISTS, knowledgeOf } from "./knowledge.ts";

/** Reads exports of Graphiti. */
export const GRAPHITI: Importer = {
  expects: "JSON with the lists episodes, edges and nodes, or one of them per line",
  lists: KNOWLEDGE_LISTS,
  files: /\.jsonl?$/i,
  read: ({ place, value }) => knowledgeOf("graphiti", value, place),
  server: null,
};
