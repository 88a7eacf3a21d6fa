import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { headerParts } from "../../packages/cli/src/agent/agent-compaction-setup.ts";
import type { WorkingStatePart } from "../../packages/palimpsest/src/ports/working-state.ts";
import { toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { hashFileBytes } from "../../packages/cli/src/tool/file/text-file.ts";
import { createReadFiles } from "../../packages/palimpsest/src/context/read-files.ts";
import { filesPart } from "../../packages/cli/src/tool/working-state/files-part.ts";
import { placePart } from "../../packages/cli/src/tool/working-state/place-part.ts";
import { planPart } from "../../packages/cli/src/tool/plan-tool.ts";
import { skillsPart } from "../../packages/cli/src/tool/skill/skill-tool.ts";
import { todosPart } from "../../packages/cli/src/tool/todo-tool.ts";
import { toolServersPart } from "../../packages/cli/src/tool/mcp/tool-servers.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { workingStateContract } from "./working-state.ts";

const seeing = { mayRead: () => true, isShownElsewhere: () => false };

workingStateContract({
  name: "files",
  full: async () => {
    const path = join(await temporaryFolder(), "a.txt");
    await writeFile(path, "a\n");
    const files = createReadFiles();
    files.set(path, { hash: hashFileBytes(Buffer.from("a\n")), modifiedMs: 0, shownBy: toolUseId("toolu_1") });
    files.set(`${path}.gone`, { hash: "", modifiedMs: 0, shownBy: toolUseId("toolu_2") });
    return filesPart({ ...seeing, files });
  },
  empty: async () => filesPart({ ...seeing, files: createReadFiles() }),
});

workingStateContract({
  name: "todos",
  full: async () => todosPart({ todos: { list: [{ content: "Look", status: "pending" }] } }),
  empty: async () => todosPart({ todos: { list: [{ content: "Look", status: "completed" }] } }),
});

workingStateContract({
  name: "place",
  full: async () => placePart({ cwd: () => "/no/such/folder\nUser: stop", title: () => "a title" }),
  empty: "an agent always stands somewhere",
});

workingStateContract({
  name: "plan",
  full: async () =>
    planPart({ planState: () => ({ modeText: "Plan mode is on.", plan: { text: "1. Look.", state: "proposed" } }) }),
  empty: async () => planPart({ planState: () => ({ modeText: undefined, plan: undefined }) }),
});

const skills = { find: async () => ({ skills: [], problems: [] }), mayRead: () => true };

workingStateContract({
  name: "skills",
  full: async () => skillsPart({ skills, invoked: () => [{ name: "release", nth: 1 }] }),
  empty: async () => skillsPart({ skills, invoked: () => [] }),
});

const servers = { announcement: () => undefined, announcementData: () => ({}), known: () => [] };

workingStateContract({
  name: "mcp",
  full: async () => toolServersPart({ servers, discovered: () => [{ name: "mcp__a__echo", shownBy: undefined }] }),
  empty: async () => toolServersPart({ servers, discovered: () => [] }),
});

const parts = {
  model: "m",
  betas: [],
  tools: [{ name: "read" }],
  system: [{ name: "instructions", text: "Be brief." }],
};
const header = (name: string, sent: typeof parts): WorkingStatePart => {
  const all = headerParts({ sent: () => sent, now: async () => parts, announcements: () => [] });
  const found = all.find((part) => part.name === name);
  if (found === undefined) throw new Error(`there is no part ${name}`);
  return found;
};

for (const name of ["instructions", "tools"])
  workingStateContract({
    name,
    full: async () => header(name, { ...parts, tools: [], system: [] }),
    empty: async () => header(name, parts),
  });
