// Models, chat completions and embeddings, in the form of OpenAI's API.

import {
  type ChatCompletion,
  createChatCompletion,
  createEmbeddings,
  type Embeddings as EmbeddingList,
  getModel,
  listModels,
  type Model,
} from "../core/index.ts";
import { CompletionStream } from "../streams.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { NewCompletion, NewEmbeddings } from "../types.ts";

/** The models for chat completions and embeddings. */
export class Models {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the models: those for chat completions, then the embedding models. */
  async list(options?: CallOptions): Promise<Model[]> {
    return (await this.#transport.call((core) => listModels(core), "always", options)).data;
  }

  /** Reads a model. */
  get(id: string, options?: CallOptions): Promise<Model> {
    return this.#transport.call((core) => getModel({ ...core, path: { id } }), "always", options);
  }
}

/** Chat completions: answers from memories, with citations. */
export class Completions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Answers the last message. */
  create(completion: NewCompletion, options?: WriteOptions): Promise<ChatCompletion> {
    const body = { ...completion, stream: false };
    return this.#transport.call((core) => createChatCompletion({ ...core, body }), "keyed", options);
  }

  /** Answers the last message, as a stream of chunks. */
  async stream(completion: NewCompletion, options?: WriteOptions): Promise<CompletionStream> {
    const body = { ...completion, stream: true };
    return new CompletionStream(
      await this.#transport.stream((core) => createChatCompletion({ ...core, body }), "keyed", options),
    );
  }
}

/** Embeddings of texts. */
export class Embeddings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Computes embeddings. Nothing is stored. */
  create(embeddings: NewEmbeddings, options?: CallOptions): Promise<EmbeddingList> {
    return this.#transport.call((core) => createEmbeddings({ ...core, body: embeddings }), "always", options);
  }
}
