import { describe, expect, it } from "vitest";
import { importFixture, importFixtures } from "../../../../test/fixture/imported.ts";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { boundary, call, type Raw, result, says, summary, text, user } from "../../../../test/fixture/raw.ts";
import { flawsIn, readingOf, recordingOf } from "../../../../test/fixture/recording.ts";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";

const encoded = (words: string): Uint8Array => new TextEncoder().encode(words);

const logOf = (...raws: readonly Raw[]): Uint8Array =>
  bytesOf(raws.map((raw, at) => JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw })));

const reply = (uuid: string, model: string): Raw => ({
  type: "assistant",
  uuid,
  message: { id: uuid, model, content: [text("done")], usage: { input_tokens: 9_000, output_tokens: 70 } },
});

describe("readRecording", () => {
  it.each(importFixtures)("reads %s as rounds that can be sent one after the other", async (name) => {
    const recording = await recordingOf(encoded(importFixture(name)));
    expect(recording.rounds.length).toBeGreaterThan(0);
    expect(flawsIn(recording)).toEqual([]);
  });

  it("goes on across a boundary, with everything that stood before it", async () => {
    const log = logOf(
      user("u1"),
      says("a1", "m1", call("t1")),
      result("r1", "t1", "the whole output"),
      says("a2", "m2", text("done")),
      { ...boundary("b"), parentUuid: null, logicalParentUuid: "a2" },
      summary("s"),
      user("u2"),
      says("a3", "m3", text("done")),
    );
    const recording = await recordingOf(log);
    expect(recording.rounds.map(({ before }) => before.map(({ id }) => id))).toEqual([["u1"], ["r1"], ["u2"]]);
    expect(flawsIn(recording)).toEqual([]);
    expect([...recording.needs.keys()]).toEqual(["t1"]);
  });

  it("has offloaded results whole again where their blobs can be had", async () => {
    const blobs = memoryBlobs();
    const put = await blobs.put(encoded("the whole output"));
    const results = [{ toolUse: "t1", blob: put.kind === "stored" ? put.id : "", media: "text", shown: "preview" }];
    const log = logOf(
      user("u1"),
      says("a1", "m1", call("t1")),
      result("r1", "t1", "preview"),
      { type: "offload", uuid: "o1", results },
      says("a2", "m2", text("done")),
    );
    const shown = async (from?: typeof blobs): Promise<string> => JSON.stringify((await recordingOf(log, from)).rounds);
    expect(await shown(blobs)).toContain("the whole output");
    expect(await shown()).not.toContain("the whole output");
  });

  it("names the model that answered most, and counts output as recorded", async () => {
    const log = logOf(user("u1"), reply("a1", "x"), user("u2"), reply("a2", "y"), user("u3"), reply("a3", "y"));
    const { model, rounds } = await recordingOf(log);
    expect(model).toBe("y");
    expect(rounds.map(({ outputTokens }) => outputTokens)).toEqual([70, 70, 70]);
  });

  it("counts output by its text where none was recorded", async () => {
    const { rounds, scaledBy } = await recordingOf(logOf(user("u1"), says("a1", "m1", text("one two three four"))));
    expect(scaledBy).toBe("simulator");
    expect(rounds[0]?.outputTokens).toBeGreaterThan(2);
  });

  it.each([
    ["no-rounds", "a log in which nobody replied", logOf(user("u1"))],
    ["unreadable", "what is no log", encoded("once upon a time")],
    ["unreadable", "an empty file", encoded("")],
  ])("is %s for %s", async (kind, _, data) => {
    expect((await readingOf(data)).kind).toBe(kind);
  });
});
