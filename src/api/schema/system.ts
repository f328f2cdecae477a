// Answer of /v1/system.

import { type TSchema, Type } from "@sinclair/typebox";
import { Text } from "../check.ts";
import { described, Nullable, OneOf, Time } from "./fields.ts";

const listOf = <Item extends TSchema>(item: Item, description: string) => Type.Array(item, { description });
const Minutes = Type.Array(Type.Integer());
const Count = (description: string) => Type.Integer({ description });

/** The state of a server. */
export const System = Type.Object(
  {
    version: Text(),
    started_at: Time,
    threads: listOf(Type.Object({ id: Text(), state: OneOf(["starting", "up", "stopping"]) }), "that answer requests"),
    lanes: listOf(
      Type.Object({
        name: Text(),
        status: Text({ description: "`up`, `starting`, `draining`, …" }),
        restarts: Type.Integer(),
        rss_bytes: Count("resident memory; 0 if not known yet"),
        provider: Nullable(Text({ description: "what computes the models; null if it is not up" })),
        in_flight: Count("requests that it has not answered yet"),
      }),
      "processes that run models",
    ),
    warnings: listOf(Text(), "what limits the server: a GPU or a model that cannot be used, and why; also in `/ready`"),
    queue: Type.Object({
      searches_in_progress: Type.Integer(),
      searches_waiting: Type.Integer(),
      memories_processing: Count("of all projects"),
      memories_failed: Count("of all projects"),
      relations_waiting: Count("memories whose relations have not been looked for yet"),
    }),
    last_minute: Type.Object(
      { stored: Type.Integer(), failed: Type.Integer(), searches: Type.Integer(), answers: Type.Integer() },
      { description: "what happened in all projects on this node" },
    ),
    last_hour: Type.Object(
      { stored: Minutes, failed: Minutes, searches: Minutes, answers: Minutes },
      { description: "the same in each of the last 60 minutes, oldest first; the last one is in progress" },
    ),
    stores: listOf(Type.Object({ name: Text(), bytes: Type.Integer() }), "sizes of the data"),
    disk: Type.Object({
      free_bytes: Type.Integer(),
      total_bytes: Type.Integer(),
      is_full: Type.Boolean({ description: "whether new data is refused" }),
    }),
    memory: Type.Object({
      rss_bytes: Count("resident memory of the server without its lanes"),
      free_bytes: Count("what this machine or container could still give"),
    }),
    nodes: listOf(
      Type.Object({
        id: Text(),
        name: Text({ description: "of the machine" }),
        role: Text(),
        version: Text(),
        state: OneOf(["up", "lost"]),
        started_at: Time,
        seen_at: Time,
      }),
      "of the service; one that was lost is shown for a day",
    ),
    last_backup_at: Nullable(described(Time, "of `mneme backup` with this data directory; null: none is known")),
  },
  { $id: "System" },
);
