// All views as one file for the browser, which is loaded right after the shell. With one file per view there would be
// dozens of small ones, because views share most of their code.

export { default as Ask } from "./ask/ask.tsx";
export { default as Cases } from "./cases/cases.tsx";
export { default as Connect } from "./connect/connect.tsx";
export { default as Graph } from "./graph/graph.tsx";
export { default as Home } from "./home/home.tsx";
export { default as Keys } from "./keys/keys.tsx";
export { default as MemoryMap } from "./map/map.tsx";
export { default as Memories } from "./memories/memories.tsx";
export { default as Models } from "./models/models.tsx";
export { default as Playground } from "./playground/playground.tsx";
export { default as Projects } from "./projects/projects.tsx";
export { default as Settings } from "./settings/settings.tsx";
export { default as System } from "./system/system.tsx";
export { default as Users } from "./users/users.tsx";
export { default as Webhooks } from "./webhooks/webhooks.tsx";
