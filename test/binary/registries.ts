// Registries for npm and pip on loopback, which offer the packages of a release.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { VERSION } from "../../src/kit/version.ts";

/** A server with the files of a release and both registries. */
export interface ServedRelease {
  /** Address of the registry for npm. */
  readonly npm: string;
  /** Address of the index for pip. */
  readonly pip: string;
  /** Address of the folder with all files. */
  readonly files: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Serves the folder of a release on a free port. */
export function serveRelease(folder: string): ServedRelease {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname, origin } = new URL(request.url);
      const [kind = "", name = ""] = pathname.slice(1).split("/").map(decodeURIComponent);
      if (kind === "files") return fileOf(join(folder, basename(name)));
      if (kind === "simple") return indexOf(folder, name, origin);
      return manifestOf(folder, kind, origin);
    },
  });
  const address = `http://127.0.0.1:${server.port}`;
  return {
    ...{ npm: address, pip: `${address}/simple`, files: `${address}/files` },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function fileOf(path: string): Response {
  return existsSync(path) ? new Response(Bun.file(path)) : new Response("not found", { status: 404 });
}

/** What pip reads: a page with links to the wheels of a project. */
function indexOf(folder: string, project: string, origin: string): Response {
  const prefix = `${project.replaceAll("-", "_")}-`;
  const wheels = readdirSync(folder).filter((name) => name.endsWith(".whl") && name.startsWith(prefix));
  if (wheels.length === 0) return new Response("not found", { status: 404 });
  const links = wheels.map((name) => `<a href="${origin}/files/${name}">${name}</a>`);
  return new Response(`<!DOCTYPE html><html><body>${links.join("\n")}</body></html>`, {
    headers: { "content-type": "text/html" },
  });
}

/** What npm reads: the manifests of all versions of a package. */
async function manifestOf(folder: string, name: string, origin: string): Promise<Response> {
  const file = join(folder, `${name}-${VERSION}.tgz`);
  if (!existsSync(file)) return Response.json({ error: "not found" }, { status: 404 });
  const unpacked = Bun.spawn(["tar", "--extract", "--to-stdout", "--file", file, "package/package.json"]);
  const manifest = JSON.parse(await new Response(unpacked.stdout).text());
  const integrity = new Bun.CryptoHasher("sha512").update(readFileSync(file)).digest("base64");
  const dist = { tarball: `${origin}/files/${basename(file)}`, integrity: `sha512-${integrity}` };
  return Response.json({
    name,
    "dist-tags": { latest: VERSION },
    versions: { [VERSION]: { ...manifest, dist } },
  });
}
