// docs/cli.md has what `mneme help` prints. UPDATE_DOCS=1 writes it.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "../support/program.ts";
import { ROOT } from "../support/sources.ts";

const PAGE = join(ROOT, "docs/cli.md");
const INTRODUCTION = `# Command line

What \`mneme help\` prints, command by command; \`mneme COMMAND --help\` shows one of them. In a clone, \`mneme\` is
\`npx -y bun run mneme\`. The settings of \`serve\` are in [configuration.md](configuration.md). This page is generated:
\`UPDATE_DOCS=1 npx -y bun test test/cli/page.test.ts\`.
`;

/** The page for the general help: the table of commands, then a section per table of flags. */
function pageOf(help: string): string {
  const [, ...parts] = help.trimEnd().split(/\n\n(?=Commands:|Flags of |[A-Z][^\n]+:\n)/);
  const sections = parts.flatMap((part) => {
    const [heading = "", ...rows] = part.split("\n");
    const title = heading.replace(/^Flags of | \(for their flags: .*\)|:$/g, "");
    // configuration.md has the settings, with more words
    if (title.startsWith("serve")) return [];
    if (title === "Commands") {
      const lines = rows.map((row) => row.replace(/^ {2}(\S+) +(.*)$/, "| `$1` | $2 |"));
      return [`\n## Commands\n\n| Command | What it does |\n|---|---|\n${lines.join("\n")}\n`];
    }
    return [
      `\n## ${/^[a-z]/.test(title) ? `mneme ${title}` : title}\n\n\`\`\`text\n${rows.map((row) => row.trimEnd()).join("\n")}\n\`\`\`\n`,
    ];
  });
  return INTRODUCTION + sections.join("");
}

test("docs/cli.md has the help of every command", async () => {
  const child = Bun.spawn([...PROGRAM, "help"], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const help = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  const page = pageOf(help);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(PAGE, page);
  for (const command of ["serve", "import", "backup", "verify", "help"]) expect(page).toContain(`| \`${command}\` |`);
  expect(readFileSync(PAGE, "utf8")).toBe(page);
});
