// Files of data/judged that are imported as texts.

declare module "*.tsv" {
  const text: string;
  export default text;
}
declare module "*.jsonl" {
  const text: string;
  export default text;
}
