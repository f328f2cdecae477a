// Checks of the machine: processor, memory, limits of the process, clock, proxies.

import { statSync } from "node:fs";
import { arch, freemem, platform } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../kit/clock.ts";
import { isoTime } from "../../kit/clock.ts";
import { machineShare } from "../../kit/machine-share.ts";
import { textIfThere } from "../../kit/missing-files.ts";
import { readableBytes } from "../terminal.ts";
import { bad, type Finding, good, warning } from "./finding.ts";

const GiB = 1024 ** 3;
/** Minimum memory, and memory that is enough. A server with the default models takes about 0.7 GiB without data. */
const MEMORY_MIN_BYTES = 1 * GiB;
const MEMORY_GOOD_BYTES = 2 * GiB;
/** Minimum number of open files, and one that is enough. An open project takes about twenty files, a connection one. */
const FILES_MIN = 1_024;
const FILES_GOOD = 8_192;
/** Earliest time that the clock can show if it is right: no version of Mneme is older. */
const FIRST_TIME = Date.UTC(2026, 0, 1);
/** If a file was written later than this number of milliseconds from now, the clock was set back. */
const CLOCK_SLACK_MS = 60_000;

/** Extensions of x64 processors that the models use, the best first, as Linux names them. */
const EXTENSIONS = ["amx_int8", "avx512_vnni", "avx_vnni", "avx2"] as const;

/** Whether the processor has an extension that makes the models fast. */
export function checkProcessor(cpuInfo: string = textIfThere("/proc/cpuinfo"), machine: string = arch()): Finding {
  const name = "processor";
  const { cores } = machineShare();
  const system = `${platform()} on ${machine}, ${cores} ${cores === 1 ? "core" : "cores"}`;
  if (!["x64", "arm64"].includes(machine)) {
    return bad(name, `${system}.`, "Use a machine with x64 or arm64: there are no native parts for others.");
  }
  if (machine !== "x64" || cpuInfo === "") return good(name, `${system}.`);
  const flags = new Set((/^flags\s*:\s*(.*)$/m.exec(cpuInfo)?.[1] ?? "").split(" "));
  const best = EXTENSIONS.find((extension) => flags.has(extension));
  if (best === undefined) {
    const advice = "Searches and ingestion are several times slower without AVX2. Choose a newer type of machine.";
    return warning(name, `${system}, without AVX2.`, advice);
  }
  return good(name, `${system}, with ${best.replaceAll("_", "-").toUpperCase()}.`);
}

/** Whether there is enough memory. */
export function checkMemory(bytes: number = machineShare().memoryBytes): Finding {
  const found = `${readableBytes(bytes)} for this process, ${readableBytes(Math.min(bytes, freeMemory()))} free.`;
  if (bytes < MEMORY_MIN_BYTES) return bad("memory", found, "Give it at least 1 GB; 2 GB and more are good.");
  if (bytes < MEMORY_GOOD_BYTES)
    return warning("memory", found, "2 GB and more are good: models and indexes are in memory.");
  return good("memory", found);
}

function freeMemory(): number {
  const [, kibibytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(textIfThere("/proc/meminfo")) ?? [];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

/** Whether the process may open enough files. */
export function checkLimits(limits: string = textIfThere("/proc/self/limits")): Finding {
  const name = "limits";
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (soft === undefined) return good(name, "This system does not say how many files a process may open.");
  const files = soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  const found = `A process may open ${soft} files.`;
  const advice = `Raise it to ${FILES_GOOD}: \`ulimit -n ${FILES_GOOD}\`, or LimitNOFILE= of the systemd unit.`;
  if (files < FILES_MIN) return bad(name, found, advice);
  return files < FILES_GOOD ? warning(name, found, advice) : good(name, found);
}

/** Whether the clock is right, as far as the data can tell. */
export function checkClock(dataDir: string, clock: Clock): Finding {
  const now = clock.now();
  const found = `It is ${isoTime(now)}.`;
  const advice = "Set the clock, and keep it right with NTP (such as systemd-timesyncd or chrony).";
  if (now < FIRST_TIME) return bad("clock", found, advice);
  const newest = ["mneme.sqlite", "memories.duckdb"]
    .map((file) => statSync(join(dataDir, file), { throwIfNoEntry: false })?.mtimeMs ?? 0)
    .reduce((latest, at) => Math.max(latest, at), 0);
  if (newest <= now + CLOCK_SLACK_MS) return good("clock", found);
  return warning("clock", `${found} The data was written at ${isoTime(newest)}, which is later.`, advice);
}

/** Whether a proxy is set that could come between the server and other programs on this machine. */
export function checkProxy(environment: Readonly<Record<string, string | undefined>>): Finding {
  const name = "proxy";
  const of = (variable: string) => environment[variable.toLowerCase()] || environment[variable.toUpperCase()];
  const proxies = ["http_proxy", "https_proxy", "all_proxy"].filter((variable) => of(variable));
  if (proxies.length === 0) return good(name, "No proxy is set.");
  const found = `${proxies.map((variable) => variable.toUpperCase()).join(" and ")} ${proxies.length === 1 ? "is" : "are"} set.`;
  const excepted = (of("no_proxy") ?? "").split(",").map((host) => host.trim());
  if (excepted.includes("*") || (excepted.includes("127.0.0.1") && excepted.includes("localhost"))) {
    return good(name, `${found} This machine is excepted.`);
  }
  const advice = "Add localhost and 127.0.0.1 to NO_PROXY, so that programs here reach the server directly.";
  return warning(name, found, advice);
}
