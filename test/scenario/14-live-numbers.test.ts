import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCounted } from "../../packages/palimpsest/src/index.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { requestTokens } from "../../packages/palimpsest/src/schema/usage.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { loggingTool, testAgent } from "../fixture/agent.ts";
import { bytesOf, sourceOf } from "../fixture/log.ts";
import { openedForTest, testDeps } from "../fixture/session.ts";
import { agentFigures } from "../../packages/cli/src/chat/chat-view.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

/** The head of a picture of this size: what it takes follows from it. */
function png(width: number, height: number): string {
  const head = Buffer.alloc(60);
  head.writeUInt32BE(0x89504e47, 0);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString("base64");
}

const picture = (width: number, height: number) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data: png(width, height) },
});

const sentIn = (events: readonly LoopEvent[]): readonly number[] =>
  events.flatMap((one) => (one.kind === "request-start" ? [one.tokens] : []));
const countedIn = (events: readonly LoopEvent[]): readonly number[] =>
  events.flatMap((one) => (one.kind === "reply-end" && one.usage !== undefined ? [requestTokens(one.usage)] : []));

describe("14. Pictures", () => {
  it.each([
    [1_000, 800],
    [1_500, 1_500],
  ])("of %d × %d in a result are counted before the request that carries them", async (width, height) => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const look = loggingTool("look", {
      effect: "read",
      log: { runs: [], most: 0 },
      act: () => Promise.resolve({ content: [picture(width, height)], summary: "a picture" }),
    });
    const looks = [{ type: "tool_use", name: "look", input: {} }] as const;
    const simulator = new Simulator({ responder: playing(looks, looks, says("Seen.")) });
    const events = await testAgent({ deps, session, tools: [look], simulator }).turn("Look.");
    const [, ...sent] = sentIn(events);
    const [first = 0, ...counted] = countedIn(events);
    expect(counted.map((one, at) => one - ([first, ...counted][at] ?? 0) > 1_000)).toEqual([true, true]);
    for (const [at, tokens] of sent.entries()) expect(tokens / (counted[at] ?? 0)).toBeGreaterThan(0.95);
    // The meter is what the provider counted last, and its reply.
    expect(session.ledger.size.tokens).toBeGreaterThanOrEqual(counted.at(-1) ?? Infinity);
    expect(session.ledger.size.tokens).toBeLessThan((counted.at(-1) ?? 0) * 1.02);
  });

  it("in a message that nobody has counted are part of what is used, each with its share", async () => {
    const used = async (...content: readonly object[]): Promise<number> => {
      const log = bytesOf([JSON.stringify({ type: "user", uuid: "u", parentUuid: null, message: { content } })]);
      const opened = await openCounted({ blobs: memoryBlobs() }, { source: sourceOf(log), origin: "foreign" });
      return opened.ledger.size.tokens;
    };
    const text = { type: "text", text: "Look at these." };
    const [none, one, two] = [
      await used(text),
      await used(text, picture(1_500, 1_500)),
      await used(text, picture(1_500, 1_500), picture(1_500, 1_500)),
    ];
    expect(one - none).toBeGreaterThanOrEqual(1_600);
    expect(Math.abs(two - one - (one - none))).toBeLessThanOrEqual(1);
  });
});

const question = readFileSync(new URL("../fixture/english-sample.txt", import.meta.url), "utf8");

