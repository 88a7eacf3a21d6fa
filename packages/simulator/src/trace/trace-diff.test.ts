import { describe, expect, it } from "vitest";
import {
  asyncLines,
  type Made,
  marked,
  message,
  type Sending,
  system,
  tool,
  TraceMaker,
} from "../../../../test/fixture/trace.ts";
import { pairWithEarlier, traceDiff, type TraceDiff } from "./trace-diff.ts";
import { readTrace } from "./read-trace.ts";

const unmarked = ({ mark: _mark, ...rest }: Made): Made => rest;
const minutes = (count: number): number => count * 60_000;
/** A million tokens of Opus 5 written, read and sent. */
const written = 6.25;
const read = 0.5;
const sent = 5;

async function diffOf(first: Sending, ...others: readonly Sending[]): Promise<TraceDiff> {
  const maker = new TraceMaker();
  for (const one of [first, ...others]) await maker.send(one);
  const trace = await maker.trace();
  const [from, to] = [trace.requests[0], trace.requests.at(-1)];
  if (from === undefined || to === undefined) throw new Error("no requests");
  return traceDiff({ trace, from, to });
}

const head = [tool("read"), marked(system("You help."))];
const plain = [...head, message("one"), marked(message("two"))];

describe("which block changed first", () => {
  it.each<[string, Sending["made"], object]>([
    ["nothing", plain, { kind: "same" }],
    [
      "a turn behind",
      [...head, message("one"), message("two"), message("three"), message("four")],
      { kind: "appended", position: 4, blocks: 2, tokens: 2000 },
    ],
    [
      "words of a block",
      [tool("read"), system("You kelp."), message("one"), message("two")],
      {
        kind: "changed",
        position: 1,
        path: "system.0",
        level: "system",
        type: "text",
        difference: { at: 4, before: "You ", old: "h", now: "k", after: "elp." },
      },
    ],
    [
      "a tool before the others",
      [tool("write"), ...plain],
      { kind: "inserted", position: 0, blocks: 1, path: "tools.0", level: "tools" },
    ],
    [
      "two messages in between",
      [...head, message("zero"), message("half"), message("one"), message("two")],
      { kind: "inserted", position: 2, blocks: 2, path: "messages.0.content.0", difference: { old: "", now: "zero" } },
    ],
    [
      "a message taken out",
      [...head, message("two")],
      { kind: "removed", position: 2, blocks: 1, path: "messages.0.content.0", difference: { old: "one", now: "" } },
    ],
    ["the end taken off", [...head, message("one")], { kind: "removed", position: 3, blocks: 1 }],
    [
      "the system prompt taken out, and another message",
      [tool("read"), message("uno"), message("one"), message("two")],
      { kind: "removed", position: 1, blocks: 1, path: "system.0", level: "system" },
    ],
    ["the tools taken out", plain.slice(1), { kind: "removed", position: 0, path: "tools.0", level: "tools" }],
    [
      "everything behind the head",
      [...head, message("new"), message("other")],
      { kind: "changed", position: 2, path: "messages.0.content.0" },
    ],
  ])("%s", async (_, made, change) => {
    const diff = await diffOf({ made: plain }, { made });
    expect(diff.blocks).toMatchObject(change);
  });

  it("names both hashes of a changed block, as the requests have them", async () => {
    const maker = new TraceMaker();
    await maker.send({ made: plain });
    await maker.send({ made: [...head, message("uno"), message("two")] });
    const trace = await maker.trace();
    const [from, to] = trace.requests;
    if (from === undefined || to === undefined) throw new Error("no requests");
    expect(traceDiff({ trace, from, to }).blocks).toMatchObject({
      oldHash: from.blocks.at(2)?.hash,
      newHash: to.blocks.at(2)?.hash,
    });
  });
});

it.each<[string, Sending, Sending, object]>([
  ["the later", { made: plain }, { made: plain, reply: "unread" }, { kind: "no_prompt", n: 2, outcome: "refused" }],
  ["the earlier", { made: plain, reply: "unread" }, { made: plain }, { kind: "no_prompt", n: 1, outcome: "refused" }],
])("a request that never became a prompt has no blocks to compare: %s", async (_, first, second, change) => {
  const diff = await diffOf(first, second);
  expect(diff.blocks).toEqual(change);
  expect(diff.cache.reasons).toEqual(["no_reply"]);
});

