// The views of the console in the order of the navigation: names in addresses, titles, icons, and which keys may open
// them. Each is loaded when it is first opened.

import type { ComponentType } from "preact";
import { mayAsk, type Rights } from "../core/session.ts";
import type { Icon } from "../ui/button.tsx";
import {
  Activity,
  Boxes,
  Brain,
  Cable,
  FlaskConical,
  FolderKanban,
  House,
  KeyRound,
  ListChecks,
  MapIcon,
  MessageSquare,
  Network,
  Settings,
  Users,
  Webhook,
} from "../ui/icons.ts";
import { lazily } from "../ui/lazy.tsx";

/** A view of the console. */
export interface View {
  readonly name: string;
  readonly title: string;
  readonly icon: Icon;
  readonly group: "" | "Data" | "Developers" | "Operation";
  readonly isAllowed: (rights: Rights) => boolean;
  /** `path` has the parts of the address after the view's name. */
  readonly component: ComponentType<{ path: readonly string[] }>;
}

function view(name: keyof typeof import("../views/all.ts")): View["component"] {
  return lazily(async () => ({ default: (await import("../views/all.ts"))[name] }));
}

/** All views. After signing in, the first one that the key may open is shown. */
export const VIEWS: readonly View[] = [
  {
    name: "home",
    title: "Home",
    icon: House,
    group: "",
    isAllowed: () => true,
    component: view("Home"),
  },
  {
    name: "playground",
    title: "Playground",
    icon: FlaskConical,
    group: "",
    isAllowed: ({ memoriesRead }) => memoriesRead,
    component: view("Playground"),
  },
  {
    name: "cases",
    title: "Cases",
    icon: ListChecks,
    group: "",
    isAllowed: ({ project, isConfined }) => project && !isConfined,
    component: view("Cases"),
  },
  {
    name: "ask",
    title: "Ask",
    icon: MessageSquare,
    group: "",
    isAllowed: mayAsk,
    component: view("Ask"),
  },
  {
    name: "memories",
    title: "Memories",
    icon: Brain,
    group: "Data",
    isAllowed: ({ memoriesRead }) => memoriesRead,
    component: view("Memories"),
  },
  {
    name: "map",
    title: "Map",
    icon: MapIcon,
    group: "Data",
    isAllowed: ({ memoriesRead }) => memoriesRead,
    component: view("MemoryMap"),
  },
  {
    name: "graph",
    title: "Graph",
    icon: Network,
    group: "Data",
    isAllowed: ({ memoriesRead }) => memoriesRead,
    component: view("Graph"),
  },
  {
    name: "users",
    title: "Users",
    icon: Users,
    group: "Data",
    isAllowed: ({ usersRead }) => usersRead,
    component: view("Users"),
  },
  {
    name: "connect",
    title: "Connect",
    icon: Cable,
    group: "Developers",
    isAllowed: () => true,
    component: view("Connect"),
  },
  {
    name: "keys",
    title: "API keys",
    icon: KeyRound,
    group: "Developers",
    isAllowed: ({ keys }) => keys,
    component: view("Keys"),
  },
  {
    name: "webhooks",
    title: "Webhooks",
    icon: Webhook,
    group: "Developers",
    isAllowed: ({ webhooks }) => webhooks,
    component: view("Webhooks"),
  },
  {
    name: "projects",
    title: "Projects",
    icon: FolderKanban,
    group: "Operation",
    isAllowed: ({ admin }) => admin,
    component: view("Projects"),
  },
  {
    name: "models",
    title: "Models",
    icon: Boxes,
    group: "Operation",
    isAllowed: ({ admin }) => admin,
    component: view("Models"),
  },
  {
    name: "settings",
    title: "Settings",
    icon: Settings,
    group: "Operation",
    isAllowed: ({ project }) => project,
    component: view("Settings"),
  },
  {
    name: "system",
    title: "System",
    icon: Activity,
    group: "Operation",
    isAllowed: () => true,
    component: view("System"),
  },
];
