import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { reportCharsMax } from "../../packages/palimpsest/src/layers/7-agents/limits.ts";
import { answering, call, callAgent, filesWith, say, when, writeIn } from "./support/agents-world.ts";
import { agentWorld, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

const lines = Array.from(
  { length: 15_000 },
  (_, at) => `line ${at}: the quick brown fox, 敏捷的棕色狐狸, e\u0301te\u0301 👩‍👩‍👧 #${at}`,
);

describe("11. Poison items: the report of a sub-agent", () => {
  it("of 900 KB is sent within its cap, is stored once, and comes back whole by the agent's id", async () => {
    const report = lines.join("\n");
    expect(Buffer.byteLength(report)).toBeGreaterThan(900_000);
    const models = [{ id: model, windowTokens: 2_000_000, outputTokensMax: 900_000 }];
    const world = await agentWorld({
      models,
      responder: answering(
        when("WRITE MUCH", say(report)),
        when("Begin", callAgent({ type: "general", description: "much", prompt: "WRITE MUCH" })),
        (input) => {
          const [, id, offset] = /Recall (agent-\w+) (\d+)/.exec(input) ?? [];
          return id === undefined ? undefined : [call("recall", { id, offset: Number(offset), limit: 100_000 })];
        },
      ),
    });
    await writeIn(world.home, "settings.json", JSON.stringify({ models }));
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    expect(refused(world.seen)).toEqual([]);
    const sent = JSON.parse(JSON.stringify(world.seen.at(-1)?.body["messages"])) as {
      content: { content?: string }[];
    }[];
    const told = sent.at(-1)?.content[0]?.content ?? "";
    const [run] = agent.agents?.list() ?? [];
    expect(told.length).toBeLessThanOrEqual(reportCharsMax);
    expect(told.isWellFormed()).toBe(true);
    expect(told).toContain("line 0: the quick");
    expect(told).toContain(`#${lines.length - 1}`);
    expect(told).toContain(`The whole report: recall with id ${run?.id}`);
    expect(await agent.agents?.report(run?.id ?? ("" as never))).toBe(report);
    let whole = "";
    for (let offset = 0; offset < report.length; offset += 100_000) {
      await turn(agent, `Recall ${run?.id} ${offset}`);
      const last = JSON.stringify(world.seen.at(-1)?.body["messages"]);
      const page = report.slice(offset, offset + 100_000);
      // A page may end a character earlier: no pair of surrogates is cut.
      if (last.includes(JSON.stringify(page.slice(2, -2)).slice(1, -1))) whole += page;
    }
    expect(whole === report).toBe(true);
    await agent.close();
    const holders = await filesWith(join(world.home, "projects"), "line 7500: the quick");
    expect(
      holders.map((path) => path.slice(path.lastIndexOf("/") + 1)).filter((name) => name.startsWith("agent-")),
    ).toEqual([`${run?.id}.jsonl`]);
    const text = await readFile(holders.find((path) => path.endsWith(`${run?.id}.jsonl`)) ?? "", "utf8");
    expect(text.split("line 7500: the quick")).toHaveLength(2);
  });
});
