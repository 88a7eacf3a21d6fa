import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { testAgent } from "../../../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import type { ForkTask } from "../ports/fork.ts";
import type { ToolAction, Tool, PermissionVerdict } from "../ports/tool.ts";
import { entryId } from "../schema/brand.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { editTool } from "@palimpsest/cli/internal/tool/file/edit-tool";
import { hashFileBytes } from "@palimpsest/cli/internal/tool/file/text-file";
import { createReadFiles } from "../context/read-files.ts";
import { ConversationForks } from "./conversation-forks.ts";

const allowed = () => Promise.resolve({ kind: "allowed" } as const);
const signal = new AbortController().signal;

interface ForkingOptions {
  readonly verdict?: PermissionVerdict;
  readonly tool?: Tool;
}

/** A fork whose parent would ask the user about every write, with a file of the engine's own and one of the user's, both read. */
async function forking(
  replies: (files: { own: string; theirs: string }) => readonly (readonly MoveBlock[])[],
  { verdict = { kind: "ask", reason: "outside the project" }, tool = editTool() }: ForkingOptions = {},
) {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "engine"));
  const [own, theirs] = [join(folder, "engine", "own.md"), join(folder, "theirs.md")];
  const read = { hash: hashFileBytes(new TextEncoder().encode("old")), modifiedMs: 0, shownBy: entryId("e") };
  for (const path of [own, theirs]) await writeFile(path, "old");
  const files = createReadFiles();
  files.set(theirs, read);
  const deps = testDeps();
  const session = await openedForTest(deps);
  const simulator = new Simulator({ responder: playing(says("Hello."), ...replies({ own, theirs })) });
  const permit = () => Promise.resolve(verdict);
  const agent = testAgent({ deps, session, simulator, tools: [tool], over: { permit }, parts: { files } });
  await agent.turn("Hi.");
  const run = (more: Partial<ForkTask>) =>
    new ConversationForks(agent).run(
      {
        directive: "Go.",
        source: "notes",
        roundsMax: 3,
        cacheWrite: "skip",
        permit: allowed,
        ownFile: { path: own, read },
        ...more,
      },
      signal,
    );
  return { agent, own, theirs, run };
}

const edit = (file_path: string, old_string = "old"): MoveBlock => ({
  type: "tool_use",
  name: "edit",
  input: { file_path, old_string, new_string: `${old_string}er` },
});

it("a fork may change the engine's own file without permission, and no other", async () => {
  const { own, theirs, run } = await forking((files) => [[edit(files.own), edit(files.theirs)], says("Done.")]);
  await run({});
  expect([await readFile(own, "utf8"), await readFile(theirs, "utf8")]).toEqual(["older", "old"]);
});

it("what its own permission denies stays denied, also for that file", async () => {
  const { own, run } = await forking((files) => [[edit(files.own)], says("Done.")]);
  await run({ permit: () => Promise.resolve({ kind: "denied", reason: "no" }) });
  expect(await readFile(own, "utf8")).toBe("old");
});

it("what is denied to its parent stays denied, also for that file", async () => {
  const verdict: PermissionVerdict = { kind: "denied", reason: "a rule forbids it" };
  const { own, run } = await forking((files) => [[edit(files.own)], says("Done.")], { verdict });
  await run({});
  expect(await readFile(own, "utf8")).toBe("old");
});

it("a link in its place is not the file, wherever it leads", async () => {
  const { own, theirs, run } = await forking((files) => [[edit(files.own)], says("Done.")]);
  await rm(own);
  await symlink(theirs, own);
  await run({});
  expect(await readFile(theirs, "utf8")).toBe("old");
});

const swaps: readonly (readonly [string, (own: string, theirs: string) => Promise<void>])[] = [
  [
    "the file",
    async (own, theirs) => {
      await rm(own);
      await symlink(theirs, own);
    },
  ],
  [
    "its folder",
    async (own, theirs) => {
      await rename(theirs, join(dirname(theirs), "own.md"));
      await rename(dirname(own), `${dirname(own)}-away`);
      await symlink(dirname(theirs), dirname(own));
    },
  ],
];
it.each(swaps)("a link that takes the place of %s once it is let through leads nowhere", async (_, swap) => {
  const { own, theirs, run } = await forking((files) => [[edit(files.own)], says("Done.")]);
  const permit = async () => {
    await swap(own, theirs);
    return { kind: "allowed" } as const;
  };
  const outcome = await run({ permit });
  expect(JSON.stringify(outcome)).toContain("it was replaced");
  expect(await readFile(own, "utf8")).toBe("old");
});

/** Of a tool that would do these acts, asked about by its parent. */
const others: readonly (readonly [string, (own: string) => readonly ToolAction[]])[] = [
  ["reads it", (path) => [{ kind: "read", path }]],
  ["lets a shell write it", (path) => [{ kind: "write", path, byShell: { reach: "itself" } }]],
  [
    "writes another beside it",
    (path) => [
      { kind: "write", path },
      { kind: "write", path: `${path}.x` },
    ],
  ],
  ["names no file", () => [{ kind: "state", what: "the weather" }]],
  ["says nothing of what it does", () => []],
];
it.each(others)("the user stays asked about a call that %s", async (_, acts) => {
  const ran: string[] = [];
  const place = { own: "" };
  const tool: Tool = {
    ...editTool(),
    plan: () =>
      Promise.resolve({
        kind: "ready",
        acts: acts(place.own),
        run: () => Promise.resolve({ content: String(ran.push("ran")), summary: "" }),
      }),
  };
  const { own, run } = await forking((files) => [[edit(files.own)], says("Done.")], { tool });
  place.own = own;
  await run({});
  expect(ran).toEqual([]);
});

it("its parent has not read that file", async () => {
  const { agent, own, run } = await forking((files) => [[edit(files.own)], says("Done.")]);
  await run({});
  expect(agent.conversation.files.get(own)).toBeUndefined();
});

const ends: readonly (readonly [string, Partial<ForkTask>, readonly (readonly string[])[], number])[] = [
  ["that ends with its calls asks no more once they are made", { endsWith: "calls" }, [["old"]], 1],
  ["goes on where they failed", { endsWith: "calls" }, [["nowhere"], ["old"]], 2],
  ["goes on where one of them failed", { endsWith: "calls" }, [["old", "nowhere"], ["older"]], 2],
  ["that may make no other round is over with them too", { endsWith: "calls", roundsMax: 1 }, [["old"]], 1],
  ["hears of its calls, where nothing else is said", {}, [["old"]], 2],
];
it.each(ends)("a fork %s", async (_, more, rounds, requests) => {
  const { agent, own, run } = await forking((files) => [
    ...rounds.map((olds) => olds.map((old) => edit(files.own, old))),
    says("Done."),
  ]);
  const outcome = await run(more);
  expect(outcome.kind).toBe("answered");
  expect(agent.conversation.costs.toJSON().bySource.notes?.requests).toBe(requests);
  expect(await readFile(own, "utf8")).toContain("older");
  const said = outcome.kind === "answered" ? outcome.said.flatMap(({ content }) => content) : [];
  expect(said.filter(({ type }) => type === "tool_result")).toHaveLength(rounds.flat().length);
});

it("calls that are all denied are not what it was to do", async () => {
  const { run } = await forking((files) => [[edit(files.theirs)], says("Done.")]);
  expect(await run({ endsWith: "calls" })).toMatchObject({ kind: "answered", text: "Done." });
});
