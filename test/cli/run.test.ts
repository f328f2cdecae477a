// The command line as a user sees it: real processes, exit codes, one line per failure.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json";
import { failureText } from "../../src/cli/run.ts";
import { runMneme } from "../support/command.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { ROOT } from "../support/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "mneme-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("commands", () => {
  test("help names every command and setting", () => {
    for (const argv of [["help"], ["--help"], ["serve", "--help"], ["-h"]]) {
      const { exitCode, stdout, stderr } = runMneme(argv, folder);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      for (const word of ["serve", "import", "version", "--port", "MNEME_ADMIN_KEY"]) expect(stdout).toContain(word);
    }
  });
  test("--help after a command shows its own flags, and only these", () => {
    const general = runMneme(["help"], folder).stdout;
    const cases: readonly (readonly [command: string, flags: readonly string[]])[] = [
      ["import", ["--batch NUMBER", "--data-dir DIRECTORY"]],
      ["export", ["--force"]],
      ["backup", ["--with-index", "--keep NUMBER"]],
      ["restore", ["--backup ID", "--check"]],
      ["forget", ["--project PROJECT"]],
      ["verify", ["--repair"]],
      ["reindex", ["--rate NUMBER"]],
      ["mcp", ["--url URL"]],
      ["connect", ["--hooks", "--write"]],
      ["hook", ["--url URL"]],
      ["status", ["--watch", "--json"]],
      ["doctor", ["--json"]],
      ["upgrade-check", ["--json"]],
      ["completions", ["completions zsh"]],
      ["bench", ["--compare FILE", "bench modes"]],
    ];
    for (const [command, flags] of cases) {
      const { exitCode, stdout, stderr } = runMneme([command, "--help"], folder);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      const [summary, ...tables] = stdout.trimEnd().split("\n");
      expect(general).toContain(`  ${command.padEnd(13)}  ${summary}\n`);
      expect(tables.slice(0, 2)).toEqual(["", expect.stringMatching(new RegExp(`^Flags of ${command}\\b.*:$`))]);
      expect(general).toContain(tables.join("\n"));
      for (const flag of flags) expect(stdout).toContain(`\n  ${flag} `);
      expect(stdout).not.toContain("--search-budget");
    }
  });
  test("version prints the version", () => {
    expect(runMneme(["version"], folder).stdout).toStartWith(`mneme ${packageJson.version} `);
    expect(runMneme(["--version"], folder).stdout).toStartWith(`mneme ${packageJson.version} `);
  });
});

test("a command that prints nothing leaves the file alone to which its output goes", () => {
  const log = join(folder, "server.log");
  writeFileSync(log, "an earlier line\n");
  // English embedder: it is in every checkout, so that nothing is downloaded
  const command = [process.execPath, join(ROOT, "src/main.ts"), "models", "pull", ENGLISH, "--setup"];
  const script = 'exec "$@" >> "$LOG" 2>&1';
  const { exitCode } = Bun.spawnSync(["sh", "-c", script, "sh", ...command], { env: { ...process.env, LOG: log } });
  expect([exitCode, readFileSync(log, "utf8")]).toEqual([0, "an earlier line\n"]);
});

describe("a failure is one line on standard error and exit code 1", () => {
  const cases: readonly (readonly [argv: string[], environment: Record<string, string>, line: string])[] = [
    [["sevre"], {}, "mneme: Unknown command sevre. Did you mean serve? Try mneme help."],
    [["serve", "--prot", "1"], {}, "mneme: Unknown flag --prot. Did you mean --port?"],
    [["--prot", "1"], {}, "mneme: Unknown flag --prot. Did you mean --port?"],
    [[], { MNEME_LANES: "many" }, 'mneme: MNEME_LANES must be an integer from 1 to 64, not "many".'],
    [["import", "--from", "mem0", "none.json", "--dry-run"], {}, "mneme: none.json does not exist."],
    [["import", "none.jsonl", "--key", "ctx_x"], {}, "mneme: none.jsonl does not exist."],
    [["import", "none/none.jsonl", "--key", "ctx_x"], {}, "mneme: The folder none does not exist."],
    [["import", "--from", "markdown-folder", "none", "--dry-run"], {}, "mneme: none does not exist."],
    [["import"], {}, "mneme: Missing file. Usage: mneme import FILE.jsonl[.gz]"],
  ];
  for (const [argv, environment, line] of cases) {
    test(line, () =>
      expect(runMneme(argv, folder, environment)).toEqual({ exitCode: 1, stdout: "", stderr: `${line}\n` }),
    );
  }
  test("a multi-line message becomes one line", () => {
    expect(failureText(new Error("first\n  second"))).toBe("mneme: first second");
  });
  test("a bug in Mneme is printed with its stack", () => {
    expect(failureText(new TypeError("x is undefined"))).toContain("\n");
    expect(failureText(new Error("this is a bug in Mneme"))).toContain("\n");
  });
});
