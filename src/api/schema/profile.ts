// Request and answer of getProfile.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { Text } from "../check.ts";
import { scopeParameters } from "./attributes.ts";
import { Nullable, Query, Time, TimeZone } from "./fields.ts";

const { userId: _, ...scope } = scopeParameters;
/** Query parameters of getProfile. */
export const ProfileQuery = Query({
  max_tokens: Type.Integer({
    minimum: LIMITS.profileTokensMin,
    maximum: LIMITS.profileTokens,
    default: LIMITS.profileTokensDefault,
    description: "Greatest size of `text`, in estimated tokens; the lists have the same entries",
  }),
  ...scope,
  time_zone: TimeZone(
    "IANA name, such as `Europe/Zurich`: the zone in which `text` names days; default: the zone of the user, else that of the project, else UTC",
  ),
});

const entry = {
  text: Text({ description: "The content of the memory from `start` to `end`" }),
  memory_id: Text({ description: "mem_…" }),
  start: Type.Integer({ minimum: 0, description: "In Unicode code points" }),
  end: Type.Integer({ minimum: 0, description: "In Unicode code points, exclusive" }),
  occurred_at: Nullable(Time),
};
/** A statement of a memory. */
export const ProfileEntry = Type.Object(entry, { $id: "ProfileEntry" });
/** A statement of a memory about a person. */
export const ProfilePerson = Type.Object({ name: Text(), ...entry }, { $id: "ProfilePerson" });

/** The fields of a profile besides its user. */
export const profileFields = {
  generated_at: Time,
  facts: Type.Array(ProfileEntry, {
    description: "facts that hold now, newest first; the other lists are newest first, too",
  }),
  preferences: Type.Array(ProfileEntry, { description: "What the user likes, and instructions that hold for long" }),
  people: Type.Array(ProfilePerson, { description: "What is said of persons" }),
  events: Type.Array(ProfileEntry, { description: "What happened, or will happen, at a named time" }),
  text: Text({ description: "The same as Markdown, for a prompt" }),
  tokens: Type.Integer({ minimum: 0, description: "Estimated number of tokens of `text`" }),
  omitted: Type.Integer({ minimum: 0, description: "Number of entries that were found and are left out" }),
};
/** What is known of a user. */
export const Profile = Type.Object({ userId: Text(), ...profileFields }, { $id: "Profile" });
