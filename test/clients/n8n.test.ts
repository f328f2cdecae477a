// The workflow for n8n in docs/n8n: its nodes and connections are complete, and its very requests, with expressions
// evaluated as n8n does, work on a real server.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { until } from "../support/until.ts";

// biome-ignore lint/suspicious/noExplicitAny: what nodes pass on has any shape
type Item = any;

interface Node {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly typeVersion: number;
  readonly position: readonly number[];
  // biome-ignore lint/suspicious/noExplicitAny: parameters differ from node to node
  readonly parameters: any;
  readonly credentials?: unknown;
}
interface Workflow {
  readonly nodes: readonly Node[];
  readonly connections: Readonly<Record<string, { readonly main: readonly (readonly { readonly node: string }[])[] }>>;
}

const HTTP = "n8n-nodes-base.httpRequest";
/** Nodes that come with n8n, with the versions of their parameters. */
const KNOWN_NODES: Readonly<Record<string, number>> = {
  "n8n-nodes-base.manualTrigger": 1,
  "n8n-nodes-base.set": 3.4,
  "n8n-nodes-base.wait": 1.1,
  [HTTP]: 4.2,
};
const HTTP_PARAMETERS = [
  ...["method", "url", "authentication", "genericAuthType", "sendQuery", "queryParameters", "sendBody", "specifyBody"],
  ...["jsonBody", "options"],
];

const workflow: Workflow = JSON.parse(readFileSync(join(ROOT, "docs/n8n/mneme.json"), "utf8"));
const byName = new Map(workflow.nodes.map((node) => [node.name, node]));

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** The nodes in the order in which n8n runs them. */
function inOrder(): readonly Node[] {
  const order: Node[] = [];
  let name: string | undefined = "Start";
  while (name !== undefined) {
    const node = byName.get(name);
    if (node === undefined || order.includes(node)) throw new Error(`${name} is not there, or comes twice`);
    order.push(node);
    const outputs: readonly (readonly { readonly node: string }[])[] = workflow.connections[name]?.main ?? [];
    if (outputs.flat().length > 1) throw new Error(`${name} has several successors`);
    name = outputs[0]?.[0]?.node;
  }
  return order;
}

/** The value of a parameter: after `=`, each `{{ … }}` is an expression with `$json` and `$('Node').item.json`. */
function evaluated(text: string, json: Item, outputs: ReadonlyMap<string, Item>): string {
  if (!text.startsWith("=")) return text;
  const nodeOf = (name: string) => {
    if (!outputs.has(name)) throw new Error(`${name} has not run`);
    return { item: { json: outputs.get(name) } };
  };
  return text.slice(1).replace(/\{\{(.*?)\}\}(?!\})/gs, (_, expression: string) => {
    return String(new Function("$json", "$", `return (${expression});`)(json, nodeOf));
  });
}

async function send({ parameters }: Node, json: Item, outputs: ReadonlyMap<string, Item>): Promise<Item> {
  const value = (text: string) => evaluated(text, json, outputs);
  const url = new URL(value(parameters.url));
  for (const { name, value: text } of parameters.queryParameters?.parameters ?? []) {
    url.searchParams.append(name, value(text));
  }
  const response = await fetch(url, {
    method: parameters.method,
    headers: {
      authorization: `Bearer ${server.key}`,
      ...(parameters.sendBody === true && { "content-type": "application/json" }),
    },
    ...(parameters.sendBody === true && { body: value(parameters.jsonBody) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${parameters.method} ${url}: ${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

test("every node is one of n8n's own, is connected, and has only parameters of its version", () => {
  expect(new Set(workflow.nodes.map(({ id }) => id)).size).toBe(workflow.nodes.length);
  expect(byName.size).toBe(workflow.nodes.length);
  expect(inOrder()).toHaveLength(workflow.nodes.length);
  for (const { name, type, typeVersion, position, parameters, credentials } of workflow.nodes) {
    expect([name, KNOWN_NODES[type]]).toEqual([name, typeVersion]);
    expect(position).toHaveLength(2);
    expect(credentials).toBeUndefined(); // each person has credentials of their own
    if (type !== HTTP) continue;
    expect(Object.keys(parameters).filter((parameter) => !HTTP_PARAMETERS.includes(parameter))).toEqual([]);
    expect(parameters).toMatchObject({ authentication: "genericCredentialType", genericAuthType: "httpBearerAuth" });
    expect(parameters.sendBody === true).toBe(parameters.specifyBody === "json");
    expect(parameters.sendBody === true).toBe(typeof parameters.jsonBody === "string");
    expect(parameters.sendQuery === true).toBe(parameters.queryParameters !== undefined);
  }
});

test("its requests store, find, answer, correct, list and forget, also when they are sent again", async () => {
  for (const round of [1, 2]) {
    const outputs = new Map<string, Item>();
    let json: Item = {};
    for (const node of inOrder()) {
      if (node.type === "n8n-nodes-base.set") {
        const set = node.parameters.assignments.assignments as readonly Item[];
        json = Object.fromEntries(set.map(({ name, value }) => [name, value]));
        expect(json.server).toBe("http://127.0.0.1:8383");
        json.server = server.url;
      } else if (node.type === "n8n-nodes-base.wait") {
        const { id } = outputs.get("Store a memory");
        await until("the memory is searchable", async () => {
          const { body } = await server.call("GET", `/v1/memories/${id}`);
          return (body as Item).status === "completed";
        });
      } else if (node.type === HTTP) {
        json = await send(node, json, outputs);
      }
      outputs.set(node.name, json);
    }
    const { note } = outputs.get("Settings");
    expect(outputs.get("Store a memory")).toMatchObject({ content: note, externalId: "n8n-example" });
    expect(outputs.get("Search").results.map(({ content }: Item) => content)).toEqual([note]);
    expect(outputs.get("Ask").answer).toContain("[1]");
    expect(outputs.get("Correct").content).toContain("letter box");
    expect(outputs.get("List").data.map(({ id }: Item) => id)).toEqual([outputs.get("Store a memory").id]);
    expect(outputs.get("Forget")).toEqual({});
    const { body } = await server.call("GET", "/v1/memories?userId=ada");
    expect([round, (body as Item).data]).toEqual([round, []]);
  }
});
