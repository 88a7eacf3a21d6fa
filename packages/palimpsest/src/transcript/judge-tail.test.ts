import { describe, expect, it } from "vitest";
import {
  boundary,
  call,
  clear,
  loggedRaws,
  type Raw,
  result,
  says,
  summary,
  text,
  undo,
  user,
} from "../../../../test/fixture/raw.ts";
import { type BlobId, blobId, type EntryId, entryId } from "../schema/brand.ts";
import { judgeTail, type TailOptions } from "./judge-tail.ts";

const checkpoint = blobId("c".repeat(64));
const kept = (headUuid: string, tailUuid: string): object => ({ preservedSegment: { headUuid, tailUuid } });
const before: Raw[] = [user("u1"), says("a1", "m1", text("one")), user("u2"), says("a2", "m2", text("two"))];
const after: Raw[] = [user("u3"), says("a3", "m3", text("three"))];
const judged = (raws: readonly Raw[], options: Partial<TailOptions> = {}): string => {
  const tail = loggedRaws(raws);
  const verdict = judgeTail(tail, {
    line: "main",
    foreignUntil: 0,
    undone: new Set<EntryId>(),
    unreadable: new Set<BlobId>(),
    ...options,
  });
  return verdict.kind === "more"
    ? "more"
    : `from ${tail[verdict.from]?.entry.id}${verdict.checkpoint === undefined ? "" : " with its checkpoint"}`;
};

describe("a tail of our own log", () => {
  it.each<[string, Raw[], Partial<TailOptions>, string]>([
    ["is not enough without a boundary", [...before, ...after], {}, "more"],
    [
      "is enough from a boundary with a checkpoint",
      [...before, boundary("b", { checkpoint }), summary("s"), ...after],
      {},
      "from b with its checkpoint",
    ],
    [
      "is enough from the newest of them",
      [boundary("b", { checkpoint }), summary("s"), ...after, boundary("c", { checkpoint }), summary("t")],
      {},
      "from c with its checkpoint",
    ],
    ["is not enough from a boundary that waits for its summary", [boundary("b", { checkpoint }), ...after], {}, "more"],
    [
      "is not enough from a boundary without a checkpoint: pins may lie before it",
      [...before, boundary("b"), summary("s"), ...after],
      {},
      "more",
    ],
    [
      "falls back to an older one where a checkpoint can't be read",
      [
        boundary("b", { checkpoint }),
        summary("s"),
        ...after,
        boundary("c", { checkpoint: blobId("d".repeat(64)) }),
        summary("t"),
      ],
      { unreadable: new Set([blobId("d".repeat(64))]) },
      "from b with its checkpoint",
    ],
    [
      "is not enough from an undone boundary",
      [...before, boundary("b", { checkpoint }), summary("s"), undo("d", "b")],
      {},
      "more",
    ],
    [
      "is not enough from a boundary to be undone",
      [...before, boundary("b", { checkpoint }), summary("s")],
      { undone: new Set([entryId("b")]) },
      "more",
    ],
    [
      "an undone boundary's summary is not another's",
      [...before, boundary("b", { checkpoint }), boundary("c", { checkpoint }), summary("s"), undo("d", "c")],
      {},
      "more",
    ],
    [
      "must reach to an edit that is undone",
      [clear("c", "x"), boundary("b", { checkpoint }), summary("s"), undo("d", "c")],
      {},
      "more",
    ],
    [
      "must reach to an edit that is to be undone",
      [clear("c", "x"), boundary("b", { checkpoint }), summary("s")],
      { undone: new Set([entryId("c")]) },
      "more",
    ],
    [
      "need not reach to what was undone before the boundary",
      [clear("c", "x"), undo("d", "c"), boundary("b", { checkpoint }), summary("s")],
      {},
      "from b with its checkpoint",
    ],
    [
      "need not reach to what an undone undo named",
      [clear("c", "x"), boundary("b", { checkpoint }), summary("s"), undo("d", "c"), undo("e", "d")],
      {},
      "from b with its checkpoint",
    ],
  ])("%s", (_, raws, options, expected) => {
    expect(judged(raws, options)).toBe(expected);
  });

  it("is not enough if a late result belongs to a call before the boundary", () => {
    const raws = [
      user("u1"),
      says("a1", "m1", call("x")),
      boundary("b", { checkpoint }),
      summary("s"),
      { ...result("r", "x"), parentUuid: "a1" },
    ];
    expect(judged(raws)).toBe("more");
  });
});

describe("a tail of another tool's log", () => {
  const foreign = { foreignUntil: Infinity } as const;
  it.each<[string, Raw[], string]>([
    ["is enough from a boundary that keeps nothing", [...before, boundary("b"), summary("s"), ...after], "from b"],
    [
      "is enough from the beginning of the round that is kept",
      [...before, boundary("b", kept("a2", "a2")), summary("s")],
      "from u2",
    ],
    [
      "is not enough where the kept segment lies before it",
      [...after, boundary("b", kept("u2", "a2")), summary("s")],
      "more",
    ],
    [
      "is not enough where a front stays",
      [...before, boundary("b", { direction: "from", pivot: "u2" }), summary("s")],
      "more",
    ],
    [
      "must reach back to the first of two boundaries that a segment is carried through",
      [
        ...before,
        boundary("b", kept("u2", "a2")),
        summary("s"),
        ...after,
        boundary("c", kept("u2", "a3")),
        summary("t"),
      ],
      "from u2",
    ],
    [
      "is not enough with edits that only we write",
      [...before, boundary("b"), summary("s"), { type: "snip", uuid: "n", entries: ["u1"] }],
      "more",
    ],
  ])("%s", (_, raws, expected) => {
    expect(judged(raws, foreign)).toBe(expected);
  });
});
