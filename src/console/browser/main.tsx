// Entry point of the page: sets the language, starts polling the server, and renders the app.

import "./styles/index.css";
import { render } from "preact";
import { startLanguage } from "./core/i18n.ts";
import { watchServer } from "./core/server.ts";
import { App } from "./shell/app.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("The page has no #app.");
void watchServer();
await startLanguage();
render(<App />, root);
