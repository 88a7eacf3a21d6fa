import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EntryId, entryId, type MessageId, type ToolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Entry } from "../../packages/palimpsest/src/schema/entry.ts";
import { Path } from "../../packages/palimpsest/src/transcript/path.ts";
import { loggedOf } from "../fixture/log.ts";
import { HistoryWriter } from "./history.ts";
import { type Move, othersTurn } from "./move.ts";
import { parametersFor, seed } from "./runs.ts";

const runs = parametersFor({ quick: 300, long: 10_000 });

/**
 * Where the path is well-defined by the leaf alone: results follow their calls, replies have ids, every parent is there. A result that
 * comes late joins the path without being its end, which no look at the leaf alone could tell.
 */
const orderly = fc.oneof(
  {
    weight: 6,
    arbitrary: othersTurn
      .filter(
        (move) =>
          move.do === "reply" ||
          move.do === "user" ||
          move.do === "noise" ||
          move.do === "sidechain" ||
          move.do === "attachment",
      )
      .map((move): Move => (move.do === "reply" ? { ...move, id: "given" } : move)),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rewind"), pick: fc.nat({ max: 30 }) }) },
);

describe(`the path, ${runs.numRuns} histories, seed ${seed}`, () => {
  it("grown entry by entry, is the path that its definition gives", () => {
    fc.assert(
      fc.property(fc.array(orderly, { minLength: 1, maxLength: 20 }), (moves) => {
        const path = new Path();
        const entries: Entry[] = [];
        for (const logged of loggedOf(new HistoryWriter().play(moves).lines)) {
          path.append(logged);
          entries.push(logged.entry);
          expect(path.entries.map(({ id }) => id)).toEqual(byDefinition(entries));
        }
      }),
      runs,
    );
  });
});

/** The leaf's chain of parents, every entry that shares a reply with it, and every result of its calls. */
function byDefinition(entries: readonly Entry[]): EntryId[] {
  const byId = new Map(entries.flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry] as const])));
  const parentOf = ({ parent, logicalParent }: Entry): Entry | undefined =>
    byId.get(parent ?? logicalParent ?? entryId(""));
  const tips = entries.filter((entry) => entry.id !== undefined && !entry.sidechain && entry.kind !== "other");
  const chain = new Set<Entry>();
  for (let at = tips.at(-1); at !== undefined; at = parentOf(at)) chain.add(at);
  const replies = new Set<MessageId>();
  for (const entry of chain)
    if (entry.kind === "assistant" && entry.messageId !== undefined) replies.add(entry.messageId);
  const isReply = (entry: Entry): boolean =>
    entry.kind === "assistant" && entry.messageId !== undefined && replies.has(entry.messageId);
  const calls = new Set<ToolUseId>();
  for (const entry of tips) {
    if (entry.kind !== "assistant" || (!chain.has(entry) && !isReply(entry))) continue;
    for (const block of entry.blocks) if (block.type === "tool_use") calls.add(block.id);
  }
  const answers = (entry: Entry): boolean =>
    entry.kind === "user" && entry.blocks.some((block) => block.type === "tool_result" && calls.has(block.tool_use_id));
  return tips.flatMap((entry) =>
    entry.id !== undefined && (chain.has(entry) || isReply(entry) || answers(entry)) ? [entry.id] : [],
  );
}
