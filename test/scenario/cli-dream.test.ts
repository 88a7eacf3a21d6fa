import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import type { DreamLeases } from "../../packages/palimpsest/src/ports/dream-lease.ts";
import {
  addsMakefiles,
  backgroundResponder,
  dreamTexts,
  type ForkAnswer,
  forksIn,
  merged,
  merges,
  memoryNames,
  readsAndWritesOutside,
  rememberTexts,
} from "./support/background-world.ts";
import { called } from "./support/called.ts";
import type { Said } from "./support/command-line.ts";
import { memoryCall, model, resultsOf } from "./support/memory-world.ts";
import { says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const worldWith = async (dream: ForkAnswer): Promise<AgentWorld> => {
  const world = await agentWorld({ responder: backgroundResponder({ dream }) });
  await rememberTexts(world);
  return world;
};

const dream = (world: AgentWorld, ...argv: readonly string[]): Promise<Said> =>
  called(
    {
      home: world.home,
      cwd: world.work,
      env: { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: world.url, PALIMPSEST_MODEL: model },
    },
    "dream",
    ...argv,
  );

const leasesOf = async ({ env, work }: AgentWorld): Promise<DreamLeases> => {
  const project = await openWorkspace({ env, cwd: work }).project();
  if (project.kind !== "located" || project.deps.dreams === undefined) throw new Error("no leases");
  return project.deps.dreams;
};

const deletesAll: ForkAnswer = (round) =>
  round === 0
    ? Object.keys(dreamTexts).map((path) => memoryCall({ command: "delete", path: `/memories/${path}` }))
    : says('{"removed": []}');

describe("palimpsest dream", () => {
  it("changes the memories as one revision, shows the difference, and leaves no session behind", async () => {
    const world = await worldWith(merges);
    const { code, out, err } = await dream(world);
    expect({ code, out }).toMatchObject({ code: 0 });
    expect(out).toContain("indent.md (deleted)\n");
    expect(out).toContain("  + Makefiles are indented with tabs as well.");
    expect(out).toMatch(
      /2 memories were changed\. Revision r2: `palimpsest memory revert r2` takes all of it back\.\n$/,
    );
    expect(err).toMatch(/dream: running for \d s, updating: 2 replies, 2 calls, indent\.md, tabs\.md/);
    expect(err).toContain("It cost $0.0");
    expect(await memoryNames(world)).toEqual(["release.md", "tabs.md"]);
    const { env, work: cwd } = world;
    expect(await openWorkspace({ env, cwd }).list("project")).toEqual([]);
    expect(await (await leasesOf(world)).lastAt()).toBeGreaterThan(Date.now() - 60_000);
    await called({ home: world.home, cwd }, "memory", "revert", "r2");
    expect(await memoryNames(world)).toEqual(["indent.md", "release.md", "tabs.md"]);
  });

  it("asks nothing of a conversation: the request has the directive alone", async () => {
    const world = await worldWith(merges);
    await dream(world);
    const [first] = forksIn(world.seen, "dream");
    expect(first?.body["messages"]).toHaveLength(1);
    expect(world.seen).toHaveLength(forksIn(world.seen, "dream").length);
  });

  it("--dry-run shows the same and changes nothing, not even the time of the last dream", async () => {
    const world = await worldWith(merges);
    const { code, out } = await dream(world, "--dry-run");
    expect(code).toBe(0);
    expect(out).toContain("  + Makefiles are indented with tabs as well.");
    expect(out).toContain("2 memories would be changed.");
    expect(await memoryNames(world)).toHaveLength(3);
    expect(await (await leasesOf(world)).lastAt()).toBeUndefined();
  });

  it("what the audit does not let through is dropped, and said with the reason", async () => {
    const world = await worldWith((round) =>
      round === 0
        ? [
            addsMakefiles,
            memoryCall({ command: "delete", path: "/memories/indent.md" }),
            memoryCall({ command: "delete", path: "/memories/release.md" }),
          ]
        : says('{"removed": []}'),
    );
    const { code, out } = await dream(world);
    expect(code).toBe(0);
    expect(out).toContain(
      'release.md was not deleted: a fact would be lost without a reason that holds ("The release is on 2026-12-04."',
    );
    expect(out).toContain("2 memories were changed, 1 change was dropped.");
    expect(await memoryNames(world)).toEqual(["release.md", "tabs.md"]);
  });

  it("a dream that deletes everything is refused: exit code 5, with the receipt", async () => {
    const world = await worldWith(deletesAll);
    const { code, out, err } = await dream(world);
    expect(code).toBe(5);
    expect(out).toContain("No memory was changed, 3 changes were dropped.");
    expect(err).toContain("the audit let nothing of the dream through");
    expect(await memoryNames(world)).toHaveLength(3);
  });

  it("--json is one object with what was made, dropped and why", async () => {
    const world = await worldWith(merges);
    const { out } = await dream(world, "--json", "--dry-run");
    expect(JSON.parse(out)).toMatchObject({
      outcome: "dreamt",
      mode: "dry-run",
      revision: null,
      made: [{ path: "indent.md" }, { path: "tabs.md", after: merged }],
      dropped: [],
      findings: [],
      queries: 0,
    });
  });

  it("without anything new it asks no model; --force does", async () => {
    const world = await worldWith(merges);
    await dream(world);
    const before = world.seen.length;
    const again = await dream(world);
    expect(again).toMatchObject({ code: 0 });
    expect(again.out).toMatch(/^Nothing to do: nothing was said or saved here since the last dream/);
    expect(world.seen).toHaveLength(before);
    expect(await dream(world, "--force")).toMatchObject({ code: 0 });
    expect(world.seen.length).toBeGreaterThan(before);
  });

  it("works without a key: the simulator saves what lasts, and merges what is said twice", async () => {
    const world = await agentWorld({ responder: backgroundResponder({}) });
    const simulated = (...argv: readonly string[]): Promise<Said> =>
      called({ home: world.home, cwd: world.work }, ...argv, "--model", "simulator", "--responder", "extract");
    const rule = "Always indent the code with tabs.";
    expect((await simulated("-p", rule, "--on", "extraction")).err).toContain("Saved 1 memory");
    await called({ home: world.home, cwd: world.work, input: `${rule}\n` }, "memory", "edit", "tabs");
    expect(await memoryNames(world)).toEqual(["feedback_always_indent_the_code_with.md", "tabs.md"]);
    expect((await simulated("dream")).out).toContain("1 memory was changed.");
    expect(await memoryNames(world)).toHaveLength(1);
  });

  it("has nothing to do in a project without memories, also without a key", async () => {
    const world = await agentWorld({ responder: backgroundResponder({}) });
    const { code, out } = await called({ home: world.home, cwd: world.work }, "dream");
    expect({ code, out }).toEqual({ code: 0, out: "Nothing to do: this project has no memories yet.\n" });
  });

  it("is refused while another process dreams (4), if dreams are off, or the project is not trusted (5)", async () => {
    const world = await worldWith(merges);
    const held = await (await leasesOf(world)).acquire();
    if (held.kind !== "acquired") throw new Error(held.kind);
    expect(await dream(world)).toMatchObject({ code: 4 });
    await held.lease.fail();
    expect((await dream(world, "--off", "dream")).err).toContain("dreams are off");
    await mkdir(join(world.work, ".palimpsest"));
    await writeFile(join(world.work, ".palimpsest/settings.json"), '{"permissions":{"allow":["Bash(make:*)"]}}');
    const { code, err } = await dream(world);
    expect(code).toBe(5);
    expect(err).toContain("this project is not trusted");
    expect(world.seen).toEqual([]);
  });

  it("reads, but writes nothing outside of the draft: neither by tools nor by the shell nor by a path", async () => {
    const world = await worldWith((round) => (round === 0 ? readsAndWritesOutside(world) : says('{"removed": []}')));
    const path = join(world.work, "note.txt");
    await writeFile(path, "as it was\n");
    const { code, out } = await dream(world);
    expect(code).toBe(0);
    const [read, ...others] = resultsOf(forksIn(world.seen, "dream").at(-1) ?? fail());
    expect(read).toContain("as it was");
    for (const denied of others.slice(0, 3)) expect(denied).toContain("While memories are kept, only memory");
    expect(out).toContain("No memory was changed.");
    expect(await readFile(path, "utf8")).toBe("as it was\n");
  });

  it("takes the user's own prompt, and warns about a placeholder that stands for nothing", async () => {
    const world = await worldWith(merges);
    await mkdir(join(world.home, "prompts"), { recursive: true });
    const own = "You tidy up the memory directory, as I like it. {{wrong}}";
    await writeFile(join(world.home, "prompts/dream.md"), own);
    const { err } = await dream(world, "--dry-run");
    expect(err).toContain("{{wrong}} stands for nothing");
    expect(JSON.stringify(world.seen[0]?.body["messages"])).toContain("as I like it.");
  });
});

function fail(): never {
  throw new Error("it is not there");
}
