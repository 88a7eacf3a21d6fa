import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { testAgent } from "../../../../../test/fixture/agent.ts";
import {
  append,
  openedForTest,
  reopened,
  reply,
  say,
  testDeps,
  text,
  user,
} from "../../../../../test/fixture/session.ts";
import { refusedCompactionRequests } from "../../ports/compaction-requests.ts";
import { type EntryId, entryId, tokens } from "../../schema/brand.ts";
import { environmentValues } from "@palimpsest/cli/internal/settings/read-settings";
import { type ResolvedSettings, resolveForModel } from "../../settings/resolved-settings.ts";
import { resolveSettings } from "../../settings/resolve-settings.ts";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { compactTool } from "@palimpsest/cli/internal/tool/builtin-tools";
import type { Draft } from "../../transcript/draft.ts";
import { appendBoundary, type BoundaryInput } from "../../session/append-boundary.ts";
import { ForkLine } from "../fork-line.ts";
import { pressureBandPercents } from "../limits.ts";
import { findBand, nextPressureDraft, lastAnnouncedBand } from "./pressure.ts";
import { pressureText } from "./pressure-text.ts";
import type { Session } from "../../session/session.ts";

const tools = [compactTool({ compactionRequests: refusedCompactionRequests })];

/** Settings with the switch on, and a threshold of which so much is used. */
function settingsAt(session: Session, percent: number, env: Readonly<Record<string, string>> = {}): ResolvedSettings {
  const settings = resolveForModel(
    resolveSettings([environmentValues({ PALIMPSEST_FLAG_COMPACT_AGENT: "1", ...env })]),
    {},
  );
  const limit = tokens(Math.floor((session.ledger.size.tokens * 100) / percent));
  return { ...settings, thresholds: { ...settings.thresholds, limit } };
}

async function world() {
  const deps = { ...testDeps(), isClearable: () => true };
  const session = await openedForTest(deps);
  await append(session, user("begin ".repeat(200)), reply("m1", text("done ".repeat(200))), user("go on"));
  const on = (of: Session) => {
    const { conversation } = testAgent({ deps, session: of, simulator: new Simulator(), tools });
    const due = (percent: number, env?: Readonly<Record<string, string>>): Draft | undefined =>
      nextPressureDraft(conversation, { settings: settingsAt(of, percent, env), tools });
    /** Tells what is due, as the loop does; the band, or nothing. */
    const tell = async (percent: number): Promise<unknown> => {
      const draft = due(percent);
      if (draft === undefined) return undefined;
      await say(of, draft);
      return lastAnnouncedBand(of.fold);
    };
    return { conversation, due, tell };
  };
  const compacted = async (over: Partial<BoundaryInput> = {}) => {
    const edited = await appendBoundary(deps, session, { summary: "So far.", trigger: "auto", ...over });
    if (edited.kind === "failed") throw new Error(edited.message);
    return edited.entries[0];
  };
  return { deps, session, ...on(session), on, compacted };
}

describe("how full the context is", () => {
  it("is told once in each band, and of several at once the highest", async () => {
    const { tell } = await world();
    expect(await tell(49)).toBeUndefined();
    expect(await tell(51)).toBe(50);
    expect(await tell(70)).toBeUndefined();
    expect(await tell(95)).toBe(90);
    expect(await tell(80)).toBeUndefined();
    expect(await tell(120)).toBeUndefined();
  });

  it("stands at the end: what was sent before it stays as it is", async () => {
    const { session, tell } = await world();
    const before = session.view().messages;
    const sent = JSON.stringify(before).slice(0, -"]}]".length);
    await tell(60);
    expect(JSON.stringify(session.view().messages).startsWith(sent)).toBe(true);
    expect(session.view().messages.at(-1)?.content.at(-1)).toMatchObject({
      type: "text",
      text: expect.stringMatching(/^<system-reminder>\nYour context holds about /) as string,
    });
  });

  it("is known to have been told when the session is opened again", async () => {
    const { deps, session, on, tell } = await world();
    await tell(80);
    const again = await reopened(deps, session);
    const { due } = on(again);
    expect(lastAnnouncedBand(again.fold)).toBe(75);
    expect(due(80)).toBeUndefined();
    expect(due(91)).toBeDefined();
    await again.close();
  });

  it.each<[string, number, (told: EntryId, last: EntryId) => Partial<BoundaryInput>]>([
    ["covers it", 0, () => ({})],
    ["keeps it", 1, (told, last) => ({ kept: { head: told, tail: last } })],
    ["leaves it in front", 1, (_, last) => ({ from: last })],
  ])("is told anew behind a boundary that %s", async (_, shown, boundary) => {
    const { session, compacted, tell } = await world();
    expect(await tell(60)).toBe(50);
    const told = session.fold.path.leaf?.id ?? entryId("");
    await compacted(boundary(told, await say(session, user("and then"))));
    expect(session.fold.projection.items.filter(({ entry }) => entry === told)).toHaveLength(shown);
    expect(lastAnnouncedBand(session.fold)).toBeUndefined();
    await say(session, user("more"));
    expect(await tell(60)).toBe(50);
  });

  it("counts as told again when the boundary is undone", async () => {
    const { session, compacted, tell } = await world();
    await tell(80);
    const boundary = await compacted();
    await append(session, { type: "undo", edit: boundary });
    expect(lastAnnouncedBand(session.fold)).toBe(75);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["the switch is off", { PALIMPSEST_FLAG_COMPACT_AGENT: "0" }],
    ["nothing may be rewritten", { DISABLE_COMPACT: "1" }],
  ])("is not told where %s", async (_, env) => {
    const { due } = await world();
    expect(due(95)).toBeDefined();
    expect(due(95, env)).toBeUndefined();
  });

  it("is not told to who has no tool to ask with, nor to a fork", async () => {
    const { session, conversation } = await world();
    const settings = settingsAt(session, 95);
    expect(nextPressureDraft(conversation, { settings, tools: [] })).toBeUndefined();
    const { usedTokens, fixedTokens } = conversation.line;
    const line = new ForkLine({ messages: conversation.line.snapshot(), usedTokens, fixedTokens });
    expect(nextPressureDraft({ ...conversation, line }, { settings, tools })).toBeUndefined();
  });
});

test("the band is the highest one that is reached", () => {
  const counts = fc.record({ usedTokens: fc.nat(2_000_000), limitTokens: fc.integer({ min: 1, max: 2_000_000 }) });
  fc.assert(
    fc.property(counts, ({ usedTokens, limitTokens }) => {
      const reached = pressureBandPercents.filter((percent) => usedTokens / limitTokens >= percent / 100);
      expect(findBand({ usedTokens, limitTokens })).toBe(reached.at(-1));
    }),
  );
});

test("a window without any room is full", () => {
  expect(findBand({ usedTokens: 5, limitTokens: 0 })).toBe(90);
  expect(findBand({ usedTokens: 5, limitTokens: -10 })).toBe(90);
});

test.each([
  { band: 50, usedTokens: 83_512, limitTokens: 167_000, autoCompact: "on" },
  { band: 75, usedTokens: 130_049, limitTokens: 167_000, autoCompact: "on" },
  { band: 90, usedTokens: 170_000, limitTokens: 167_000, autoCompact: "on" },
  { band: 90, usedTokens: 165_000, limitTokens: 180_000, autoCompact: "off" },
] as const)("the words at $band, compaction $autoCompact", (figures) => {
  expect(pressureText(figures)).toMatchSnapshot();
});