describe("why the cache missed", () => {
  const more = [...head, message("one"), message("two"), marked(message("three"))];
  const long = Array.from({ length: 25 }, (_, at) => message(`later ${at}`));
  const changedSystem = [tool("read"), marked(system("You kelp.")), message("one"), marked(message("two"))];
  const lastMarked = [tool("read"), system("You help."), message("one"), marked(message("two"))];

  it.each<[string, Sending, Sending, readonly string[]]>([
    ["nothing but more", { made: plain }, { made: more }, ["hit"]],
    ["another model", { made: plain }, { made: more, model: "claude-opus-4-8" }, ["model_changed"]],
    ["another speed", { made: plain }, { made: more, params: { speed: "fast" } }, ["model_changed"]],
    ["another workspace", { made: plain }, { made: more, workspace: "other" }, ["workspace_changed"]],
    ["other tools", { made: plain }, { made: [tool("write"), ...more] }, ["tools_changed"]],
    ["another system prompt", { made: plain }, { made: changedSystem }, ["system_changed"]],
    ["an edited message", { made: plain }, { made: [...head, marked(message("uno"))] }, ["messages_changed"]],
    [
      "a parameter that breaks the messages",
      { made: plain },
      { made: more, params: { tool_choice: { type: "none" } } },
      ["parameters_changed"],
    ],
    [
      "a parameter and an edited message",
      { made: plain },
      { made: [...head, marked(message("uno"))], params: { tool_choice: { type: "none" } } },
      ["messages_changed"],
    ],
    ["a first request without a marker", { made: [tool("read"), message("one")] }, { made: more }, ["not_marked"]],
    ["a later request without a marker", { made: lastMarked }, { made: lastMarked.map(unmarked) }, ["not_marked"]],
    ["too little to cache", { made: [marked(tool("read", { tokens: 100 }))] }, { made: more }, ["below_minimum"]],
    [
      "a breakpoint 20 blocks behind",
      { made: lastMarked },
      { made: [...lastMarked.map(unmarked), ...long.slice(0, 19), marked(message("end"))] },
      ["look_back_too_far"],
    ],
    [
      "a breakpoint 19 blocks behind",
      { made: lastMarked },
      { made: [...lastMarked.map(unmarked), ...long.slice(0, 18), marked(message("end"))] },
      ["hit"],
    ],
    ["five minutes", { made: plain }, { made: more, afterMs: minutes(5) }, ["expired"]],
    ["less than five minutes", { made: plain }, { made: more, afterMs: minutes(5) - 1 }, ["hit"]],
    [
      "an hour's marker after an hour",
      { made: [...head.map(unmarked), marked(message("one"), "1h")] },
      { made: more, afterMs: minutes(60) },
      ["expired"],
    ],
    ["a reply that had not begun", { made: plain, reply: "early" }, { made: more }, ["too_early"]],
    ["a lost cache", { made: plain }, { made: more, faults: [{ kind: "cache-lost" }] }, ["lost"]],
    [
      "a change and the time",
      { made: plain },
      { made: [...head, marked(message("uno"))], afterMs: minutes(6) },
      ["messages_changed", "expired"],
    ],
    ["no reply to the first", { made: plain, reply: "refused" }, { made: more }, ["no_reply"]],
    ["no reply to the second", { made: plain }, { made: more, reply: "none" }, ["no_reply"]],
  ])("%s", async (_, first, second, reasons) => {
    expect((await diffOf(first, second)).cache.reasons).toEqual(reasons);
  });

  it("what another request kept alive is a hit", async () => {
    const later = { made: more, afterMs: minutes(4) };
    expect((await diffOf({ made: plain }, later, later)).cache.reasons).toEqual(["hit"]);
  });
});

it("what an older request left is not what the earlier of the two left", async () => {
  const maker = new TraceMaker();
  await maker.send({ made: plain });
  await maker.send({ made: [tool("read"), marked(system("You kelp.")), message("one"), marked(message("two"))] });
  await maker.send({ made: plain });
  const trace = await maker.trace();
  const [, from, to] = trace.requests;
  if (from === undefined || to === undefined) throw new Error("no requests");
  const { reasons, readTokens, elsewhere, elsewhereTokens } = traceDiff({ trace, from, to }).cache;
  expect({ reasons, readTokens, elsewhere, elsewhereTokens }).toEqual({
    reasons: ["system_changed"],
    readTokens: 0,
    elsewhere: 1,
    elsewhereTokens: 4000,
  });
});

describe("which parameters differ", () => {
  it("says none of a request that never became a prompt", async () => {
    const unread = { made: plain, reply: "unread", workspace: "", params: { max_tokens: 1 } } as const;
    expect((await diffOf({ made: plain }, unread)).parameters).toEqual([]);
  });

  it("says of each from which level on it breaks the cache, the worst first", async () => {
    const diff = await diffOf(
      { made: plain, params: { max_tokens: 100, thinking: { type: "adaptive" } }, betas: ["b", "a"] },
      { made: plain, params: { max_tokens: 200, speed: "fast" }, betas: ["a", "b"], model: "claude-opus-4-8" },
    );
    expect(diff.parameters).toEqual([
      { name: "model", old: "claude-opus-5", now: "claude-opus-4-8", breaks: "tools" },
      { name: "speed", old: null, now: "fast", breaks: "system" },
      { name: "thinking", old: { type: "adaptive" }, now: null, breaks: "messages" },
      { name: "max_tokens", old: 100, now: 200, breaks: null },
    ]);
  });

  it("names only the parameter that made another entry, not others that changed with it", async () => {
    const diff = await diffOf(
      { made: plain, params: { thinking: { type: "enabled", budget_tokens: 2000 }, tool_choice: { type: "auto" } } },
      {
        made: plain,
        params: { thinking: { type: "enabled", budget_tokens: 1500 } },
        betas: ["fallback-credit-2026-06-01"],
      },
    );
    expect(diff.cache.reasons).toEqual(["parameters_changed"]);
    expect(diff.parameters.map(({ name, breaks }) => [name, breaks])).toEqual([
      ["thinking", "messages"],
      ["betas", null],
      ["tool_choice", null],
    ]);
  });

  it("a parameter that the cache took for the same breaks nothing", async () => {
    const diff = await diffOf({ made: plain }, { made: plain, params: { output_config: { effort: "high" } } });
    expect(diff.parameters).toMatchObject([{ name: "output_config", breaks: null }]);
    expect(diff.cache.reasons).toEqual(["hit"]);
  });
});

