import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldOf, loggedOf } from "../../../../../test/fixture/log.ts";
import { HistoryWriter, soundHistory } from "../../../../../test/property/history.ts";
import { anyMove, type Move, othersMove, soundMove } from "../../../../../test/property/move.ts";
import { parametersFor, seed } from "../../../../../test/property/runs.ts";
import type { Block, Message } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../../schema/brand.ts";
import { type Json, type JsonObject, parseJson } from "../../schema/json.ts";
import type { Fold } from "../../transcript/fold.ts";
import { withPairs } from "../../transcript/item.ts";
import { violations } from "../../transcript/violations.ts";
import { planCollapse } from "./collapse-oldest.ts";
import { groupRounds } from "./round.ts";
import { planSnip } from "./snip-low-value.ts";

const runs = parametersFor({ quick: 300, long: 10_000 });

/** What a call and its result become: of low value, or something that must stay. */
const casts = [
  { name: "Grep", input: { pattern: "x" }, content: "No matches found" },
  { name: "Read", input: { file_path: "/a.ts" }, content: "one and the same" },
  { name: "Bash", input: { command: "rm x" }, content: "rejected by user", is_error: true },
  { name: "Glob", input: { pattern: "*" }, content: "" },
  { name: "Bash", input: { command: "ls" }, content: "a.ts" },
] as const;

/** The same history, its calls recast: generated ones are all of value. `kinds` says which, in order of appearance. */
function recast(lines: readonly string[], kinds: readonly number[]): string[] {
  const kindById = new Map<Json | undefined, number>();
  const castOf = (id: Json | undefined): (typeof casts)[number] | undefined => {
    const kind = kindById.get(id) ?? kinds[kindById.size % kinds.length] ?? 0;
    kindById.set(id, kind);
    return casts[kind];
  };
  const recastBlock = (block: JsonObject): JsonObject => {
    if (block["type"] === "tool_use") {
      const { name, input } = castOf(block["id"]) ?? casts[0];
      return { ...block, name, input };
    }
    if (block["type"] !== "tool_result") return block;
    const { name: _, input: __, ...result } = castOf(block["tool_use_id"]) ?? casts[0];
    return { ...block, is_error: false, ...result };
  };
  return lines.map((line) => {
    const raw = parseJson(line) as { message?: { content?: JsonObject[] } };
    if (!Array.isArray(raw.message?.content)) return line;
    return JSON.stringify({ ...raw, message: { ...raw.message, content: raw.message.content.map(recastBlock) } });
  });
}

/** A round as most are: calls that are answered, perhaps a word or a thought before them. */
const plainRound: fc.Arbitrary<Move> = fc.record({
  do: fc.constant("reply"),
  parts: fc.constantFrom([], [], ["text"], ["thinking"]),
  calls: fc.array(fc.constant({ result: "text", id: "plain" }), { minLength: 1, maxLength: 2 }),
  layout: fc.constantFrom("whole", "split", "interleaved"),
  parents: fc.constant("chain"),
  order: fc.constantFrom("as-called", "reversed", "together"),
  id: fc.constant("given"),
});

/** Mostly plain rounds, with whatever else a log may hold in between. */
const linesWith = (other: fc.Arbitrary<Move>): fc.Arbitrary<readonly string[]> =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: plainRound }, { weight: 2, arbitrary: other }), {
      minLength: 1,
      maxLength: 24,
    })
    .map((moves) => new HistoryWriter().play(moves).lines);

const kinds = fc.array(fc.nat({ max: casts.length - 1 }), { minLength: 1, maxLength: 8 });
const keepRounds = fc.nat({ max: 3 });

/** Reminders weigh next to nothing, so that every stand-in is short enough. */
const count = (block: Block): Tokens =>
  tokens(block.type === "text" && block.text.startsWith("<system-reminder>") ? 1 : 100 + JSON.stringify(block).length);

const size = (messages: readonly Message[]): number =>
  messages.flatMap(({ content }) => content).reduce((sum, block) => sum + count(block), 0);

/** The fold with edits behind its leaf. */
function edited(lines: readonly string[], edits: readonly object[]): Fold {
  let parentUuid = foldOf(loggedOf(lines)).path.leaf?.id as string | undefined;
  const added = edits.map((edit, at) => {
    const line = JSON.stringify({ parentUuid, sessionId: "s", uuid: `edit-${at}`, ...edit });
    parentUuid = `edit-${at}`;
    return line;
  });
  return foldOf(loggedOf([...lines, ...added]));
}

interface Planned {
  readonly edits: readonly object[];
  readonly gone: readonly EntryId[];
  readonly tokens: Tokens;
}

type Planner = (fold: Fold, keep: number) => Planned;

const snip: Planner = (fold, keep) => {
  const plan = planSnip({ view: fold.projection, count, keepRounds: keep });
  const edits = plan.rounds.length === 0 ? [] : [{ type: "snip", entries: plan.entries }];
  return { edits, gone: plan.entries, tokens: plan.tokens };
};

