import { describe, expect, it } from "vitest";
import { boundary, chained, loggedRaws, type Raw, says, summary, text, user } from "../../../../../test/fixture/raw.ts";
import {
  append,
  opened,
  reply,
  reopened,
  testDeps,
  text as words,
  user as typed,
} from "../../../../../test/fixture/session.ts";
import { settingsFor } from "../../../../../test/fixture/compacting.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { PolicyName } from "../../schema/policy-names.ts";
import type { CompactionCall } from "../../schema/compaction-cause.ts";
import { Fold } from "../../transcript/fold.ts";
import { appendBoundary } from "../../session/append-boundary.ts";
import { computeChain, breakerDraft, breakerLimit, countFailures, breakerState } from "./breaker-state.ts";
import { autoCallsMax, autoCallsRounds, breakerRestRounds, unusableRestRounds } from "./limits.ts";
import { compactionCostDraft } from "../past-costs.ts";

const policy = getPreset("palimpsest");
const paid: CompactionCall = { path: "fork", model: "m", usage: { input_tokens: 1 } };

let serial = 0;
const uuid = (): string => `id-${(serial += 1)}`;
const spent = (calls: number, trigger: "auto" | "manual" = "auto"): Raw => ({
  ...compactionCostDraft(
    Array.from({ length: calls }, () => paid),
    trigger,
  ),
  type: "setting",
  uuid: uuid(),
});
const failed = (failures: number): Raw => ({ ...breakerDraft(failures), type: "setting", uuid: uuid() });
const unusable = (failures: number): Raw => ({ ...breakerDraft(failures, "unusable"), type: "setting", uuid: uuid() });
const compacted = (trigger: "auto" | "manual"): readonly Raw[] => [
  boundary(uuid(), { trigger, calls: [paid] }),
  summary(uuid()),
];
const rounds = (count: number): readonly Raw[] => Array.from({ length: count }, () => says(uuid(), uuid(), text("ok")));

function standing(raws: readonly Raw[], name: PolicyName = "palimpsest"): string {
  const fold = new Fold();
  for (const logged of loggedRaws([user(uuid(), "go"), ...raws])) fold.append(logged);
  return breakerState(fold, getPreset(name)).kind;
}

describe("under a preset", () => {
  it.each<[string, PolicyName, readonly Raw[], string]>([
    [
      "three failures stop it for good",
      "claude-code-2026",
      [failed(3), ...rounds(2 * breakerRestRounds)],
      "breaker_open",
    ],
    ["no failure stops it", "claude-code-2.0", [failed(9)], "may-ask"],
    ["no number of calls stops it", "claude-code-2026", [spent(10 * autoCallsMax)], "may-ask"],
  ])("%s: %s", (_, name, raws, expected) => {
    expect(standing(raws, name)).toBe(expected);
  });
});

