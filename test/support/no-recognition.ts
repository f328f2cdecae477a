// Text recognition that is not installed, for tests of everything else.

import type { PictureRecogniser } from "../../src/ports/picture-recogniser.ts";

export const NO_RECOGNITION: PictureRecogniser = {
  isInstalled: false,
  recognise: () => Promise.reject(new Error("text recognition is not installed")),
  forget: () => Promise.resolve(),
};
