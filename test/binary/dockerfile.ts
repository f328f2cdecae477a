// Follows the last stage of a Dockerfile line by line in a clean root, because no container engine is needed to test
// what the lines do.

import { cpSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { CleanRoot } from "./clean-root.ts";

/** An instruction with its argument on one line. */
export interface Instruction {
  readonly keyword: string;
  readonly argument: string;
}

/** What an image says of the program in it. */
export interface Image {
  readonly root: CleanRoot;
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly healthcheck: readonly string[];
  readonly entrypoint: readonly string[];
}

/** The instructions of a Dockerfile. */
export function instructionsOf(dockerfile: string): readonly Instruction[] {
  const lines = dockerfile.split("\n").filter((line) => !/^\s*(#|$)/.test(line));
  const joined = lines.join("\n").replaceAll(/\\\n\s*/g, "");
  return joined.split("\n").map((line) => {
    const [, keyword = "", argument = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    return { keyword, argument };
  });
}

/**
 * Builds the root of the last stage.
 * @param copied what earlier stages made: paths on this machine by stage and path, such as `build:/source/dist/mneme`
 * @param shared as of `CleanRoot.make`
 * @throws Error if a line fails, or if this cannot follow it
 */
export async function buildImage(
  instructions: readonly Instruction[],
  copied: Readonly<Record<string, string>>,
  shared: Readonly<Record<string, string>>,
): Promise<Image> {
  const start = instructions.findLastIndex(({ keyword }) => keyword === "FROM");
  const suite = /^debian:(\w+)-slim$/.exec(instructions[start]?.argument ?? "")?.[1];
  if (suite === undefined) throw new Error(`the last stage does not begin with Debian's image`);
  const root = await CleanRoot.make(suite, shared);
  let user = "root";
  const environment: Record<string, string> = {};
  let [volumes, healthcheck, entrypoint]: (readonly string[])[] = [[], [], []];
  try {
    for (const { keyword, argument } of instructions.slice(start + 1)) {
      if (keyword === "RUN") await root.run(["sh", "-c", argument], { user, environment });
      else if (keyword === "COPY") copy(root, argument, copied);
      else if (keyword === "USER") user = argument;
      else if (keyword === "ENV") Object.assign(environment, variablesOf(argument));
      else if (keyword === "VOLUME") volumes = argument.split(" ");
      else if (keyword === "HEALTHCHECK") healthcheck = listIn(argument);
      else if (keyword === "ENTRYPOINT") entrypoint = listIn(argument);
      else if (keyword !== "EXPOSE" && keyword !== "STOPSIGNAL") throw new Error(`${keyword} cannot be followed`);
    }
  } catch (error) {
    root[Symbol.dispose]();
    throw error;
  }
  return {
    root,
    user,
    environment,
    volumes: volumes ?? [],
    healthcheck: healthcheck ?? [],
    entrypoint: entrypoint ?? [],
  };
}

function copy(root: CleanRoot, argument: string, copied: Readonly<Record<string, string>>): void {
  const [, stage = "", from = "", to = ""] = /^--from=(\S+) (\S+) (\S+)$/.exec(argument) ?? [];
  const source = copied[`${stage}:${from}`];
  if (source === undefined) throw new Error(`COPY ${argument}: there is nothing to copy`);
  const target = root.path(to);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true });
}

function variablesOf(argument: string): Readonly<Record<string, string>> {
  return Object.fromEntries(argument.split(" ").map((each) => each.split("=", 2)));
}

/** The JSON list at the end of a line. */
export function listIn(argument: string): readonly string[] {
  return JSON.parse(argument.slice(argument.indexOf("["))) as readonly string[];
}
