#!/usr/bin/env node
// Starts the program of the package for this platform, with the models of their package.
const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");

const system = { linux: "linux", darwin: "macos", win32: "windows" }[process.platform] ?? process.platform;
const platform = `${system}-${process.arch}`;
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));
let program;
try {
  program = join(folderOf(`mneme-engine-${platform}`), "program", process.platform === "win32" ? "mneme.exe" : "mneme");
} catch {
  console.error(
    `mneme: there is no program for ${platform}, or npm left out the optional package mneme-engine-${platform}.`,
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), {
  stdio: "inherit",
  env: { ...process.env, MNEME_SHIPPED_MODELS_DIR: join(folderOf("mneme-engine-models"), "models") },
});
// a terminal sends Ctrl-C to the child as well; others signal this process alone
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`mneme: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal === "SIGKILL" ? 9 : 15)));
