// Combines calls from the same turn of the event loop into one.

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
}

/** Processes single inputs in batches. */
export class Batcher<Input, Output> {
  readonly #run: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  #waiting: Waiting<Input, Output>[] = [];

  /**
   * @param run gets all inputs of one turn and returns one output for each, in their order. If it rejects, all their
   *   calls reject.
   */
  constructor(run: (inputs: readonly Input[]) => Promise<readonly Output[]>) {
    this.#run = run;
  }

  /** Adds an input. Resolves with its output. */
  add(input: Input): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const outputs = await this.#run(batch.map(({ input }) => input));
      for (const [position, { resolve }] of batch.entries()) resolve(outputs[position] as Output);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
