// The address guard: accepted URLs, limits, and the texts of its refusals.

import { describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { createAddressGuard, type Resolve, resolveBySystem } from "../../src/adapters/outbound/guard.ts";
import { Fault } from "../../src/domain/fault.ts";
import { LIMITS } from "../../src/domain/limits.ts";

const nowhere: Resolve = async () => [];
const outside: Resolve = async () => ["93.184.216.34", "2606:4700:4700::1111"];
const inside: Resolve = async () => ["10.0.0.1", "fd00::1"];

function check(url: string, resolve: Resolve, allow = ""): Promise<void> {
  return createAddressGuard({ allow: AllowList.parse(allow), resolve }).check(url, "url");
}

async function refusal(url: string, resolve: Resolve): Promise<Fault> {
  try {
    await check(url, resolve);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`${url} was not refused`);
}

describe("accepts", () => {
  const callable = [
    ...["http://hooks.example.com", "https://hooks.example.com/a/b?c=d#e", "HTTPS://Hooks.Example.COM:8443/"],
    ...["https://hooks.example.com./", "https://a_b.example.com/", "https://bücher.example/päth?q=ü"],
    ...["https://hooks.example.com/@user", "https://hooks.example.com/?to=a@b", "https://hooks.example.com/a\\b"],
  ];
  for (const url of callable) {
    test(`${url} if every address of its name is public`, async () => {
      await expect(check(url, outside)).resolves.toBeUndefined();
    });
  }

  test("public addresses, without a name resolution", async () => {
    for (const url of ["http://93.184.216.34/", "https://[2606:4700:4700::1111]:8443/hook"]) {
      await expect(check(url, nowhere)).resolves.toBeUndefined();
    }
  });

  test("allow-listed names, whatever they resolve to, if they resolve", async () => {
    await expect(check("http://hooks.internal:8080/", inside, "hooks.internal")).resolves.toBeUndefined();
    await expect(check("http://HOOKS.internal.:8080/", inside, "hooks.internal")).resolves.toBeUndefined();
    await expect(check("http://other.internal:8080/", inside, "hooks.internal")).rejects.toThrow(Fault);
    await expect(check("http://hooks.internal:8080/", nowhere, "hooks.internal")).rejects.toThrow(Fault);
  });

  test("allow-listed addresses, literally and behind names", async () => {
    const allow = "10.0.0.0/8, fd00::/8, 127.0.0.1";
    await expect(check("http://anything.example.com/", inside, allow)).resolves.toBeUndefined();
    await expect(check("http://127.1:8080/", nowhere, allow)).resolves.toBeUndefined();
    await expect(check("http://127.0.0.2:8080/", nowhere, allow)).rejects.toThrow(Fault);
    await expect(check("http://[::ffff:127.0.0.1]/", nowhere, allow)).rejects.toThrow(Fault);
  });

  test("an allow-listed name with credentials or another scheme is still refused", async () => {
    await expect(check("http://user:password@hooks.internal/", inside, "hooks.internal")).rejects.toThrow(Fault);
    await expect(check("ftp://hooks.internal/", inside, "hooks.internal")).rejects.toThrow(Fault);
  });
});

describe("malformed URLs of public hosts are refused", () => {
  const mangled = [
    ...[
      " https://hooks.example.com/",
      "https://hooks.example.com/ ",
      "https://hooks.exa\tmple.com/",
      "https://hooks.example.com/a b",
    ],
    ...["https://hooks.example.com/\r\nHost: x", "https://hooks.example.com/\u0000", "https://hooks.example.com\\a"],
    ...[
      "https:\\\\hooks.example.com\\a",
      "https:hooks.example.com/",
      "https:/hooks.example.com/",
      "https:///hooks.example.com/",
    ],
    ...[
      "https://@hooks.example.com/",
      "https://:@hooks.example.com/",
      "https://user@hooks.example.com/",
      "hooks.example.com",
    ],
  ];
  for (const url of mangled) {
    test(JSON.stringify(url), async () => {
      expect(await refusal(url, outside)).toMatchObject({ code: "unsafe_url", param: "url" });
    });
  }
});

describe("limits", () => {
  const urlOf = (length: number) => "https://hooks.example.com/".padEnd(length, "a");

  test("a URL of maximum length is accepted, one character more is not", async () => {
    await expect(check(urlOf(LIMITS.webhookUrlCharacters), outside)).resolves.toBeUndefined();
    expect((await refusal(urlOf(LIMITS.webhookUrlCharacters + 1), outside)).code).toBe("unsafe_url");
  });

  test("ports 1 and 65535 are accepted, 0 and 65536 are not", async () => {
    for (const port of [1, 65_535]) {
      await expect(check(`http://hooks.example.com:${port}/`, outside)).resolves.toBeUndefined();
    }
    for (const port of [0, 65_536]) {
      expect((await refusal(`http://hooks.example.com:${port}/`, outside)).code).toBe("unsafe_url");
    }
  });
});

test("a name that does not resolve in time is refused", async () => {
  const never: Resolve = () => new Promise(() => undefined);
  const guard = createAddressGuard({ allow: AllowList.parse("hooks.internal"), resolve: never, resolveTimeoutMs: 20 });
  // does not use expect().rejects, because it ignores the test's timeout if the promise never settles
  const outcome = await guard.check("http://hooks.internal/", "url").then(
    () => "let through",
    (error: unknown) => error,
  );
  expect(outcome).toMatchObject({ code: "unsafe_url", param: "url" });
});

describe("refusals", () => {
  test("name the field and the problem", async () => {
    const guard = createAddressGuard({ allow: AllowList.parse(""), resolve: outside });
    await expect(guard.check("http://10.0.0.1/", "llm.base_url")).rejects.toMatchObject({
      code: "unsafe_url",
      param: "llm.base_url",
      message:
        "The address in llm.base_url is not public. The operator of this server can allow it with --webhook-allow.",
    });
  });

  test("name the setting that would allow the address only where it would", async () => {
    const messageOf = async (url: string) => (await refusal(url, inside)).message;
    for (const url of ["http://127.0.0.1/", "http://[::1]/", "http://db.internal/"]) {
      expect(await messageOf(url)).toContain("--webhook-allow");
    }
    for (const url of ["ftp://db.internal/", "http://user@db.internal/", "http://db.internal:0/", "nonsense"]) {
      expect(await messageOf(url)).not.toContain("--webhook-allow");
    }
  });

  test("do not reveal whether an internal name exists, nor its addresses", async () => {
    const failing: Resolve = async () => {
      throw new Error("getaddrinfo ENOTFOUND db.internal");
    };
    const messages = await Promise.all(
      [failing, nowhere, inside].map(async (resolve) => (await refusal("http://db.internal/", resolve)).message),
    );
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).not.toContain("10.0.0.1");
  });
});

describe("the system's resolver", () => {
  test("resolves localhost, which is refused", async () => {
    expect(await resolveBySystem("localhost")).not.toEqual([]);
    expect((await refusal("http://localhost/", resolveBySystem)).code).toBe("unsafe_url");
  });
});
