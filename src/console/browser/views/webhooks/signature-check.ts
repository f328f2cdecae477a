// Code that checks the signature of a call to a webhook.

/** The code for a secret. */
export function signatureCheck(secret: string): string {
  return [
    'import { Webhook } from "standardwebhooks";',
    "",
    `const webhook = new Webhook("${secret}");`,
    "const event = webhook.verify(body, {",
    '  "webhook-id": headers["webhook-id"],',
    '  "webhook-timestamp": headers["webhook-timestamp"],',
    '  "webhook-signature": headers["webhook-signature"],',
    "});",
  ].join("\n");
}
