// Decides which work comes next: shares, such as projects, take turns. Measures no time and calls nobody.

/** Work that waits for its turn. */
export interface Waiting {
  /** Whose work it is, such as a project. The work of a share has its turns one after the other. */
  readonly share: string;
}

/** A queue of queues: shares take turns, and within a share the work that waits longest is first. */
export class Turns<Work extends Waiting> {
  /** In the order in which the shares have their turns. */
  readonly #shares = new Map<string, Work[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(work: Work): void {
    const queue = this.#shares.get(work.share);
    if (queue === undefined) this.#shares.set(work.share, [work]);
    else queue.push(work);
    this.#size++;
  }

  /** Takes the next work; undefined if none waits. */
  next(): Work | undefined {
    const [first] = this.#shares;
    if (first === undefined) return undefined;
    const [share, queue] = first;
    const work = queue.shift();
    this.#shares.delete(share);
    if (queue.length > 0) this.#shares.set(share, queue);
    this.#size--;
    return work;
  }

  /** Removes work that waits. Returns whether it waited. */
  remove(work: Work): boolean {
    const queue = this.#shares.get(work.share);
    const at = queue?.indexOf(work) ?? -1;
    if (queue === undefined || at === -1) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#shares.delete(work.share);
    this.#size--;
    return true;
  }
}
