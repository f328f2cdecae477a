// The reference page's style sheet. script.ts has its script.

/** The page's style sheet. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fafaf8; --ink: #1a1c1b; --soft: #5c605d; --line: #e4e4de; --tint: #f4f4f1; --accent: #0f6e84;
  --get: #0a5ea8; --post: #1a7040; --put: #8a5300; --delete: #b3261e; --mark: #fff3c4;
  --surface: #ffffff; --control: #94948c; --key: #0a5466; --text: #166b3a; --number: #8a4b00;
  --sans: "Mneme Sans", "SF Pro Text", "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0e1111; --ink: #eceeed; --soft: #9fa6a6; --line: #262c2d; --tint: #1c2121; --accent: #58bdd3;
    --get: #74b4f2; --post: #71c894; --put: #e0ad5a; --delete: #f28b82; --mark: #3d3516;
    --surface: #151919; --control: #5f696b; --key: #7fd0e2; --text: #6cc98f; --number: #e5a94f;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 .9375rem/1.6 var(--sans); -webkit-font-smoothing: antialiased; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; text-underline-offset: .18em; }
p a, td a { text-decoration: underline; text-decoration-thickness: 1px; text-underline-offset: .18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
code, pre { font-family: var(--mono); font-size: .875em; }
:not(pre) > code { overflow-wrap: break-word; }
p > code, dd > code, td > p > code { padding: .1em .35em; border-radius: 4px; background: var(--tint); }
p > code, p > a > code { display: inline-block; max-width: 100%; }
.fields code, .route code, td code, th code { overflow-wrap: anywhere; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--paper); z-index: 3; }

/* navigation */
.brand { display: flex; align-items: center; gap: .5rem; margin: 0; font-size: 1rem; font-weight: 700; letter-spacing: -.01em; }
.brand svg { color: var(--accent); }
.brand small { color: var(--soft); font-size: .8125rem; font-weight: 400; }
nav h2 { margin: 1.5rem 0 .25rem; color: var(--soft); font-size: .75rem; font-weight: 600; letter-spacing: .04em; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a {
  display: flex; align-items: baseline; gap: .5rem; padding: .2rem .5rem; margin-left: -.5rem; border-radius: 5px;
  color: inherit; font-size: .875rem; line-height: 1.45; text-decoration: none;
}
nav li a:hover { background: color-mix(in srgb, var(--ink) 7%, transparent); }
nav li a[aria-current] { background: color-mix(in srgb, var(--accent) 14%, transparent); color: var(--accent); }
nav .method { flex: 0 0 2.9rem; font-size: .6875rem; text-align: right; }
aside { display: none; }
.menu { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--line); }
.menu > summary { display: flex; justify-content: space-between; padding: .75rem 1.25rem; cursor: pointer; list-style: none; }
.menu > summary::-webkit-details-marker { display: none; }
.menu > summary span:last-child { color: var(--accent); font-size: .9375rem; }
.menu nav { max-height: 70vh; overflow: auto; padding: 0 1.25rem 1.25rem; }
.menu nav li a { padding-block: .4rem; }
main { padding: 1.5rem 1.25rem 4rem; }

/* text */
h1 { margin: .25rem 0 .25rem; font-size: 1.5rem; font-weight: 700; line-height: 1.25; letter-spacing: -.015em; }
.lead { max-width: 46rem; margin: 0 0 1rem; color: var(--soft); }
h2 { margin: 0 0 .5rem; font-size: 1.25rem; line-height: 1.3; letter-spacing: -.01em; }
h3 { margin: 0 0 .5rem; font-size: 1.1875rem; line-height: 1.3; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { margin: 1.75rem 0 .5rem; font-size: .875rem; font-weight: 600; }
p { margin: 0 0 .75rem; }
.guide, .group-head, .object { max-width: 52rem; }
.guide, .group { padding-top: 2.25rem; margin-top: 2.25rem; border-top: 1px solid var(--line); }
.group-head p { color: var(--soft); }
.operation { padding: 2rem 0; scroll-margin-top: 3.5rem; }
.operation + .operation { border-top: 1px solid var(--line); }
.route { display: flex; align-items: baseline; gap: .625rem; margin: 0 0 .75rem; }
.method { font: 650 .8125rem/1.4 var(--mono); }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); } .delete { color: var(--delete); }

