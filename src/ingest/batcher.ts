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
   * @param run gets all inputs of one turn of the event loop. It returns one output for each input, in the order of the
   *   inputs. If it rejects, all calls of that turn reject.
   */
  constructor(run: (inputs: readonly Input[]) => Promise<readonly Output[]>) {
    this.#run = run;
  }

  /** Adds an input to the current batch. Resolves with the output for this input. */
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
