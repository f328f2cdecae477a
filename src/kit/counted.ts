/**
 * A number with its noun: `1 memory`, `2 memories`.
 * @param several the noun of other numbers than 1; by default with `s`
 */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}
