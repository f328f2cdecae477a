// `mneme completions`: the scripts are valid for their shells, and complete commands, actions and flags.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completions, SHELLS } from "../../src/cli/completions.ts";
import { runMneme } from "../support/command.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-completions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const scriptOf = (shell: string) => runMneme(["completions", shell], folder).stdout;

/** What bash offers for the last word of a command line. */
function offered(script: string, ...words: string[]): string[] {
  const file = join(folder, "mneme.bash");
  const line = words.map((word) => `'${word}'`).join(" ");
  writeFileSync(
    file,
    `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _mneme; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
  const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", file], { cwd: folder });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString().trim().split("\n").sort();
}

test("bash completes commands, actions, flags and files", () => {
  const script = scriptOf("bash");
  expect(offered(script, "mneme", "re")).toEqual(["reindex", "restore"]);
  expect(offered(script, "mneme", "keys", "r")).toEqual(["revoke", "rotate"]);
  expect(offered(script, "mneme", "serve", "--por")).toEqual(["--port"]);
  expect(offered(script, "mneme", "status", "--w")).toEqual(["--watch"]);
  writeFileSync(join(folder, "some.toml"), "");
  expect(offered(script, "mneme", "serve", "--config", "some")).toEqual(["some.toml"]);
  expect(offered(script, "mneme", "serve", "--port", "")).toEqual([""]);
});

test.each([...SHELLS])("%s has every visible command, and no flag of another command", (shell) => {
  const { exitCode, stdout, stderr } = runMneme(["completions", shell], folder);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  for (const name of ["serve", "status", "doctor", "completions", "backup", "models"]) expect(stdout).toContain(name);
  expect(stdout).not.toContain("child");
  const program = Bun.which(shell);
  if (program === null) return; // the script of a shell that is not installed is only looked at
  const file = join(folder, `mneme.${shell}`);
  writeFileSync(file, stdout);
  const checked = Bun.spawnSync([program, "-n", file]);
  expect([checked.exitCode, checked.stderr.toString()]).toEqual([0, ""]);
});

test("descriptions with quotes and brackets stay within theirs", () => {
  const command = {
    ...{ name: "x", summary: "It's [a] \\ test: yes", actions: [] },
    flags: [["--flag VALUE", "the user's [default: 1]"] as const],
  };
  const file = join(folder, "quoted.bash");
  for (const shell of SHELLS) {
    const script = completions(shell, [command]);
    expect(script).toContain("flag");
    if (shell !== "bash") continue;
    writeFileSync(file, script);
    expect(Bun.spawnSync(["bash", "-n", file]).exitCode).toBe(0);
  }
});

test("an unknown shell is refused with the known ones", () => {
  for (const argv of [["completions"], ["completions", "powershell"]]) {
    const { exitCode, stderr } = runMneme(argv, folder);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("bash|zsh|fish")]);
  }
});
