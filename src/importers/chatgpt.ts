// Conversations of ChatGPT's data export: `conversations.json` (in newer exports in several numbered files), in its ZIP
// archive or unpacked. Of the tree of messages, the branch that ChatGPT shows becomes the conversation.

import { isRecord, type JsonRecord } from "../kit/record.ts";
import { conversationContent, type SpokenTurn, textOfParts } from "./conversation.ts";
import type { Found, Importer } from "./imported.ts";
import { Mapping } from "./mapping.ts";

const SPEAKERS: ReadonlySet<unknown> = new Set(["user", "assistant"]);
/** Kinds of content that are what somebody said. Others are thoughts, searches and outputs of tools. */
const SPOKEN: ReadonlySet<unknown> = new Set(["text", "multimodal_text", "code"]);

/** Reads exports of ChatGPT. */
export const CHATGPT: Importer = {
  expects: "the ZIP archive of ChatGPT's data export, its folder, or conversations.json",
  lists: ["conversations"],
  files: /^conversations(-\d+)?\.json$/i,
  read: ({ place, value }) => conversationOf(value, place),
  server: null,
};

function* conversationOf(value: unknown, place: string): Generator<Found> {
  if (!isRecord(value) || !isRecord(value.mapping)) {
    return yield { kind: "damaged", place, why: "is no conversation of ChatGPT: it has no mapping of messages" };
  }
  const notes = new Set<string>();
  const turns = shownTurns(value.mapping, value.current_node, notes);
  const content = conversationContent(turns);
  if (content === null) return yield { kind: "skipped", place, why: "conversation without texts" };
  const mapping = new Mapping(value, place);
  mapping.set("content", content, "mapping");
  mapping.set("type", "conversation", "mapping");
  mapping.title("title");
  mapping.time("occurred_at", "create_time");
  mapping.keep("chatgpt", "conversation_id", "update_time", "gizmo_id", "default_model_slug", "is_archived");
  // `id` repeats `conversation_id`, and `current_node` is the end of the branch that was read
  mapping.ignore("id", "current_node");
  for (const note of notes) mapping.unplaced(note);
  yield* mapping.found("chatgpt", value.conversation_id ?? value.id);
}

/** The turns from the root to the current message. @param notes gets what is left out */
function shownTurns(nodes: JsonRecord, current: unknown, notes: Set<string>): readonly SpokenTurn[] {
  const branch: JsonRecord[] = [];
  const seen = new Set<string>();
  let id = typeof current === "string" && Object.hasOwn(nodes, current) ? current : newestLeaf(nodes);
  while (id !== null && !seen.has(id)) {
    seen.add(id);
    const node = Object.hasOwn(nodes, id) ? nodes[id] : null;
    if (!isRecord(node)) break;
    branch.unshift(node);
    id = typeof node.parent === "string" ? node.parent : null;
  }
  const hasOthers = Object.entries(nodes).some(
    ([key, node]) => !seen.has(key) && isRecord(node) && isShown(node.message),
  );
  if (hasOthers) notes.add("mapping: messages of other branches");
  return branch.flatMap((node) => turnOf(node.message, notes));
}

function turnOf(message: unknown, notes: Set<string>): readonly SpokenTurn[] {
  if (!isRecord(message) || !isRecord(message.content)) return [];
  if (!isShown(message)) {
    notes.add("mapping: messages of tools, thoughts and hidden messages");
    return [];
  }
  const { content, create_time: time } = message;
  const { text, otherParts } = textOfParts(content.parts ?? content.text);
  if (otherParts > 0) notes.add("mapping: pictures, files and other parts of messages");
  const role = isRecord(message.author) ? String(message.author.role) : "user";
  return [{ role, content: text, time }];
}

function isShown(message: unknown): boolean {
  if (!isRecord(message) || !isRecord(message.content) || !isRecord(message.author)) return false;
  const isHidden = isRecord(message.metadata) && message.metadata.is_visually_hidden_from_conversation === true;
  // code that the assistant sends to a tool, not to the user
  const isForTool = typeof message.recipient === "string" && message.recipient !== "all";
  return (
    SPEAKERS.has(message.author.role) && SPOKEN.has(message.content.content_type ?? "text") && !isHidden && !isForTool
  );
}

// The last message without a reply, for an export that does not name the current message.
function newestLeaf(nodes: JsonRecord): string | null {
  const leaves = Object.entries(nodes).filter(
    ([, node]) => isRecord(node) && (!Array.isArray(node.children) || node.children.length === 0),
  );
  return leaves.at(-1)?.[0] ?? null;
}
