// What a release consists of: names, platforms, and what a package says of itself. Everything else is derived from it.

import { VERSION } from "../../src/kit/version.ts";

/** A platform with the names that other systems have for it. */
export interface Platform {
  /** Name in file names and npm packages. */
  readonly id: string;
  /** Rust's target. */
  readonly rust: string;
  /** Target of Bun's compiler. */
  readonly bun: string;
  readonly npm: { readonly os: string; readonly cpu: string };
  /** Architecture in `.deb` and `.rpm`; null if there are no such packages for it. */
  readonly debian: string | null;
  readonly rpm: string | null;
  /** Platform tag of wheels; `{glibc}` stands for the glibc that the libraries need, such as 2_34. */
  readonly wheel: string;
}

/** Platforms for which the native core can be compiled. The first is that of the machine that builds releases. */
export const PLATFORMS: readonly [Platform, ...Platform[]] = [
  {
    id: "linux-x64",
    rust: "x86_64-unknown-linux-gnu",
    bun: "bun-linux-x64",
    npm: { os: "linux", cpu: "x64" },
    debian: "amd64",
    rpm: "x86_64",
    wheel: "manylinux_{glibc}_x86_64",
  },
  {
    id: "linux-arm64",
    rust: "aarch64-unknown-linux-gnu",
    bun: "bun-linux-arm64",
    npm: { os: "linux", cpu: "arm64" },
    debian: "arm64",
    rpm: "aarch64",
    wheel: "manylinux_{glibc}_aarch64",
  },
  {
    id: "macos-arm64",
    rust: "aarch64-apple-darwin",
    bun: "bun-darwin-arm64",
    npm: { os: "darwin", cpu: "arm64" },
    debian: null,
    rpm: null,
    wheel: "macosx_13_0_arm64",
  },
  {
    id: "macos-x64",
    rust: "x86_64-apple-darwin",
    bun: "bun-darwin-x64",
    npm: { os: "darwin", cpu: "x64" },
    debian: null,
    rpm: null,
    wheel: "macosx_13_0_x86_64",
  },
  {
    id: "windows-x64",
    rust: "x86_64-pc-windows-gnu",
    bun: "bun-windows-x64",
    npm: { os: "win32", cpu: "x64" },
    debian: null,
    rpm: null,
    wheel: "win_amd64",
  },
];

/** Names and texts of a release. */
export const RELEASE = {
  version: VERSION,
  /** Name of the program and of its `.deb` and `.rpm`. */
  program: "mneme",
  /** Name on npm and PyPI. `mneme` is taken on PyPI; this one was free on both on 2026-11-29. */
  registryName: "mneme-engine",
  /** Package with the models, the same for all platforms, so that each file stays below PyPI's limit of 100 MB. */
  modelsName: "mneme-engine-models",
  summary: "A self-hosted memory and retrieval engine for AI applications",
  licence: "Apache-2.0",
  maintainer: "The authors of Mneme <maintainers@localhost>",
} as const;

/** What the steps of a release need. */
export interface ReleaseRun {
  readonly platform: Platform;
  /** Folder of the program (src/binary/build.ts). */
  readonly program: string;
  /** Folder of the artefacts. */
  readonly output: string;
  /** Folder for temporary files. */
  readonly scratch: string;
  /** Seconds since 1970 that all files in archives have, so that the same program gives the same bytes. */
  readonly time: number;
  /** Compresses little, for tests. */
  readonly isFast: boolean;
  /** Address of the folder that the artefacts will be downloaded from, with a slash at its end; null if unknown. */
  readonly address: string | null;
  /** Highest version of glibc whose symbols the libraries use, such as 2.34. */
  readonly glibc: string;
}

/** An artefact that a step wrote, or the reason why it cannot be made on this machine. */
export type Made = { readonly file: string } | { readonly notBuilt: string };
