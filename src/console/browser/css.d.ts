// Types for imports that the bundler handles: styles, and texts as strings.

declare module "*.css";
declare module "*.txt" {
  const text: string;
  export default text;
}
