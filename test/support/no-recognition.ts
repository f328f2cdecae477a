// Text recognition that is not installed, and no descriptions of pictures, for tests of everything else.

import type { PictureDescriber } from "../../src/ingest/llm-extraction/picture-describer.ts";
import type { PictureRecogniser } from "../../src/ports/picture-recogniser.ts";

export const NO_RECOGNITION: PictureRecogniser = {
  isInstalled: false,
  recognise: () => Promise.reject(new Error("text recognition is not installed")),
  describedOf: () => Promise.resolve(new Set()),
  keepDescription: () => Promise.resolve(),
  forget: () => Promise.resolve(),
};

export const NO_DESCRIPTIONS: Pick<PictureDescriber, "isWanted" | "describe"> = {
  isWanted: () => false,
  describe: () => Promise.resolve([]),
};
