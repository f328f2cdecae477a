// The program, with a thread that fails on request: a request with the header `x-test-failure` causes an error that
// nothing catches, in the thread that received it, a moment after the request has begun.

const { serve } = Bun;
Bun.serve = ((options: Parameters<typeof serve>[0] & { fetch: (...given: unknown[]) => unknown }) =>
  serve({
    ...options,
    fetch: (...given: unknown[]) => {
      const [request] = given as [Request];
      if (request.headers.has("x-test-failure")) {
        setTimeout(() => {
          throw new Error("this error was asked for");
        });
      }
      return options.fetch(...given);
    },
  } as Parameters<typeof serve>[0])) as typeof serve;

void import("../../src/main.ts");

export {};
