import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldOf, loggedOf } from "../../../../../test/fixture/log.ts";
import {
  boundary,
  call,
  folded,
  type Raw,
  result,
  says,
  summary,
  text,
  user,
} from "../../../../../test/fixture/raw.ts";
import { soundHistory } from "../../../../../test/property/history.ts";
import { parametersFor } from "../../../../../test/property/runs.ts";
import { entryId, type ToolUseId } from "../../schema/brand.ts";
import type { CompactionRange } from "../../schema/compaction-cause.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Item } from "../../transcript/item.ts";
import { withFirstUser } from "../../transcript/repair.ts";
import { computeScope, type ScopeInput } from "./scope.ts";

const all: CompactionRange = { kind: "all" };
const from = (entry: string): CompactionRange => ({ kind: "from", entry: entryId(entry) });
const upTo = (entry: string): CompactionRange => ({ kind: "up_to", entry: entryId(entry) });

/** Two turns that are done, the second with two calls at once, and a message that waits. */
const done: readonly Raw[] = [
  user("u1", "first"),
  says("a1", "m1", text("I look."), call("t1")),
  result("r1", "t1"),
  says("a2", "m2", text("Done.")),
  user("u2", "second"),
  says("a3", "m3", call("t2")),
  says("a3b", "m3", call("t3")),
  result("r2", "t2"),
  result("r3", "t3"),
  says("a4", "m4", text("Done too.")),
];
const waiting = [...done, user("u3", "third")];

const ids = (items: readonly Item[]): string => items.map(({ entry }) => entry).join(" ");

/** `front | covered | kept`, as the entries' ids. */
function told(fold: Fold, input: Partial<ScopeInput> = {}): string {
  const scoped = computeScope(fold, { part: all, waitingTokensMax: 100, ...input });
  if (scoped.kind !== "scope") return scoped.kind;
  const { covered, kept, pivot, messagesMax } = scoped.scope;
  const at = [
    ...(pivot === undefined ? [] : [`pivot ${pivot}`]),
    ...(messagesMax === undefined ? [] : [`${messagesMax} messages`]),
  ];
  return [`${ids(covered)} | ${ids(kept)}`, ...at].join(", ");
}

describe("what a compaction covers", () => {
  it.each<[string, readonly Raw[], Partial<ScopeInput>, string]>([
    ["everything, where nothing waits", done, {}, "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | "],
    ["all but a message that waits", waiting, {}, "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | u3"],
    [
      "also a message that waits, where it is too large",
      waiting,
      { waitingTokensMax: 0 },
      "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 u3 | ",
    ],
    [
      "all but everything that was said since the last reply",
      [...waiting, user("u4", "fourth")],
      {},
      "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | u3 u4",
    ],
    [
      "all but a message that was said while a call ran, with its result before it",
      [
        ...done.slice(0, 3),
        user("q", "<system-reminder>\nThe user says: stop\n</system-reminder>", { isMeta: true }),
        user("u2", "and this"),
      ],
      {},
      "u1 a1 r1 q | u2",
    ],
    [
      "up to the entry that notes stand for, whatever waits and whatever came since",
      waiting,
      { coversUntil: entryId("r1"), until: entryId("a2") },
      "u1 a1 r1 | a2 u2 a3 a3b r2 r3 a4 u3",
    ],
    [
      "an earlier summary with it, where notes stand for both",
      [...done.slice(0, 4), boundary("b", { preTokens: 9 }), summary("s"), ...done.slice(4)],
      { coversUntil: entryId("u2") },
      "s u2 | a3 a3b r2 r3 a4",
    ],
    ["nothing, where that entry is gone from the view", waiting, { coversUntil: entryId("gone") }, "nothing"],
    ["from a message on", waiting, { part: from("u2") }, "u2 a3 a3b r2 r3 a4 | u3, pivot u2"],
    [
      "from a result on: with its call, and with the whole reply",
      waiting,
      { part: from("r3") },
      "a3 a3b r2 r3 a4 | u3, pivot a3",
    ],
    [
      "from a second entry of a reply on: with the first",
      waiting,
      { part: from("a3b") },
      "a3 a3b r2 r3 a4 | u3, pivot a3",
    ],
    ["from a reply on", waiting, { part: from("a4") }, "a4 | u3, pivot a4"],
    ["everything, from the first message on", waiting, { part: from("u1") }, "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | u3"],
    ["nothing from what waits on", waiting, { part: from("u3") }, "nothing"],
    ["up to a message", waiting, { part: upTo("u2") }, "u1 a1 r1 a2 | u2 a3 a3b r2 r3 a4 u3, 4 messages"],
    [
      "up to a result: no further than before its call",
      waiting,
      { part: upTo("r2") },
      "u1 a1 r1 a2 u2 | a3 a3b r2 r3 a4 u3, 5 messages",
    ],
    [
      "up to a later of several results: no further than before the calls",
      waiting,
      { part: upTo("r3") },
      "u1 a1 r1 a2 u2 | a3 a3b r2 r3 a4 u3, 5 messages",
    ],
    ["up to what waits", waiting, { part: upTo("u3") }, "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | u3, 8 messages"],
    ["nothing up to the first message", waiting, { part: upTo("u1") }, "nothing"],
    ["nothing of a message that is not there", waiting, { part: from("nobody") }, "unknown-entry"],
    ["nothing in an empty conversation", [], {}, "nothing"],
    ["nothing where only a message waits", [user("u1")], {}, "nothing"],
    ["nothing of a summary alone", [...done, boundary("b"), summary("s")], {}, "nothing"],
    [
      "nothing where only a message waits behind a summary",
      [...done, boundary("b"), summary("s"), user("u3")],
      {},
      "nothing",
    ],
    [
      "an earlier summary with what came behind it",
      [...done, boundary("b"), summary("s"), user("u3"), says("a5", "m5", text("."))],
      {},
      "s u3 a5 | ",
    ],
  ])("%s", (_, raws, input, expected) => {
    expect(told(folded(raws), input)).toBe(expected);
  });

  it.each<[string, CompactionRange, string]>([
    ["all of it", all, "u1 a1 r1 a2 u2 a3 a3b r2 r3 a4 | u3 a5 u4"],
    ["its later part", from("u2"), "u2 a3 a3b r2 r3 a4 | u3 a5 u4, pivot u2"],
    ["its earlier part", upTo("u2"), "u1 a1 r1 a2 | u2 a3 a3b r2 r3 a4 u3 a5 u4, 4 messages"],
  ])("what came after the summary was made stays behind it, also its answer: %s", (_, part, expected) => {
    const later = [...waiting, says("a5", "m5", text("An answer.")), user("u4", "fourth")];
    expect(told(folded(later), { part, until: entryId("u3") })).toBe(expected);
  });

  it("nothing of a branch that was left meanwhile", () => {
    expect(told(folded(waiting), { until: entryId("elsewhere") })).toBe("nothing");
  });
});

