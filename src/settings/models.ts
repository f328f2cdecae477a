// Settings of the models that run on this machine.

import { GPU_MEMORY_MIN_MIB } from "../adapters/inference/gpu/gpu-target.ts";
import { MODEL_PROVIDER, type ModelProvider } from "../adapters/inference/gpu/model-provider.ts";
import { LANES_MAX } from "../adapters/inference/lane-count.ts";
import { MODEL_RUNTIMES, type ModelRuntime } from "../adapters/inference/lane-protocol.ts";
import { bytesOrNone, directoryOrNone, integerOrChosen, oneOf, setting } from "../kit/setting.ts";

/** The values of the setting `embedderUpgrade`. */
const EMBEDDER_UPGRADES = ["auto", "manual"] as const;
type EmbedderUpgrade = (typeof EMBEDDER_UPGRADES)[number];

const DEFAULT_HUB = "https://huggingface.co";
const DEFAULT_EMBEDDER = "mneme-e5-small";
const LANES = integerOrChosen(1, LANES_MAX, "one per core and GiB of memory, at least 2; two per GPU");

/** Settings of embedders, rerankers and what they run on. */
export const MODEL_SETTINGS = {
  /** null: the models that are shipped with the program. */
  modelsDir: setting(
    "models-dir",
    "DIRECTORY",
    "Folder of the models, with one folder per model",
    directoryOrNone("the included models"),
  ),
  embedder: setting<string>("embedder", "MODEL", "Embedding model of new projects; `mneme models list` shows all", {
    defaultValue: () => DEFAULT_EMBEDDER,
    defaultText: DEFAULT_EMBEDDER,
    expects: "the id of an embedding model",
    parse: (text) => (/^[a-z0-9][a-z0-9.-]{0,99}$/.test(text) ? text : undefined),
  }),
  /** null: as many as fit the machine. */
  lanes: setting<number | null>("lanes", "NUMBER", "Processes that run models, 170 to 250 MB each", LANES),
  modelRuntime: setting<ModelRuntime>(
    "model-runtime",
    "NAME",
    "Model runtime: `auto` uses Mneme's own encoder where it is faster, `onnxruntime` always uses onnxruntime",
    oneOf(MODEL_RUNTIMES),
  ),
  modelProvider: setting<ModelProvider>(
    "model-provider",
    "NAME",
    "What computes the models: `cpu`; `cuda:0` or `cuda:0,1`: these GPUs; `auto`: a GPU if it can be used. See docs/gpu.md",
    MODEL_PROVIDER,
  ),
  /** null: there are no GPU libraries. */
  onnxruntimeDir: setting<string | null>(
    "onnxruntime-dir",
    "DIRECTORY",
    "Folder with the libraries of `onnxruntime-gpu`, for GPUs; see docs/gpu.md",
    directoryOrNone("none"),
  ),
  /** In bytes; null: as much as is useful. */
  gpuMemoryMax: setting<number | null>(
    "gpu-memory-max",
    "SIZE",
    "Memory that a lane should take on its GPU at most, such as `2GiB`; it limits the size of batches",
    bytesOrNone(GPU_MEMORY_MIN_MIB),
  ),
  modelHub: setting<string>(
    "model-hub",
    "URL",
    "Hub of models, or a mirror of it, for `mneme models pull hub:OWNER/NAME`; nothing else connects to it",
    {
      defaultValue: () => DEFAULT_HUB,
      defaultText: DEFAULT_HUB,
      expects: "an http or https address",
      parse: (text) => (/^https?:\/\/\S+$/.test(text) && URL.canParse(text) ? text.replace(/\/+$/, "") : undefined),
    },
  ),
  embedderUpgrade: setting<EmbedderUpgrade>(
    "embedder-upgrade",
    "NAME",
    "What happens to projects of another embedding model than the default: `auto` changes them in the background, unless a person chose their model or its files are absent; `manual` leaves them",
    oneOf(EMBEDDER_UPGRADES),
  ),
  /** null: no limit. */
  embedderChangeRate: setting<number | null>(
    "embedder-change-rate",
    "NUMBER",
    "Chunks per second that are embedded while the model of a project changes; 0: as many as queries and ingestion leave time for",
    {
      defaultValue: () => null,
      defaultText: "0",
      expects: "an integer from 0 to 100000",
      parse: (text) => {
        const rate = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
        if (!(rate <= 100_000)) return undefined;
        return rate === 0 ? null : rate;
      },
    },
  ),
};
