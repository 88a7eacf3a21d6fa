import { describe, expect, it } from "vitest";
import {
  boundary,
  call,
  clear,
  entryOf,
  folded,
  type Raw,
  result,
  says,
  summary,
  text,
  undo,
  user,
} from "../../../../../test/fixture/raw.ts";
import { Inventory } from "../../cache/inventory.ts";
import { WrittenPlaces } from "../../cache/written-places.ts";
import { isRerunnable } from "../../layers/2-clear/is-rerunnable.ts";
import type { Layer } from "../../layers/layer.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { millis } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import type { Fold } from "../../transcript/fold.ts";
import { type CacheFollowInput, CacheModel } from "./cache-model.ts";

const planned = { marks: "planned" } as const;
const moment = { at: millis(0), fixedTokens: 0, rates: undefined };
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const hourUsage = { input_tokens: 1, cache_creation_input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 9 } };
const big = "words of a result that is long enough to be cleared ".repeat(40);

const round = (n: number): readonly Raw[] => [
  { ...says(`a${n}`, `m${n}`, call(`t${n}`)), timestamp: new Date(start + n * minute).toISOString() },
  result(`r${n}`, `t${n}`, `${n} ${big}`),
];

function told(...raws: readonly Raw[]): CacheFollowInput & { readonly written: WrittenPlaces } {
  const inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens: 20 });
  return { fold: folded(raws, { watch: inventory }), inventory, written: new WrittenPlaces() };
}

/** A request that shows all of the view is sent, and its reply begins. */
function ask(cache: CacheModel, { fold, inventory, written }: ReturnType<typeof told>): void {
  cache.began(cache.marks(inventory, { messages: fold.messages, policy: planned, ...moment }), {
    at: at(0),
    tokens: 1_000,
  });
  written.recordWrites(fold.messages, []);
}

/** Somebody appends to the log what the agent does not know of. */
function append(fold: Fold, ...raws: readonly Raw[]): void {
  for (const raw of raws) {
    const { leaf, length } = fold.path;
    const entry = entryOf({ parentUuid: leaf?.id, ...raw });
    fold.append({ entry, start: length * 100, end: length * 100 + 99 });
  }
}

const at = (minutes: number): ReturnType<typeof millis> => millis(start + minutes * minute);

