// A small S3 server on loopback: objects of one bucket in RAM. It refuses requests whose signature (AWS Signature
// Version 4) does not fit, and lists at most a few names per answer, so that clients have to page.

import { createHash, createHmac } from "node:crypto";

/** Keys that the server accepts. */
export const S3_KEYS = { id: "AKIATEST", secret: "secret/of+the=test" } as const;
const BUCKET = "kept";
const NAMES_PER_ANSWER = 3;

/** A running server. */
export interface S3Server {
  /** Environment variables for a client. */
  readonly environment: Readonly<Record<string, string>>;
  readonly bucket: string;
  /** The objects by name. */
  readonly objects: Map<string, Uint8Array>;
  readonly stop: () => Promise<void>;
}

/** Starts a server with an empty bucket. */
export function startS3Server(): S3Server {
  const objects = new Map<string, Uint8Array>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = new Uint8Array(await request.arrayBuffer());
      if (!isSigned(request, body)) return failure(403, "SignatureDoesNotMatch");
      const url = new URL(request.url);
      const [, bucket, ...rest] = decodeURIComponent(url.pathname).split("/");
      if (bucket !== BUCKET) return failure(404, "NoSuchBucket");
      const name = rest.join("/");
      if (name === "") return list(objects, url.searchParams);
      const object = objects.get(name);
      switch (request.method) {
        case "PUT":
          objects.set(name, body);
          return new Response(null, { headers: { etag: '"x"' } });
        case "DELETE":
          objects.delete(name);
          return new Response(null, { status: 204 });
        case "GET":
          return object === undefined ? failure(404, "NoSuchKey") : new Response(object.slice());
        default:
          return new Response(null, { status: object === undefined ? 404 : 200 });
      }
    },
  });
  return {
    environment: {
      AWS_ACCESS_KEY_ID: S3_KEYS.id,
      AWS_SECRET_ACCESS_KEY: S3_KEYS.secret,
      AWS_REGION: "eu-test-1",
      AWS_ENDPOINT_URL: `http://127.0.0.1:${server.port}`,
    },
    bucket: BUCKET,
    objects,
    stop: () => server.stop(true),
  };
}

function list(objects: ReadonlyMap<string, Uint8Array>, query: URLSearchParams): Response {
  const [prefix, after] = [query.get("prefix") ?? "", query.get("start-after") ?? ""];
  const names = [...objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
  const shown = names.slice(0, NAMES_PER_ANSWER);
  const contents = shown.map(
    (name) => `<Contents><Key>${name}</Key><Size>${objects.get(name)?.length}</Size></Contents>`,
  );
  const isTruncated = shown.length < names.length;
  return new Response(
    `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>${BUCKET}</Name><KeyCount>${shown.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>${contents.join("")}</ListBucketResult>`,
    { headers: { "content-type": "application/xml" } },
  );
}

function failure(status: number, code: string): Response {
  return new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`, {
    status,
    headers: { "content-type": "application/xml" },
  });
}

function isSigned(request: Request, body: Uint8Array): boolean {
  const header = request.headers.get("authorization") ?? "";
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  const [, id, day = "", region = "", signedHeaders = "", signature] = found ?? [];
  if (id !== S3_KEYS.id) return false;
  const url = new URL(request.url);
  const payload = request.headers.get("x-amz-content-sha256") ?? "";
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== createHash("sha256").update(body).digest("hex")) return false;
  const headers = signedHeaders.split(";").map((name) => `${name}:${(request.headers.get(name) ?? "").trim()}\n`);
  const query = url.search
    .slice(1)
    .split("&")
    .filter((part) => part !== "")
    .sort();
  const canonical = [
    ...[request.method, url.pathname, query.map((part) => (part.includes("=") ? part : `${part}=`)).join("&")],
    ...[headers.join(""), signedHeaders, payload],
  ].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const time = request.headers.get("x-amz-date") ?? "";
  const text = ["AWS4-HMAC-SHA256", time, `${day}/${region}/s3/aws4_request`, hash].join("\n");
  const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();
  const key = hmac(hmac(hmac(hmac(`AWS4${S3_KEYS.secret}`, day), region), "s3"), "aws4_request");
  return hmac(key, text).toString("hex") === signature;
}
