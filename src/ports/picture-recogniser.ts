// Interface of text recognition, for ingestion: reads the pictures of a file, one after the other, and keeps their
// texts in a file of this machine until they are forgotten. Implemented by adapters/ocr in a child process.
//
// Obligations of an implementation:
// - Files take turns, also while one with hundreds of pages is read.
// - A picture that was read is not read again, also if the server was killed meanwhile.
// - A picture that cannot be read costs a bounded time and memory. It is noted, and the next one follows.

import type { PageProgress } from "../domain/memory.ts";

/** Reads the text in pictures. */
export interface PictureRecogniser {
  /** Whether the models are installed. */
  readonly isInstalled: boolean;
  /**
   * Reads pictures of a file. Resolves to the path of their texts, for a `Recognition` that is `done`.
   * @throws Fault `overloaded` if too many files wait or the machine is too busy; `signal.reason`
   */
  recognise(file: PicturesOfFile, onPages: (pages: PageProgress) => void, signal: AbortSignal): Promise<string>;
  /** Ids of the pictures of a kept file whose descriptions are kept. */
  describedOf(name: string): Promise<ReadonlySet<string>>;
  /** Keeps the description of a picture with the texts of its file. */
  keepDescription(name: string, id: string, description: string): Promise<void>;
  /** Removes the texts of a kept file, if there are any. Never rejects. */
  forget(name: string): Promise<void>;
}

/** What is read of a file. */
export interface PicturesOfFile {
  readonly mediaType: string;
  /** Returns the path. Called in each turn, because a copy on this machine may be removed while the file waits. */
  readonly locate: () => Promise<string>;
  /** Name of the kept file, by which its texts are found again. */
  readonly name: string;
  readonly ids: readonly string[];
  /** Files of different shares take turns. */
  readonly share: string;
}
