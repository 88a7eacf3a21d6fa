import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { openWorkspace } from "../../../packages/cli/src/host/workspace.ts";
import type { Memories } from "../../../packages/palimpsest/src/ports/memories.ts";
import type { Block, Message } from "../../../packages/palimpsest/src/schema/block.ts";
import type { JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import type { AgentWorld, SeenRequest } from "./whole-agent.ts";

export const model = "claude-sonnet-5-5";

/** The project's memories, as another process sees them. */
export async function memoriesOf({ env, work }: Pick<AgentWorld, "env" | "work">): Promise<Memories> {
  const project = await openWorkspace({ env, cwd: work }).project();
  if (project.kind !== "located" || project.deps.memories === undefined) throw new Error("there are no memories");
  return project.deps.memories;
}

export const memoryCall = (input: JsonObject): MoveBlock => ({ type: "tool_use", name: "memory", input });

export const saves = (path: string, text: string): MoveBlock =>
  memoryCall({ command: "create", path: `/memories/${path}`, file_text: text });

export const memoryText = (description: string, body: string): string =>
  `---\nname: ${description.split(" ").slice(0, 3).join(" ")}\ndescription: ${description}\ntype: feedback\n---\n\n${body}\n`;

interface SentBody {
  readonly system: readonly { readonly text: string }[];
  readonly messages: readonly Message[];
}

const bodyOf = ({ body }: SeenRequest): SentBody => body as unknown as SentBody;

export const systemOf = (request: SeenRequest): string =>
  bodyOf(request)
    .system.map(({ text }) => text)
    .join("\n");

/** What stands in a user message besides results: the user's words and reminders. */
export const userTextsOf = (request: SeenRequest): readonly string[] =>
  blocksIn(request, "user").flatMap((block) => (block.type === "text" ? [block.text] : []));

export const resultsOf = (request: SeenRequest): readonly string[] =>
  blocksIn(request, "user").flatMap((block) => (block.type === "tool_result" ? [JSON.stringify(block.content)] : []));

const blocksIn = (request: SeenRequest, role: Message["role"]): readonly Block[] =>
  bodyOf(request).messages.flatMap((message) => (message.role === role ? message.content : []));

/** Every file below a folder with its text, by path. */
export async function filesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = new Map<string, string>();
  for (const name of names) {
    const path = join(folder, name);
    if ((await stat(path)).isFile()) files.set(name, await readFile(path, "utf8"));
  }
  return files;
}
