import { describe, expect, it } from "vitest";
import { settingsFor } from "../../../../../test/fixture/compacting.ts";
import { boundary, folded, type Raw, says, summary, text, undo, user } from "../../../../../test/fixture/raw.ts";
import {
  append,
  opened,
  reply,
  reopened,
  testDeps,
  text as words,
  user as typed,
} from "../../../../../test/fixture/session.ts";
import { appendBoundary } from "../../session/append-boundary.ts";
import { computeChain } from "./breaker-state.ts";

const settings = settingsFor({ windowTokens: 200_000 });
const turn = (at: number): readonly Raw[] => [
  user(`u${at}`),
  says(`a${at}`, `m${at}`, text("a")),
  says(`b${at}`, `m${at}`, text("b")),
];
const compacted = (at: number): readonly Raw[] => [boundary(`b-${at}`), summary(`s-${at}`)];

describe("the chain of compactions", () => {
  it.each<[string, readonly Raw[], object]>([
    ["the first follows none", turn(1), { boundaries: 0, turnsSince: 1, roundsSince: 1 }],
    [
      "turns and rounds count from the one before",
      [...turn(1), ...compacted(1), ...turn(2), ...turn(3)],
      { previous: "b-1", boundaries: 1, turnsSince: 2, roundsSince: 2 },
    ],
    [
      "a summary is no turn",
      [...turn(1), ...compacted(1)],
      { previous: "b-1", boundaries: 1, turnsSince: 0, roundsSince: 0 },
    ],
    [
      "one that was undone is none",
      [...turn(1), ...compacted(1), ...turn(2), undo("x", "b-1")],
      { boundaries: 0, turnsSince: 2, roundsSince: 2 },
    ],
    [
      "of several the newest is the one before",
      [...turn(1), ...compacted(1), ...turn(2), ...compacted(2), ...turn(3)],
      { previous: "b-2", boundaries: 2, turnsSince: 1, roundsSince: 1 },
    ],
  ])("%s", (_, raws, expected) => {
    expect(computeChain(folded(raws), { settings, source: "main" })).toEqual({
      ...expected,
      thresholdTokens: 167_000,
      source: "main",
      spent: [],
    });
  });

  it("counts as many boundaries where the log was read from the newest as where all of it was", async () => {
    const deps = testDeps({ tailBytes: 64 });
    let session = await opened(deps);
    for (const at of [1, 2, 3]) {
      await append(session, typed(`request ${at}`), reply(`m${at}`, words("ok ".repeat(2000))));
      const chain = computeChain(session.fold, { settings, source: "main" });
      expect(chain.boundaries).toBe(at - 1);
      await appendBoundary(deps, session, { summary: "In short.", trigger: "manual", metadata: { chain } });
      session = await reopened(deps, session);
      expect(session.read.from).toBe("boundary");
    }
    expect(computeChain(session.fold, { settings, source: "main" }).boundaries).toBe(3);
  });
});
