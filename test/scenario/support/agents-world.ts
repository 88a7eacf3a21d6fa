import type { JsonObject } from "../../../packages/palimpsest/src/schema/json.ts";
import type { MessagesRequest } from "../../../packages/palimpsest/src/schema/wire/messages-request.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentOptions } from "../../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../../packages/cli/src/agent/open-agent.ts";
import { asksForSummary, summaryTake } from "./summary-answers.ts";
import type { AgentWorld, SeenRequest } from "./whole-agent.ts";

/** The text of all user blocks behind the newest reply, tool results included. */
export function newestInput({ messages }: MessagesRequest): string {
  const from = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  return messages
    .slice(from)
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
    .join("\n");
}

type Play = (input: string, request: MessagesRequest) => readonly MoveBlock[] | undefined;

/** Asks each play in turn what to answer to the newest input. If none knows, it says "done". */
export const answering = (...plays: readonly Play[]): Responder => ({
  name: "answering",
  respond: ({ request }) => {
    const input = newestInput(request);
    for (const play of plays) {
      const blocks = play(input, request);
      if (blocks !== undefined) return { move: { kind: "say", blocks } };
    }
    return { move: { kind: "say", blocks: [{ type: "text", text: "done" }] } };
  },
});

export const when =
  (word: string, ...blocks: readonly MoveBlock[]): Play =>
  (input) =>
    input.includes(word) ? blocks : undefined;

export const callAgent = (input: JsonObject): MoveBlock => ({ type: "tool_use", name: "agent", input });
export const say = (text: string): MoveBlock => ({ type: "text", text });
export const call = (name: string, input: JsonObject): MoveBlock => ({ type: "tool_use", name, input });

/** Requests whose newest input has this word. */
export const requestsWith = (seen: readonly SeenRequest[], word: string): readonly SeenRequest[] =>
  seen.filter(({ body }) => newestInput(body as unknown as MessagesRequest).includes(word));

/** Opened with other permissions than a world's usual ones. Closed by the caller. */
export async function openWith(
  { env, work: cwd }: AgentWorld,
  options: Pick<AgentOptions, "tools"> & Partial<AgentOptions>,
): Promise<Agent> {
  const opened = await openAgent({
    env,
    cwd,
    version: "0.0.0",
    flags: [{ flag: "model", text: "claude-sonnet-5-5" }],
    session: { kind: "new" },
    model: { kind: "provider" },
    ...options,
  });
  if (opened.kind !== "agent") throw new Error(JSON.stringify(opened));
  return opened;
}

/** A definition of the user's own: it counts in every project. */
export const defineType = (world: AgentWorld, name: string, fields: string): Promise<void> =>
  writeIn(world.home, `agents/${name}.md`, definitionText(name, fields));

export const definitionText = (name: string, fields: string): string =>
  `---\nname: ${name}\ndescription: For tests.\n${fields}\n---\nDo what you are told.\n`;

export async function writeIn(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Makes the project a repository with everything in it committed. */
export function commitAll({ work }: AgentWorld): void {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: work });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "one", "--allow-empty");
}

/** The names of the tools that a request offers. */
export const toolsOf = ({ body }: SeenRequest): readonly string[] =>
  (body as unknown as MessagesRequest).tools?.flatMap((tool) => ("name" in tool ? [String(tool.name)] : [])) ?? [];

/** What all requests have shown, as JSON. */
export const allSent = (seen: readonly SeenRequest[]): string =>
  seen.map(({ body }) => JSON.stringify(body)).join("\n");

/** Requests for a summary get a good one. */
export const withSummaries = (responder: Responder, asked: MessagesRequest[] = []): Responder => ({
  name: responder.name,
  respond: (input) => {
    if (!asksForSummary(input.request)) return responder.respond(input);
    asked.push(input.request);
    return summaryTake("good", input);
  },
});

/** Every file below a folder whose bytes hold these words. */
export async function filesWith(folder: string, words: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const texts = await Promise.all(paths.map((path) => readFile(path, "latin1")));
  return paths.filter((_, at) => texts[at]?.includes(words) === true);
}
