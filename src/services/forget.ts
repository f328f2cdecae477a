// Erases all traces of a memory, a user or a project at once, and says what was erased where. Deletion through the API
// keeps the texts for the retention period; erasure does not wait.

import { Fault, invariant } from "../domain/fault.ts";
import { type SweptStores, sweep } from "../erasure/erasure.ts";
import { type Clock, isoTime } from "../kit/clock.ts";
import { profileSubject } from "../ports/idempotency-store.ts";
import { SUBJECT_KINDS, type Subject, type SubjectKind, type TraceStore, type Traces } from "../ports/trace-store.ts";
import type { Transactions } from "../ports/transactions.ts";
import type { ProjectService } from "./projects.ts";
import { removeOwned } from "./users.ts";

/** What was erased. */
export interface Receipt {
  readonly receipt: "mneme-forget";
  readonly version: 1;
  readonly subject: { readonly kind: SubjectKind; readonly id: string; readonly projectId: string };
  readonly began_at: string;
  readonly ended_at: string;
  /** Numbers of erased entries by store. */
  readonly erased: Traces;
  readonly notes: readonly string[];
}

/** What to forget. */
export interface ForgetRequest {
  readonly kind: string;
  readonly id: string;
  /** Id or name of the project of a memory or user; null: the default project. */
  readonly project: string | null;
}

/** The stores from which a subject is erased. */
export interface ForgettingStores extends SweptStores {
  readonly traces: TraceStore;
  readonly transactions: Transactions;
  readonly projects: Pick<ProjectService, "purgeRemoved">;
  readonly clock: Clock;
}

const BACKUPS = "Backups and exports that were made before are not covered: remove them, or let them expire.";
const LEFT_IN_FILES =
  "Unused parts of files may still hold what was erased, for example because a backup reads them. No answer shows it, " +
  "and the server overwrites it as soon as it can.";
/** Maximum number of sweeps. One is enough, unless the memory is being published at the same time. */
const SWEEPS_MAX = 5;

/**
 * Erases a subject from all stores. Repeat the call if it fails: what was erased stays erased.
 * @throws Fault `invalid_request` for another kind of subject, `invalid_state` for the default project, and those of
 * `TraceStore.find`; Error if something is left after `SWEEPS_MAX` sweeps
 */
export async function forget(stores: ForgettingStores, { kind, id, project }: ForgetRequest): Promise<Receipt> {
  const { traces, clock } = stores;
  const known = SUBJECT_KINDS.find((each) => each === kind);
  if (known === undefined) throw new Fault("invalid_request", `Only a ${SUBJECT_KINDS.join(", ")} can be forgotten.`);
  const beganAt = clock.now();
  const subject = await traces.find(known, id, project);
  const before = await traces.count(subject);
  const answers = known === "memory" ? await traces.answersFrom(subject) : 0;
  await deleteAll(stores, subject);
  let left = await traces.count(subject);
  for (let sweeps = 0; isAnythingLeft(left) && sweeps < SWEEPS_MAX; sweeps++) {
    if (known === "project") await stores.projects.purgeRemoved();
    else {
      await traces.endRetention(subject);
      await sweep(stores);
      if (known === "user") await traces.eraseUser(subject);
    }
    left = await traces.count(subject);
  }
  const areFilesClean = await sweep(stores, true); // erases what the last steps left in the bytes of the files
  if (isAnythingLeft(left)) throw new Error(`Not everything could be erased yet: ${JSON.stringify(left)}. Try again.`);
  const chunks = traces.chunksIn(before);
  return {
    ...{ receipt: "mneme-forget", version: 1 },
    subject: { kind: known, id: subject.id, projectId: subject.projectId },
    ...{ began_at: isoTime(beganAt), ended_at: isoTime(clock.now()) },
    erased: { ...before, projects: { chunks } },
    notes: [
      BACKUPS,
      ...(areFilesClean ? [] : [LEFT_IN_FILES]),
      ...(answers === 0
        ? []
        : [
            `${answers === 1 ? "1 answer in a chat was" : `${answers} answers in chats were`} made with this memory as a source. The sources are erased, the texts of answers stay.`,
          ]),
    ],
  };
}

/** Deletes the subject as the API does, so that searches do not find it any more and webhooks are told. */
async function deleteAll({ transactions, index }: ForgettingStores, subject: Subject): Promise<void> {
  const { kind, id, projectId, memories } = subject;
  await transactions.run(async (tx) => {
    if (kind === "project") {
      invariant(await tx.accounts.removeProject(projectId), `project ${projectId} vanished`);
      return;
    }
    for (const memory of memories) {
      if (memory.isLive) await tx.memories.remove(projectId, memory.id as never, { purges: true });
    }
    if (kind === "user") {
      await removeOwned(tx, projectId, id);
      await tx.idempotency.forget(projectId, [profileSubject(id)]);
      await tx.users.forget(projectId, id);
    }
    const keys = memories.map(({ key }) => key);
    tx.afterCommit(() => index.hide(projectId, keys));
  });
}

function isAnythingLeft(traces: Traces): boolean {
  return Object.values(traces).some((store) => Object.values(store).some((count) => count > 0));
}