describe("whether a model may be asked for a summary that nobody wants", () => {
  it.each<[string, readonly Raw[], string]>([
    ["at first", [], "may-ask"],
    ["after two failures in a row", [failed(1), failed(2)], "may-ask"],
    ["not after three", [failed(1), failed(2), failed(3)], "breaker_open"],
    ["not one round too early after three", [failed(3), ...rounds(breakerRestRounds - 1)], "breaker_open"],
    ["once more when so many rounds have passed", [failed(3), ...rounds(breakerRestRounds)], "may-ask"],
    ["not at once when that failed too", [failed(3), ...rounds(breakerRestRounds), failed(4)], "breaker_open"],
    ["not behind an answer that was no summary", [unusable(1)], "breaker_open"],
    ["again when the conversation has gone on behind it", [unusable(1), ...rounds(unusableRestRounds)], "may-ask"],
    ["not one round earlier than that", [unusable(1), ...rounds(unusableRestRounds - 1)], "breaker_open"],
    ["again after a success", [failed(3), failed(0)], "may-ask"],
    [
      "not where a boundary came behind the failures that did not end them",
      [failed(3), ...compacted("auto")],
      "breaker_open",
    ],
    ["one call short of too many", [spent(autoCallsMax - 1)], "may-ask"],
    ["not after too many calls", [spent(autoCallsMax)], "spend_limit"],
    [
      "not where each call has its boundary",
      Array.from({ length: autoCallsMax }, () => [...rounds(1), ...compacted("auto")]).flat(),
      "spend_limit",
    ],
    [
      "however many calls the user wanted",
      [spent(autoCallsMax, "manual"), ...Array.from({ length: autoCallsMax }, () => compacted("manual")).flat()],
      "may-ask",
    ],
    [
      "after as many calls, when the rounds between have passed",
      [spent(autoCallsMax), ...rounds(autoCallsRounds + 1)],
      "may-ask",
    ],
    ["not one round earlier, by calls", [spent(autoCallsMax), ...rounds(autoCallsRounds)], "spend_limit"],
  ])("%s", (_, raws, expected) => {
    expect(standing(raws)).toBe(expected);
  });

  it("at once, also behind an answer that was no summary, if nothing else could compact at the limit", () => {
    expect(standing([unusable(1)], "claude-code-2026")).toBe("may-ask");
  });

  it("counts a reply in several entries as one round", () => {
    const parts = rounds(autoCallsRounds).flatMap((raw) => [raw, { ...raw, uuid: uuid() }]);
    expect(standing([spent(autoCallsMax), ...parts])).toBe("spend_limit");
  });

  it.each<[PolicyName, number]>([
    ["palimpsest", 3],
    ["claude-code-2026", 3],
    // "Logged, goes on".
    ["claude-code-2.0", Infinity],
    ["opencode", Infinity],
    // Without a rule of its own: as we do.
    ["none", 3],
  ])("%s: after %d failures no more", (name, failures) => {
    expect(breakerLimit(getPreset(name))).toBe(failures);
  });

  it("the breaker survives a boundary and a reopening, also where the log is read from its end", async () => {
    const deps = testDeps({ tailBytes: 200 });
    const session = await opened(deps);
    await append(session, typed("go"), reply("m1", words("ok")), breakerDraft(3));
    await appendBoundary(deps, session, { summary: "All of it.", trigger: "manual" });
    expect(countFailures(session.fold)).toBe(3);
    const again = await reopened(deps, session);
    expect(again.read.from).not.toBe("beginning");
    expect(breakerState(again.fold, policy).kind).toBe("breaker_open");
  });

  it.each<[number, string]>([
    [1, "breaker_open"],
    [2, "may-ask"],
  ])(
    "the breaker's rest goes on through boundaries in a log that is read from its end: %d rounds behind",
    async (behind, expected) => {
      const deps = testDeps({ tailBytes: 200 });
      const session = await opened(deps);
      const replies = (from: string, count: number) =>
        Array.from({ length: count }, (_of, at) => reply(`${from}${at}`, words("ok")));
      await append(session, typed("go"), breakerDraft(3), ...replies("m", breakerRestRounds - 2));
      for (const summary of ["All of it.", "Again."]) {
        const chain = computeChain(session.fold, { settings: settingsFor({ windowTokens: 200_000 }), source: "main" });
        await appendBoundary(deps, session, { summary, trigger: "manual", metadata: { chain } });
      }
      const again = await reopened(deps, session);
      await append(again, ...replies("n", behind));
      expect(again.read.from).toBe("boundary");
      expect(breakerState(again.fold, policy).kind).toBe(expected);
    },
  );

  it.each<[string, number, string]>([
    ["the calls before a boundary count", 0, "spend_limit"],
    ["also when the last of the rounds is behind it", 2, "spend_limit"],
    ["not when so many rounds have passed, before it and behind it", 3, "may-ask"],
  ])("in a log that is read from its end: %s", async (_, roundsBehind, expected) => {
    const deps = testDeps({ tailBytes: 200 });
    const session = await opened(deps);
    await append(
      session,
      typed("go"),
      compactionCostDraft(
        Array.from({ length: autoCallsMax }, () => paid),
        "auto",
      ),
    );
    const replies = (from: string, count: number) =>
      Array.from({ length: count }, (_of, at) => reply(`${from}${at}`, words("ok")));
    await append(session, ...replies("m", autoCallsRounds - 2));
    // Twice: what the first boundary knows must come through the second.
    for (const summary of ["All of it.", "Again."]) {
      const chain = computeChain(session.fold, { settings: settingsFor({ windowTokens: 200_000 }), source: "main" });
      await appendBoundary(deps, session, { summary, trigger: "manual", metadata: { chain } });
    }
    const again = await reopened(deps, session);
    await append(again, ...replies("n", roundsBehind));
    expect(again.read.from).toBe("boundary");
    expect(breakerState(again.fold, policy).kind).toBe(expected);
  });

  it("a setting that says something else counts as none", () => {
    const [entry] = chained([{ ...failed(3), value: { failures: "many" } }]);
    const fold = new Fold();
    if (entry !== undefined) fold.append({ entry, start: 0, end: 1 });
    expect(countFailures(fold)).toBe(0);
  });
});
