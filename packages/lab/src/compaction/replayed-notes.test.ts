import { describe, expect, it } from "vitest";
import {
  headerTokensMade as header,
  type MadeRound,
  madeRecording,
} from "../../../../test/fixture/replay/made-recording.ts";
import { replayed, type Replayed } from "../../../../test/fixture/replay/replayed.ts";
import { getPreset } from "palimpsest/internal/policy/policy-catalogue";
import type { CompactionName } from "../replay-outcome.ts";
import { findNotesRule } from "./replayed-notes.ts";

/** The fixture's, and the usual prices. */
const [read, output] = [0.1, 5];
const reply = 50;
/** Of the prompt with the bare template, which has no tokens of its own here. */
const prompt = 20;
const [file, edits] = [3_000, 1_000];
const noted = "palimpsest-with-notes-20k";
const kinds = ({ sent }: Replayed): readonly string[] => sent.map(({ kind, round }) => `${kind} ${round}`);

describe("notes of a replay", () => {
  const talk = madeRecording([{}, { said: 25_000 }, { said: 300 }]);

  it("are taken first at a size, then when the context has grown", async () => {
    expect(kinds(await replayed(talk, noted))).toEqual(["round 0", "notes 0", "round 1", "notes 1", "round 2"]);
    expect((await replayed(talk, "palimpsest-with-notes-40k")).notesTaken).toBe(1);
    expect((await replayed(talk, "palimpsest")).notesTaken).toBe(0);
  });

  it("cost what the cache gives at its price, the rest, prompt and file as input, and the edits as output", async () => {
    const { sent, notesTaken, notesCost, cost } = await replayed(talk, noted);
    const [first, second] = [header + 100, header + 100 + reply + 25_000];
    const asked = sent.filter(({ kind }) => kind === "notes");
    expect(asked.map(({ call, usage }) => ({ call, ...usage }))).toEqual([
      { call: "fork", cacheReadTokens: first, inputTokens: reply + prompt, ...unwritten },
      { call: "fork", cacheReadTokens: second, inputTokens: reply + prompt + file, ...unwritten },
    ]);
    expect(notesTaken).toBe(2);
    expect(notesCost).toBeCloseTo(read * (first + second) + 2 * (reply + prompt + output * edits) + file, 6);
    // Nothing that the conversation itself sends becomes dearer or cheaper.
    expect(cost - notesCost).toBeCloseTo((await replayed(talk, "palimpsest")).cost, 6);
  });

  it("see the results of a round, and wait for three calls or a reply without one", async () => {
    const rounds: readonly MadeRound[] = [{}, { results: [21_000] }, { results: [100] }, { results: [100] }, {}];
    expect(kinds(await replayed(madeRecording(rounds), noted)).filter((kind) => kind.startsWith("notes"))).toEqual([
      // The first reply has called: notes of its round are taken when the result is there.
      "notes 1",
    ]);
    const more = [{}, {}, { results: [21_000] }, { results: [100] }, { results: [100] }, {}];
    expect(kinds(await replayed(madeRecording(more), noted)).filter((kind) => kind.startsWith("notes"))).toEqual([
      "notes 0",
      "notes 4",
    ]);
  });

  it("pay for everything anew where the cache is cold", async () => {
    const rounds: readonly MadeRound[] = [{}, { results: [30_000], afterMillis: 6 * 60_000 }, {}];
    const { sent } = await replayed(madeRecording(rounds), noted);
    const asked = sent.find(({ kind }) => kind === "notes");
    expect(asked?.usage.cacheReadTokens).toBe(0);
    expect(asked?.usage.inputTokens).toBeGreaterThan(header + 30_000);
  });
});

const unwritten = { cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

describe("a compaction with notes", () => {
  const grown = madeRecording([{}, ...Array.from({ length: 12 }, () => ({ said: 15_000 })), {}]);

  it.each<CompactionName>(["stand-in", "extract"])("asks nobody: %s", async (compaction) => {
    const withNotes = await replayed(grown, noted, { compaction });
    expect(withNotes.compactions).toBeGreaterThan(0);
    expect(kinds(withNotes).some((kind) => kind.startsWith("compaction"))).toBe(false);
    const { notesTaken, outputTokens, refused } = withNotes;
    expect({ outputTokens, refused }).toEqual({ outputTokens: notesTaken * edits, refused: 0 });
    expect(
      kinds(await replayed(grown, "palimpsest", { compaction })).some((kind) => kind.startsWith("compaction")),
    ).toBe(true);
  });

  it("leaves header, notes, what is restored, and what the notes do not cover with the rounds before it", async () => {
    const { sent } = await replayed(grown, noted);
    const at = sent.findIndex(({ blocks }) => blocks[1]?.[1] === file + 8_000);
    // The newest message is not noted; before it whole rounds, up to 40,000 tokens or five messages with text.
    const rounds = [15_000, reply, 15_000, reply, 15_000];
    expect(sent[at]?.blocks.map(([, tokens]) => tokens)).toEqual([header, file + 8_000, reply, ...rounds.slice(2)]);
  });

  it("asks a model where what stays beside the notes would be over the threshold at once", async () => {
    const { sent, compactions } = await replayed(grown, noted, { windowTokens: 60_000 });
    expect(compactions).toBeGreaterThan(0);
    expect(sent.some(({ kind }) => kind === "compaction")).toBe(true);
  });
});

describe("whether a policy takes notes", () => {
  it("says its own rule: the numbers alone are not enough", () => {
    expect(findNotesRule(getPreset("claude-code-2026"))).toBeUndefined();
    expect(findNotesRule(getPreset("claude-code-2026-all"))).toEqual({
      firstTokens: 10_000,
      growthTokens: 5_000,
      callsMin: 3,
    });
    expect(findNotesRule({ ...getPreset("none"), notes: "on" })).toBeUndefined();
  });
});
