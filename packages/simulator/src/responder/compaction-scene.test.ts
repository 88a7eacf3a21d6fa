import { describe, expect, it } from "vitest";
import { assistantSays, requestOf, said, sceneOf, userSays } from "../../../../test/fixture/scene.ts";
import { summaryPrompt } from "../compaction/summary-prompt.ts";
import { parseScenario } from "../scenario/read-scenario.ts";
import { scriptResponder } from "../scenario/script-responder.ts";
import type { Responder, PlannedReply } from "./responder.ts";
import { adversaryResponder } from "./adversary-responder.ts";
import { echoResponder } from "./echo-responder.ts";
import { extractResponder } from "./extract-responder.ts";
import { replayResponder } from "./replay-responder.ts";

const summing = sceneOf(
  requestOf([userSays("Mend the pump."), assistantSays("I opened it."), userSays(summaryPrompt)]),
);
const asked = async (actor: Responder): Promise<PlannedReply> => actor.respond({ ...summing, purpose: "compaction" });
const replied = async (actor: Responder): Promise<PlannedReply> =>
  actor.respond({ ...summing, request: requestOf("Hello you") });

const scripted = (text: string): Responder => {
  const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind !== "scenario") throw new Error(JSON.stringify(reading.problems));
  return scriptResponder(reading.scenario);
};
const replaying = (): Responder => replayResponder({ replies: [{ blocks: [{ type: "text", text: "Recorded." }] }] });

const made = {
  name: "made",
  meets: () => true,
  part: { kind: "made", make: () => ({ text: "One" }) },
} as const;

describe("asked for a compaction's summary", () => {
  it.each<[string, Responder]>([
    ["echo", echoResponder],
    ["extract", extractResponder],
    ["replay", replaying()],
    ["a scenario", scripted("moves: [{ text: One }]")],
    ["a scenario that is a function's", scriptResponder({ name: "s", compaction: [], lanes: [made] })],
  ])("%s makes one by rule", async (_, actor) => {
    const summary = said((await asked(actor)).move);
    expect(summary).toMatch(/<summary>[^]*Mend the pump\.[^]*<\/summary>/);
    expect(summary).not.toContain(summaryPrompt);
  });

  it.each<[string, Responder, string]>([
    ["a recording", replaying(), "Recorded."],
    ["a scenario", scripted("moves: [{ text: One }]"), "One"],
  ])("%s spends no reply on it", async (_, actor, first) => {
    (await asked(actor)).delivered?.();
    expect(said((await replied(actor)).move)).toBe(first);
  });

  it("a scenario gives its own, each until it has arrived, and then one by rule", async () => {
    const actor = scripted("compaction: [{ text: First }, { tools: [{ name: look }] }]\nmoves: [{ text: One }]");
    const lost = await asked(actor);
    lost.lost?.();
    const first = await asked(actor);
    first.delivered?.();
    const second = await asked(actor);
    second.delivered?.();
    expect([lost, first, second].map(({ move }) => said(move))).toEqual(["First", "First", "look({})"]);
    expect(said((await asked(actor)).move)).toMatch(/<summary>/);
    expect(said((await replied(actor)).move)).toBe("One");
  });

  it("an adversary does what it always does", async () => {
    const actor = adversaryResponder(["unasked-call", "lying-summary"]);
    const moves = [(await asked(actor)).move, (await asked(actor)).move].map((move) => said(move));
    expect(moves).toEqual([expect.stringMatching(/\(\{\}\)$|\(\{.*\}\)$/), expect.stringMatching(/imaginary/)]);
  });
});

describe("a scenario", () => {
  it("has no move that a compaction's fault befalls", () => {
    const text = "name: s\nmoves: [{ text: One, fault: compaction-unavailable }]";
    const reading = parseScenario({ file: "s.yaml", text });
    expect(reading).toMatchObject({ kind: "wrong" });
  });
});
