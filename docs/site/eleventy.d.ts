// Types of what build.ts calls of Eleventy, which ships without types.

declare module "@11ty/eleventy" {
  /** Settings that are changed while the generator starts. */
  export interface EleventyConfig {
    addTemplate(path: string, content: string, data: Readonly<Record<string, unknown>>): void;
    amendLibrary(name: "md", amend: (markdown: MarkdownIt) => void): void;
  }
  /** The part of markdown-it that render.ts changes. */
  export interface MarkdownIt {
    readonly core: {
      readonly ruler: { push(name: string, rule: (state: MarkdownState) => void): void };
    };
  }
  /** A page while it is rendered. `env` has the data of its template. */
  export interface MarkdownState {
    readonly tokens: MarkdownToken[];
    readonly env: { readonly page: { readonly url: string } };
  }
  /** A piece of a page. */
  export interface MarkdownToken {
    readonly type: string;
    readonly tag: string;
    content: string;
    attrs: [name: string, value: string][] | null;
    readonly children: MarkdownToken[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
  }
  /** The generator. */
  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: {
        readonly quietMode: boolean;
        readonly configPath: null;
        readonly config: (config: EleventyConfig) => void;
      },
    );
    /** Renders all pages, and writes none. */
    toJSON(): Promise<readonly { readonly url: string; readonly content: string }[]>;
  }
}
