// Conversations, projects and the memory of Claude's data export: `conversations.json`, `projects.json` and
// `memories.json`, in its ZIP archive or unpacked.

import { isRecord, type JsonRecord } from "../kit/record.ts";
import { conversationContent, type SpokenTurn, textOfParts } from "./conversation.ts";
import type { Found, Importer } from "./imported.ts";
import { Mapping } from "./mapping.ts";

/** Claude's export calls the user `human`. */
const ROLES: Readonly<Record<string, string>> = { human: "user" };

/** Reads exports of Claude. */
export const CLAUDE: Importer = {
  expects: "the ZIP archive of Claude's data export, its folder, or conversations.json",
  lists: ["conversations", "projects", "memories"],
  files: /^(conversations|projects|memories)(-\d+)?\.json$/i,
  read,
  server: null,
};

function* read({ place, value }: { readonly place: string; readonly value: unknown }): Generator<Found> {
  if (!isRecord(value)) return yield { kind: "damaged", place, why: "is no record of Claude's export" };
  if (Array.isArray(value.chat_messages)) yield* conversationOf(value, value.chat_messages, place);
  else if (Array.isArray(value.docs) || "prompt_template" in value) yield* projectOf(value, place);
  else if ("conversations_memory" in value || "project_memories" in value) yield* ownMemoriesOf(value, place);
  else yield { kind: "damaged", place, why: "has neither chat_messages nor docs of a project" };
}

function* conversationOf(value: JsonRecord, messages: readonly unknown[], place: string): Generator<Found> {
  const notes = new Set<string>();
  const content = conversationContent(messages.flatMap((message) => turnOf(message, notes)));
  if (content === null) return yield { kind: "skipped", place, why: "conversation without texts" };
  const mapping = new Mapping(value, place);
  mapping.set("content", content, "chat_messages");
  mapping.set("type", "conversation", "chat_messages");
  mapping.title("name");
  mapping.time("occurred_at", "created_at");
  mapping.keep("claude", "uuid", "updated_at", "project_uuid", "model");
  mapping.ignore("account"); // whose export this is
  for (const note of notes) mapping.unplaced(note);
  yield* mapping.found("claude", value.uuid);
}

function turnOf(message: unknown, notes: Set<string>): readonly SpokenTurn[] {
  if (!isRecord(message)) return [];
  const parts = Array.isArray(message.content) ? message.content : [];
  const { text, otherParts } = textOfParts(parts);
  if (otherParts > 0) notes.add("chat_messages: thoughts, calls of tools and their results");
  // `text` repeats the texts of `content`, with placeholders for what else is there
  const said = text !== "" ? text : typeof message.text === "string" ? message.text : "";
  const attached = Array.isArray(message.attachments) ? message.attachments.flatMap(attachmentText) : [];
  const hasFiles = (list: unknown) => Array.isArray(list) && list.length > 0;
  if (hasFiles(message.files) || hasFiles(message.files_v2)) notes.add("chat_messages: files and pictures");
  const sender = typeof message.sender === "string" ? message.sender : "user";
  const content = [said, ...attached].filter((part) => part.trim() !== "").join("\n\n");
  return [{ role: ROLES[sender] ?? sender, content, time: message.created_at }];
}

function attachmentText(attachment: unknown): readonly string[] {
  if (!isRecord(attachment) || typeof attachment.extracted_content !== "string") return [];
  const { file_name: name, extracted_content: text } = attachment;
  return [typeof name === "string" && name !== "" ? `${name}:\n${text}` : text];
}

function* projectOf(project: JsonRecord, place: string): Generator<Found> {
  const docs = Array.isArray(project.docs) ? project.docs : [];
  if (docs.length === 0) return yield { kind: "skipped", place, why: "project without documents" };
  for (const [at, doc] of docs.entries()) {
    const docPlace = `${place}, document ${at + 1}`;
    if (!isRecord(doc)) {
      yield { kind: "damaged", place: docPlace, why: "is no document" };
      continue;
    }
    const mapping = new Mapping({ ...doc, project: project.name, project_uuid: project.uuid }, docPlace);
    mapping.text("content", "content");
    mapping.title("filename");
    mapping.time("occurred_at", "created_at");
    mapping.keep("claude", "uuid", "project", "project_uuid");
    yield* mapping.found("claude", doc.uuid);
  }
}

// What Claude itself remembers: one text of all conversations, and one per project.
function* ownMemoriesOf(value: JsonRecord, place: string): Generator<Found> {
  const account = typeof value.account_uuid === "string" ? value.account_uuid : "account";
  const texts: [string, unknown][] = [["conversations_memory", value.conversations_memory]];
  if (isRecord(value.project_memories)) texts.push(...Object.entries(value.project_memories));
  for (const [name, text] of texts) {
    if (typeof text !== "string" || text.trim() === "") continue;
    const mapping = new Mapping({ text, name }, `${place}, ${name}`);
    mapping.text("content", "text");
    mapping.keep("claude", "name");
    yield* mapping.found("claude:memory", `${account}:${name}`);
  }
}
