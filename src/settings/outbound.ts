// Settings of the requests that the server itself sends: webhooks and pages that it fetches.

import { AllowList } from "../adapters/outbound/addresses.ts";
import { setting, switched } from "../kit/setting.ts";
import { parseRetries, RETRIES_EXPECTED } from "../webhooks/schedule.ts";

/** Settings of webhooks and fetched pages. */
export const OUTBOUND_SETTINGS = {
  /** Applies to language models and fetched pages, too. */
  webhookAllow: setting<AllowList>(
    "webhook-allow",
    "HOSTS",
    "Hosts and CIDR blocks that webhooks may call even though they are not public, comma-separated",
    {
      defaultValue: () => AllowList.parse(""),
      defaultText: "none",
      expects: "hosts and CIDR blocks",
      parse: (text) => AllowList.parse(text),
    },
  ),
  fetchUrls: setting<boolean>(
    "fetch-urls",
    "true|false",
    "Let callers store pages by their URL, which the server then fetches; addresses as for webhooks",
    { ...switched(), defaultValue: () => true, defaultText: "true", isSwitch: false },
  ),
  webhookRetriesMs: setting<readonly number[]>(
    "webhook-retries",
    "SECONDS",
    "Waits before the retries of a webhook delivery, comma-separated",
    {
      defaultValue: () => [5_000, 300_000, 1_800_000],
      defaultText: "5,300,1800",
      expects: RETRIES_EXPECTED,
      parse: parseRetries,
    },
  ),
};
