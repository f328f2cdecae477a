// The npm packages: a launcher, one optional package per platform with the program, and one with the models.

import { cpSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MODELS_FOLDER } from "../../src/binary/installed.ts";
import { type Made, PLATFORMS, RELEASE, type ReleaseRun } from "./description.ts";
import { pack } from "./tar.ts";

const LAUNCHER = join(import.meta.dir, "../../deploy/release/npm-launcher.cjs");
const { version, registryName, modelsName, summary, licence } = RELEASE;

/**
 * Writes the packages as `npm pack` would.
 * @param withShared whether to write also the packages that are the same for all platforms
 */
export function makeNpmPackages(run: ReleaseRun, withShared: boolean): readonly Made[] {
  const { platform, program } = run;
  const common = { version, license: licence };
  const packages = [
    {
      manifest: {
        name: registryName,
        ...common,
        description: summary,
        bin: { mneme: "launcher.cjs", [registryName]: "launcher.cjs" },
        engines: { node: ">=20" },
        dependencies: { [modelsName]: version },
        optionalDependencies: Object.fromEntries(PLATFORMS.map(({ id }) => [`${registryName}-${id}`, version])),
      },
      fill: (folder: string) => cpSync(LAUNCHER, join(folder, "launcher.cjs")),
    },
    {
      manifest: {
        name: `${registryName}-${platform.id}`,
        ...common,
        description: `${summary}: the program for ${platform.id}`,
        os: [platform.npm.os],
        cpu: [platform.npm.cpu],
      },
      fill: (folder: string) =>
        cpSync(program, join(folder, "program"), {
          recursive: true,
          filter: (path) => path !== join(program, MODELS_FOLDER),
        }),
    },
    {
      manifest: { name: modelsName, ...common, description: `${summary}: the models` },
      fill: (folder: string) => cpSync(join(program, MODELS_FOLDER), join(folder, "models"), { recursive: true }),
    },
  ];
  const wanted = packages.filter(({ manifest }) => withShared || "os" in manifest);
  return wanted.map(({ manifest, fill }) => {
    const parent = join(run.scratch, "npm", manifest.name);
    const folder = join(parent, "package");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(join(folder, "README.md"), readmeOf(manifest.name, manifest.description));
    cpSync(join(program, "LICENSE"), join(folder, "LICENSE"));
    fill(folder);
    const file = join(run.output, `${manifest.name}-${version}.tgz`);
    pack(run, { parent, folder: "package", file: `${file}.part`, compression: "gzip" });
    renameSync(`${file}.part`, file);
    return { file };
  });
}

function readmeOf(name: string, description: string): string {
  const use = name === registryName ? "Start a server with `mneme serve`. It prints an admin key, once.\n" : "";
  return `# ${name}\n\n${description}.\n${use}`;
}
