// Lists that the server gives page by page, read as one.

import { InvalidAnswerError } from "./errors.ts";

/** One page of a list. */
export interface Page<Item> {
  readonly data: Item[];
  readonly has_more: boolean;
  /** Where the next page begins; null on the last page. */
  readonly cursor: string | null;
}

/** A list. Nothing is requested before it is read, and then one page at a time. */
export class List<Item> implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<Item>>;

  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<Item>>) {
    this.#fetchPage = fetchPage;
  }

  /** One page. @param cursor `cursor` of the page before; absent for the first */
  page(cursor?: string): Promise<Page<Item>> {
    return this.#fetchPage(cursor);
  }

  /** All pages, one after the other. @param cursor where to begin */
  async *pages(cursor?: string): AsyncGenerator<Page<Item>, void, undefined> {
    for (let next = cursor; ; ) {
      const page = await this.#fetchPage(next);
      yield page;
      if (!page.has_more || page.cursor === null) return;
      if (page.cursor === next) throw new InvalidAnswerError("The server sent the same page twice.");
      next = page.cursor;
    }
  }

  /** All items, one after the other. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** The first items. @param itemsMax how many at most */
  async take(itemsMax: number): Promise<Item[]> {
    const items: Item[] = [];
    if (itemsMax < 1) return items;
    for await (const item of this) if (items.push(item) >= itemsMax) break;
    return items;
  }
}
