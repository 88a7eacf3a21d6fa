import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { Asking } from "../fixture/asking.ts";
import { usagesIn } from "./support/clearing-world.ts";
import { sharedShare, summaryRequests } from "./support/compaction-checks.ts";
import { compact, compactionWorld, taskText } from "./support/compaction-world.ts";
import { expectStable, expectTold } from "./support/stability.ts";
import { agentWorld, firstBreak, refused, turn } from "./support/whole-agent.ts";

describe("4. Prefix stability", () => {
  it.each(["claude-sonnet-5-5", "claude-opus-5"])(
    "every request of %s begins with the one before: file edits, git, midnight, todos, settings, instruction files, nested ones and rules, memory, kill and resume",
    (model) => expectStable(40, model),
  );

  it.each(["claude-sonnet-5-5", "claude-opus-5"])(
    "with clearing on, a request of %s that does not begin with the one before is told of before it is sent",
    (model) => expectTold(40, model),
  );

  it("a model that takes over is told before its first request, with what is written again; so is the one that comes back", async () => {
    const world = await agentWorld({});
    const first = await world.open({ kind: "new" }, "claude-opus-5");
    const { id } = first.session;
    expect(await turn(first, "Hello.")).not.toContainEqual(expect.objectContaining({ kind: "cache-break" }));
    await first.close();
    await writeFile(join(world.work, "CLAUDE.md"), "Rules that came later.\n");
    const models = ["claude-sonnet-5-5", "claude-opus-5"];
    for (const [at, model] of models.entries()) {
      const agent = await world.open({ kind: "resume", id }, model);
      const events = await turn(agent, "And now?");
      await agent.close();
      const before = models[1 - at] ?? "";
      const kinds = events.map(({ kind }) => kind);
      expect(kinds.indexOf("cache-break")).toBeLessThan(kinds.indexOf("request-start"));
      const broken = events.filter((event) => event.kind === "cache-break");
      expect(broken).toMatchObject([{ cause: `the model changed from ${before} to ${model}` }]);
      expect(broken[0]?.tokens).toBeGreaterThan(2000);
    }
    expect(refused(world.seen)).toEqual([]);
    // The first model's own prefix is as it was.
    expect(firstBreak([world.seen[0], world.seen[2]].flatMap((one) => one ?? []))).toBeUndefined();
  });

  it("what requests carry besides messages is at most 10,000 tokens", async () => {
    const world = await agentWorld({});
    const agent = await world.open({ kind: "new" }, "claude-sonnet-5-5");
    await turn(agent, "Hi.");
    await agent.close();
    const { max_tokens: _max, stream: _stream, thinking: _thinking, ...body } = world.seen[0]?.body ?? {};
    const counted = new Asking(world.simulator).count(body);
    expect(counted).toBeGreaterThan(1000);
    expect(counted).toBeLessThanOrEqual(10_000);
  });

  it.each(["claude-sonnet-5-5", "claude-opus-5"])(
    "the request of %s for a summary shares at least 95 per cent of its prefix with the request before it, and reads it from the cache",
    async (model) => {
      const world = await compactionWorld({ model, thinking: "signed" });
      const agent = await world.open();
      const turned = await world.turn(agent, { text: taskText(1), rounds: 8 });
      const before = world.seen.at(-1);
      const { events } = await compact(agent);
      const [asked] = summaryRequests(world);
      if (before === undefined || asked === undefined) throw new Error("nothing was asked");
      expect(sharedShare(before, asked)).toBeGreaterThanOrEqual(0.95);
      expect(events.at(-1)).toMatchObject({ kind: "compacted", path: "fork" });
      const [usage] = callUsages(agent);
      const { cacheRead = 0, cacheWrite = 0, input = 0 } = usagesIn(turned).at(-1) ?? {};
      expect(usage?.["cache_read_input_tokens"]).toBeGreaterThanOrEqual(0.95 * (cacheRead + cacheWrite + input));
      await agent.close();
    },
  );
});

const callUsages = ({ session }: Agent): readonly Readonly<Record<string, number>>[] =>
  session.fold.path.entries.flatMap((entry) =>
    entry.kind === "edit" && entry.edit.type === "boundary"
      ? (entry.edit.metadata.calls ?? []).map(({ usage }) => usage as Readonly<Record<string, number>>)
      : [],
  );
