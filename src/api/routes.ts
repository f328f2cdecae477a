// Routes and paths: the error for a path or method without a route, and path parameters. Elysia matches the requests
// that have a route.

import { Fault } from "../domain/fault.ts";
import type { Operation } from "./operation.ts";

/** Beginning of the paths for clients of other products. All of them need a key, also those without a route. */
export const COMPATIBLE_PREFIX = "/compat/";

/** A method and a path template. */
export type Route = Pick<Operation, "method" | "path">;

/**
 * Path parameters as Elysia decodes them: null if the percent-encoding is not valid UTF-8, undefined if the path has no
 * such parameter.
 */
export type PathParameters = Readonly<Record<string, string | null>> | undefined;

/** The path parameters as texts. @throws Fault `invalid_request` if one is not valid UTF-8 */
export function checkedParameters(parameters: PathParameters): Readonly<Record<string, string>> {
  for (const name in parameters) {
    if (parameters[name] !== null) continue;
    throw new Fault("invalid_request", `'${name}' in the path is not valid percent-encoded UTF-8.`, { param: name });
  }
  return (parameters ?? {}) as Readonly<Record<string, string>>;
}

/**
 * The error for a request without a route: `method_not_allowed` if the path has routes with other methods, otherwise
 * `not_found`. Every route with GET also has HEAD (RFC 9110, 9.3.2); Elysia answers HEAD itself.
 */
export function unroutedFault(method: string, path: string, routes: readonly Route[]): Fault {
  const exact = routes.filter((route) => route.path === path);
  const matching = exact.length > 0 ? exact : routes.filter((route) => matches(route.path, path));
  const allow = new Set(matching.flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method])));
  const shown = path.length > 128 ? `${path.slice(0, 128)}…` : path;
  if (allow.size === 0) return new Fault("not_found", `There is no route ${method} ${shown}.`);
  const methods = [...allow];
  return new Fault("method_not_allowed", `${shown} supports ${methods.join(", ")}, not ${method}.`, {
    allow: methods,
  });
}

/**
 * Methods that a path such as `/v1/memories/batch` does not have, although the template `/v1/memories/:id` matches it.
 * Without a route of their own, these requests would run the template's operation with the id `batch`.
 */
export function hiddenRoutes(routes: readonly Route[]): readonly Route[] {
  const known = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const exact = new Set(routes.map(({ path }) => path).filter((path) => !path.includes(":")));
  return [...exact].flatMap((path) => {
    const templates = routes.filter((route) => route.path !== path && matches(route.path, path));
    const methods = new Set(templates.map(({ method }) => method));
    return [...methods].filter((method) => !known.has(`${method} ${path}`)).map((method) => ({ method, path }));
  });
}

/** Whether a path is one of a template. */
export function matches(template: string, path: string): boolean {
  const expected = template.split("/");
  const given = path.split("/");
  return (
    expected.length === given.length &&
    expected.every((part, at) => part === given[at] || (part.startsWith(":") && given[at] !== ""))
  );
}
