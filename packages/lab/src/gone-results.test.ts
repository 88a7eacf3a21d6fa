import { describe, expect, it } from "vitest";
import { entryOf, type Raw, result, says, user } from "../../../test/fixture/raw.ts";
import { entryId, tokens, toolUseId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { Fold } from "palimpsest/internal/transcript/fold";
import { GoneResults } from "./gone-results.ts";

const [one, two] = [toolUseId("one"), toolUseId("two")];
const called = (...ids: readonly string[]): Raw =>
  says("a1", "m1", ...ids.map((id) => ({ type: "tool_use", id, name: "Read", input: {} })));
const talk = [user("u1", "Look."), called("one", "two"), result("r1", "one", "x"), result("r2", "two", "y")];

/** Every result has 900 tokens, a marker 20. */
function goneIn(raws: readonly Raw[]) {
  const fold = new Fold();
  const gone = new GoneResults({ fold, world: { tokensOf: () => tokens(900), markerTokens: 20 } });
  const say = (raw: Raw): void => {
    const entry = entryOf({ parentUuid: fold.path.leaf?.id ?? null, ...raw });
    fold.append({ entry, start: 0, end: 1 });
    gone.onEntry(entry);
  };
  for (const raw of raws) say(raw);
  return { gone, say };
}

const sizes = { tokensBefore: tokens(0), tokensAfter: tokens(0), tokensSaved: tokens(0) };
const price = { writeRate: 1, readRate: 1, now: 0, perRound: 0 };
const edited = (what: "clear" | "snip"): LoopEvent => ({
  kind: "cleared",
  what,
  count: 1,
  ...sizes,
  trigger: "clear.size",
  because: "",
  price,
  entries: [entryId("e")],
});
const clear = { type: "clear", uuid: "e", results: [{ toolUse: "one", shown: "-" }], attachments: [], cause: "size" };

describe("results that are gone", () => {
  it("are fetched once each, those that are needed and gone, without the marker that stays", () => {
    const { gone, say } = goneIn(talk);
    say(clear);
    gone.onEvent(edited("clear"));
    expect(gone.fetch([two])).toEqual([]);
    expect(gone.fetch([one, two])).toEqual([880]);
    expect(gone.fetch([one])).toEqual([]);
    expect(gone.fetched).toBe(1);
  });

  it("are whole ones where they were never shown, or left with their round", () => {
    const offloaded = goneIn(talk);
    offloaded.say({ type: "offload", uuid: "e", results: [{ toolUse: "two", shown: "-" }] });
    offloaded.gone.onEvent({ kind: "edit", what: "offload", entries: [entryId("e")] });
    expect(offloaded.gone.fetch([one, two])).toEqual([900]);
    const snipped = goneIn(talk);
    snipped.say({ type: "snip", uuid: "e", entries: ["a1", "r1", "r2"] });
    snipped.gone.onEvent(edited("snip"));
    expect(snipped.gone.fetch([one, two])).toEqual([900, 900]);
  });

  it("are none of those that a summary stands for", () => {
    const { gone, say } = goneIn(talk);
    say({ type: "system", subtype: "compact_boundary", uuid: "e", compactMetadata: { trigger: "auto" } });
    say({ ...user("s", "So far."), isCompactSummary: true });
    gone.onEvent(compacted);
    say({ type: "snip", uuid: "f", entries: ["s"] });
    gone.onEvent(edited("snip"));
    expect(gone.fetch([one, two])).toEqual([]);
  });
});

const compacted: LoopEvent = {
  kind: "compacted",
  trigger: "auto",
  cause: "threshold",
  path: "fork",
  auditScore: 1,
  price,
  tokensBefore: tokens(0),
  tokensAfter: tokens(0),
  entries: [entryId("e")],
};
