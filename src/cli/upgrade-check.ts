// `mneme upgrade-check`: says what this version will do with a data directory or database, before a server of this
// version opens it. It changes nothing.

import { planUpgrade, type StoreUpgrade, type UpgradePlan } from "../compose/upgrade-check.ts";
import { parseConfig } from "../config.ts";
import { isoTime } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import { VERSION } from "../kit/version.ts";
import type { CommandStart } from "./command-start.ts";
import { bad, type Finding, good, warning } from "./doctor/finding.ts";
import { findingsTable } from "./doctor/findings-table.ts";
import { runningServer } from "./running-server.ts";
import { readableBytes, whileShown } from "./terminal.ts";

/** Flags of upgrade-check with their descriptions. */
export const UPGRADE_CHECK_HELP: readonly (readonly [string, string])[] = [
  ["--json", "Print what was found as JSON"],
  ["all flags of serve", "What the server would be started with, such as --data-dir"],
];

/** Exit codes of upgrade-check. */
export const UPGRADE_CHECK_EXIT = { possible: 0, impossible: 1, notChecked: 2 } as const;

/**
 * Runs `mneme upgrade-check`.
 * @returns the text to print, and the exit code
 * @throws Error with one sentence if the data could not be read
 */
export async function upgradeCheck(
  argv: readonly string[],
  start: CommandStart,
): Promise<{ readonly text: string; readonly exitCode: number }> {
  const isJson = argv.includes("--json");
  const settings = argv.filter((word) => word !== "--json");
  const config = parseConfig(settings, start.environment, start.place);
  const system = await runningServer(config.dataDir);
  const server = system === "unreadable" ? "unknown" : (system?.version ?? null);
  const plan = await whileShown("looking", planUpgrade(config));
  const findings = [
    ...plan.stores.map(storeFinding),
    ...(plan.areTextsInUse ? [textsInUse()] : []),
    ...modelFindings(plan),
    spaceFinding(plan),
    serverFinding(server),
    wayBack(plan),
  ];
  const isPossible = findings.every(({ verdict }) => verdict !== "bad");
  const exitCode = isPossible ? UPGRADE_CHECK_EXIT.possible : UPGRADE_CHECK_EXIT.impossible;
  const text = isJson
    ? JSON.stringify({ ...viewOf(plan), is_possible: isPossible, server_version: server, findings }, null, 2)
    : findingsTable(findings, "The upgrade can begin.");
  return { text, exitCode };
}

function viewOf(plan: UpgradePlan) {
  const { stores, areTextsInUse, projects, absentModels, reembedded, neededBytes, freeBytes, lastBackupAt } = plan;
  return {
    version: VERSION,
    stores: stores.map(({ store, where, found, supported }) => ({ store, where, schema: found, supported })),
    are_texts_in_use: areTextsInUse,
    projects,
    absent_models: absentModels,
    reembedded: reembedded.map(({ isUnderWay: is_under_way, ...project }) => ({ ...project, is_under_way })),
    needed_bytes: neededBytes,
    free_bytes: freeBytes,
    last_backup_at: lastBackupAt === null ? null : isoTime(lastBackupAt),
  };
}

function storeFinding({ store, where, found, supported }: StoreUpgrade): Finding {
  if (found > supported) {
    const newer = `${where} has schema version ${found}, and Mneme ${VERSION} supports at most ${supported}.`;
    return bad(store, newer, "A downgrade is refused. Start a newer version, or restore a backup of this version.");
  }
  if (found === supported) return good(store, `${where} has schema version ${found}, the one that this version uses.`);
  if (found === 0) return good(store, `${where} has no tables yet; the first start makes them.`);
  const missing = supported - found;
  const migrations = missing === 1 ? "one migration" : `${missing} migrations`;
  return good(store, `${where} has schema version ${found}; the start applies ${migrations} up to ${supported}.`);
}

function textsInUse(): Finding {
  const advice = "Stop the server, and run this command again before the new version starts.";
  return warning("texts", "memories.duckdb was not checked, because a server uses it.", advice);
}

function modelFindings({ absentModels, reembedded, projects }: UpgradePlan): readonly Finding[] {
  const absent = absentModels.map(({ id, projects: of, command }) => {
    const found = `${id} is not installed, and ${of.join(", ")} ${of.length === 1 ? "has" : "have"} its vectors.`;
    if (command === null) return bad("models", found, "The server will not start: put the folder of the model back.");
    const until = "Until then they are searched by full text, answers say so, and nothing is embedded again.";
    return warning("models", `${found} ${until}`, command);
  });
  const changed = reembedded.map(({ project, from, to, chunks, isUnderWay }) => {
    const what = `${project} gets vectors of ${to} instead of ${from}, ${counted(chunks, "passage")}, in the background.`;
    const instead = isUnderWay
      ? "This was asked for already; mneme models cancel ends it."
      : "MNEME_EMBEDDER_UPGRADE=manual leaves it as it is.";
    return warning("models", what, `Searches go on meanwhile. ${instead}`);
  });
  if (absent.length + changed.length > 0) return [...absent, ...changed];
  return [
    good("models", projects === 1 ? "The project keeps its vectors." : `${projects} projects keep their vectors.`),
  ];
}

function spaceFinding({ neededBytes, freeBytes }: UpgradePlan): Finding {
  const found = `At most ${readableBytes(neededBytes)} are needed, and ${readableBytes(freeBytes)} are free.`;
  return neededBytes > freeBytes ? bad("space", found, "Free some space on the disk first.") : good("space", found);
}

function serverFinding(version: string | null): Finding {
  if (version === null) return good("server", "No server runs on the data directory.");
  const found = `A server of version ${version} runs on the data directory.`;
  return warning("server", found, "Stop it (Ctrl-C, or SIGTERM) before the new version starts.");
}

function wayBack({ stores, lastBackupAt }: UpgradePlan): Finding {
  const migrates = stores.some(({ found, supported }) => found > 0 && found < supported);
  if (!migrates) return good("way back", "Nothing is migrated, so the previous version still opens the data.");
  const refusal = "After the upgrade, earlier versions refuse the data; only a backup leads back.";
  const advice = "Make a backup with the version that runs now: mneme backup TARGET";
  if (lastBackupAt === null) return warning("way back", `${refusal} No backup is known.`, advice);
  return good("way back", `${refusal} The last one is of ${isoTime(lastBackupAt)}.`);
}
