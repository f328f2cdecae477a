// Styles are bundled beside the script.

declare module "*.css";
declare module "*.txt" {
  const text: string;
  export default text;
}
