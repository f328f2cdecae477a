// Packages for systems: `.deb` and `.rpm`. Both have the same files: the program in /usr/lib/mneme, a link in /usr/bin,
// and a unit for systemd that is not enabled.

import { cpSync, lutimesSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderBytes } from "../../src/binary/build.ts";
import { filled } from "./archive.ts";
import { type Made, RELEASE, type ReleaseRun } from "./description.ts";
import { hasProgram, output } from "./tar.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");
const KIB = 1024;

/** Writes the package for Debian and its relatives. */
export function makeDeb(run: ReleaseRun): Made {
  const { debian } = run.platform;
  if (debian === null) return { notBuilt: `there is no .deb for ${run.platform.id}` };
  if (!hasProgram("dpkg-deb")) return { notBuilt: "the .deb needs dpkg-deb" };
  const root = systemTree(run, "deb");
  const control = join(root, "DEBIAN");
  mkdirSync(control);
  const fields = [
    `Package: ${RELEASE.program}`,
    `Version: ${RELEASE.version}`,
    `Architecture: ${debian}`,
    `Maintainer: ${RELEASE.maintainer}`,
    `Installed-Size: ${Math.ceil(folderBytes(run.program) / KIB)}`,
    `Depends: libc6 (>= ${run.glibc}), libstdc++6`,
    "Section: database",
    "Priority: optional",
    `Description: ${RELEASE.summary}`,
    "",
  ];
  writeFileSync(join(control, "control"), fields.join("\n"));
  for (const name of ["postinst", "prerm"]) {
    cpSync(join(DEPLOY, "release", `deb-${name}.sh`), join(control, name));
  }
  const file = join(run.output, `${RELEASE.program}_${RELEASE.version}_${debian}.deb`);
  const compression = run.isFast ? ["-Znone"] : ["-Zxz", "-z6"];
  setTimes(root, run.time);
  output([
    "env",
    `SOURCE_DATE_EPOCH=${run.time}`,
    "dpkg-deb",
    "--root-owner-group",
    ...compression,
    "--build",
    root,
    file,
  ]);
  return { file };
}

/** Writes the package for Fedora, RHEL and their relatives. */
export function makeRpm(run: ReleaseRun): Made {
  const { rpm } = run.platform;
  if (rpm === null) return { notBuilt: `there is no .rpm for ${run.platform.id}` };
  if (!hasProgram("rpmbuild")) return { notBuilt: "the .rpm needs rpmbuild" };
  const root = systemTree(run, "rpm");
  const spec = join(run.scratch, "mneme.spec");
  const template = readFileSync(join(DEPLOY, "release/mneme.spec"), "utf8");
  const { version, summary, licence } = RELEASE;
  const values = { VERSION: version, SUMMARY: summary, LICENCE: licence, ROOT: root, GLIBC: run.glibc };
  writeFileSync(spec, filled(template, { ...values, PAYLOAD: run.isFast ? "w1.gzdio" : "w6.xzdio" }));
  setTimes(root, run.time);
  output([
    ...["env", `SOURCE_DATE_EPOCH=${run.time}`, "rpmbuild", "-bb", "--quiet", "--target", rpm],
    ...["--define", `_topdir ${join(run.scratch, "rpmbuild")}`, "--define", `_rpmdir ${run.output}`],
    ...["--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", spec],
  ]);
  return { file: join(run.output, `${RELEASE.program}-${RELEASE.version}-1.${rpm}.rpm`) };
}

/** The files of a package below a folder that stands for `/`. */
function systemTree(run: ReleaseRun, name: string): string {
  const root = join(run.scratch, name);
  const unit = join(root, "usr/lib/systemd/system");
  const documents = join(root, "usr/share/doc", RELEASE.program);
  for (const folder of [unit, documents, join(root, "usr/bin"), join(root, "usr/lib")]) {
    mkdirSync(folder, { recursive: true });
  }
  cpSync(run.program, join(root, "usr/lib", RELEASE.program), { recursive: true });
  symlinkSync(`../lib/${RELEASE.program}/mneme`, join(root, "usr/bin/mneme"));
  const service = readFileSync(join(DEPLOY, "systemd/mneme.service"), "utf8");
  writeFileSync(join(unit, "mneme.service"), service.replace("/usr/local/bin/", "/usr/bin/"));
  cpSync(join(run.program, "LICENSE"), join(documents, "copyright"));
  return root;
}

/** Gives all files the time of the release: dpkg-deb and rpmbuild take the times that they find. */
function setTimes(root: string, time: number): void {
  for (const path of output(["find", root]).trimEnd().split("\n")) lutimesSync(path, time, time);
}
