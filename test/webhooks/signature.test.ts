// Webhook signatures: a receiver that uses the standard's own library accepts ours, and refuses altered messages.

import { describe, expect, test } from "bun:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { systemClock } from "../../src/kit/clock.ts";
import { newWebhookSecret, signWebhook } from "../../src/webhooks/signature.ts";
import { seeded } from "../support/seeded.ts";

const BODIES = ['{"type":"webhook.test"}', "", '{"title":"Grüße 🌍 \\u0000 東京"}', "x".repeat(100_000)];
const now = () => Math.floor(systemClock.now() / 1000);
const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));

describe("signatures", () => {
  test("are accepted by the standard's library", () => {
    for (const body of BODIES) {
      const secret = newWebhookSecret(random);
      const timestampSeconds = now();
      const signature = signWebhook({ id: "dlv_1", timestampSeconds, body, secret });
      const headers = {
        "webhook-id": "dlv_1",
        "webhook-timestamp": String(timestampSeconds),
        "webhook-signature": signature,
      };
      expect(() => new Webhook(secret).verify(body, headers, { jsonParse: false })).not.toThrow();
    }
  });

  test("do not fit another id, time, body or secret", () => {
    const secret = newWebhookSecret(random);
    const signed = { id: "dlv_1", timestampSeconds: now(), body: "{}", secret };
    const signature = signWebhook(signed);
    const verify = (change: Partial<typeof signed>) => () => {
      const received = { ...signed, ...change };
      return new Webhook(received.secret).verify(received.body, {
        "webhook-id": received.id,
        "webhook-timestamp": String(received.timestampSeconds),
        "webhook-signature": signature,
      });
    };
    expect(verify({})).not.toThrow();
    const others = [
      { id: "dlv_2" },
      { timestampSeconds: signed.timestampSeconds - 1 },
      { body: "{} " },
      { secret: newWebhookSecret(random) },
    ];
    for (const other of others) expect(verify(other)).toThrow(WebhookVerificationError);
  });

  test("equal the one in the example of the standard's reference libraries", () => {
    const signature = signWebhook({
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestampSeconds: 1_614_265_330,
      body: '{"test": 2432232314}',
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    });
    expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });
});

describe("secrets", () => {
  test("are whsec_ and the base64 of 32 random bytes", () => {
    const next = seeded(7);
    const bytes = Uint8Array.from({ length: 32 }, () => Math.floor(next() * 256));
    const asked: number[] = [];
    const secret = newWebhookSecret((count) => {
      asked.push(count);
      return bytes;
    });
    expect(asked).toEqual([32]);
    expect(secret).toBe(`whsec_${Buffer.from(bytes).toString("base64")}`);
  });
});
