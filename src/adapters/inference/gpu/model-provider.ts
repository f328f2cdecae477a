// The setting that says what computes the models: the processor, or graphics cards through onnxruntime's CUDA provider.

import type { SettingRest } from "../../../kit/setting.ts";

/** What computes the models. `auto`: the first GPU if there is one that can be used, otherwise the CPU. */
export type ModelProvider =
  | { readonly kind: "auto" }
  | { readonly kind: "cpu" }
  /** The lanes take turns with the GPUs: the first lane uses the first one. */
  | { readonly kind: "cuda"; readonly devices: readonly number[] };

/** The setting `model-provider`. */
export const MODEL_PROVIDER: SettingRest<ModelProvider> = {
  defaultValue: () => ({ kind: "auto" }),
  defaultText: "auto",
  expects: "`auto`, `cpu`, or `cuda:` with numbers of GPUs, such as cuda:0 or cuda:0,1",
  parse: parseModelProvider,
};

function parseModelProvider(text: string): ModelProvider | undefined {
  if (text === "auto" || text === "cpu") return { kind: text };
  const [, list] = /^cuda:(\d{1,2}(?:,\d{1,2})*)$/.exec(text) ?? [];
  const devices = list?.split(",").map(Number) ?? [];
  if (devices.length === 0 || new Set(devices).size < devices.length) return undefined;
  return { kind: "cuda", devices };
}
