// API keys of a project.

import {
  type CurrentKey,
  createKey,
  deleteKey,
  getCurrentKey,
  type Key,
  type KeyWithSecret,
  listKeys,
  rotateKey,
  updateKey,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { KeyChange, NewKey } from "../types.ts";

/** Whose keys: those of another project need the scope `admin`. */
export interface KeyOwner {
  readonly projectId?: string;
}

/** The operations on keys. */
export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a key. Only this answer contains its secret. */
  create(key: NewKey, options?: WriteOptions): Promise<KeyWithSecret> {
    return this.#transport.call((core) => createKey({ ...core, body: key }), "keyed", options);
  }

  /** Lists keys, newest first. */
  list(params: KeyOwner & { readonly limit?: number } = {}, options?: CallOptions): List<Key> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listKeys({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads the key of this client: what it may do, and in which project. Any key may ask. */
  current(options?: CallOptions): Promise<CurrentKey> {
    return this.#transport.call((core) => getCurrentKey(core), "always", options);
  }

  /** Changes name, scopes or expiry of a key. */
  update(id: string, change: KeyChange, { projectId, ...options }: CallOptions & KeyOwner = {}): Promise<Key> {
    const query = ownerOf(projectId);
    return this.#transport.call((core) => updateKey({ ...core, path: { id }, query, body: change }), "always", options);
  }

  /** Revokes a key at once. */
  delete(id: string, { projectId, ...options }: CallOptions & KeyOwner = {}): Promise<void> {
    const query = ownerOf(projectId);
    return this.#transport.remove((core) => deleteKey({ ...core, path: { id }, query }), options);
  }

  /** Gives a key a new secret. The old one stays valid for `graceSeconds`, 0 by default. */
  rotate(
    id: string,
    { projectId, graceSeconds, ...options }: CallOptions & KeyOwner & { readonly graceSeconds?: number } = {},
  ): Promise<KeyWithSecret> {
    const body = graceSeconds === undefined ? {} : { grace_seconds: graceSeconds };
    const query = ownerOf(projectId);
    return this.#transport.call((core) => rotateKey({ ...core, path: { id }, query, body }), "refused", options);
  }
}

function ownerOf(projectId: string | undefined): KeyOwner {
  return projectId === undefined ? {} : { projectId };
}
