// Defines the blocks that a page consists of. flow.ts writes them; page-table.ts collects the blocks of table cells.

import type { Block, BlockSink } from "../text-writer.ts";

/** A block, and the form in which it is written inside a table cell. */
export interface PageBlock extends Block {
  /** Text of the block without Markdown marks. */
  readonly plain: string;
  readonly isItem: boolean;
  readonly isCode: boolean;
}

/** Receives the blocks of a page. */
export interface PageSink extends BlockSink {
  write(block: PageBlock): void;
}
