import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { AskedImport, ImportAnswer } from "palimpsest/internal/memory/load-instruction-file";
import { beforeEach, describe, expect, it } from "vitest";
import { pendingImports } from "../../packages/cli/src/agent/instructions/pending-imports.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import type { ImportDecision } from "../../packages/cli/src/tui/dialog/import-dialog.ts";
import { called } from "./support/called.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const outside = (name: string): string => join(homedir(), "notes", name);

beforeEach(async () => {
  await mkdir(join(homedir(), "notes"), { recursive: true });
  await writeFile(outside("style.md"), "My own style. @more.md\n");
  await writeFile(outside("more.md"), "More of it.\n");
});

/** A project whose instructions include a file of the user, which includes another. */
async function project(): Promise<AgentWorld> {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  await writeFile(join(world.work, "CLAUDE.md"), "Its own words. @~/notes/style.md\n");
  return world;
}

/** What each of the user's answers is; the last one counts for all that follow. */
async function chatWith(world: AgentWorld, decisions: readonly ImportDecision[]) {
  const { env, work: cwd } = world;
  const workspace = openWorkspace({ env, cwd });
  const importAnswers = new Map<string, ImportAnswer>();
  const asked: (readonly AskedImport[])[] = [];
  const chat = await openChat(world, {
    agent: { importAnswers },
    deps: {
      imports: {
        pending: () => pendingImports({ workspace, env, cwd, root: cwd, importAnswers }),
        answer: (realPath, answer) => void importAnswers.set(realPath, answer),
        decide: (as, realPaths) => workspace.decideImports(as, realPaths),
      },
    },
    front: {
      imports: (imports) => {
        asked.push(imports);
        const decision = decisions[asked.length - 1] ?? decisions.at(-1) ?? "leave-out";
        return Promise.resolve(imports.map(() => decision));
      },
    },
  });
  chat.chat.submit("Go.");
  await chat.chat.rest();
  const system = JSON.stringify(world.seen.at(-1)?.body["system"]);
  const told = itemsOf(chat.front.state).join("\n");
  await chat.left();
  return {
    asked: asked.map((imports) => imports.map(({ realPath }) => realPath)),
    sees: ["Its own words.", "My own style.", "More of it."].filter((text) => system.includes(text)),
    told,
  };
}

const ownSettings = async (world: AgentWorld): Promise<unknown> =>
  JSON.parse(await readFile(join(world.home, "settings.json"), "utf8").catch(() => "{}"));

describe("a file outside of the project that its instructions include", () => {
  it.each<[readonly ImportDecision[], readonly string[], number]>([
    [["leave-out"], [], 1],
    [["once"], ["My own style.", "More of it."], 2],
    [["once", "leave-out"], ["My own style."], 2],
  ])("answered %j for this chat only", async (decisions, included, questions) => {
    const world = await project();
    const first = await chatWith(world, decisions);
    expect(first.sees).toEqual(["Its own words.", ...included]);
    expect(first.asked).toEqual([[outside("style.md")], [outside("more.md")]].slice(0, questions));
    expect(await ownSettings(world)).toEqual({});
    expect((await chatWith(world, ["leave-out"])).asked).toEqual([[outside("style.md")]]);
  });

  it("always: it is remembered for this project, and for no other", async () => {
    const world = await project();
    expect((await chatWith(world, ["always"])).sees).toHaveLength(3);
    const allowedImports = [outside("style.md"), outside("more.md")];
    expect(await ownSettings(world)).toEqual({ projects: { [world.work]: { allowedImports } } });
    const second = await chatWith(world, ["never"]);
    expect([second.asked, second.sees.length]).toEqual([[], 3]);
    const other = await project();
    await mkdir(other.home, { recursive: true });
    await writeFile(join(other.home, "settings.json"), await readFile(join(world.home, "settings.json"), "utf8"));
    expect((await chatWith(other, ["leave-out"])).asked).toEqual([[outside("style.md")]]);
  });

  it("never: it is left out, not asked about again, and one line says so", async () => {
    const world = await project();
    const { told, sees } = await chatWith(world, ["never"]);
    expect(sees).toEqual(["Its own words."]);
    expect(told).toContain("style.md: left out, and not asked about again");
    expect(await ownSettings(world)).toEqual({ projects: { [world.work]: { refusedImports: [outside("style.md")] } } });
    expect((await chatWith(world, ["always"])).asked).toEqual([]);
  });

  it("without the user: it is left out and told, unless it was allowed before", async () => {
    const world = await project();
    const options = ["--model", "simulator", "--output-format", "json"];
    const run = async () => await called({ home: world.home, cwd: world.work }, "-p", "Go", ...options);
    expect((await run()).err).toMatch(
      /style\.md lies outside of the project \(imported by .*CLAUDE\.md\) and was left out; to include it/,
    );
    await mkdir(world.home, { recursive: true });
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ allowedImports: ["~/notes/style.md"] }));
    const { err } = await run();
    expect(err).not.toContain("style.md lies outside");
    expect(err).toContain("more.md lies outside");
  });
});
