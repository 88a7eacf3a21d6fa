import { beforeAll, describe, expect, it } from "vitest";
import type { ListedRequest } from "../../packages/cli/src/text/trace-table.ts";
import type { TraceDiff } from "../../packages/simulator/src/trace/trace-diff.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { TraceWriter } from "../../packages/simulator/src/trace/trace-writer.ts";
import { Asking, longText } from "../fixture/asking.ts";
import { compactAt, longTalk, onDemandBeta, summarize, thresholdBeta } from "../fixture/compacted.ts";
import { deletingHeaders, deletingRequest } from "../fixture/deleting.ts";
import { chat, openaiFace, respond } from "../fixture/openai-api.ts";
import { marked, message, system, tool, TraceMaker } from "../fixture/trace.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";

let world: World;
let trace: string;

const head = [tool("read"), marked(system("You help."))];
const turn = [...head, message("one"), marked(message("two"))];

async function madeTrace(): Promise<TraceMaker> {
  const maker = new TraceMaker();
  await maker.send({ made: turn });
  await maker.send({ made: [...turn, message("three"), marked(message("four"))] });
  const kelp = marked(system("You\u001B[31m kelp."));
  const params = { tool_choice: { type: "none" } };
  await maker.send({ made: [tool("read"), kelp, message("one"), marked(message("two"))], params });
  await maker.send({ made: turn, reply: "refused", faults: [{ kind: "overloaded" }] });
  return maker;
}

/** A trace of what is asked of a simulator. */
async function tracedTo(name: string, ask: (simulator: Simulator) => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const writer = new TraceWriter({ write: async (line) => void lines.push(line) });
  const simulator = new Simulator({ trace: writer, cacheEdits: "offered" });
  await writer.begin({ seed: 0, startedAt: simulator.clock.now() });
  await ask(simulator);
  return world.file(name, `${lines.join("\n")}\n`);
}

beforeAll(async () => {
  world = await newWorld();
  trace = world.file("trace.jsonl", `${(await madeTrace()).lines.join("\n")}\n`);
});

