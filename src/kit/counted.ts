// Writes a number with its noun in messages for people. Amounts of bytes and times are formatted by cli/terminal.ts.

/**
 * A number with its noun: `1 memory`, `2 memories`.
 * @param several the noun of other numbers than 1; by default with `s`
 */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
