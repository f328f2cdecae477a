// The reference page's script: copy buttons, colours of code, the server's address in examples, a search in the table
// of contents, a mark on the current section there, and sending a request, by default with the key of the console.

/** The server's address in examples. The script replaces it by the address under which the page was loaded. */
export const EXAMPLE_ADDRESS = "https://mneme.example";

/** The page's script; the page is complete without it. */
export const SCRIPT = `
const EXAMPLE = "${EXAMPLE_ADDRESS}";
function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

// The page's address without "/docs" replaces the one in examples. It keeps a path under which a proxy serves the page.
const address = location.href.split(/[?#]/)[0].replace(/\\/docs$/, "");
for (const code of document.querySelectorAll("pre code")) {
  if (code.textContent.includes(EXAMPLE)) code.textContent = code.textContent.replaceAll(EXAMPLE, address);
}

// Colours of code: comments, strings (those before a colon are keys), numbers and constants.
const TOKEN = /(#[^\\n]*|\\/\\/[^\\n]*)|("(?:[^"\\\\\\n]|\\\\.)*")(\\s*:)?|\\b(-?\\d[\\d.]*|true|false|null)\\b/g;
function tint(code) {
  const text = code.textContent;
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, comment, string, colon, number] = match;
    // "#" and "//" inside of a word, such as an address, begin no comment
    if (comment && /\\S/.test(text[match.index - 1] ?? " ")) continue;
    const token = string ?? whole;
    const className = comment ? "comment" : string ? (colon ? "key" : "text") : "number";
    pieces.push(text.slice(from, match.index), element("span", { className, textContent: token }));
    from = match.index + token.length;
  }
  if (pieces.length > 0) code.replaceChildren(...pieces, text.slice(from));
}
const tinter = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    tinter.unobserve(target);
    tint(target);
  }
}, { rootMargin: "400px" });
for (const code of document.querySelectorAll("pre code")) tinter.observe(code);

for (const nav of document.querySelectorAll("nav")) {
  const find = element("input", { type: "search", className: "find", placeholder: "Search", ariaLabel: "Search the contents" });
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\\s+/);
    for (const item of nav.querySelectorAll("li")) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
    for (const list of nav.querySelectorAll("ul")) {
      const isEmpty = [...list.children].every((item) => item.hidden);
      list.hidden = isEmpty;
      if (list.previousElementSibling?.tagName === "H2") list.previousElementSibling.hidden = isEmpty;
    }
  });
  nav.prepend(find);
}

// The key with which this tab is signed in to the console; empty without one.
function consoleKey() {
  try {
    return JSON.parse(sessionStorage.getItem("mneme.keys") ?? "[]")[0]?.key ?? "";
  } catch {
    return "";
  }
}

function field(label, input) {
  const around = element("label", { textContent: label });
  around.append(input);
  return around;
}

function tryButton(panel, { method, path, body }) {
  const button = element("button", { type: "button", textContent: "Try it" });
  button.addEventListener("click", () => {
    const form = element("form", { className: "try" });
    const key = element("input", { type: "password", value: consoleKey(), placeholder: "ctx_…", autocomplete: "off" });
    const target = element("input", { value: path });
    const text = body === null ? null : element("textarea", { rows: 8, value: body });
    const send = element("button", { textContent: "Send " + method });
    const answer = element("pre", { hidden: true, tabIndex: 0, ariaLabel: "Answer" });
    form.append(field("Key", key), field("Path", target));
    if (text !== null) form.append(field("Body", text));
    form.append(send, answer);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      send.disabled = true;
      answer.hidden = false;
      try {
        const response = await fetch(address + target.value, {
          method,
          headers: { authorization: "Bearer " + key.value.trim(), ...(text !== null && { "content-type": "application/json" }) },
          ...(text !== null && { body: text.value }),
        });
        const got = await response.text();
        const isJson = response.headers.get("content-type")?.startsWith("application/json");
        answer.textContent = response.status + " " + response.statusText + "\\n" + (isJson ? JSON.stringify(JSON.parse(got), null, 2) : got);
      } catch (error) {
        answer.textContent = "The server cannot be reached: " + error.message;
      } finally {
        send.disabled = false;
      }
    });
    panel.append(form);
    button.remove();
    (key.value === "" ? key : target).focus();
  });
  return button;
}

for (const panel of document.querySelectorAll("figure.panel")) {
  const button = document.createElement("button");
  const text = panel.querySelector("pre");
  const tools = element("div", { className: "tools" });
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(text);
    // Pages without https have no clipboard API.
    if (navigator.clipboard) await navigator.clipboard.writeText(text.textContent);
    else document.execCommand("copy");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  tools.append(button);
  panel.append(tools);
  if (panel.dataset.try) tools.prepend(tryButton(panel, JSON.parse(panel.dataset.try)));
}
const links = new Map();
for (const link of document.querySelectorAll("nav a")) {
  const id = link.hash.slice(1);
  links.set(id, [...(links.get(id) ?? []), link]);
  link.addEventListener("click", () => link.closest("details")?.removeAttribute("open"));
}
let current = [];
const watcher = new IntersectionObserver((entries) => {
  const seen = entries.find((entry) => entry.isIntersecting);
  if (seen === undefined) return;
  for (const link of current) link.removeAttribute("aria-current");
  current = links.get(seen.target.id) ?? [];
  for (const link of current) {
    link.setAttribute("aria-current", "true");
    const box = link.closest("aside");
    if (box === null) continue;
    const at = link.offsetTop - box.scrollTop;
    if (at < 60 || at > box.clientHeight - 60) box.scrollTop = link.offsetTop - box.clientHeight / 2;
  }
}, { rootMargin: "-10% 0px -80% 0px" });
for (const id of links.keys()) {
  const section = document.getElementById(id);
  if (section !== null) watcher.observe(section);
}
`;
