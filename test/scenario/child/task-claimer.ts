import { randomUUID } from "node:crypto";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import { millis } from "palimpsest/internal/schema/brand";
import { fileTaskLists } from "palimpsest/internal/store/files/file-task-lists";

/** Claims every task of the team `docs` that it can get: `node task-claimer.ts <folder> <name> <start>`. Prints those it got. */
const [, , folder = "", name = "", start = "0"] = process.argv;
const deps = { now: () => millis(Date.now()), uuid: randomUUID };
const list = fileTaskLists({ deps, folder, durability: "never" }).open("docs");
await new Promise((resolve) => setTimeout(resolve, Number(start) - Date.now()));
for (const { id } of await list.list())
  if ((await list.claim(id, teammateAddress(name, "docs"))).kind === "changed") process.stdout.write(`${id}\n`);
