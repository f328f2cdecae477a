// The settings as help texts: for `mneme help` and for docs/configuration.md.

import { CONFIG_FILE, CONFIG_FLAG, SETTINGS } from "../config.ts";

/** Help for the settings, as `[flag or variable, description with the default]`. */
export function settingsHelp(): readonly (readonly [string, string])[] {
  const own = Object.values(SETTINGS).map((setting): [string, string] => [
    `${setting.flag ?? setting.environment}${setting.isSwitch ? "" : ` ${setting.placeholder}`}`,
    `${setting.description.replaceAll("`", "")} (default: ${setting.defaultText})`,
  ]);
  return [
    ...own,
    [`${CONFIG_FLAG} FILE`, `Settings file (default: ${CONFIG_FILE} in the working directory, if it exists)`],
  ];
}

/** The settings as a Markdown table for docs/configuration.md, which test/cli/config.test.ts checks and updates. */
export function settingsMarkdown(): string {
  const rows = Object.values(SETTINGS).map(
    ({ flag, environment, tomlKey, placeholder, expects, defaultText, description }) =>
      [
        `| \`${environment}\``,
        flag === null ? "–" : `\`${flag}\``,
        `\`${tomlKey}\``,
        `\`${placeholder.replaceAll("|", "\\|")}\`: ${expects}`,
        defaultText,
        `${description} |`,
      ].join(" | "),
  );
  const head = ["| Environment | Flag | mneme.toml | Value | Default | Meaning |", "|---|---|---|---|---|---|"];
  return [...head, ...rows].join("\n");
}
