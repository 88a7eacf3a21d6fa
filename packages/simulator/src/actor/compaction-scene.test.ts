import { describe, expect, it } from "vitest";
import { assistantSays, requestOf, said, sceneOf, userSays } from "../../../../test/fixture/scene.ts";
import { summaryPrompt } from "../compaction/summary-prompt.ts";
import { parseScenario } from "../scenario/read.ts";
import { scriptActor } from "../scenario/script.ts";
import type { Actor, Take } from "./actor.ts";
import { adversaryActor } from "./adversary.ts";
import { echoActor } from "./echo.ts";
import { extractActor } from "./extract.ts";
import { replayActor } from "./replay.ts";

const summing = sceneOf(
  requestOf([userSays("Mend the pump."), assistantSays("I opened it."), userSays(summaryPrompt)]),
);
const asked = async (actor: Actor): Promise<Take> => actor.play({ ...summing, purpose: "compaction" });
const replied = async (actor: Actor): Promise<Take> => actor.play({ ...summing, request: requestOf("Hello you") });

const scripted = (text: string): Actor => {
  const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
  if (reading.kind !== "scenario") throw new Error(JSON.stringify(reading.problems));
  return scriptActor(reading.scenario);
};
const replaying = (): Actor => replayActor({ replies: [{ blocks: [{ type: "text", text: "Recorded." }] }] });

const made = {
  name: "made",
  meets: () => true,
  part: { kind: "made", make: () => ({ text: "One" }) },
} as const;

describe("asked for a compaction's summary", () => {
  it.each<[string, Actor]>([
    ["echo", echoActor],
    ["extract", extractActor],
    ["replay", replaying()],
    ["a scenario", scripted("moves: [{ text: One }]")],
    ["a scenario that is a function's", scriptActor({ name: "s", compaction: [], lanes: [made] })],
  ])("%s makes one by rule", async (_, actor) => {
    const summary = said((await asked(actor)).move);
    expect(summary).toMatch(/<summary>[^]*Mend the pump\.[^]*<\/summary>/);
    expect(summary).not.toContain(summaryPrompt);
  });

  it.each<[string, Actor, string]>([
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
    const actor = adversaryActor(["unasked-call", "lying-summary"]);
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
