import { describe, expect, it } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import type { Breakpoint } from "./breakpoint.ts";
import { writtenPlacesMax } from "./limits.ts";
import { WrittenPlaces } from "./written-places.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const message = (role: Message["role"], ...words: readonly string[]): Message => ({ role, content: words.map(text) });
const mark = (at: number, block: number): Breakpoint => ({
  place: { part: "messages", message: at, at: block },
  lifetime: "5m",
});

const first = [message("user", "a", "b")];
const second = [...first, message("assistant", "c"), message("user", "d", "e")];

/** `message.block` of what is still written. */
const left = (written: WrittenPlaces, messages: readonly Message[]): readonly string[] =>
  written.places(messages).map((place) => `${place.message}.${place.at}`);

function afterBoth(): WrittenPlaces {
  const written = new WrittenPlaces();
  written.recordWrites(first, [{ place: { part: "system", at: 0 }, lifetime: "5m" }, mark(0, 1)]);
  written.recordWrites(second, [mark(2, 1)]);
  return written;
}

describe("what earlier requests wrote", () => {
  it.each<[string, readonly Message[], readonly string[]]>([
    ["all of it while the conversation goes on", [...second, message("assistant", "f")], ["0.1", "2.1"]],
    ["all of it where the last message grows", second.with(2, message("user", "d", "e", "more")), ["0.1", "2.1"]],
    ["what stands before an edit", second.with(1, message("assistant", "other")), ["0.1"]],
    ["what stands before an edit in the same message", second.with(2, message("user", "other", "e")), ["0.1"]],
    ["nothing where the first block is another", second.with(0, message("user", "z", "b")), []],
    ["what stands before a message that grew in the middle", second.with(0, message("user", "a", "b", "z")), ["0.1"]],
    ["what is left where the end is cut off", first, ["0.1"]],
    ["the same in objects made anew", structuredClone(second), ["0.1", "2.1"]],
  ])("%s", (_, messages, places) => expect(left(afterBoth(), messages)).toEqual(places));

  it("an edit that was sent is forgotten for good", () => {
    const written = afterBoth();
    written.recordWrites(second.with(1, message("assistant", "other")), []);
    expect(left(written, second)).toEqual(["0.1"]);
  });

  it("a last message that grew is known as it was sent", () => {
    const written = new WrittenPlaces();
    const grown = [message("user", "a", "b", "c")];
    written.recordWrites(first, [mark(0, 1)]);
    written.recordWrites(grown, [mark(0, 2)]);
    expect(left(written, [message("user", "a", "b", "z")])).toEqual(["0.1"]);
  });

  it("a copy knows the same and goes its own way", () => {
    const written = afterBoth();
    const fork = written.copy();
    expect(left(fork, second)).toEqual(["0.1", "2.1"]);
    fork.recordWrites([...second, message("assistant", "fork")], [mark(3, 0)]);
    expect(left(written, [...second, message("assistant", "fork")])).toEqual(["0.1", "2.1"]);
  });

  it("nothing once tools or system prompt are others", () => {
    const written = afterBoth();
    written.forget();
    expect(left(written, second)).toEqual([]);
  });

  it("keeps no more places than its limit, the last ones", () => {
    const written = new WrittenPlaces();
    const long = Array.from({ length: writtenPlacesMax + 10 }, (_, at) => message("user", `${at}`));
    for (const [at] of long.entries()) written.recordWrites(long.slice(0, at + 1), [mark(at, 0)]);
    expect(left(written, long)).toHaveLength(writtenPlacesMax);
    expect(left(written, long).at(-1)).toBe(`${writtenPlacesMax + 9}.0`);
  });
});