describe("14. Another model with another tokenizer", () => {
  const [older, newer] = ["claude-haiku-4-5", "claude-sonnet-5-5"];

  it.each([
    [older, newer],
    [newer, older],
  ])(
    "from %s to %s the size is known before the first request: the same on the meter, in the event and in the API",
    async (before, after) => {
      const world = await agentWorld({ responder: playing(says(question.slice(0, 6_000)), says("Yes."), says("No.")) });
      const first = await world.open({ kind: "new" }, before);
      await turn(first, question);
      const { id } = first.session;
      await first.close();
      const second = await world.open({ kind: "resume", id }, after);
      expect(second.session.ledger.size).toMatchObject({ source: "estimate", anchor: undefined });
      const events: LoopEvent[] = [];
      for (const text of ["Is that so?", "And now?"])
        for await (const event of second.turn(text, new AbortController().signal)) {
          events.push(event);
          if (event.kind !== "request-start") continue;
          expect(second.session.ledger.size.tokens).toBe(event.tokens);
          expect(agentFigures(second).usedTokens).toBe(event.tokens);
        }
      expect(second.session.ledger.size.source).toBe("usage");
      await second.close();
      const [sent, counted] = [sentIn(events), countedIn(events)];
      expect(counted).toHaveLength(2);
      // What was counted for the other model is scaled; the first count by the new one replaces it.
      for (const [at, most] of [1.05, 1.01].entries()) {
        expect((sent[at] ?? 0) / (counted[at] ?? 0)).toBeGreaterThan(0.98);
        expect((sent[at] ?? 0) / (counted[at] ?? 0)).toBeLessThan(most);
      }
    },
  );

  it.each([
    [older, newer],
    [newer, older],
  ])("from %s to %s what was learned is scaled too: behind a boundary nothing else is known", async (before, after) => {
    const world = await agentWorld({ responder: playing(says(question.slice(0, 6_000)), says("Yes.")) });
    const first = await world.open({ kind: "new" }, before);
    await turn(first, question);
    const { id } = first.session;
    await first.close();
    const second = await world.open({ kind: "resume", id }, after);
    const summary = { part: { kind: "all" }, summary: "They asked whether that is so. It is." } as const;
    const { returned: proposed } = await drain(
      second.context.compaction.propose(summary, new AbortController().signal),
    );
    if (proposed.kind !== "proposed") throw new Error(proposed.message);
    await drain(second.context.compaction.commit(proposed.proposal));
    await second.close();
    const third = await world.open({ kind: "resume", id }, after);
    const events = await turn(third, "And now?");
    await third.close();
    const [sent = 0] = sentIn(events);
    const [counted = 0] = countedIn(events);
    expect(sent / counted).toBeGreaterThan(0.95);
    expect(sent / counted).toBeLessThan(1.1);
  });
});

describe("14. A compaction", () => {
  it("has the same sizes in the hook's input, the event, the API and on the meter: those of the whole context", async () => {
    const world = await agentWorld({ responder: playing(says(question.slice(0, 6_000)), says("Yes.")) });
    const heard = join(world.work, "heard.json");
    const hook = { hooks: [{ type: "command", command: `cat > '${heard}'` }] };
    await mkdir(world.home, { recursive: true });
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks: { PostCompact: [hook] } }));
    const agent = await world.open({ kind: "new" }, "claude-sonnet-5-5");
    for (const text of [question, "Is that so?"]) await turn(agent, text);
    const before = agentFigures(agent).usedTokens;
    const ask = { part: { kind: "all" }, summary: "They asked whether that is so. It is." } as const;
    const { returned: proposed } = await drain(agent.context.compaction.propose(ask, new AbortController().signal));
    if (proposed.kind !== "proposed") throw new Error(proposed.message);
    const sizes: object[] = [];
    const { returned: committed } = await drain(agent.context.compaction.commit(proposed.proposal), (event) => {
      if (event.kind !== "compacted") return;
      const { tokensBefore, tokensAfter } = event;
      sizes.push({ tokensBefore, tokensAfter }, { tokensBefore: before, tokensAfter: agentFigures(agent).usedTokens });
    });
    await agent.close();
    const { receipt } = JSON.parse(await readFile(heard, "utf8")) as { receipt: object };
    expect(committed).toMatchObject({ kind: "committed", ...sizes[0] });
    expect(sizes[1]).toEqual(sizes[0]);
    expect(receipt).toMatchObject({ cause: "manual", ...sizes[0] });
  });
});

async function drain<Returned>(
  events: AsyncGenerator<LoopEvent, Returned>,
  onEvent: (event: LoopEvent) => void = () => undefined,
): Promise<{ readonly returned: Returned }> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return { returned: next.value };
    onEvent(next.value);
  }
}