/* facts and answers */
dl { margin: 0; }
dd { margin: 0; }
.facts { display: grid; gap: .25rem; margin-top: 1rem; font-size: .9375rem; }
.facts > div, .answers > div { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: .75rem; }
.facts dt { color: var(--soft); }
.answers { font-size: .9375rem; }
.answers > div { grid-template-columns: 2.75rem minmax(0, 1fr); padding: .3rem 0; }
.errors { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.errors > div { display: flex; align-items: baseline; gap: .5rem; }
.errors dd { display: flex; flex-wrap: wrap; gap: 0 .625rem; }
.errors a { color: inherit; text-decoration-color: var(--line); }
.errors a:hover { color: var(--accent); text-decoration-color: currentcolor; }
.answer-fields { margin-top: .25rem; }
.answer-fields > summary { color: var(--accent); cursor: pointer; }
.terms > div { display: grid; gap: 0 1.5rem; padding: .5rem 0; }
.terms dt { font-weight: 600; white-space: nowrap; }
.status { color: var(--soft); font: 600 .8125rem/1.4 var(--mono); }
.status.ok { color: var(--post); }

/* tables */
table { width: 100%; margin: 1.25rem 0; border-collapse: collapse; font-size: .9375rem; }
caption { padding-bottom: .375rem; font-size: .875rem; font-weight: 600; text-align: left; }
thead th { color: var(--soft); font-size: .75rem; font-weight: 500; }
th, td { padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
td p { margin: 0; }
.fields thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.fields caption { border-bottom: 1px solid var(--line); }
.fields th[scope="row"] { width: 42%; }
.within { color: var(--soft); }
.type { display: block; color: var(--soft); font-size: .8125rem; }
.mark { color: var(--soft); font-size: .75rem; white-space: nowrap; }
.required { color: var(--put); }
.bound { color: var(--soft); font-size: .875rem; }
.depth-1 { padding-left: 1rem; } .depth-2 { padding-left: 2rem; } .depth-3, .depth-4 { padding-left: 3rem; }
tr:target { background: var(--mark); }

/* code */
.panel { position: relative; margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--tint); }
.panel .key { color: var(--key); } .panel .text { color: var(--text); } .panel .number { color: var(--number); } .panel .comment { color: var(--soft); }
.panel figcaption, .panel > summary { padding: .5rem .875rem; color: var(--soft); font-size: .8125rem; }
.panel > summary { cursor: pointer; }
.panel pre { --edge: color-mix(in srgb, var(--ink) 7%, transparent); max-height: 30rem; margin: 0; padding: .125rem .875rem .875rem; overflow: auto; line-height: 1.6; font-size: .875rem; tab-size: 2;
  /* a shadow at the edge beyond which there is more */
  background:
    linear-gradient(to right, var(--tint) 30%, transparent) 0 0 / 2.5rem 100% local,
    linear-gradient(to left, var(--tint) 30%, transparent) 100% 0 / 2.5rem 100% local,
    linear-gradient(to right, var(--edge), transparent) 0 0 / .75rem 100%,
    linear-gradient(to left, var(--edge), transparent) 100% 0 / .75rem 100%;
  background-repeat: no-repeat;
}
.panel button {
  position: absolute; top: .3rem; right: .4rem; padding: .2rem .5rem; border: 0; border-radius: 5px;
  background: transparent; color: var(--accent); font: inherit; font-size: .8125rem; cursor: pointer;
}
.panel button:hover { background: color-mix(in srgb, var(--accent) 12%, transparent); }
.panel .tools { position: absolute; top: .3rem; right: .4rem; display: flex; gap: .25rem; }
.panel .tools button { position: static; }
.find { width: 100%; margin: 1rem 0 0; padding: .4rem .75rem; border: 1px solid var(--control); border-radius: 8px; background: var(--surface); color: inherit; font: inherit; font-size: .875rem; }
.find::placeholder, .try ::placeholder { color: var(--soft); opacity: 1; }
.home { display: flex; gap: 1rem; margin: .5rem 0 0; font-size: .875rem; }
.home a { text-decoration: none; }
.try { display: grid; gap: .5rem; padding: 0 .875rem .875rem; }
.try label { display: grid; gap: .125rem; color: var(--soft); font-size: .8125rem; }
.try input, .try textarea { width: 100%; padding: .375rem .5rem; border: 1px solid var(--control); border-radius: 8px; background: var(--surface); color: var(--ink); font: .8125rem/1.5 var(--mono); }
.panel .try button { position: static; justify-self: start; padding: .3rem .875rem; background: var(--accent); color: var(--paper); }
.panel .try button:hover { background: var(--ink); }
.no-body { color: var(--soft); font-size: .875rem; }
.shown { margin-top: 1.5rem; }

@media (max-width: 45.99rem) {
  /* the indentation shows the nesting */
  .within { display: none; }
  .fields th[scope="row"] { width: 48%; }
}
@media (min-width: 46rem) {
  .terms > div { grid-template-columns: 9rem minmax(0, 1fr); }
}
@media (min-width: 62rem) {
  body { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
  .menu, .narrow { display: none; }
  aside {
    display: block; position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1.25rem 2rem 1.75rem;
    border-right: 1px solid var(--line); background: var(--surface); scrollbar-width: thin;
  }
  main { padding: 2rem 3rem 6rem; }
  .operation { scroll-margin-top: 0; }
}
@media (min-width: 80rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 29rem); gap: 3rem; max-width: 82rem; }
  .shown { position: sticky; top: 1.5rem; align-self: start; margin-top: 0; }
}
@media print {
  aside, .menu, .panel button { display: none; }
  body { display: block; }
}
`;
