// The wheels for PyPI: one per platform with the program, and one with the models.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { strToU8, type Zippable } from "fflate";
import { MODELS_FOLDER } from "../../src/binary/installed.ts";
import { type Made, RELEASE, type ReleaseRun } from "./description.ts";
import { zipped } from "./zip.ts";

const LAUNCHER = join(import.meta.dir, "../../deploy/release/pypi_launcher.py");
/** Operating system of a ZIP entry's attributes: Unix, whose permissions are in the upper 16 bits. */
const UNIX = 3;
const FILE_TYPE = 0o100000;
const { version, registryName, modelsName, summary, licence } = RELEASE;
const [MODULE, MODELS_MODULE] = [registryName.replaceAll("-", "_"), modelsName.replaceAll("-", "_")];

interface WheelFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

/** Writes the wheel with the program and, if `withModels`, the one with the models, which all platforms share. */
export function makeWheels(run: ReleaseRun, withModels: boolean): readonly Made[] {
  const programFiles = filesIn(run.program, `${MODULE}/program`).filter(
    ({ path }) => !path.startsWith(`${MODULE}/program/${MODELS_FOLDER}/`),
  );
  const launcher = { path: `${MODULE}/__init__.py`, bytes: readFileSync(LAUNCHER), isExecutable: false };
  const main = textFile(`${MODULE}/__main__.py`, "from . import main\n\nmain()\n");
  const scripts = [registryName, RELEASE.program].map((name) => `${name} = ${MODULE}:main`);
  const tag = run.platform.wheel.replace("{glibc}", run.glibc.replace(".", "_"));
  const made = wheel(run, {
    name: registryName,
    description: summary,
    tag: `py3-none-${tag}`,
    files: [launcher, main, ...programFiles],
    requires: [`${modelsName}==${version}`],
    entryPoints: `[console_scripts]\n${scripts.join("\n")}\n`,
  });
  return withModels ? [made, modelsWheel(run)] : [made];
}

function modelsWheel(run: ReleaseRun): Made {
  return wheel(run, {
    name: modelsName,
    description: `${summary}: the models`,
    tag: "py3-none-any",
    files: [
      textFile(`${MODELS_MODULE}/__init__.py`, '"""The models of Mneme, as files beside this one."""\n'),
      ...filesIn(join(run.program, MODELS_FOLDER), `${MODELS_MODULE}/models`),
    ],
    requires: [],
    entryPoints: null,
  });
}

interface Wheel {
  readonly name: string;
  readonly description: string;
  readonly tag: string;
  readonly files: readonly WheelFile[];
  readonly requires: readonly string[];
  readonly entryPoints: string | null;
}

function wheel(run: ReleaseRun, { name, description, tag, files, requires, entryPoints }: Wheel): Made {
  const stem = `${name.replaceAll("-", "_")}-${version}`;
  const info = `${stem}.dist-info`;
  const metadata = [
    "Metadata-Version: 2.1",
    `Name: ${name}`,
    `Version: ${version}`,
    `Summary: ${description}`,
    `License: ${licence}`,
    "Requires-Python: >=3.9",
    ...requires.map((each) => `Requires-Dist: ${each}`),
    "",
  ].join("\n");
  const isPure = tag.endsWith("-any");
  const all: readonly WheelFile[] = [
    ...files,
    textFile(`${info}/METADATA`, metadata),
    textFile(`${info}/WHEEL`, `Wheel-Version: 1.0\nGenerator: mneme\nRoot-Is-Purelib: ${isPure}\nTag: ${tag}\n`),
    ...(entryPoints === null ? [] : [textFile(`${info}/entry_points.txt`, entryPoints)]),
  ];
  const record = all.map(({ path, bytes }) => {
    const hash = createHash("sha256").update(bytes).digest("base64url");
    return `${path},sha256=${hash},${bytes.byteLength}`;
  });
  const zip: Zippable = {};
  for (const { path, bytes, isExecutable } of [...all, textFile(`${info}/RECORD`, recordText(record, info))]) {
    zip[path] = [bytes, { os: UNIX, attrs: (FILE_TYPE | (isExecutable ? 0o755 : 0o644)) << 16 }];
  }
  const file = join(run.output, `${stem}-${tag}.whl`);
  writeFileSync(file, zipped(zip, { level: run.isFast ? 0 : 9, time: run.time }));
  return { file };
}

function recordText(lines: readonly string[], info: string): string {
  return [...lines, `${info}/RECORD,,`, ""].join("\n");
}

function textFile(path: string, text: string): WheelFile {
  return { path, bytes: strToU8(text), isExecutable: false };
}

function filesIn(folder: string, target: string): readonly WheelFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({
      path: `${target}/${relative(folder, path)}`,
      bytes: readFileSync(path),
      isExecutable: (statSync(path).mode & 0o111) !== 0,
    }));
}