const collapse: Planner = (fold, keep) => {
  const plan = planCollapse({ view: fold.projection, count, freeTokens: tokens(Infinity), keepRounds: keep });
  const edits = plan.runs.map(({ span, shown }) => ({ type: "collapse", span, shown }));
  return { edits, gone: plan.runs.flatMap((run) => run.entries), tokens: plan.tokens };
};

interface Case {
  readonly lines: readonly string[];
  readonly keep: number;
  readonly before: Fold;
  readonly planned: Planned;
  readonly after: Fold;
}

const cases = (planner: Planner, other: fc.Arbitrary<Move>): fc.Arbitrary<Case> =>
  fc.tuple(linesWith(other), kinds, keepRounds).map(([played, of, keep]) => {
    const lines = recast(played, of);
    const before = foldOf(loggedOf(lines));
    const planned = planner(before, keep);
    return { lines, keep, before, planned, after: edited(lines, planned.edits) };
  });

const itemsOf = (fold: Fold): EntryId[] => fold.projection.items.map(({ entry }) => entry);

describe.each([
  ["snip", snip],
  ["collapse", collapse],
] as const)(`the laws of whole rounds: %s, ${runs.numRuns} histories each, seed ${seed}`, (_, planner) => {
  const always = (check: (one: Case) => void): void => fc.assert(fc.property(cases(planner, soundMove), check), runs);

  it("is put to the test: plans take something away from a good part of the histories", () => {
    const sample = fc.sample(cases(planner, soundMove), { seed, numRuns: 200 });
    expect(sample.filter(({ planned }) => planned.gone.length > 0).length).toBeGreaterThan(50);
  });

  it("never splits a pair or a reply: the entries named are all that go", () => {
    always(({ before, planned, after }) => {
      const { items } = before.projection;
      expect(withPairs(items, new Set(planned.gone), "both")).toEqual(new Set(planned.gone));
      const left = new Set(itemsOf(after).filter((entry) => !entry.startsWith("edit-")));
      expect(new Set(itemsOf(before)).difference(left)).toEqual(new Set(planned.gone));
    });
  });

  it("the view behind the edit keeps the wire's rules, and can be sent if it could before", () => {
    always(({ before, after }) => {
      const view = after.view();
      expect(violations(view.messages, { end: view.sendable ? "user" : "any" })).toEqual([]);
      if (before.view().sendable) expect(view.sendable).toBe(true);
    });
  });

  it("the tokens told are the difference of the two views", () => {
    always(({ before, planned, after }) => {
      // Without a user's message nothing can be sent, and the view shows nothing.
      fc.pre(before.view().why?.code !== "no-user-message");
      expect(planned.tokens).toBe(size(before.view().messages) - size(after.view().messages));
    });
  });

  it("planning again right behind it proposes nothing", () => {
    always(({ planned, after, keep }) => {
      if (planned.edits.length > 0) expect(planner(after, keep).gone).toEqual([]);
    });
  });

  it("pinned entries and the newest rounds stay", () => {
    always(({ before, planned, keep }) => {
      const { items, pins } = before.projection;
      const gone = new Set(planned.gone);
      const newest = keep === 0 ? [] : groupRounds(items).slice(-keep);
      const kept = [...pins, ...newest.flatMap((round) => round.items.map(({ entry }) => entry))];
      expect(kept.filter((entry) => gone.has(entry))).toEqual([]);
    });
  });

  it("nothing that somebody said in the user's name goes", () => {
    always(({ before, planned }) => {
      const gone = new Set(planned.gone);
      const said = before.projection.items.filter(
        ({ role, attachment, blocks }) =>
          role === "user" &&
          attachment === undefined &&
          blocks.some((block) => block.type === "text" && block.text.trim() !== ""),
      );
      expect(said.filter(({ entry }) => gone.has(entry))).toEqual([]);
    });
  });

  it("holds the wire's rules also where identities are broken", () => {
    fc.assert(
      fc.property(cases(planner, anyMove), ({ after }) => {
        const view = after.view();
        expect(violations(view.messages, { end: view.sendable ? "user" : "any" })).toEqual([]);
      }),
      runs,
    );
  });
});

it("a snip changes nothing of what stays, where no reply goes on behind another", () => {
  fc.assert(
    fc.property(cases(snip, othersMove), ({ before, after }) => {
      const shown = (fold: Fold): string[] =>
        fold.view().messages.flatMap(({ content }) => content.map((block) => JSON.stringify(block)));
      const stays = new Set(shown(before));
      expect(shown(after).filter((block) => !stays.has(block))).toEqual([]);
    }),
    runs,
  );
});

describe("rounds", () => {
  it("hold every reply once, with the results of its calls", () => {
    fc.assert(
      fc.property(soundHistory, ({ lines }) => {
        const { items } = foldOf(loggedOf(lines)).projection;
        const rounds = groupRounds(items);
        const inRounds = rounds.flatMap((round) => round.items);
        expect(new Set(inRounds).size).toBe(inRounds.length);
        expect(items.filter(({ role }) => role === "assistant").every((item) => inRounds.includes(item))).toBe(true);
        expect(rounds.map(({ first }) => first)).toEqual(rounds.map(({ first }) => first).toSorted((a, b) => a - b));
      }),
      runs,
    );
  });
});
