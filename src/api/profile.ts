// The operation that gives the profile of a user.

import type { Static, TObject } from "@sinclair/typebox";
import type { ProfileEntry } from "../answer/profile-text.ts";
import { LIMITS } from "../domain/limits.ts";
import { scopeOf } from "../domain/memory-attributes.ts";
import { isoTime } from "../kit/clock.ts";
import type { Profile, ProfileService } from "../services/profile.ts";
import { checkTimeZone } from "./drafts.ts";
import { checkCallerId } from "./ids.ts";
import { type Operation, reading } from "./operation.ts";
import * as schema from "./schema/profile.ts";
import type { View } from "./views.ts";
import { isoTimeOrNull } from "./views.ts";

/** The operation GET /v1/users/{userId}/profile. */
export function profileOperation(profiles: ProfileService): Operation {
  return reading({
    name: "getProfile",
    group: "Users",
    summary: "Read what is known of a user: facts that hold now, preferences, people and events.",
    method: "GET",
    path: "/v1/users/:userId/profile",
    scope: "memories:read",
    query: schema.ProfileQuery,
    answers: { 200: schema.Profile },
    faults: ["user_not_found"],
    read: async ({ principal, params, query }) => {
      const userId = checkCallerId(params.userId, "userId");
      const profile = await profiles.ofUser(principal, userId, requestedProfile(query));
      return { status: 200, body: { userId, ...profileView(profile) } };
    },
  });
}

/** Which profile a request asks for. @throws Fault `invalid_request` if the time zone is unknown */
export function requestedProfile(
  query: {
    readonly [Name in keyof Static<typeof schema.ProfileQuery>]?:
      | Static<typeof schema.ProfileQuery>[Name]
      | null
      | undefined;
  },
) {
  const { max_tokens, time_zone } = query;
  return {
    ...scopeOf(query),
    tokensMax: max_tokens ?? LIMITS.profileTokensDefault,
    timeZone: time_zone == null ? undefined : checkTimeZone(time_zone, "time_zone"),
  };
}

/** Converts a profile to the fields of the schema `Profile` except for its user. */
export function profileView(profile: Profile): Static<TObject<typeof schema.profileFields>> {
  const { generatedAt, lists, text, tokens, omitted } = profile;
  return {
    generated_at: isoTime(generatedAt),
    facts: lists.facts.map(entryView),
    preferences: lists.preferences.map(entryView),
    people: lists.people.map((entry) => ({ name: entry.name ?? "", ...entryView(entry) })),
    events: lists.events.map(entryView),
    ...{ text, tokens, omitted },
  };
}

function entryView({ text, memoryId, start, end, occurredAt }: ProfileEntry): View<typeof schema.ProfileEntry> {
  return { text, memory_id: memoryId, start, end, occurred_at: isoTimeOrNull(occurredAt) };
}
