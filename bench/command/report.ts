// The result of a benchmark as text: cells for tables, and a page in Markdown.

import { type Cell, type Column, type Result, significant, type Table } from "./result.ts";

/** Header of a table: titles with units. */
export function headerOf({ columns }: Table): readonly string[] {
  return columns.map(titleOf);
}

/** Rows of a table as text. */
export function cellsOf({ columns, rows }: Table): readonly (readonly string[])[] {
  return rows.map((row) => columns.map(({ key }) => cellText(row[key] ?? null)));
}

/** The table without columns in which no row has a figure. */
export function withoutEmptyColumns(table: Table): Table {
  const columns = table.columns.filter(
    ({ key, isKey }) => isKey || table.rows.some((row) => (row[key] ?? null) !== null),
  );
  return { ...table, columns };
}

/** A figure for people: integers below 1e9 in full, others with four significant digits, `–` if there is none. */
export function cellText(cell: Cell): string {
  if (cell === null) return "–";
  if (typeof cell === "string") return cell;
  return Number.isInteger(cell) && Math.abs(cell) < 1e9 ? String(cell) : String(significant(cell));
}

/** The machine in a few words, and the versions with the models. */
export function originOf({ machine, versions, models }: Result): Readonly<Record<"machine" | "versions", string>> {
  const { cpu, cores, memory_gib, os } = machine;
  const commit = versions.commit === null ? "" : ` (${versions.commit})`;
  const reranker = models.reranker === null ? "" : ` and ${models.reranker}`;
  return {
    machine: `${cpu}, ${cores} cores, ${memory_gib} GiB, ${os}`,
    versions: `Mneme ${versions.mneme}${commit}, Bun ${versions.bun}, ${models.embedder}${reranker}`,
  };
}

/** The result as a Markdown page. @param chartFile name of the chart's file, next to the page */
export function markdownOf(result: Result, chartFile: string): string {
  const { machine, versions } = originOf(result);
  const options = Object.entries(result.options).map(([name, value]) => `${name} ${cellText(value)}`);
  return [
    `# mneme bench ${result.benchmark}`,
    "",
    `- Started: ${result.started_at}, took ${Math.round(result.seconds)} s`,
    `- Machine: ${machine}`,
    `- Versions: ${versions}`,
    `- Options: ${options.join(", ")}`,
    "",
    `![${result.chart.title}](${chartFile})`,
    ...result.tables.flatMap((table) => ["", `## ${table.title}`, "", ...tableLines(withoutEmptyColumns(table))]),
    "",
    ...result.notes.map((note) => `- ${note}`),
    ...Object.entries(result.prompts ?? {}).flatMap(([name, prompt]) => [
      "",
      `## Prompt: ${name}`,
      "",
      "```text",
      prompt,
      "```",
    ]),
    "",
  ].join("\n");
}

function tableLines(table: Table): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = table.columns.map(({ isKey }) => (isKey ? "---" : "---:"));
  return [line(headerOf(table)), line(rule), ...cellsOf(table).map(line)];
}

function titleOf({ title, unit }: Column): string {
  return unit === "" ? title : `${title} ${unit}`;
}
