// Hooks for what a view reads from the server: its value or error, and reloading it. It is also reloaded when the
// server can be reached again after it was away.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, pause } from "./api.ts";
import { noteUnreachable, recoveries } from "./server.ts";

/** A value that is read from the server. While it is read again, the last value stays. */
export interface Resource<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
  /** Replaces the value without reading it, after this page has changed it. */
  readonly set: (value: T) => void;
}

/**
 * Reads something when a view opens and when `inputs` change.
 * @param again returns after how many milliseconds the value is read again, or null to read it once
 */
export function useResource<T>(
  read: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  again: (value: T) => number | null = () => null,
): Resource<T> {
  const [state, setState] = useState<{ value: T | undefined; error: unknown; isLoading: boolean }>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef({ read, again });
  latest.current = { read, again };
  const key = JSON.stringify(inputs);
  const lastKey = useRef(key);
  useEffect(() => {
    const stopping = new AbortController();
    const isOther = lastKey.current !== key;
    lastKey.current = key;
    setState((before) => ({ value: isOther ? undefined : before.value, error: undefined, isLoading: true }));
    void follow(latest, stopping.signal, setState);
    return () => stopping.abort();
  }, [key, round]);

  useEffect(() => {
    let seen = recoveries.peek();
    return recoveries.subscribe((count) => {
      if (count !== seen) setRound((before) => before + 1);
      seen = count;
    });
  }, []);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  const set = useCallback((value: T) => setState({ value, error: undefined, isLoading: false }), []);
  return { ...state, reload, set };
}

async function follow<T>(
  latest: { current: { read: (signal: AbortSignal) => Promise<T>; again: (value: T) => number | null } },
  signal: AbortSignal,
  setState: (next: { value: T | undefined; error: unknown; isLoading: boolean }) => void,
): Promise<void> {
  let value: T | undefined;
  try {
    for (;;) {
      value = await latest.current.read(signal);
      if (signal.aborted) return;
      setState({ value, error: undefined, isLoading: false });
      const ms = latest.current.again(value);
      if (ms === null) return;
      await pause(ms, signal);
      while (document.hidden) await pause(ms, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof ApiError && error.status === 0) noteUnreachable();
    setState({ value, error, isLoading: false });
  }
}

/** A list that is read page by page. */
export interface Pages<Item> {
  readonly items: readonly Item[] | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly reload: () => void;
  /** Changes the loaded items without reading them, after this page has changed them. */
  readonly edit: (change: (items: readonly Item[]) => readonly Item[]) => void;
}

/** The list with `item` instead of the item with the same id; if there is none, `item` is put first. */
export function withItem<Item extends { readonly id: string }>(items: readonly Item[], item: Item): readonly Item[] {
  return items.some(({ id }) => id === item.id)
    ? items.map((one) => (one.id === item.id ? item : one))
    : [item, ...items];
}

/** Reads a list page by page. Starts again with the first page when `inputs` change. */
export function usePages<Item>(
  read: (cursor: string | null, signal: AbortSignal) => Promise<{ data: Item[]; cursor: string | null }>,
  inputs: readonly unknown[],
): Pages<Item> {
  const [later, setLater] = useState<{ items: readonly Item[]; cursor: string | null } | null>(null);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  const turn = useRef(0);
  const first = useResource(async (signal) => {
    const page = await read(null, signal);
    turn.current += 1;
    setProblem(undefined);
    setLater({ items: page.data, cursor: page.cursor });
    return page;
  }, inputs);
  const shown = first.value === undefined ? null : later;

  const more = async () => {
    if (shown === null || shown.cursor === null || isBusy) return;
    const mine = turn.current;
    setIsBusy(true);
    setProblem(undefined);
    try {
      const page = await read(shown.cursor, new AbortController().signal);
      if (mine === turn.current) setLater({ items: [...shown.items, ...page.data], cursor: page.cursor });
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  return {
    items: shown?.items,
    error: first.error ?? problem,
    isLoading: first.isLoading || isBusy,
    hasMore: shown !== null && shown.cursor !== null,
    more: () => void more(),
    reload: first.reload,
    edit: (change) => setLater((before) => (before === null ? null : { ...before, items: change(before.items) })),
  };
}
