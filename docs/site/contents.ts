// The pages of the guide, in the order of its navigation. Add a page here, and it is in the site, its search and the
// test of its code (test/guide/).

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The repository's root. */
export const ROOT = join(import.meta.dir, "../..");

/** A page of the site. */
export interface GuidePage {
  /** Markdown file, from the repository's root. */
  readonly source: string;
  /** Name in the navigation. */
  readonly name: string;
  /** Address in the site, such as `how-to/many-tenants.html`: at most one folder, because the server routes no more. */
  readonly address: string;
}

/** A group of pages in the navigation. */
export interface GuideSection {
  readonly title: string;
  readonly pages: readonly GuidePage[];
}

const page = (source: string, name: string, address: string): GuidePage => ({ source, name, address });

const DECISIONS = "docs/decisions";

const PLACED: readonly GuideSection[] = [
  { title: "Start", pages: [page("README.md", "Install, and a tour", "index.html")] },
  {
    title: "Concepts",
    pages: [
      page("docs/concepts.md", "The six concepts", "concepts.html"),
      page("docs/glossary.md", "Glossary", "glossary.html"),
    ],
  },
  {
    title: "How-to",
    pages: [
      page("docs/how-to/agent-memory.md", "Memory for an agent", "how-to/agent-memory.html"),
      page("docs/how-to/rag-over-documents.md", "RAG over documents", "how-to/rag-over-documents.html"),
      page("docs/how-to/many-tenants.md", "Many tenants", "how-to/many-tenants.html"),
      page("docs/how-to/chat-with-citations.md", "A chat with citations", "how-to/chat-with-citations.html"),
      page("docs/import.md", "Coming from another product", "how-to/import.html"),
      page("docs/mem0.md", "Keeping mem0's clients", "how-to/mem0.html"),
      page("docs/n8n.md", "n8n", "how-to/n8n.html"),
      page("examples/README.md", "Examples", "how-to/examples.html"),
    ],
  },
  {
    title: "Operations",
    pages: [
      page("docs/install.md", "Packages and containers", "operations/install.html"),
      page("docs/sizing.md", "Sizing", "operations/sizing.html"),
      page("docs/operating.md", "Status and doctor", "operations/operating.html"),
      page("docs/backup.md", "Backup", "operations/backup.html"),
      page("docs/upgrade.md", "Upgrade", "operations/upgrade.html"),
      page("docs/scale-out.md", "Several nodes", "operations/scale-out.html"),
      page("docs/gpu.md", "GPU", "operations/gpu.html"),
      page("docs/overviews.md", "Overviews", "operations/overviews.html"),
    ],
  },
  {
    title: "Reference",
    pages: [
      page("docs/api.md", "API", "reference/api.html"),
      page("docs/configuration.md", "Configuration", "reference/configuration.html"),
      page("docs/cli.md", "Command line", "reference/cli.html"),
      page("docs/mcp.md", "MCP", "reference/mcp.html"),
      page("docs/sdk.md", "SDKs", "reference/sdk.html"),
      page("sdk/typescript/README.md", "SDK for TypeScript", "reference/sdk-typescript.html"),
      page("sdk/python/README.md", "SDK for Python", "reference/sdk-python.html"),
      page("docs/openai.md", "OpenAI's clients", "reference/openai.html"),
      page("docs/models.md", "Models", "reference/models.html"),
      page("data/models/README.md", "Included models", "reference/included-models.html"),
      page("CHANGELOG.md", "Changelog", "reference/changelog.html"),
    ],
  },
  {
    title: "Benchmarks",
    pages: [
      page("docs/benchmarks.md", "Results", "benchmarks/results.html"),
      page("docs/benchmarking.md", "Measure on your machine", "benchmarks/measure.html"),
      page("docs/measurements.md", "Where the constants come from", "benchmarks/constants.html"),
    ],
  },
  {
    title: "Decisions",
    pages: [
      page("ARCHITECTURE.md", "Architecture", "decisions/architecture.html"),
      page("docs/where-to-change.md", "Where do I make a change?", "decisions/where-to-change.html"),
      page("CONTRIBUTING.md", "Contributing", "decisions/contributing.html"),
      page(`${DECISIONS}/README.md`, "All decisions", "decisions/index.html"),
    ],
  },
];

/** The pages of the site by section. A page of docs/ that nobody has placed is at the end of the reference. */
export const SECTIONS: readonly GuideSection[] = PLACED.map(({ title, pages }) => ({
  title,
  pages: title === "Reference" ? [...pages, ...unplaced()] : pages,
}));

function unplaced(): readonly GuidePage[] {
  const placed = new Set(PLACED.flatMap(({ pages }) => pages.map(({ source }) => source)));
  return readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md") && !placed.has(`docs/${name}`))
    .sort()
    .map((name) => {
      const source = `docs/${name}`;
      return page(source, titleOf(source), `reference/${name.replace(/\.md$/, ".html")}`);
    });
}

/** Pages that are in the site but not in the navigation: other pages link to them. */
export const LINKED: readonly GuidePage[] = [
  ...readmesOfExamples(),
  ...readdirSync(join(ROOT, DECISIONS))
    .filter((name) => /^\d{3}-.*\.md$/.test(name))
    .sort()
    .map((name) => {
      const source = `${DECISIONS}/${name}`;
      return page(source, titleOf(source), `decisions/${name.replace(/\.md$/, ".html")}`);
    }),
];

/** All pages, those of the navigation first. */
export const PAGES: readonly GuidePage[] = [...SECTIONS.flatMap(({ pages }) => pages), ...LINKED];

function readmesOfExamples(): readonly GuidePage[] {
  return readdirSync(join(ROOT, "examples"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const source = `examples/${name}/README.md`;
      return page(source, titleOf(source), `how-to/example-${name}.html`);
    });
}

function titleOf(source: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(ROOT, source), "utf8"))?.[1] ?? source;
}
