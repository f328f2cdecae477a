// Both Python clients: against servers that fail (python_faults.py), on a real server (python_calls.py), and the code
// of the README and of docs/sdk.md. Also: the arguments of their methods are the fields of the OpenAPI document.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import packageOfServer from "../../package.json" with { type: "json" };
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import { RUNS_ALL } from "../support/extent.ts";
import { NO_PYTHON, pythonWithClients } from "../support/python-clients.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";
import { documentedCode, operationsCalled, type ReceivingServer, startReceiver } from "./sdk.ts";

const PACKAGE = join(ROOT, "sdk/python");
const python = pythonWithClients();
const withPython = python === null ? `, skipped: ${NO_PYTHON}` : "";

let folder: string;
let receiver: ReceivingServer;
beforeAll(() => {
  receiver = startReceiver();
  folder = mkdtempSync(join(tmpdir(), "mneme-sdk-"));
});
afterAll(async () => {
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The output of a Python program. @throws Error with its output if it fails */
async function outputOf(program: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { PATH = "", HOME = "" } = process.env;
  const child = Bun.spawn([python ?? "", program], {
    cwd: folder,
    env: { PATH, HOME, PYTHONPATH: join(PACKAGE, "src"), PYTHONDONTWRITEBYTECODE: "1", ...environment },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${program} failed:\n${output}\n${errors}`);
  return output + errors;
}

function environmentOf({ url, key }: RunningServer): Record<string, string> {
  return { MNEME_URL: url, MNEME_API_KEY: key, HOOK_URL: receiver.url };
}

/** Methods by the operation whose body has their arguments. */
const METHODS: Readonly<Record<string, string>> = {
  createMemory: "memories.add",
  updateMemory: "memories.update",
  uploadMemory: "memories.upload",
  searchMemories: "memories.search",
  queryMemories: "memories.query",
  createChat: "chats.create",
  updateChat: "chats.update",
  sendMessage: "chats.send",
  streamMessage: "chats.stream",
  upsertUser: "users.upsert",
  createEvent: "users.add_event",
  createKey: "keys.create",
  updateKey: "keys.update",
  rotateKey: "keys.rotate",
  createWebhook: "webhooks.create",
  updateWebhook: "webhooks.update",
  createEmbeddings: "embeddings.create",
};
const SIGNATURES = `
import inspect, json, operator, os
import mneme_client
client = mneme_client.Mneme(api_key="ctx_a")
names = json.loads(os.environ["METHODS"])
print(json.dumps({name: [*inspect.signature(operator.attrgetter(name)(client)).parameters] for name in names}))
`;

/** Names of the fields of a body as arguments in Python: `userId` → `user_id`. */
function argumentsOf(operation: string): readonly string[] {
  const declared = DECLARED_OPERATIONS.find(({ name }) => name === operation);
  const fields = Object.keys((declared?.body as { properties?: object } | null)?.properties ?? {});
  if (fields.length === 0) throw new Error(`${operation} has no body`);
  return fields.map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

describe.skipIf(python === null)(`Python's clients${withPython}`, () => {
  test("have an argument for every field of the API's bodies", async () => {
    const program = join(folder, "signatures.py");
    writeFileSync(program, SIGNATURES);
    const output = await outputOf(program, { METHODS: JSON.stringify(Object.values(METHODS)) });
    const signatures: Record<string, string[]> = JSON.parse(output);
    const missing = Object.entries(METHODS).flatMap(([operation, method]) =>
      argumentsOf(operation)
        .filter((name) => name !== "stream" && !signatures[method]?.includes(name))
        .map((name) => `${method} lacks ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test("take failures of every kind as they promise", async () => {
    const secret = `whsec_${Buffer.from("a secret of some length").toString("base64")}`;
    const body = JSON.stringify({
      type: "webhook.test",
      timestamp: "2026-11-23T10:00:00Z",
      data: { webhook_id: "wh_1" },
    });
    const at = new Date("2026-11-23T10:00:00Z");
    const headers = {
      "webhook-id": "dlv_1",
      "webhook-timestamp": String(at.getTime() / 1_000),
      "webhook-signature": new Webhook(secret).sign("dlv_1", at, body),
    };
    const output = await outputOf(join(ROOT, "test/sdk/python_faults.py"), {
      SIGNED_MESSAGE: JSON.stringify({ secret, body, headers }),
      SERVER_VERSION: packageOfServer.version,
    });
    expect(Number(/Ran (\d+) tests/.exec(output)?.[1])).toBeGreaterThan(30);
    expect(output).toContain("OK");
  });

  // the methods of one are generated from those of the other
  test.each([...(RUNS_ALL ? ([["sync", false]] as const) : []), ["async", true] as const])(
    "every method of the %s client works on a real server, and so does the README",
    async (client, tours) => {
      await using running = await startServer({ environment: { MNEME_WEBHOOK_ALLOW: "127.0.0.1" } });
      const environment = { ...environmentOf(running), CLIENT: client };
      const output = await outputOf(join(ROOT, "test/sdk/python_calls.py"), environment);
      expect(JSON.parse(output)[client]).toBeGreaterThan(90);
      expect((await operationsCalled(running)).missing).toEqual([]);
      if (!tours) return;
      const file = join(folder, "readme.py");
      writeFileSync(file, documentedCode("sdk/python/README.md", "python", receiver));
      const tour = await outputOf(file, environment);
      expect(tour).toContain("under the blue pot");
      expect(tour).toContain(`The handbook ${receiver.origin}/handbook`);
      expect(tour).toContain("cook monday\n1 of 1 deleted");
      expect(tour).toContain("memory_not_found 404");
      writeFileSync(file, documentedCode("docs/sdk.md", "python", receiver));
      expect(await outputOf(file, environment)).toBe("The handbook\nThe soup needs more salt.\ncompleted 1\n");
    },
  );
});

test.skipIf(python === null || !RUNS_ALL).each([
  ["LangChain's own suite for retrievers passes", "python_langchain.py", 8],
  [
    "LangGraph's store does what its store in memory does, and LangChain's suites for stores pass",
    "python_langgraph.py",
    33,
  ],
  ["LlamaIndex retrieves and remembers", "python_llama_index.py", 7],
] as const)(`%s${withPython}`, async (_, program, testsMin) => {
  await using running = await startServer();
  const output = await outputOf(join(ROOT, "test/sdk", program), environmentOf(running));
  const [, counted = "{}"] = /^(\{"passed": \d+\})$/m.exec(output) ?? [];
  expect(JSON.parse(counted).passed).toBeGreaterThanOrEqual(testsMin);
});

test("the package has the server's version and licence, and only the dependencies that it needs", () => {
  const { project } = Bun.TOML.parse(readFileSync(join(PACKAGE, "pyproject.toml"), "utf8")) as {
    readonly project: { readonly version: string; readonly dependencies: readonly string[] };
  };
  expect(project.version).toBe(packageOfServer.version);
  expect(readFileSync(join(PACKAGE, "LICENSE"), "utf8")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
  expect(project.dependencies.map((each) => each.split(/[<>=]/)[0])).toEqual(["attrs", "httpx"]);
});
