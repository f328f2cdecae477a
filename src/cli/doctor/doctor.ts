// `mneme doctor`: looks for what could keep a server from starting or working well, and says what to do. It changes
// nothing, and works whether or not a server runs.

import type { SystemAnswer } from "../../compose/control.ts";
import { type Config, parseConfig } from "../../config.ts";
import { type Clock, systemClock } from "../../kit/clock.ts";
import { UsageError } from "../../kit/flags.ts";
import { VERSION } from "../../kit/version.ts";
import type { CommandStart } from "../command-start.ts";
import { runningServer } from "../running-server.ts";
import { problemsOf } from "../status.ts";
import { whileShown } from "../terminal.ts";
import { checkDatabase, checkDisk, checkInstalledModels, checkPermissions, checkPort } from "./data.ts";
import { bad, type Finding, good, warning } from "./finding.ts";
import { findingsTable } from "./findings-table.ts";
import { checkClock, checkLimits, checkMemory, checkProcessor, checkProxy } from "./machine.ts";

/** Flags of doctor with their descriptions. */
export const DOCTOR_HELP: readonly (readonly [string, string])[] = [
  ["--json", "Print the findings as JSON"],
  ["all flags of serve", "What the server would be started with, such as --data-dir and --port"],
];

/**
 * Runs `mneme doctor`.
 * @returns the text to print, and whether nothing keeps a server from working
 */
export async function doctor(
  argv: readonly string[],
  start: CommandStart,
  clock: Clock = systemClock,
): Promise<{ readonly text: string; readonly isWell: boolean }> {
  const isJson = argv.includes("--json");
  const settings = argv.filter((word) => word !== "--json");
  const findings = await whileShown("looking", findingsOf(settings, start, clock));
  const isWell = findings.every(({ verdict }) => verdict !== "bad");
  const text = isJson
    ? JSON.stringify({ version: VERSION, is_well: isWell, findings }, null, 2)
    : findingsTable(findings, "All is well.");
  return { text, isWell };
}

async function findingsOf(argv: readonly string[], start: CommandStart, clock: Clock): Promise<readonly Finding[]> {
  const { environment, place } = start;
  const ofMachine = [checkProcessor(), checkMemory(), checkLimits(), checkProxy(environment)];
  let config: Config;
  try {
    config = parseConfig(argv, environment, place);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const settings = bad("settings", error.message, "Correct the setting; docs/configuration.md has all of them.");
    return [settings, ...ofMachine];
  }
  const { dataDir } = config;
  const system = await runningServer(dataDir);
  const database = await checkDatabase(config);
  return [
    good("settings", "All settings are valid."),
    ...ofMachine,
    checkClock(dataDir, clock),
    checkPermissions(dataDir),
    checkDisk(dataDir),
    await checkInstalledModels(config),
    ...(database === null ? [] : [database]),
    await checkPort(config, system !== null),
    ...(system === null ? [] : [checkServer(system)]),
  ];
}

function checkServer(system: SystemAnswer | "unreadable"): Finding {
  if (system === "unreadable") {
    return warning("server", "A server runs, but does not tell its state.", "Its log says more.");
  }
  const problems = problemsOf(system);
  if (system.version !== VERSION) {
    const found = `The server is version ${system.version}, this program is ${VERSION}.`;
    return warning("server", found, "Restart the server with this version, or use the other program.");
  }
  if (problems.length === 0) return good("server", "It runs, and all is well.");
  return warning("server", problems.join(" "), "Its log says more; mneme status shows its state.");
}
