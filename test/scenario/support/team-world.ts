import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { signalProcess } from "../../../packages/cli/src/tool/signal-group.ts";
import { TeamStore } from "../../../packages/cli/src/team/team-store.ts";
import type { TeamTask } from "../../../packages/palimpsest/src/ports/task-list.ts";
import { millis } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { TeamMember } from "../../../packages/palimpsest/src/schema/team.ts";
import { fileTaskLists } from "../../../packages/palimpsest/src/store/files/file-task-lists.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { callingEnvironment } from "./command-line.ts";
import { served } from "./simulated.ts";

/** What an agent of a team says next. `last`: the text of the newest message, or of the newest results. */
export type TeamPlay = (input: { readonly who: string; readonly last: string; readonly all: string }) => {
  readonly blocks: readonly MoveBlock[];
  readonly delayMs?: number;
};

export interface TeamWorld {
  readonly home: string;
  readonly work: string;
  readonly env: Readonly<Record<string, string>>;
  /** A chat that leads the team, as a process. */
  readonly lead: () => Leader;
  readonly member: (name: string) => Promise<TeamMember | undefined>;
  readonly tasks: () => Promise<readonly TeamTask[]>;
  /** The lines of a session's log. */
  readonly log: (session: string) => Promise<readonly Record<string, unknown>[]>;
}

export interface Leader {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly say: (text: string) => void;
}

const launcher = resolve(import.meta.dirname, "../../../bin/palimpsest");

/** A home, a project with a few files, and a simulator that plays all members of the team `docs`. */
export async function teamWorld(play: TeamPlay): Promise<TeamWorld> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "team-")));
  const [home, work] = [join(base, "home"), join(base, "work")];
  await mkdir(work);
  for (const name of ["a.ts", "b.ts", "c.ts"]) await writeFile(join(work, name), `export const ${name[0]} = 1;\n`);
  const { url } = await served({ responder: responderFor(play) });
  const env = {
    ANTHROPIC_API_KEY: "any",
    ANTHROPIC_BASE_URL: url,
    PALIMPSEST_FLAG_EXTRACTION: "0",
    PALIMPSEST_FLAG_DREAM: "0",
  };
  const store = new TeamStore(home);
  const deps = { now: () => millis(Date.now()), uuid: () => crypto.randomUUID() };
  const member = async (name: string) => (await store.read("docs"))?.members.find((one) => one.name === name);
  onTestFinished(async () => {
    for (const { process: own } of (await store.read("docs"))?.members ?? [])
      if (own !== undefined) signalProcess(own.pid, "SIGKILL");
  });
  return {
    home,
    work,
    env,
    lead: () => startLeader({ home, cwd: work, env }),
    member,
    tasks: () =>
      fileTaskLists({ deps, folder: join(home, "mail"), durability: "never" })
        .open("docs")
        .list(),
    log: async (session) => {
      const [slug = ""] = await readdir(join(home, "projects"));
      const text = await readFile(join(home, "projects", slug, `${session}.jsonl`), "utf8");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

function startLeader(calling: { home: string; cwd: string; env: Readonly<Record<string, string>> }): Leader {
  const child = spawn(process.execPath, [launcher, "--no-tui", "--team", "docs"], callingEnvironment(calling));
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, output: () => output, say: (text) => void child.stdin.write(`${text}\n`) };
}

const responderFor = (play: TeamPlay): Responder => ({
  name: "team",
  respond: async ({ request }) => {
    const all = JSON.stringify(request);
    const who = /You are (\w+)@docs, a teammate/.exec(all)?.[1] ?? "leader";
    const { blocks, delayMs } = play({ who, all, last: lastText(request.messages) });
    // Not the simulator's own delay: its clock is not the machine's.
    if (delayMs !== undefined) await wait(delayMs, undefined, { ref: false });
    return { move: { kind: "say", blocks } };
  },
});

/** Everything since the last reply. */
function lastText(messages: readonly { readonly role: string; readonly content: unknown }[]): string {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return messages
    .slice(last + 1)
    .map(({ content }) => (typeof content === "string" ? content : textOf(content)))
    .join("\n");
}

const textOf = (content: unknown): string =>
  (Array.isArray(content) ? content : [])
    .map((block: { text?: string; content?: unknown }) =>
      typeof block.content === "string" ? block.content : (block.text ?? textOf(block.content)),
    )
    .join("\n");

export const call = (name: string, input: Record<string, string>): MoveBlock => ({ type: "tool_use", name, input });
export const say = (text: string): MoveBlock => ({ type: "text", text });

/** Waits for something that happens in another process. */
export async function until<Value>(
  look: () => Value | Promise<Value>,
  /** What is shown if it does not happen. */
  shown: () => string,
): Promise<NonNullable<Value>> {
  const end = Date.now() + 25_000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    if (Date.now() > end) expect.fail(`it did not happen:\n${shown()}`);
    await wait(25);
  }
}
