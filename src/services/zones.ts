// Which time zone holds for a user, and where dates without a time begin in it.

import type { ProjectId } from "../domain/ids.ts";
import { isDateOnly } from "../kit/clock.ts";
import { instantOf, UTC } from "../kit/time-zone.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { UserStore } from "../ports/user-store.ts";

/** Stores that know time zones. */
interface ZoneStores {
  readonly users: Pick<UserStore, "get">;
  readonly accounts: Pick<AccountStore, "project">;
}

/** The time zone of a user, else that of the project, else UTC. */
export async function zoneOf(
  { users, accounts }: ZoneStores,
  projectId: ProjectId,
  userId: string | null,
): Promise<string> {
  const user = userId === null ? null : await users.get(projectId, userId);
  return user?.timeZone ?? (await accounts.project(projectId))?.settings.time_zone ?? UTC;
}

/** When something happened, as it is stored. */
interface Dated {
  readonly userId?: string | null;
  readonly occurredAt?: number | null;
  readonly occurredAtGiven?: string | null;
}

/**
 * Returns the drafts or changes with zoned dates: a date without a time, which comes as midnight in UTC, becomes
 * midnight in the zone of its user.
 */
export async function withZonedDates<Item extends Dated>(
  stores: ZoneStores,
  projectId: ProjectId,
  items: readonly Item[],
): Promise<readonly Item[]> {
  const zones = new Map<string | null, string>();
  const dated: Item[] = [];
  for (const item of items) {
    const { userId = null, occurredAt, occurredAtGiven } = item;
    if (occurredAt == null || occurredAtGiven == null || !isDateOnly(occurredAtGiven)) {
      dated.push(item);
      continue;
    }
    const zone = zones.get(userId) ?? (await zoneOf(stores, projectId, userId));
    zones.set(userId, zone);
    dated.push(zone === UTC ? item : { ...item, occurredAt: instantOf(occurredAt, zone) });
  }
  return dated;
}
