// What an operator sees of a server: its parts, its queues, its stores.

/** A thread that answers requests. */
export interface ThreadState {
  /** `main`, or the number of a thread. */
  readonly id: string;
  readonly state: "starting" | "up" | "stopping";
}

/** A process that runs models. */
export interface LaneView {
  readonly name: string;
  readonly status: string;
  readonly restarts: number;
  /** Resident memory in bytes; 0 if not known yet. */
  readonly rssBytes: number;
  /** Runtime of the models; null if the lane is not up. */
  readonly provider: string | null;
  /** Requests that it has not answered yet. */
  readonly inFlight: number;
}

/** A node of the service. */
export interface NodeState {
  readonly id: string;
  /** Name of the machine. */
  readonly name: string;
  readonly role: string;
  readonly version: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** Whether it was seen within the last minute. */
  readonly isUp: boolean;
}

/** What a node says of itself. */
export type NodeIdentity = Pick<NodeState, "name" | "role" | "version">;

/** A part of the data on the disk. */
export interface StoreSize {
  readonly name: string;
  readonly bytes: number;
}

/** Sizes of the data, and of the disk that it is on. */
export interface Sizes {
  readonly stores: readonly StoreSize[];
  readonly diskFreeBytes: number;
  readonly diskTotalBytes: number;
}

/** What happened in the last minute. */
export interface RecentCounts {
  readonly stored: number;
  readonly failed: number;
  readonly searches: number;
  readonly answers: number;
}

/** What happened in each of the last `HOUR_MINUTES` minutes, oldest first. The last minute is in progress. */
export type HourCounts = Readonly<Record<keyof RecentCounts, readonly number[]>>;
/** Number of minutes of `HourCounts`. */
export const HOUR_MINUTES = 60;
