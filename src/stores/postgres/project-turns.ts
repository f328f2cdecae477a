// Makes transactions of this process that concern the same project run one after another. So a waiting transaction
// needs no connection, and effects run in the order of the commits. Between processes, the locks of session.ts do this.

/** The order of transactions by project. */
export class ProjectTurns {
  /** Resolves when the last transaction of a project has ended. */
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Waits until all earlier transactions of the project have ended. The caller ends its turn with the returned
   * function.
   */
  async take(projectId: string): Promise<() => void> {
    const before = this.#last.get(projectId);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#last.set(projectId, ended);
    await before;
    return () => {
      if (this.#last.get(projectId) === ended) this.#last.delete(projectId);
      resolve();
    };
  }
}
