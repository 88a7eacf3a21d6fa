import { expect, it } from "vitest";
import type { FrozenParts, SystemPiece } from "palimpsest/internal/cache/baseline";
import { entryId } from "palimpsest/internal/schema/brand";
import { announceChange, hashText, type ShownAnnouncement } from "../system-prompt/announcement.ts";
import { partsBehindBoundary } from "./session-instructions.ts";

const parts = (system: readonly SystemPiece[], tools: FrozenParts["tools"] = []): FrozenParts => ({
  model: "m",
  betas: [],
  tools,
  system,
});
const [prompt, old, fresh, more] = [
  { name: "prompt", text: "p" },
  { name: "/a.md", text: "old" },
  { name: "/a.md", text: "fresh" },
  { name: "/more.md", text: "more" },
];
const announced = (piece: SystemPiece): ShownAnnouncement => {
  const { content = "" } = announceChange({ kind: "system-changed", piece, before: "" }) ?? {};
  return { entry: entryId("e"), text: content, part: `system ${piece.name}`, hash: hashText(piece.text) };
};

it.each<[string, readonly SystemPiece[], readonly SystemPiece[], readonly ShownAnnouncement[], readonly SystemPiece[]]>(
  [
    ["what has not changed stays", [prompt, old], [prompt, old], [], [prompt, old]],
    ["a changed file has its new text", [prompt, old], [prompt, fresh], [], [prompt, fresh]],
    ["a new file is there, one that is gone is not", [prompt, old], [prompt, more], [], [prompt, more]],
    [
      "what a kept message announces stays as it was",
      [prompt, old],
      [prompt, fresh],
      [announced(fresh)],
      [prompt, old],
    ],
    ["a new file that a kept message states stays out", [prompt], [prompt, more], [announced(more)], [prompt]],
    [
      "a kept message about an earlier state counts for nothing",
      [prompt, old],
      [prompt, more],
      [announced(fresh)],
      [prompt, more],
    ],
  ],
)("behind a boundary %s", (_, sent, now, announcements, system) => {
  expect(partsBehindBoundary({ sent: parts(sent), now: parts(now), announcements }).system).toEqual(system);
});

it("behind a boundary tools stay as they were sent", () => {
  const behind = partsBehindBoundary({
    sent: parts([old], [{ name: "read" }]),
    now: parts([fresh]),
    announcements: [],
  });
  expect(behind.tools).toEqual([{ name: "read" }]);
});
