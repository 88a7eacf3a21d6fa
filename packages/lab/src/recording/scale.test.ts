import { describe, expect, it } from "vitest";
import { call, chained, type Raw, result, text, user } from "../../../../test/fixture/raw.ts";
import type { Block } from "palimpsest/internal/schema/block";
import { requestTokens } from "palimpsest/internal/schema/usage";
import { countTokens } from "@palimpsest/simulator/internal/prompt/count-tokens";
import { type BareRound, splitRounds } from "./split-rounds.ts";
import { computeScale, requestBlocks } from "./scale.ts";
import type { SaidEntry, UncutEntry } from "./uncut-path.ts";

const prose = "The quick brown fox jumps over the lazy dog and goes home to sleep until the morning. ";
const code = "if (left[at] !== right[at]) { return { kind: 'differs', at: at + 1 }; }\n";

interface Turn {
  /** What the provider counted of the request; 0: nothing. */
  readonly counted: number;
  readonly shown?: string;
  readonly model?: string;
  readonly follows?: UncutEntry["follows"];
}

/** Each turn: a reply that calls a tool, and what the tool showed. */
function roundsFrom(turns: readonly Turn[]): BareRound[] {
  const raws = turns.flatMap(({ counted, model = "one", shown }, at): Raw[] => {
    const usage = { input_tokens: counted, output_tokens: 20 };
    const message = { id: `m${at}`, model, content: [text("I look."), call(`t${at}`)], usage };
    return [{ type: "assistant", uuid: `a${at}`, message }, result(`r${at}`, `t${at}`, shown ?? prose.repeat(20))];
  });
  const follows = new Map(turns.map((turn, at) => [`a${at}`, turn.follows ?? "directly"]));
  const entries = chained([user("u", prose.repeat(3)), ...raws]);
  return splitRounds(
    entries.map((entry) => ({ entry: entry as SaidEntry, follows: follows.get(entry.id ?? "") ?? "directly" })),
  );
}

const grownBy = (rounds: readonly BareRound[], tokensOf: (block: Block) => number): number[] =>
  rounds
    .slice(1)
    .map(({ before }, at) =>
      [...(rounds[at]?.reply ?? []), ...before].flatMap(requestBlocks).reduce((sum, block) => sum + tokensOf(block), 0),
    );

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Each block is rounded by itself. */
const roundingOf = (rounds: readonly BareRound[]): number => rounds.length * 3 * 0.5;

describe("scaleOf", () => {
  const growing = roundsFrom([
    { counted: 10_000 },
    { counted: 10_900, shown: code.repeat(30) },
    { counted: 12_300, shown: prose.repeat(40) },
    { counted: 13_900 },
    { counted: 14_700 },
  ]);

  it("makes the tokens of what was added sum to how the requests grew", () => {
    const { tokensOf, scaledBy } = computeScale(growing);
    expect(scaledBy).toBe("usage");
    expect(Math.abs(sum(grownBy(growing, tokensOf)) - 4_700)).toBeLessThan(roundingOf(growing));
  });

  it("learns apart what prose and code cost", () => {
    const dearCode = roundsFrom(
      Array.from({ length: 30 }, (_, at) => ({
        counted: 10_000 + Math.floor(at / 2) * 1_500 + (at % 2) * 1_000,
        shown: at % 2 === 0 ? code.repeat(24) : prose.repeat(20),
      })),
    );
    const { tokensOf } = computeScale(dearCode);
    const perByte = (words: string): number => tokensOf({ type: "text", text: words.repeat(50) }) / words.length;
    expect(perByte(code) / perByte(prose)).toBeGreaterThan(1.3);
  });

  it("takes the header to be the first request less what is logged of it", () => {
    const { headerTokens, tokensOf } = computeScale(growing);
    const said = tokensOf({ type: "text", text: prose.repeat(3) });
    expect(said).toBeGreaterThan(20);
    expect(headerTokens).toBe(10_000 - said);
  });

  it("takes the header from the first round that has usage, with all that was said before it", () => {
    const late = roundsFrom([{ counted: 0 }, { counted: 10_900 }, { counted: 11_700 }]);
    const { headerTokens, tokensOf } = computeScale(late);
    const said = sum(grownBy(late, tokensOf).slice(0, 1)) + tokensOf({ type: "text", text: prose.repeat(3) });
    expect(Math.abs(headerTokens - (10_900 - said))).toBeLessThan(roundingOf(late));
  });

  it("never takes the header to be larger than a request of the same model", () => {
    const middle = roundsFrom([
      { counted: 90_000 },
      { counted: 90_800 },
      { counted: 900, model: "another" },
      { counted: 30_000, follows: "cut" },
    ]);
    expect(computeScale(middle).headerTokens).toBe(30_000);
  });

  it("never takes the header to be less than nothing", () => {
    const rounds = roundsFrom([{ counted: 1 }, { counted: 801 }]);
    expect(computeScale(rounds).headerTokens).toBe(0);
  });

  it.each<[string, Turn]>([
    ["where something was cut", { counted: 13_000, follows: "cut" }],
    ["where the request shrank", { counted: 11_500 }],
    ["that its text can't explain", { counted: 60_000 }],
  ])("does not learn from growth %s", (_, odd) => {
    const before = [{ counted: 10_000 }, { counted: 10_800 }, { counted: 11_600 }];
    const block: Block = { type: "text", text: prose.repeat(20) };
    const plain = computeScale(roundsFrom(before)).tokensOf(block);
    expect(computeScale(roundsFrom([...before, odd])).tokensOf(block)).toBe(plain);
  });

  it("counts as the simulator does where nothing was counted, behind a header of ten thousand", () => {
    const { headerTokens, tokensOf, scaledBy } = computeScale(roundsFrom([{ counted: 0 }, { counted: 0 }]));
    expect({ headerTokens, scaledBy }).toEqual({ headerTokens: 10_000, scaledBy: "simulator" });
    expect(tokensOf({ type: "text", text: prose })).toBe(countTokens(prose));
    expect(tokensOf({ type: "unknown", was: prose })).toBe(0);
  });

  it("counts thinking, with or without its text, and a marker that was made later", () => {
    const { tokensOf } = computeScale(growing);
    expect(tokensOf({ type: "thinking", thinking: prose, signature: "signed" })).toBe(
      tokensOf({ type: "text", text: prose }),
    );
    // The text is not logged, but its encrypted form is: four characters for three bytes.
    const signature = "s".repeat((prose.length / 3) * 4);
    const hidden = tokensOf({ type: "thinking", thinking: "", signature });
    expect(Math.abs(hidden - tokensOf({ type: "text", text: prose }))).toBeLessThanOrEqual(1);
    expect(tokensOf({ type: "text", text: "[cleared]" })).toBeGreaterThan(0);
    expect(growing.every(({ usage }) => usage !== undefined && requestTokens(usage) > 0)).toBe(true);
  });
});
