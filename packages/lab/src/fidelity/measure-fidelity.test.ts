import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { recordingOf } from "../../../../test/fixture/recording.ts";
import { factKinds } from "./fact.ts";
import { type Recall, createSessionRecall } from "./judged-fact.ts";
import { type FidelityRequest, measureFidelity } from "./measure-fidelity.ts";

const request: FidelityRequest = {
  path: "session.jsonl",
  policies: ["claude-code-2026", "opencode"],
  windowTokens: 60_000,
  summariser: "rules",
  compactions: [1, 2],
};
const deaf = (): Recall => ({ append: async () => undefined, search: async () => [] });

/** Fills the window again and again; some words of the user between. */
const session = (rounds: number): readonly Raw[] => [
  user("u0", "Mend the clock in the tower, and never touch the bells."),
  ...Array.from({ length: rounds }, (_, n): readonly Raw[] => [
    says(`a${n}`, `m${n}`, { type: "tool_use", id: `t${n}`, ...work(n) }),
    result(`r${n}`, `t${n}`, `part ${n} of the clock, with cogs and hands\n`.repeat(150)),
    ...(n % 5 === 4 ? [says(`b${n}`, `n${n}`, text("Done.")), user(`u${n}`, `Now do number ${1_000 + n}.`)] : []),
  ]).flat(),
  says("z", "mz", text("Done.")),
];

const work = (n: number): object =>
  n % 3 === 0
    ? { name: "Edit", input: { file_path: `/tower/part-${n}.ts` } }
    : { name: "Bash", input: { command: `wind spring-${n} of the tower` } };

const recorded = (raws: readonly Raw[]) =>
  recordingOf(
    bytesOf(raws.map((raw, at) => JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw }))),
  );

const measured = async (changes: Partial<FidelityRequest> = {}, newRecall = deaf, raws = session(45)) =>
  measureFidelity({ newRecall }, { recording: await recorded(raws), request: { ...request, ...changes } });

describe("fidelity", () => {
  it("is told for each policy and compaction, in the order asked for", async () => {
    const { outcomes, runs } = await measured();
    expect(outcomes.map(({ policy, compaction }) => `${policy} ${compaction}`)).toEqual([
      "claude-code-2026 1",
      "claude-code-2026 2",
      "opencode 1",
      "opencode 2",
    ]);
    expect(runs.map(({ policy }) => policy)).toEqual(["claude-code-2026", "opencode"]);
    for (const { compactions } of runs) expect(compactions).toBeGreaterThan(1);
    for (const { tokensBefore, tokensAfter, window } of outcomes) {
      expect(tokensAfter).toBeLessThan(tokensBefore);
      expect(window).toBe(60_000);
    }
  });

  it("has every message of the user verbatim under a ledger", async () => {
    const talk = Array.from({ length: 40 }, (_, n): readonly Raw[] => [
      user(`v${n}`, `Tell me of number ${1_000 + n}.`),
      says(`c${n}`, `mc${n}`, text(`part ${n} of the clock, with cogs and hands\n`.repeat(150))),
    ]);
    const { outcomes } = await measured({ policies: ["palimpsest"] }, deaf, talk.flat());
    expect(outcomes.length).toBeGreaterThan(0);
    for (const { userMessages, userMessagesVerbatim, userMessagesByReference } of outcomes) {
      expect(userMessages).toBeGreaterThan(1);
      expect([userMessagesVerbatim, userMessagesByReference]).toEqual([userMessages, 0]);
    }
  });

  it("counts no compaction whose view can't be sent", async () => {
    const { outcomes, runs } = await measured({ policies: ["opencode"], windowTokens: 5_000 });
    expect(outcomes).toEqual([]);
    expect(runs).toEqual([{ policy: "opencode", compactions: 0, failedAt: 0 }]);
  });

  it("loses what neither the view nor recall has, and recall brings it back", async () => {
    const lostIn = async (newRecall: () => Recall) =>
      (await measured({ policies: ["opencode"] }, newRecall)).outcomes.map(({ facts }) =>
        factKinds.reduce((sum, kind) => sum + facts[kind].lost, 0),
      );
    const [first = 0, second = 0] = await lostIn(deaf);
    expect(second).toBeGreaterThan(first);
    expect((await lostIn(createSessionRecall))[1]).toBeLessThan(second);
  });

  it("takes what the recorded agent wrote at that point, for the preset that it is, and for no other", async () => {
    const { outcomes } = await measured({ policies: ["claude-code-2.1"], compactions: [1] });
    const at = outcomes[0]?.round ?? 0;
    const recording = await recorded(session(45));
    const summaries = [{ round: at, policy: "claude-code-2.1", text: "All was mended, said the recorded one." }];
    const policies = ["claude-code-2.1", "claude-code-2026"];
    const { outcomes: both } = await measureFidelity(
      { newRecall: deaf },
      { recording: { ...recording, summaries }, request: { ...request, policies, compactions: [1] } },
    );
    expect(both.map(({ summary }) => summary)).toEqual(["recorded", "shared"]);
    expect(both[0]?.userMessagesVerbatim).toBeLessThan(both[0]?.userMessages ?? 0);
  });

  it("has no outcome of a policy that never compacts", async () => {
    const { outcomes, runs } = await measured({ policies: ["none"] });
    expect(outcomes).toEqual([]);
    expect(runs).toEqual([{ policy: "none", compactions: 0, failedAt: expect.any(Number) as number }]);
  });

  it("knows no policy that nobody made", async () => {
    await expect(measured({ policies: ["best"] })).rejects.toThrow("best");
  });

  it("has of the facts that are needed later no more than there are", async () => {
    const { outcomes } = await measured();
    for (const { facts, neededLater } of outcomes)
      for (const kind of factKinds)
        for (const fate of ["shown", "recoverable", "lost"] as const)
          expect(neededLater[kind][fate]).toBeLessThanOrEqual(facts[kind][fate]);
  });
});
