import { describe, expect, it } from "vitest";
import { call, chained, type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";
import { Fold } from "palimpsest/internal/transcript/fold";
import { firstUserLine, interruptedText } from "palimpsest/internal/transcript/repair";
import { type BareRound, splitRounds, unloggedText } from "./split-rounds.ts";
import type { SaidEntry, UncutEntry } from "./uncut-path.ts";

const uncut = (...raws: readonly Raw[]): UncutEntry[] =>
  chained(raws).map((entry) => ({ entry: entry as SaidEntry, follows: "directly" }));

const ids = (entries: readonly Entry[]): string => entries.map(({ id }) => id).join(" ");
const shape = (rounds: readonly BareRound[]): string[] =>
  rounds.map(({ before, reply }) => `${ids(before)} → ${ids(reply)}`);

const timed = (raw: Raw, timestamp: string): Raw => ({ ...raw, timestamp });
const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

describe("roundsOf", () => {
  it("makes one round of all entries with one message id, and takes the usage of the largest output", () => {
    const part = (uuid: string, output: number): Raw => ({
      type: "assistant",
      uuid,
      message: { id: "m1", model: "one", content: [text(uuid)], usage: { input_tokens: 100, output_tokens: output } },
    });
    const rounds = splitRounds(uncut(user("u1"), part("a1", 3), part("a2", 40), part("a3", 7)));
    expect(shape(rounds)).toEqual(["u1 → a1 a2 a3"]);
    expect(rounds[0]?.usage?.output).toBe(40);
  });

  it("counts usage once, also where a reply goes on behind another one", () => {
    const part = (uuid: string, id: string): Raw => ({
      type: "assistant",
      uuid,
      message: { id, content: [text(uuid)], usage: { input_tokens: 100, output_tokens: 9 } },
    });
    const rounds = splitRounds(
      uncut(user("u1"), part("a1", "m1"), user("u2"), part("a2", "m2"), user("u3"), part("a3", "m1")),
    );
    expect(rounds.map(({ usage }) => usage?.output)).toEqual([9, 9, undefined]);
  });

  it("puts results that came between the entries of their own reply before the next reply", () => {
    const rounds = splitRounds(
      uncut(
        user("u1"),
        says("a1", "m1", call("t1")),
        result("r1", "t1"),
        says("a2", "m1", call("t2")),
        result("r2", "t2"),
        says("a3", "m2", text("done")),
      ),
    );
    expect(shape(rounds)).toEqual(["u1 → a1 a2", "r1 r2 → a3"]);
  });

  it("answers calls that nothing answered by a repair behind what was said", () => {
    const rounds = splitRounds(
      uncut(user("u1"), says("a1", "m1", call("t1")), user("u2", "stop"), says("a2", "m2", text("yes"))),
    );
    const repair = rounds[1]?.before.at(-1);
    expect(repair?.kind === "edit" && repair.edit).toEqual({
      type: "repair",
      results: [{ toolUse: "t1", shown: interruptedText }],
    });
    expect(rounds[1]?.before).toHaveLength(2);
  });

  it("ends with the last reply, answered or not", () => {
    const rounds = splitRounds(uncut(user("u1"), says("a1", "m1", call("t1")), user("u2")));
    expect(shape(rounds)).toEqual(["u1 → a1"]);
  });

  it("says in a line what was not logged: the beginning, and what led from one reply to the next", () => {
    const rounds = splitRounds(uncut(says("a1", "m1", text("one")), says("a2", "m2", text("two"))));
    const said = rounds.map(({ before }) => before.map((entry) => (entry.kind === "user" ? entry.blocks : [])));
    expect(said).toEqual([[[{ type: "text", text: firstUserLine }]], [[{ type: "text", text: unloggedText }]]]);
    expect(rounds.map(({ opens }) => opens)).toEqual(["nothing", "nothing"]);
  });

  it("opens a turn where the user spoke, not where tools and clients did", () => {
    const rounds = splitRounds(
      uncut(
        user("u1", "do it"),
        says("a1", "m1", call("t1")),
        result("r1", "t1"),
        says("a2", "m2", text("done")),
        user("u2", "more", { isMeta: true }),
        says("a3", "m3", text("done")),
        user("u3", "thanks"),
        says("a4", "m4", text("done")),
      ),
    );
    expect(rounds.map(({ opens }) => opens)).toEqual(["turn", "nothing", "nothing", "turn"]);
  });

  it("sends a request at the last time before its reply, and never before the one before", () => {
    const rounds = splitRounds(
      uncut(
        timed(user("u1"), at(100)),
        timed(says("a1", "m1", call("t1")), at(105)),
        timed(result("r1", "t1"), at(130)),
        timed(says("a2", "m2", text("done")), at(131)),
        timed(user("u2"), at(90)),
        says("a3", "m3", text("done")),
        timed(user("u3"), at(50)),
        says("a4", "m4", text("done")),
      ),
    );
    expect(rounds.map((round) => round.at / 1000)).toEqual([100, 130, 131, 131]);
  });

  it("sends requests of a recording without times ten seconds apart", () => {
    const raws = ["1", "2", "3"].flatMap((n) => [user(`u${n}`), says(`a${n}`, `m${n}`, text("done"))]);
    expect(splitRounds(uncut(...raws)).map((round) => round.at)).toEqual([0, 10_000, 20_000]);
  });

  it("links all entries into one line of parents, under ids that are there once", () => {
    const rounds = splitRounds(
      uncut(
        user("repair-2"),
        says("a1", "m1", call("t1"), call("t2")),
        user("u2", "stop", { parentUuid: null }),
        says("a2", "m2", call("t3")),
        user("u3", "stop again", { parentUuid: "nowhere", isSidechain: true }),
        says("a3", "m3", text("yes")),
      ),
    );
    const all: readonly (Entry | AssistantEntry)[] = rounds.flatMap(({ before, reply }) => [...before, ...reply]);
    expect(all.map(({ parent }) => parent)).toEqual([null, ...all.slice(0, -1).map(({ id }) => id)]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const fold = new Fold();
    for (const [n, entry] of all.entries()) expect(fold.append({ entry, start: n, end: n })).toBe("extended");
    expect(fold.view().path.problems).toEqual([]);
  });
});