describe("what it cost", () => {
  it.each<[string, Sending["made"], object]>([
    ["nothing on a hit", plain, { offeredTokens: 4000, readTokens: 4000, againTokens: 0, extraUsd: 0 }],
    [
      "what had to be written again, not what is new",
      [...head, message("uno"), marked(message("two"))],
      { offeredTokens: 4000, readTokens: 2000, againTokens: 1000, extraUsd: 1000 * (written - read) },
    ],
    [
      "what had to be sent again",
      [...head, message("uno"), message("two")],
      { offeredTokens: 4000, readTokens: 2000, againTokens: 1000, extraUsd: 1000 * (sent - read) },
    ],
    [
      "both, in the order in which a prompt is paid",
      [tool("write"), marked(system("You help.")), message("one")],
      { readTokens: 0, againTokens: 2000, extraUsd: 1000 * (written - read) + 1000 * (sent - read) },
    ],
    [
      "nothing for what stands in its place",
      [...head, marked(message("summary", { tokens: 500 }))],
      { offeredTokens: 4000, readTokens: 2000, againTokens: 0, extraUsd: 0 },
    ],
    [
      "nothing for what is new behind",
      [...head, message("one"), message("two"), marked(message("three"))],
      { offeredTokens: 4000, readTokens: 4000, againTokens: 0, extraUsd: 0 },
    ],
  ])("%s", async (_, made, { extraUsd, ...tokens }: { extraUsd?: number }) => {
    const { cache } = await diffOf({ made: plain }, { made });
    expect(cache).toMatchObject(tokens);
    expect(cache.extraUsd).toBeCloseTo((extraUsd ?? Number.NaN) / 1_000_000, 12);
  });
});

it("a trace that does not say how a reply was billed is read by what the client was told, and never without a reason", async () => {
  const maker = new TraceMaker();
  await maker.send({ made: plain });
  await maker.send({ made: plain });
  const lines = maker.lines.map((line) =>
    line
      .replace(/"split":\{.*?\},/, "")
      .replace(/"pricesUsdPerMTok":\{.*?\},/, "")
      .replace('"input_tokens":0', '"input_tokens":100')
      .replace('"cache_read_input_tokens":4000', '"cache_read_input_tokens":3900'),
  );
  const reading = await readTrace(asyncLines(lines));
  if (reading.kind !== "trace") throw new Error(reading.message);
  const [from, to] = reading.trace.requests;
  if (from === undefined || to === undefined) throw new Error("no requests");
  const { cache } = traceDiff({ trace: reading.trace, from, to });
  expect(cache).toEqual({
    reasons: ["hit"],
    offeredTokens: 4000,
    readTokens: 3900,
    deletedTokens: 0,
    elsewhereTokens: 0,
    elsewhere: null,
    againTokens: 100,
    extraUsd: null,
  });
});

describe("what a request is compared with", () => {
  it("the answered one of its workspace whose beginning it shares, else the last before it there", async () => {
    const maker = new TraceMaker();
    const other = [tool("search"), message("two things")];
    await maker.send({ made: plain });
    await maker.send({ made: other });
    await maker.send({ made: [...plain, message("three")], reply: "refused" });
    await maker.send({ made: [...plain, message("three")] });
    await maker.send({ made: [message("new")] });
    await maker.send({ made: plain, workspace: "elsewhere" });
    const pairs = [...pairWithEarlier((await maker.trace()).requests)].map(({ request, before }) => [
      request.n,
      before?.n,
    ]);
    expect(pairs).toEqual([
      [1, undefined],
      [2, 1],
      [3, undefined],
      [4, 1],
      [5, 4],
      [6, undefined],
    ]);
  });

  it("is compared with one that left something in the cache, where the nearest left nothing", async () => {
    const maker = new TraceMaker();
    const more = [...plain, message("three"), marked(message("four"))];
    await maker.send({ made: plain });
    await maker.send({ made: more.map(unmarked) });
    await maker.send({ made: more });
    await maker.send({ made: [message("aside")] });
    await maker.send({ made: [marked(message("another"))] });
    const pairs = [...pairWithEarlier((await maker.trace()).requests)].map(({ request, before }) => [
      request.n,
      before?.n,
    ]);
    expect(pairs).toEqual([
      [1, undefined],
      [2, 1],
      [3, 1],
      [4, 3],
      [5, 3],
    ]);
  });
});
