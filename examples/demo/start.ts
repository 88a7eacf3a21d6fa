import { argv } from "node:process";

/** What `npm start -- <scenario>` shows. */
const scenarios: Readonly<Record<string, () => Promise<unknown>>> = {
  session: () => import("./demo.ts"),
  team: () => import("./team-demo.ts"),
};

const [name = "session"] = argv.slice(2);
const play = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined;
if (play === undefined) {
  console.error(`There is no scenario ${name}. There are: ${Object.keys(scenarios).join(", ")}.`);
  process.exitCode = 2;
} else await play();
