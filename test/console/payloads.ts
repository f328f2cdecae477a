// Texts that would run, or load something, if a page took them for HTML, an address, a style or Markdown.

const CORES = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
  "<iframe src=javascript:alert(1)></iframe>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<object data=javascript:alert(1)></object>",
  "<embed src=https://example.invalid/x.swf>",
  "<a href=javascript:alert(1)>x</a>",
  "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
  "<form action=javascript:alert(1)><button>x</button></form>",
  "<details open ontoggle=alert(1)>x</details>",
  "<video src=https://example.invalid/x onerror=alert(1)></video>",
  "<body onload=alert(1)>",
  "<input autofocus onfocus=alert(1)>",
  "<link rel=stylesheet href=https://example.invalid/x.css>",
  "<style>@import url(https://example.invalid/x.css);</style>",
  "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
  "<base href=https://example.invalid/>",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
  "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
  "<template><img src=x onerror=alert(1)></template>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt&colon;alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "![x](https://example.invalid/x.png)",
  '![x"onerror="alert(1)](x)',
  '<https://example.invalid/"onmouseover="alert(1)>',
  "{{constructor.constructor('alert(1)')()}}",
];
const WRAPPERS: readonly ((core: string) => string)[] = [
  (core) => core,
  (core) => `">${core}`,
  (core) => `'>${core}`,
  (core) => `</textarea></title></style></script>${core}`,
];

/** 120 payloads. */
export const PAYLOADS: readonly string[] = WRAPPERS.flatMap((wrap) => CORES.map(wrap));
