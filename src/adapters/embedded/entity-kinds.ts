// Names of the kinds of entities.

import type { EntityKind } from "../../ports/chunk-index.ts";
import type { MentionedEntity } from "../native/addon-types.ts";

/** The kind of an entity, by the letter that the native core uses. */
export const ENTITY_KINDS: Readonly<Record<MentionedEntity["kind"], EntityKind>> = {
  t: "title",
  c: "name",
  q: "quote",
  i: "identifier",
  d: "date",
  k: "phrase",
};