describe("what the provider's cache holds, by our reckoning", () => {
  it("a session opened again is warm up to what its newest reply answered, until the lifetime is over", () => {
    const view = told(user("u"), ...round(1), ...round(2));
    const cache = new CacheModel("5m");
    cache.resume(view);
    expect([cache.prefixes.isCold(at(6)), cache.prefixes.isCold(at(7))]).toEqual([false, true]);
    const before = told(user("u"), ...round(1)).inventory.shownTokens;
    expect(cache.prefixes.upTo(Infinity, at(3))).toBe(before);
  });

  it("a session whose replies another tool got is cold", () => {
    const inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens: 20 });
    const fold = folded([user("u"), ...round(1)], { watch: inventory, foreignUntil: 10_000 });
    const cache = new CacheModel("5m");
    cache.resume({ fold, inventory });
    expect(cache.prefixes.isCold(at(1))).toBe(true);
  });

  it("a session without a reply is cold", () => {
    const cache = new CacheModel("5m");
    cache.resume(told(user("u")));
    expect(cache.prefixes.isCold(at(0))).toBe(true);
  });

  it("a request is marked before the oldest result and at its end, and both can be read once its reply begins", () => {
    const { fold, inventory } = told(user("u"), ...round(1), ...round(2));
    const cache = new CacheModel("5m");
    const marks = cache.marks(inventory, { messages: fold.messages, policy: planned, ...moment });
    expect(marks.frontier).toEqual({ part: "messages", message: 1, at: 0 });
    expect(marks.upToTokens).toEqual([inventory.headTokens, inventory.shownTokens]);
    cache.began(marks, { at: at(0), tokens: 1_000 });
    expect(cache.prefixes.upTo(inventory.shownTokens - 1, at(1))).toBe(inventory.headTokens);
    expect(cache.marks(inventory, { messages: fold.messages, policy: planned, ...moment })).toEqual(marks);
  });

  it("only a policy that plans its marks has a frontier, and only where there is something to clear", () => {
    const view = told(user("u"), ...round(1));
    const cache = new CacheModel("5m");
    const { messages } = view.fold;
    expect(
      cache.marks(view.inventory, { messages, policy: { marks: "system-and-last" }, ...moment }).frontier,
    ).toBeUndefined();
    const short = told(user("u"), says("a", "m", text("Yes.")), user("v"));
    expect(
      cache.marks(short.inventory, { messages: short.fold.messages, policy: planned, ...moment }).upToTokens,
    ).toHaveLength(1);
  });

  it("a cut leaves what was written before it, and counts what was saved and when", () => {
    const { inventory, ...view } = told(user("u"), ...round(1), ...round(2));
    const cache = new CacheModel("5m");
    cache.follow({ inventory, ...view });
    expect([cache.clearedTokens, cache.roundsSinceClear(inventory)]).toEqual([0, undefined]);
    cache.began(cache.marks(inventory, { messages: view.fold.messages, policy: planned, ...moment }), {
      at: at(0),
      tokens: 1_000,
    });
    cache.cut({ offset: inventory.headTokens, savedTokens: 500, round: inventory.round });
    expect(cache.prefixes.upTo(Infinity, at(1))).toBe(inventory.headTokens);
    expect([cache.clearedTokens, cache.roundsSinceClear(inventory)]).toEqual([500, 0]);
  });

  it("what an earlier run cleared is in the log; an undone clearing does not count", () => {
    const cleared: Raw = { ...clear("c", "t1"), tokensSaved: 700 };
    const cache = new CacheModel("5m");
    const view = told(user("u"), ...round(1), cleared, ...round(2), ...round(3));
    cache.follow(view);
    expect([cache.clearedTokens, cache.roundsSinceClear(view.inventory)]).toEqual([700, 2]);
    const undone = told(user("u"), ...round(1), cleared, ...round(2), undo("x", "c"));
    cache.follow(undone);
    expect([cache.clearedTokens, cache.roundsSinceClear(undone.inventory)]).toEqual([0, undefined]);
  });

  const head = told(user("u"), says("a", "m", call("t1"))).inventory.shownTokens;
  it.each<[string, readonly Raw[], number]>([
    [
      "a snip of the first round leaves nothing but what the user said",
      [{ type: "snip", uuid: "s", entries: ["a1", "r1"] }],
      told(user("u")).inventory.shownTokens,
    ],
    ["a boundary leaves nothing", [boundary("b"), summary("s")], 0],
    [
      "a collapse leaves what stands before it",
      [{ type: "collapse", uuid: "c", span: { from: "a1", to: "r1" }, shown: "Two rounds." }],
      told(user("u")).inventory.shownTokens,
    ],
    ["a clear that is undone leaves all of it", [clear("c", "t1"), undo("x", "c")], Infinity],
    [
      "an edit that changes nothing of what was shown leaves all of it",
      [user("v"), { type: "snip", uuid: "s", entries: ["v"] }],
      Infinity,
    ],
  ])("told anew by somebody else: %s", (_, edits, left) => {
    const view = told(user("u"), ...round(1), ...round(2));
    const cache = new CacheModel("5m");
    cache.follow(view);
    ask(cache, view);
    const shown = view.inventory.shownTokens;
    append(view.fold, ...edits);
    cache.follow(view);
    const ends = [0, head, shown].filter((end) => end <= left);
    expect(cache.prefixes.upTo(Infinity, at(1))).toBe(ends.at(-1));
  });

  it("what another inventory tells is held against what was sent last", () => {
    const view = told(user("u"), ...round(1), ...round(2));
    const cache = new CacheModel("5m");
    cache.follow(view);
    ask(cache, view);
    const cleared = told(user("u"), ...round(1), ...round(2), clear("c", "t1"));
    cache.follow({ ...cleared, written: view.written });
    expect(cache.prefixes.upTo(Infinity, at(1))).toBe(view.inventory.headTokens);
  });

  const hour = (n: number): readonly Raw[] =>
    round(n).map((raw) =>
      raw.type === "assistant" ? { ...raw, message: { ...(raw["message"] as object), usage: hourUsage } } : raw,
    );
  const upTo = (...raws: readonly Raw[]): number => told(...raws).inventory.shownTokens;
  it.each<[string, readonly Raw[], number, number]>([
    [
      "what was written for an hour lives for an hour",
      [user("u"), ...round(1), ...hour(2)],
      60,
      upTo(user("u"), ...round(1)),
    ],
    [
      "up to what was shown then, though later requests were marked for less",
      [user("u"), ...hour(1), ...round(2)],
      60,
      upTo(user("u")),
    ],
    ["and the newest for its own lifetime", [user("u"), ...hour(1), ...round(2)], 6, upTo(user("u"), ...round(1))],
    ["for an hour and no longer", [user("u"), ...hour(1), ...round(2)], 61, 0],
    ["not where the view was edited since", [user("u"), ...hour(1), ...round(2), clear("c", "t1")], 6, 0],
    [
      "an edit before it takes nothing away",
      [user("u"), ...round(1), clear("c", "t1"), ...hour(2)],
      60,
      upTo(user("u"), ...round(1), clear("c", "t1")),
    ],
  ])("opened again: %s", (_, raws, minutes, tokens) => {
    const cache = new CacheModel("5m");
    cache.resume(told(...raws));
    expect(cache.prefixes.upTo(Infinity, at(minutes))).toBe(tokens);
  });

  const counted = (n: number, input: number): readonly Raw[] =>
    round(n).map((raw) =>
      raw.type === "assistant"
        ? { ...raw, message: { ...(raw["message"] as object), usage: { input_tokens: input, output_tokens: 9 } } }
        : raw,
    );
  const twoRounds = [user("u"), ...counted(1, 100), ...counted(2, 200)];
  const compacted = [boundary("b"), summary("s")];
  it.each<[string, readonly Raw[], readonly number[]]>([
    ["each of the session's, as the provider counted it", twoRounds, [100, 200]],
    ["none where nothing was counted", [user("u"), ...round(1)], []],
    ["a reply in two entries once", [...twoRounds, { ...says("a", "m2", text("More.")) }], [100, 200]],
    ["those behind the last boundary", [...twoRounds, ...compacted, user("v"), ...counted(3, 50)], [50]],
    ["none right behind it", [...twoRounds, ...compacted], []],
    ["all of them where it was undone", [...twoRounds, ...compacted, undo("x", "b")], [100, 200]],
  ])("requests on which rent was paid, opened again: %s", (_, raws, requests) => {
    const cache = new CacheModel("5m");
    cache.follow(told(...raws));
    expect(cache.requestTokens).toEqual(requests);
  });

  it("requests on which rent was paid, opened again after a pause: only those since it", () => {
    const later = counted(3, 50).map((raw) =>
      "timestamp" in raw ? { ...raw, timestamp: new Date(start + 90 * minute).toISOString() } : raw,
    );
    const cache = new CacheModel("5m");
    cache.follow(told(...twoRounds, ...later));
    expect(cache.requestTokens).toEqual([50]);
  });

  it("requests on which rent was paid: a boundary or a cold cache forgets those before it, and each that begins is one more", () => {
    const view = told(...twoRounds);
    const cache = new CacheModel("5m");
    cache.follow(view);
    expect(cache.requestTokens).toEqual([100, 200]);
    ask(cache, view);
    expect(cache.requestTokens).toEqual([1_000]);
    ask(cache, view);
    expect(cache.requestTokens).toEqual([1_000, 1_000]);
    append(view.fold, ...compacted);
    cache.follow(view);
    ask(cache, view);
    expect(cache.requestTokens).toEqual([1_000]);
  });

  const late = (n: number): readonly Raw[] =>
    round(n).map((raw) =>
      "timestamp" in raw ? { ...raw, timestamp: new Date(start + (60 + n) * minute).toISOString() } : raw,
    );
  const thinkingKept = ({ server }: CacheModel): unknown => {
    const { params } = server.ask([tellsThinking], {
      policy: getPreset("none"),
      isOn: () => true,
      tools: [],
      isClearable: () => true,
      messages: [],
      withheld: new Set(),
    });
    return params["thinkingKept"];
  };
  const tellsThinking: Layer = {
    name: "tells",
    switches: [],
    propose: () => undefined,
    server: {
      offer: "none",
      isOffered: () => true,
      isWanted: () => true,
      optionsByRule: (ask) => ({ params: { thinkingKept: ask.thinkingKept }, betas: [] }),
    },
  };
  it.each<[string, readonly Raw[], "all" | "last"]>([
    ["all where nobody was away", [user("u"), ...round(1), ...round(2)], "all"],
    ["the last turn's behind a pause of more than an hour", [user("u"), ...round(1), ...late(2)], "last"],
    [
      "all where the pause lies before the last boundary",
      [user("u"), ...round(1), ...late(2), boundary("b"), summary("s")],
      "all",
    ],
  ])("opened again, thinking that is kept: %s", (_, raws, kept) => {
    const cache = new CacheModel("5m");
    cache.follow(told(...raws));
    expect(thinkingKept(cache)).toBe(kept);
  });
});
