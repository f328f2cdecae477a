// Settings: where their values come from, and errors that prevent a start.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settingsHelp, settingsMarkdown } from "../../src/cli/settings-help.ts";
import { type Config, parseConfig, SETTINGS } from "../../src/config.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { ROOT } from "../support/sources.ts";

interface Start {
  readonly argv?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The text of mneme.toml. */
  readonly file?: string;
}

const home = mkdtempSync(join(tmpdir(), "mneme-config-"));
afterAll(() => rmSync(home, { recursive: true }));

function start({ argv = [], environment = {}, file }: Start): Config {
  const workingDirectory = mkdtempSync(join(home, "start-"));
  if (file !== undefined) writeFileSync(join(workingDirectory, "mneme.toml"), file);
  return parseConfig(argv, environment, {
    workingDirectory,
    shippedModelsDirectory: () => "/shipped",
  });
}

function refusal(how: Start): string {
  try {
    start(how);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error("the start was not refused");
}

describe("sources", () => {
  test("defaults apply if there is no other source", () => {
    expect(start({})).toMatchObject({
      host: "127.0.0.1",
      port: 8383,
      adminKey: null,
      logLevel: "info",
      lanes: null,
      modelRuntime: "auto",
      embedderUpgrade: "auto",
      embedderChangeRate: null,
    });
    expect(start({}).dataDir).toEndWith("/data/store");
  });
  test("a flag overrides the environment, which overrides the file, which overrides the default", () => {
    const file = "port = 1001\nlanes = 3\nhost = '0.0.0.0'\n";
    const environment = { MNEME_PORT: "1002", MNEME_LANES: "4" };
    expect(start({ argv: ["--port", "1003"], environment, file })).toMatchObject({
      port: 1003,
      lanes: 4,
      host: "0.0.0.0",
    });
    expect(start({ environment, file }).port).toBe(1002);
    expect(start({ file }).port).toBe(1001);
  });
  test("--flag=value and --flag value are the same", () => {
    expect(start({ argv: ["--port=1"] }).port).toBe(1);
    expect(start({ argv: ["--port", "1"] }).port).toBe(1);
  });
  test("a language model service; timeouts are given in seconds", () => {
    const environment = { MNEME_LLM_BASE_URL: "https://llm.example.com/v1", MNEME_LLM_API_KEY: "sk-1" };
    expect(start({ environment, file: "llm_model = 'small'\nllm_idle_timeout = 7" })).toMatchObject({
      llmBaseUrl: "https://llm.example.com/v1",
      llmModel: "small",
      llmApiKey: "sk-1",
      llmFirstByteTimeoutMs: 30_000,
      llmIdleTimeoutMs: 7_000,
      llmTimeoutMs: 120_000,
      llmConcurrency: 8,
    });
    expect(start({})).toMatchObject({ llmBaseUrl: null, llmModel: null, llmApiKey: null });
  });
  test("--config names another file, which must exist", () => {
    const other = join(home, "other.toml");
    writeFileSync(other, "port = 77");
    expect(start({ argv: ["--config", other], file: "port = 1" }).port).toBe(77);
    expect(refusal({ argv: ["--config", `${other}.missing`] })).toContain("other.toml.missing cannot be read");
  });
  test("relative paths start at the working directory", () => {
    const config = start({ argv: ["--data-dir", "here"] });
    expect(config.dataDir).toMatch(/^\/.*\/here$/);
    expect(config.modelsDir).toBe("/shipped");
    expect(start({ environment: { MNEME_MODELS_DIR: "/m" } }).modelsDir).toBe("/m");
  });
  test("the result cannot be changed", () => expect(Object.isFrozen(start({}))).toBe(true));
  test("variables of other parts of the program are ignored", () => {
    expect(
      start({ environment: { MNEME_API_KEY: "x", MNEME_CACHE_DIR: "/c", MNEME_TEST_SEED: "1", PATH: "/bin" } }).port,
    ).toBe(8383);
  });
});

describe("settings of GPUs", () => {
  test("name GPUs, the folder of the libraries, and memory", () => {
    expect(start({})).toMatchObject({ modelProvider: { kind: "auto" }, onnxruntimeDir: null, gpuMemoryMax: null });
    const environment = {
      MNEME_MODEL_PROVIDER: "cuda:1,0",
      MNEME_ONNXRUNTIME_DIR: "/opt/ort",
      MNEME_GPU_MEMORY_MAX: "2GiB",
    };
    expect(start({ environment })).toMatchObject({
      modelProvider: { kind: "cuda", devices: [1, 0] },
      onnxruntimeDir: "/opt/ort",
      gpuMemoryMax: 2 ** 31,
    });
    expect(start({ argv: ["--model-provider", "cpu"] }).modelProvider).toEqual({ kind: "cpu" });
    expect(start({ environment: { MNEME_GPU_MEMORY_MAX: "1184MiB" } }).gpuMemoryMax).toBe(1184 * 2 ** 20);
  });
  test("are refused if they are not valid", () => {
    for (const name of [
      "gpu",
      "cuda",
      "cuda:",
      "cuda:a",
      "cuda:0,",
      "cuda:0,0",
      "cuda:-1",
      "cuda:100",
      "CUDA:0",
      "",
      "tensorrt:0",
    ]) {
      expect(refusal({ environment: { MNEME_MODEL_PROVIDER: name } }), name).toBe(
        `MNEME_MODEL_PROVIDER must be \`auto\`, \`cpu\`, or \`cuda:\` with numbers of GPUs, such as cuda:0 or cuda:0,1, not ${JSON.stringify(name)}.`,
      );
    }
    expect(refusal({ environment: { MNEME_GPU_MEMORY_MAX: "1183MiB" } })).toBe(
      'MNEME_GPU_MEMORY_MAX must be a number of MiB, GiB or TiB, such as 4GiB, and at least 1184MiB, not "1183MiB".',
    );
    expect(refusal({ environment: { MNEME_ONNXRUNTIME_DIR: "" } })).toContain(
      "MNEME_ONNXRUNTIME_DIR must be a directory",
    );
  });
});

describe("settings of nodes", () => {
  const MNEME_STORE = "postgres://mneme:secret@db:5432/mneme";
  test("are used with PostgreSQL", () => {
    const environment = { MNEME_STORE, MNEME_ROLE: "ingest", MNEME_INDEX_MEMORY_MAX: "3GiB", MNEME_DRAIN: "6" };
    expect(start({ environment })).toMatchObject({ role: "ingest", indexMemoryMax: 3 * 2 ** 30, drainMs: 6_000 });
    expect(start({ environment: { MNEME_STORE } })).toMatchObject({ role: "all", indexMemoryMax: null, drainMs: 0 });
  });
  test("are refused with the embedded store, which has one node", () => {
    expect(refusal({ environment: { MNEME_ROLE: "api" } })).toBe(
      "MNEME_ROLE is only for nodes on PostgreSQL: set MNEME_STORE too, or remove it.",
    );
    expect(refusal({ argv: ["--index-memory-max", "64 MiB"] })).toStartWith("MNEME_INDEX_MEMORY_MAX is only for nodes");
    expect(start({ environment: { MNEME_ROLE: "all" } }).role).toBe("all");
  });
  test("have few roles, and sizes with a unit", () => {
    expect(refusal({ environment: { MNEME_STORE, MNEME_ROLE: "both" } })).toBe(
      'MNEME_ROLE must be one of all, api, ingest, not "both".',
    );
    for (const size of ["1", "0MiB", "1KiB", "4gib", "-1GiB", "", "1.5GiB", "99999999GiB"]) {
      expect(refusal({ environment: { MNEME_STORE, MNEME_INDEX_MEMORY_MAX: size } })).toContain(
        "must be a number of MiB, GiB or TiB, such as 4GiB",
      );
    }
  });
});

describe("an invalid setting stops the start with one line that names it and what would be right", () => {
  const cases: readonly (readonly [Start, string])[] = [
    [{ argv: ["--prot", "1"] }, "Unknown flag --prot. Did you mean --port?"],
    [{ argv: ["--port"] }, "--port needs a value."],
    [{ argv: ["--port", "--host"] }, "--port needs a value."],
    [{ argv: ["--port", "1", "--port", "2"] }, "--port is given twice."],
    [{ argv: ["surplus"] }, 'Unexpected argument "surplus".'],
    [{ argv: ["--admin-key", "ctx_0123456789abcdef"] }, "Unknown flag --admin-key."],
    [{ argv: ["--port", "65536"] }, '--port must be an integer from 0 to 65535, not "65536".'],
    [{ environment: { MNEME_PORT: "-1" } }, 'MNEME_PORT must be an integer from 0 to 65535, not "-1".'],
    [{ environment: { MNEME_PORT: "" } }, 'MNEME_PORT must be an integer from 0 to 65535, not "".'],
    [{ environment: { MNEME_PORT: "0x10" } }, 'MNEME_PORT must be an integer from 0 to 65535, not "0x10".'],
    [{ environment: { MNEME_LANES: "0" } }, 'MNEME_LANES must be an integer from 1 to 64, not "0".'],
    [{ environment: { MNEME_LANES: "65" } }, 'MNEME_LANES must be an integer from 1 to 64, not "65".'],
    [
      { environment: { MNEME_DATADIR: "x" } },
      "Unknown environment variable MNEME_DATADIR. Did you mean MNEME_DATA_DIR?",
    ],
    [{ environment: { MNEME_DATA_DIR: "" } }, 'MNEME_DATA_DIR must be a directory, not "".'],
    [
      { environment: { MNEME_LOG_LEVEL: "loud" } },
      'MNEME_LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud".',
    ],
    [
      { environment: { MNEME_LLM_BASE_URL: "llm.example.com" } },
      'MNEME_LLM_BASE_URL must be an http or https address, not "llm.example.com".',
    ],
    [{ argv: ["--llm-timeout", "0"] }, '--llm-timeout must be an integer from 1 to 3600, not "0".'],
    [{ argv: ["--llm-concurrency", "1"] }, '--llm-concurrency must be an integer from 2 to 256, not "1".'],
    [{ argv: ["--llm-model", "two words"] }, '--llm-model must be a model name, not "two words".'],
    [{ environment: { MNEME_LLM_API_KEY: "a\nb" } }, "MNEME_LLM_API_KEY must be visible ASCII characters."],
    [{ file: "prot = 1" }, "Unknown setting prot in mneme.toml. Did you mean port?"],
    [{ file: "port = 'high'" }, 'port in mneme.toml must be an integer from 0 to 65535, not "high".'],
    [{ file: "port = true" }, 'port in mneme.toml must be an integer from 0 to 65535, not "true".'],
    [{ file: "port = []" }, "port in mneme.toml must be a string, a number, true or false."],
    [{ environment: { MNEME_ACCEPT_LOSS: "yes" } }, 'MNEME_ACCEPT_LOSS must be `true` or `false`, not "yes".'],
    [{ argv: ["--accept-loss=true"] }, "--accept-loss takes no value."],
    [{ file: "port = 1.5" }, 'port in mneme.toml must be an integer from 0 to 65535, not "1.5".'],
  ];
  for (const [how, message] of cases) test(message, () => expect(refusal(how)).toBe(message));

  test("a settings file that is not TOML", () => {
    const message = refusal({ file: "port == 1" });
    expect(message).toStartWith("mneme.toml cannot be read: ");
    expect(message).not.toContain("\n");
  });
  test("an invalid admin key, which is not repeated", () => {
    const message = refusal({ environment: { MNEME_ADMIN_KEY: "ctx_short-secret" } });
    expect(message).toBe("MNEME_ADMIN_KEY must be ctx_ followed by 16 to 256 letters, digits, - or _.");
  });
  test("an address that is not one of PostgreSQL, whose password is not repeated", () => {
    for (const store of ["mysql://u:hidden@host/name", "postgres://u:hidden@host", "hidden"]) {
      const message = refusal({ environment: { MNEME_STORE: store } });
      expect(message).toBe("MNEME_STORE must be postgres://USER:PASSWORD@HOST:PORT/DATABASE.");
    }
    const store = "postgres://u:p@host:5433/name";
    expect([start({}).store, start({ environment: { MNEME_STORE: store } }).store]).toEqual([null, store]);
  });
});

describe("limits hold at their edges", () => {
  test("ports", () => {
    expect(start({ argv: ["--port", "0"] }).port).toBe(0);
    expect(start({ argv: ["--port", "65535"] }).port).toBe(65_535);
  });
  test("accepting a loss as a flag, a variable and a boolean in the file", () => {
    expect(start({ argv: ["--accept-loss"] }).acceptLoss).toBeTrue();
    expect(start({ environment: { MNEME_ACCEPT_LOSS: "true" } }).acceptLoss).toBeTrue();
    expect(start({ file: "accept_loss = true" }).acceptLoss).toBeTrue();
    expect(start({}).acceptLoss).toBeFalse();
  });
  test("admin keys of 16 characters", () => {
    expect(start({ environment: { MNEME_ADMIN_KEY: "ctx_0123456789abcde-" } }).adminKey).toBe("ctx_0123456789abcde-");
    expect(refusal({ environment: { MNEME_ADMIN_KEY: "ctx_0123456789abcde" } })).toContain("MNEME_ADMIN_KEY");
  });
});

describe("documentation is generated from the settings", () => {
  test("help and table contain every setting", () => {
    for (const { environment, flag } of Object.values(SETTINGS)) {
      expect(settingsMarkdown()).toContain(`\`${environment}\``);
      expect(settingsHelp().some(([name]) => `${name} `.startsWith(`${flag ?? environment} `))).toBe(true);
    }
  });
  test("docs/configuration.md contains the table; UPDATE_DOCS=1 writes it", () => {
    const page = join(ROOT, "docs/configuration.md");
    if (process.env.UPDATE_DOCS === "1") {
      const table = /^\| Environment \|.*\n(?:\|.*\n)*/m;
      writeFileSync(
        page,
        readFileSync(page, "utf8").replace(table, () => `${settingsMarkdown()}\n`),
      );
    }
    expect(readFileSync(page, "utf8")).toContain(`\n${settingsMarkdown()}\n`);
  });
});