describe("palimpsest trace list", () => {
  it("lists the requests with tokens, cost and what the cache said", async () => {
    const { code, out, err } = await world.call("trace", "list", trace);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "))).toEqual([
      "n | time | model | blocks | read | written | input | output | cost | cache",
      "1 | 2026-11-01 00:00:01 | claude-opus-5 | 4 | 0 | 4,000 | 0 | 10 | $0.0253 | first",
      "2 | 2026-11-01 00:00:02 | claude-opus-5 | 6 | 4,000 | 2,000 | 0 | 10 | $0.0147 | hit (against 1)",
      "3 | 2026-11-01 00:00:03 | claude-opus-5 | 4 | 0 | 4,000 | 0 | 10 | $0.0253 | system changed (against 2)",
      "4 | 2026-11-01 00:00:04 | claude-opus-5 | 4 | - | - | - | - | - | refused 529: Overloaded; fault: overloaded",
      "",
    ]);
  });

  it("--json is an array of them", async () => {
    const listed = json<ListedRequest[]>(await world.call("trace", "list", trace, "--json"));
    expect(listed.map(({ n, comparedWith, reasons }) => [n, comparedWith, reasons])).toEqual([
      [1, null, []],
      [2, 1, ["hit"]],
      [3, 2, ["system_changed"]],
      [4, null, []],
    ]);
    expect(listed[3]).toMatchObject({ error: { type: "overloaded_error", message: "Overloaded" } });
    expect(listed[1]).toEqual({
      n: 2,
      id: "req_2",
      at: "2026-11-01T00:00:02.000Z",
      workspace: "default",
      model: "claude-opus-5",
      endpoint: "/v1/messages",
      blocks: 6,
      status: 200,
      outcome: "delivered",
      tokens: { read: 4000, written: 2000, input: 0, output: 10 },
      costUsd: 0.01475,
      countedTokens: null,
      iterations: [],
      appliedEdits: [],
      cacheEdits: null,
      error: null,
      comparedWith: 1,
      reasons: ["hit"],
      faults: [],
    });
  });

  it("fits the columns that there are, and so does diff", async () => {
    const narrow = { env: { COLUMNS: "60" } };
    for (const args of [
      ["list", trace],
      ["diff", trace, "2", "3"],
      ["diff", trace, "1", "2"],
    ]) {
      const { code, out } = await world.callWith(narrow, "trace", ...args);
      expect(code).toBe(0);
      // Escapes of what would drive the terminal come on top.
      expect(
        out
          .replaceAll("\\x1b", " ")
          .split("\n")
          .filter((line) => line.length > 60),
      ).toEqual([]);
    }
  });

  it("shows what was counted, and where", async () => {
    const file = await tracedTo("counted.jsonl", async (simulator) => {
      new Asking(simulator).count({ messages: [{ role: "user", content: "Hello" }] });
    });
    const { out } = await world.call("trace", "list", file);
    expect(out).toMatch(/\/v1\/messages\/count_tokens; \d+ tokens counted\n$/);
  });

  it("tells what the server did: compactions, cleared uses, results deleted in the cache", async () => {
    const file = await tracedTo("server-side.jsonl", async (simulator) => {
      const ask = new Asking(simulator, { model: "claude-opus-5" });
      await ask.message({ messages: [longTalk()], ...compactAt() }, thresholdBeta);
      await ask.message({ messages: [{ role: "user", content: "Hello" }], ...summarize }, onDemandBeta);
      const clear = {
        type: "clear_tool_uses_20250919",
        trigger: { type: "tool_uses", value: 1 },
        keep: { type: "tool_uses", value: 1 },
      };
      const request = { ...deletingRequest(3), context_management: { edits: [clear] } };
      await ask.message(request, { "anthropic-beta": "context-management-2025-06-27" });
      await ask.message(deletingRequest(2), deletingHeaders);
      await ask.message(deletingRequest(3, ["toolu_1"]), deletingHeaders);
    });
    const { out } = await world.call("trace", "list", file);
    const [, threshold = "", onDemand = "", cleared = "", , deleted = ""] = out.split("\n");
    expect(threshold).toMatch(/ compacted \d{2},\d{3} tokens into \d,\d{3}; first$/);
    expect(onDemand).toMatch(/ compacted \d{3} tokens into \d{3}; /);
    expect(cleared).toMatch(/ cleared 2 uses, \d,\d{3} tokens; /);
    expect(deleted).toMatch(/ deleted 1 result, \d,\d{3} tokens; hit /);
    const [first, second] = json<ListedRequest[]>(await world.call("trace", "list", file, "--json"));
    expect(first?.iterations.map(({ type }) => type)).toEqual(["compaction", "message"]);
    expect(first?.tokens?.input).toBe(first?.iterations.reduce((sum, { input }) => sum + input, 0));
    expect(second?.iterations).toEqual([{ type: "compaction", ...second?.tokens }]);
  });

  it("tells what requests of the OpenAI form read, wrote and cost; diff says that it has no blocks of them", async () => {
    const file = await tracedTo("openai.jsonl", async (simulator) => {
      const { ask } = openaiFace({}, simulator);
      const long = { messages: [{ role: "user", content: longText("This") }] };
      await ask("chatCompletions", chat(long));
      await ask("chatCompletions", chat(long));
      await ask("compact", respond());
    });
    const { out } = await world.call("trace", "list", file);
    expect(out.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "))).toEqual([
      "n | time | model | blocks | read | written | input | output | cost | cache",
      "1 | 2026-01-01 00:00:00 | gpt-4o | 0 | 0 | 0 | 5,738 | 18 | $0.0145 | /v1/chat/completions",
      "2 | 2026-01-01 00:00:00 | gpt-4o | 0 | 5,632 | 0 | 106 | 18 | $0.007485 | /v1/chat/completions",
      expect.stringMatching(/\| \/v1\/responses\/compact; compacted \d+ tokens into \d+$/),
      "",
    ]);
    expectRefusal(
      await world.call("trace", "diff", file, "1", "2"),
      1,
      /requests of the OpenAI form have no blocks in the trace; nothing to compare/,
    );
  });

  it("leaves out a last line that was not written whole, and says so", async () => {
    const { lines } = await madeTrace();
    const torn = world.file("torn.jsonl", lines.join("\n").slice(0, -20));
    const { code, out, err } = await world.call("trace", "list", torn);
    expect({ code, err }).toEqual({ code: 0, err: "note: its last line was not written whole and is left out\n" });
    expect(out).toMatch(/no reply; fault: overloaded\n$/);
  });

  it("says that a trace has no requests yet", async () => {
    const empty = world.file("begun.jsonl", `${new TraceMaker().lines[0]}\n`);
    expect((await world.call("trace", "list", empty)).out).toBe("The trace has no requests yet.\n");
  });

  it("refuses what is no trace, what is damaged and what is not there", async () => {
    const { lines } = await madeTrace();
    const other = world.file("other.jsonl", [{ type: "user" }]);
    const damaged = world.file("damaged.jsonl", lines.toSpliced(3, 1, "{").join("\n"));
    expectRefusal(await world.call("trace", "list", other), 1, /other\.jsonl is no trace: its first line/);
    expectRefusal(await world.call("trace", "list", damaged), 1, /damaged\.jsonl is damaged in line 4/);
    expectRefusal(await world.call("trace", "list", "nowhere.jsonl"), 3, /no file is called nowhere\.jsonl/);
    expectRefusal(await world.call("trace", "list", world.work), 6, /EISDIR/);
  });
});