describe("of any conversation, whatever the pivot", () => {
  const scopes = fc
    .tuple(soundHistory, fc.nat(), fc.constantFrom("all", "from", "up_to"))
    .map(([{ lines }, pick, kind]) => {
      const fold = foldOf(loggedOf(lines));
      const { items } = fold.projection;
      const entry = items[pick % Math.max(1, items.length)]?.entry;
      const part: CompactionRange = kind === "all" || entry === undefined ? all : { kind, entry };
      return { fold, items, part, scoped: computeScope(fold, { part, waitingTokensMax: 100 }) };
    });

  it("every item is covered, kept or in front, once and in order", () => {
    fc.assert(
      fc.property(scopes, ({ items, scoped }) => {
        if (scoped.kind !== "scope") return;
        const { covered, kept, pivot } = scoped.scope;
        const front =
          pivot === undefined
            ? []
            : items.slice(
                0,
                items.findIndex(({ entry }) => entry === pivot),
              );
        expect([...front, ...covered, ...kept]).toEqual(items);
      }),
      parametersFor({ quick: 500, long: 5_000 }),
    );
  });

  it("no reply is split, and the fork's messages are what the covered items show", () => {
    fc.assert(
      fc.property(scopes, ({ fold, scoped }) => {
        if (scoped.kind !== "scope" || scoped.scope.messagesMax === undefined) return;
        const { covered, kept, messagesMax } = scoped.scope;
        const [before, after] = [repliesOf(covered), repliesOf(kept)];
        expect(before.intersection(after)).toEqual(new Set());
        const sent = withFirstUser(fold.messages).slice(0, messagesMax);
        const blocks = (sent[0] === fold.messages[0] ? sent : sent.slice(1)).flatMap(({ content }) => content);
        const shown = fold.shown();
        const shownOf = (of: readonly Item[]) => new Set(of.flatMap(({ entry }) => shown.get(entry) ?? []));
        expect(shownOf(covered).difference(new Set(blocks))).toEqual(new Set());
        expect(shownOf(kept).intersection(new Set(blocks))).toEqual(new Set());
      }),
      parametersFor({ quick: 500, long: 5_000 }),
    );
  });

  it("no call is parted from its result", () => {
    fc.assert(
      fc.property(scopes, ({ scoped, items }) => {
        if (scoped.kind !== "scope") return;
        const { covered, kept } = scoped.scope;
        const front = items.filter((item) => !covered.includes(item) && !kept.includes(item));
        for (const part of [front, covered, kept])
          for (const other of [front, covered, kept])
            if (part !== other) expect(callsOf(part).intersection(answersOf(other))).toEqual(new Set());
      }),
      parametersFor({ quick: 500, long: 5_000 }),
    );
  });
});

const repliesOf = (items: readonly Item[]): Set<string> => new Set(items.flatMap(({ messageId }) => messageId ?? []));
const callsOf = (items: readonly Item[]): Set<ToolUseId> =>
  new Set(items.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))));
const answersOf = (items: readonly Item[]): Set<ToolUseId> =>
  new Set(
    items.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))),
  );
