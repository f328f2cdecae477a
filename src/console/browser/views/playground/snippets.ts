// A search as code: for the command line, the clients, and agents over MCP.

import { addressOf, BASE } from "../../core/api.ts";

/** Languages of the code. */
export const SNIPPET_LANGUAGES = ["curl", "TypeScript", "Python", "MCP"] as const;
/** A language of the code. */
export type SnippetLanguage = (typeof SNIPPET_LANGUAGES)[number];

/** The code that sends a search. The key is not in it. */
export function snippetOf(language: SnippetLanguage, body: Readonly<Record<string, unknown>>): string {
  const { query, ...options } = body;
  const json = JSON.stringify(body, null, 2);
  const address = BASE.replace(/\/$/, "");
  switch (language) {
    case "curl":
      return [
        `curl ${addressOf("/v1/memories/search")} \\`,
        '  -H "Authorization: Bearer $MNEME_API_KEY" -H "Content-Type: application/json" \\',
        `  -d '${json.replaceAll("'", "'\\''")}'`,
      ].join("\n");
    case "TypeScript":
      return [
        'import { Mneme } from "mneme-client";',
        "",
        `const mneme = new Mneme({ baseUrl: ${JSON.stringify(address)}, apiKey: process.env.MNEME_API_KEY });`,
        `const { results } = await mneme.memories.search(${JSON.stringify(query)}, ${JSON.stringify(options, null, 2)});`,
        "for (const { score, content } of results) console.log(score, content);",
      ].join("\n");
    case "Python":
      return [
        "import os",
        "from mneme_client import Mneme",
        "",
        `with Mneme(base_url=${pythonOf(address)}, api_key=os.environ["MNEME_API_KEY"]) as mneme:`,
        `    found = mneme.memories.search(${[pythonOf(query), ...Object.entries(options).map(argumentOf)].join(", ")})`,
        "    for result in found.results:",
        "        print(result.score, result.content)",
      ].join("\n");
    case "MCP":
      return JSON.stringify({ name: "search_memories", arguments: body }, null, 2);
  }
}

function argumentOf([name, value]: [string, unknown]): string {
  return `${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}=${pythonOf(value)}`;
}

function pythonOf(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}: ${pythonOf(inner)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}