describe("palimpsest trace diff", () => {
  it("says what changed, why the cache missed and what it cost", async () => {
    const { code, out, err } = await world.call("trace", "diff", trace, "2", "3");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.replaceAll(/[\w-]{22}/g, "<hash>")).toBe(
      [
        "request 2 → 3",
        "blocks      system.0 changed (system, position 1): <hash> → <hash>",
        "            at character 3:",
        "          - You help.",
        "          + You\\x1b[31m kelp.",
        'parameter   tool_choice: null → {"type":"none"} (breaks the cache from messages on)',
        "cache       system changed: read 0 of 6,000 tokens that 2 left there",
        "cost        3,000 tokens written or sent again, $0.0173 more than a full hit",
        "",
      ].join("\n"),
    );
  });

  it("says that there was only more", async () => {
    const { out } = await world.call("trace", "diff", trace, "1", "2");
    expect(out).toContain("only appended: 2 blocks from position 4 on, 2,000 tokens\n");
    expect(out).toContain("hit: read 4,000 of 4,000 tokens that 1 left there\n");
    expect(out).toContain("0 tokens written or sent again, $0.0000 more than a full hit\n");
  });

  it("--json is the comparison", async () => {
    const diff = json<TraceDiff>(await world.call("trace", "diff", trace, "2", "3", "--json"));
    expect(diff).toMatchObject({
      from: 2,
      to: 3,
      blocks: { kind: "changed", path: "system.0", position: 1, level: "system", type: "text" },
      parameters: [{ name: "tool_choice", old: null, now: { type: "none" }, breaks: "messages" }],
      cache: { reasons: ["system_changed"], offeredTokens: 6000, readTokens: 0, againTokens: 3000, elsewhere: null },
    });
    expect(diff.cache.extraUsd).toBeCloseTo((3000 * (6.25 - 0.5)) / 1_000_000, 12);
  });

  it("says of a request that was refused early that it never was a prompt, not that its blocks are gone", async () => {
    const maker = await madeTrace();
    await maker.send({ made: turn, reply: "unread" });
    const file = world.file("refused.jsonl", `${maker.lines.join("\n")}\n`);
    const { out } = await world.call("trace", "diff", file, "1", "5");
    expect(out).toContain("blocks      request 5 was refused before it became a prompt\n");
    expect(out).not.toContain("removed");
  });

  it.each([
    [["2", "2"], 2, /the earlier one first \(see palimpsest trace diff --help\)/],
    [["3", "2"], 2, /the earlier one first/],
    [["two", "3"], 2, /numbers of requests/],
    [["2", "9"], 3, /trace\.jsonl has no request 9\n {2}`palimpsest trace list` shows those it has, up to 4\./],
    [["0", "2"], 3, /has no request 0/],
  ])("refuses %j", async (numbers, code, text) => {
    expectRefusal(await world.call("trace", "diff", trace, ...numbers), code, text);
  });
});
