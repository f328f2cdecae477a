// Opens the models of text recognition (src/ocr) in onnxruntime.

import { readFile } from "node:fs/promises";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { invariant } from "../../domain/fault.ts";
import type { PictureModel, PictureModels } from "../../ocr/read-picture.ts";
import { onnxProperty } from "./onnx-properties.ts";
import { refuseTelemetry, SESSION_OPTIONS } from "./onnxruntime-encoder.ts";

/** Paths of the models of text recognition. */
export interface PictureModelFiles {
  readonly detection: string;
  readonly recognition: string;
}

/**
 * Opens both models, and reads the list of characters from the file of the recognition model.
 * @throws Error of the operating system or of onnxruntime if a file is missing or damaged
 */
export async function openPictureModels(files: PictureModelFiles): Promise<PictureModels> {
  refuseTelemetry();
  const [detection, recognition] = await Promise.all([readFile(files.detection), readFile(files.recognition)]);
  const characters = onnxProperty(recognition, "character");
  if (characters === null) throw new Error(`${files.recognition} does not list its characters`);
  return { detection: await open(detection), recognition: await open(recognition), characters };
}

async function open(graph: Uint8Array): Promise<PictureModel> {
  // With its memory arena, which is on by default, onnxruntime reads a large picture in half the time. It keeps the
  // memory, up to 800 MB, until the process ends; that is after the pictures of one file.
  const session = await InferenceSession.create(graph, SESSION_OPTIONS);
  const [input, output] = [session.inputNames[0], session.outputNames[0]];
  invariant(input !== undefined && output !== undefined, "a model of text recognition has an input and an output");
  return {
    async run(values, dimensions) {
      const result = (await session.run({ [input]: new Tensor("float32", values, dimensions) }, [output]))[output];
      invariant(result?.data instanceof Float32Array, "a model of text recognition returns 32-bit floats");
      return { values: result.data, dimensions: result.dims };
    },
  };
}
