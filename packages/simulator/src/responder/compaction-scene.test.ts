import { describe, expect, it } from "vitest";
import { assistantSays, requestOf, said, sceneOf, userSays } from "../../../../test/fixture/scene.ts";
import { summaryPrompt } from "../compaction/compaction-block.ts";
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
const asked = async (responder: Responder): Promise<PlannedReply> =>
  responder.respond({ ...summing, purpose: "compaction" });
const replied = async (responder: Responder): Promise<PlannedReply> =>
  responder.respond({ ...summing, request: requestOf("Hello you") });

const scripted = (text: string): Responder => {
  const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind !== "scenario") throw new Error(JSON.stringify(reading.problems));
  return scriptResponder(reading.scenario);
};
const replaying = (): Responder => replayResponder({ replies: [{ blocks: [{ type: "text", text: "Recorded." }] }] });

const made = {
  name: "made",
  meets: () => true,
  part: { kind: "computed", make: () => ({ text: "One" }) },
} as const;

describe("asked for a compaction's summary", () => {
  it.each<[string, Responder]>([
    ["echo", echoResponder],
    ["extract", extractResponder],
    ["replay", replaying()],
    ["a scenario", scripted("moves: [{ text: One }]")],
    ["a scenario that is a function's", scriptResponder({ name: "s", compaction: [], lanes: [made] })],
  ])("%s makes one by rule", async (_, responder) => {
    const summary = said((await asked(responder)).move);
    expect(summary).toMatch(/<summary>[^]*Mend the pump\.[^]*<\/summary>/);
    expect(summary).not.toContain(summaryPrompt);
  });

  it.each<[string, Responder, string]>([
    ["a recording", replaying(), "Recorded."],
    ["a scenario", scripted("moves: [{ text: One }]"), "One"],
  ])("%s spends no reply on it", async (_, responder, first) => {
    (await asked(responder)).delivered?.();
    expect(said((await replied(responder)).move)).toBe(first);
  });

  it("a scenario gives its own, each until it has arrived, and then one by rule", async () => {
    const responder = scripted("compaction: [{ text: First }, { tools: [{ name: look }] }]\nmoves: [{ text: One }]");
    const lost = await asked(responder);
    lost.lost?.();
    const first = await asked(responder);
    first.delivered?.();
    const second = await asked(responder);
    second.delivered?.();
    expect([lost, first, second].map(({ move }) => said(move))).toEqual(["First", "First", "look({})"]);
    expect(said((await asked(responder)).move)).toMatch(/<summary>/);
    expect(said((await replied(responder)).move)).toBe("One");
  });

  it("an adversary does what it always does", async () => {
    const responder = adversaryResponder(["unasked-call", "lying-summary"]);
    const moves = [(await asked(responder)).move, (await asked(responder)).move].map((move) => said(move));
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
