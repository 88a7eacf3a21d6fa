import { describe, expect, it } from "vitest";
import {
  boundary,
  call,
  clear,
  entryOf,
  result,
  says,
  summary,
  text,
  undo,
  user,
  type Raw,
} from "../../../../test/fixture/raw.ts";
import { tokens } from "../schema/brand.ts";
import { Fold } from "../transcript/fold.ts";
import { Calibration } from "./calibration.ts";
import { tokensFromBytes } from "./estimate-block.ts";
import { measureBlock, noBytes } from "./byte-counts.ts";
import { type FixedFigure, type FixedPart, noFixedPart } from "./fixed-part.ts";
import { TokenLedger } from "./token-ledger.ts";

/** A reply that carries what the provider counted. */
const counted = (uuid: string, reply: string, usage: object, ...content: readonly object[]): Raw => ({
  ...says(uuid, reply, ...content),
  message: { id: reply, content, usage },
});
const usage = (input: number, output = 0): object => ({
  input_tokens: 3,
  cache_read_input_tokens: input - 3,
  output_tokens: output,
});
const words = (count: number): string => "word ".repeat(count).trim();

function ledgerOf(raws: readonly Raw[], way: "live" | "at once" = "live"): TokenLedger {
  const ledger = new TokenLedger();
  const fold = new Fold({ watch: ledger });
  const logged = raws.map((raw, at) => ({
    entry: entryOf({ parentUuid: at === 0 ? null : raws[at - 1]?.uuid, ...raw }),
    start: at * 100,
    end: at * 100 + 99,
  }));
  if (way === "at once") fold.appendAll(logged);
  else for (const one of logged) fold.append(one);
  return ledger;
}

const blockTokens = (ledger: TokenLedger, content: string): number =>
  tokensFromBytes(measureBlock({ type: "text", text: content }), ledger.rates);

describe.each(["live", "at once"] as const)("the size of a context, reported %s", (way) => {
  it("is an estimate as long as nothing was counted", () => {
    const ledger = ledgerOf([user("u", words(100))], way);
    expect(ledger.size).toMatchObject({ source: "estimate", anchor: undefined });
    expect(ledger.size.tokens).toBeGreaterThan(125);
  });

  it("is what the provider counted, all four figures, once a reply came", () => {
    const ledger = ledgerOf([user("u"), counted("a", "m", usage(1000, 50), text("done"))], way);
    expect(ledger.size).toMatchObject({ source: "usage", tokens: 1050, anchor: "a", estimated: 0 });
  });

  it("adds an estimate of what came since", () => {
    const ledger = ledgerOf([user("u"), counted("a", "m", usage(1000, 50), text("done")), user("v", words(100))], way);
    expect(ledger.size.tokens).toBe(1050 + blockTokens(ledger, words(100)));
  });

  it("is anchored at the first entry of a split reply: results between its parts count", () => {
    const split = [
      user("u"),
      counted("a1", "m", usage(1000, 9), call("x")),
      result("r1", "x", words(400)),
      counted("a2", "m", usage(1000, 60), call("y")),
      result("r2", "y", words(400)),
    ];
    const ledger = ledgerOf(split, way);
    expect(ledger.size.anchor).toBe("a1");
    expect(ledger.size.tokens).toBeGreaterThan(1060 + 2 * 400);
  });

  it("counts an edit after the anchor at once", () => {
    const before = [
      user("u"),
      says("a", "m", call("x")),
      result("r", "x", words(4000)),
      counted("b", "n", usage(16_000, 10), text("ok")),
    ];
    const ledger = ledgerOf([...before, clear("c", "x")], way);
    expect(ledger.size.tokens).toBeLessThan(16_010 - 3_500);
    expect(ledger.size.tokens).toBeGreaterThan(0);
  });

  it("never reads a count from before a boundary", () => {
    const raws = [
      user("u", words(90_000)),
      counted("a", "m", usage(150_000, 50), text("x")),
      boundary("b"),
      summary("s"),
    ];
    const { size } = ledgerOf(raws, way);
    expect(size).toMatchObject({ source: "estimate" });
    expect(size.tokens).toBeLessThan(150_000);
  });

  it("does not use a count for a view that a later undo brought back", () => {
    const raws = [
      user("u", words(2000)),
      boundary("b"),
      summary("s"),
      counted("a", "m", usage(500, 10), text("x")),
      undo("d", "b"),
    ];
    expect(ledgerOf(raws, way).size.tokens).toBeGreaterThan(2000);
  });
});

describe("a result that the provider's cache left out for a while", () => {
  const deletes = (uuid: string, ...deleted: readonly string[]): Raw => ({ type: "server-edits", uuid, deleted });
  const forgets = (uuid: string): Raw => ({ type: "server-edits", uuid, deleted: [], forgets: true });
  const began = [
    user("u1"),
    says("a1", "m1", call("x"), call("y")),
    result("r1", "x", words(4000)),
    result("r2", "y", words(1000)),
    counted("a2", "m2", usage(10_100, 10), text("Seen.")),
  ];
  const asks = (nth: number, input: number): readonly Raw[] => [
    user(`v${nth}`, "And now?"),
    counted(`b${nth}`, `n${nth}`, usage(input, 20), text("So.")),
  ];

  it.each<[string, readonly Raw[]]>([
    ["is cleared", [deletes("d", "x"), ...asks(1, 5_100), clear("c", "x")]],
    ["is cleared, and a request follows", [deletes("d", "x"), ...asks(1, 5_100), clear("c", "x"), ...asks(2, 5_200)]],
    ["is cleared beside one that stays deleted", [deletes("d", "x", "y"), ...asks(1, 4_000), clear("c", "x")]],
    ["is shown again", [deletes("d", "x"), ...asks(1, 5_100), forgets("f")]],
    ["is shown again and cleared", [deletes("d", "x"), ...asks(1, 5_100), forgets("f"), clear("c", "x")]],
    ["is deleted anew", [deletes("d", "x"), ...asks(1, 5_100), forgets("f"), deletes("e", "x"), ...asks(2, 5_200)]],
    ["stays deleted", [deletes("d", "x"), ...asks(1, 5_100), deletes("e", "y")]],
  ])("has one size, told live or at once: it %s", (_, edits) => {
    const live = ledgerOf([...began, ...edits]);
    const atOnce = ledgerOf([...began, ...edits], "at once");
    expect(atOnce.size).toEqual(live.size);
    expect(atOnce.estimate).toEqual(live.estimate);
    expect([...atOnce.categories]).toEqual([...live.categories]);
  });

  it("adds only its marker to what was counted without it", () => {
    const { size } = ledgerOf([...began, deletes("d", "x"), ...asks(1, 5_100), clear("c", "x")], "at once");
    expect(size.estimated).toBeGreaterThan(0);
    expect(size.estimated).toBeLessThan(20);
  });
});

describe("the fixed part after a boundary", () => {
  const cut = [boundary("b"), summary("s")];
  const part = { ...noFixedPart, systemPrompts: [words(300)] };
  const sizeOf = (raws: readonly Raw[], known: FixedPart): number => {
    const ledger = ledgerOf(raws);
    ledger.carries(known);
    return ledger.size.tokens;
  };

  it("is what requests showed before, whatever is known of it", () => {
    const raws = [user("u"), counted("a", "m", usage(9_000, 5), text("ok")), ...cut];
    expect(sizeOf(raws, part)).toBe(sizeOf(raws, noFixedPart));
    expect(sizeOf(raws, part)).toBeGreaterThan(8_900);
  });

  it("is what is known if no request showed it", () => {
    const raws = [user("u"), says("a", "m", text("ok")), ...cut];
    expect(sizeOf(raws, part) - sizeOf(raws, noFixedPart)).toBeGreaterThan(375);
  });
});

describe("the fixed part after a boundary that followed a long request", () => {
  const part = { ...noFixedPart, systemPrompts: [words(9_000)] };
  const figure: FixedFigure = {
    tokens: tokens(12_000),
    pieces: [{ kind: "systemPrompt", count: 1, tokens: tokens(12_000) }],
    deferred: { tools: [], tokens: tokens(0) },
    counter: "exact",
  };
  const after = ({
    said,
    input,
    known,
  }: {
    said: number;
    input: number;
    known?: FixedFigure | undefined;
  }): TokenLedger => {
    const reply = counted("a", "m", usage(input, 5), text("ok"));
    const ledger = ledgerOf([user("u", words(said)), reply, boundary("b"), summary("s")]);
    ledger.carries(part, known);
    return ledger;
  };

  it("is at least what an exact counter counted", () => {
    for (const input of [20_000, 33_333, 33_334, 40_000])
      expect(after({ said: 20_000, input, known: figure }).fixedTokens).toBe(12_000);
    expect(after({ said: 20_000, input: 33_334, known: figure }).fixedCountedBy).toBe("exact");
    expect(after({ said: 20_000, input: 60_000, known: figure })).toMatchObject({ fixedCountedBy: "usage" });
  });

  it("is what usage showed if the conversation was the smaller part of the request", () => {
    const ledger = after({ said: 1_000, input: 9_000 });
    expect(ledger.knownFixed.tokens).toBeGreaterThan(14_000);
    expect(ledger.fixedTokens).toBeLessThan(9_000);
    expect(ledger.fixedCountedBy).toBe("usage");
  });

  it("grows with usage without a leap, counted or estimated", () => {
    for (const known of [figure, undefined]) {
      for (const said of [5_000, 9_000, 20_000]) {
        for (let input = said; input < 5 * said; input += 100) {
          const grown =
            after({ said, input: input + 100, known }).size.tokens - after({ said, input, known }).size.tokens;
          expect(Math.abs(grown), `${said} words, ${input} tokens`).toBeLessThan(600);
        }
      }
    }
  });

  it("follows the rates while it is estimated, also if an estimate was passed as a count", () => {
    const ledger = ledgerOf([user("u")]);
    ledger.carries(part, { ...figure, counter: "estimate" });
    expect(ledger.knownFixed.tokens).toBe(
      tokensFromBytes(measureBlock({ type: "text", text: words(9_000) }), ledger.rates),
    );
  });
});

it("a clear subtracts no more than the block was counted for, live and reported at once alike", () => {
  const raws = [
    user("u", words(40)),
    says("a", "m", call("x")),
    result("r", "x", words(30_000)),
    counted("b", "n", usage(66_000, 55), text("ok")),
    clear("c", "x"),
  ];
  const live = ledgerOf(raws, "live").size.tokens;
  expect(live).toBeGreaterThan(10_000);
  expect(live).toBeLessThan(66_055 - 20_000);
  expect(ledgerOf(raws, "at once").size.tokens).toBe(live);
});

it("a ledger that followed live and one that was given the whole view at once agree", () => {
  const raws = [
    user("u", words(50)),
    says("a", "m", call("x"), call("y")),
    result("r", "x", words(900)),
    result("q", "y", words(20)),
    counted("b", "n", usage(5000, 40), text("thinking about it")),
    user("v", words(30)),
  ];
  expect(ledgerOf(raws, "at once").size).toEqual(ledgerOf(raws, "live").size);
  expect([...ledgerOf(raws, "at once").categories]).toEqual([...ledgerOf(raws, "live").categories]);
});

describe("calibration", () => {
  it("finds the rate of each class from growth alone", () => {
    const calibration = new Calibration();
    const rates = {
      prose: 1 / 4.4,
      code: 1 / 3.1,
      numbers: 1 / 1.7,
      json: 1 / 2.6,
      cjk: 1 / 2.4,
      base64: 1 / 1.4,
      emoji: 1 / 1.5,
      media: 1600,
      counted: 0,
    };
    for (let round = 0; round < 300; round += 1) {
      const prose = 500 + ((round * 37) % 900);
      const code = (round * 101) % 4000;
      const json = (round * 53) % 700;
      const numbers = (round * 29) % 500;
      const counts = { ...noBytes(), prose, code, numbers, json, cjk: round % 5 === 0 ? 600 : 0 };
      calibration.observe(counts, tokensFromBytes(counts, rates));
    }
    for (const name of ["prose", "code", "numbers", "json", "cjk"] as const) {
      expect(calibration.rates[name] / rates[name], name).toBeGreaterThan(0.95);
      expect(calibration.rates[name] / rates[name], name).toBeLessThan(1.25);
    }
  });

  it("leaves alone what growth can't have come from: history that was dropped, text that was never logged", () => {
    const calibration = new Calibration();
    const before = calibration.rates;
    const counts = { ...noBytes(), prose: 4000 };
    calibration.observe(counts, 90_000 as never);
    calibration.observe(counts, -5_000 as never);
    expect(calibration.rates).toEqual(before);
  });
});

describe("one view has one size", () => {
  const said = [
    user("u", words(900)),
    says("a", "m", call("x")),
    result("r", "x", words(4_000)),
    counted("b", "n", usage(9_000, 40), text("ok")),
  ];
  const sizeOf = (...raws: readonly Raw[]): number => ledgerOf([...said, ...raws], "at once").size.tokens;
  const edits: readonly (readonly [string, readonly Raw[]])[] = [
    ["a clear", [clear("e", "x")]],
    ["a snip", [{ type: "snip", uuid: "e", entries: ["u"] }]],
    ["a boundary", [boundary("e"), summary("s")]],
  ];

  it.each(edits)("after %s and its undo it is what it was before", (_, raws) => {
    const before = sizeOf();
    expect(sizeOf(...raws)).toBeLessThan(before);
    expect(sizeOf(...raws, undo("d", "e"))).toBe(before);
    expect(sizeOf(...raws, undo("d", "e"), undo("f", "d"))).toBe(sizeOf(...raws));
  });

  // A boundary passes on what was learned: see below.
  it.each(edits.slice(0, 2))(
    "behind %s it is the same live and told at once, before and behind the next reply",
    (_, raws) => {
      const rest = [user("v", words(50)), counted("c", "o", usage(6_000, 9), text("and on")), user("w", words(20))];
      for (const more of [
        raws,
        [...raws, ...rest],
        [...raws, ...rest, undo("d", "e")],
        [...raws, undo("d", "e"), ...rest],
      ])
        expect(ledgerOf([...said, ...more], "at once").size).toEqual(ledgerOf([...said, ...more], "live").size);
    },
  );

  it("an undo of a clear, after a reply that was counted without it, adds what came back", () => {
    const reply = counted("c", "o", usage(4_000, 9), text("and on"));
    const cleared = sizeOf(clear("e", "x"), user("v"), reply);
    const back = sizeOf(clear("e", "x"), user("v"), reply, undo("d", "e"));
    expect(cleared).toBe(4_009);
    expect(back).toBeGreaterThan(4_009 + 3_000);
    expect(back).toBeLessThan(4_009 + 7_000);
  });
});

describe("what our own requests taught", () => {
  const part: FixedPart = { ...noFixedPart, systemPrompts: [words(2_000)] };
  const told = (raws: readonly Raw[], ledger: TokenLedger): TokenLedger => {
    ledger.carries(part);
    ledger.sendsOwn();
    const fold = new Fold({ watch: ledger, foreignUntil: 300 });
    for (const [at, raw] of raws.entries())
      fold.append({
        entry: entryOf({ parentUuid: raws[at - 1]?.uuid ?? null, ...raw }),
        start: at * 100,
        end: at * 100 + 99,
      });
    return ledger;
  };
  const theirs = [user("u", words(900)), counted("a", "m", usage(60_000, 40), text("ok")), user("v", "And?")];
  const ours = [user("w", "Go on."), counted("b", "n", usage(3_600, 10), text("I do."))];

  it("is independent: what another program's requests contained is not part of ours, before and after our first", () => {
    expect(told(theirs, new TokenLedger()).size.tokens).toBeLessThan(6_000);
    const ledger = told([...theirs, ...ours], new TokenLedger());
    expect(ledger.size).toMatchObject({ tokens: 3_610, source: "usage" });
    expect(ledger.fixedTokens).toBeGreaterThan(1_800);
    expect(ledger.fixedTokens).toBeLessThan(3_600);
    expect(ledger.estimate / 3_610).toBeCloseTo(1, 1);
  });

  it("comes first: until it has, the conversation is as large as the other tool's requests showed it", () => {
    const long = [
      counted("a", "m", usage(20_000, 1), text("ok")),
      user("v", words(30_000)),
      counted("b", "n", usage(50_000, 1), text("ok")),
    ];
    const ledger = told([...long, user("w", "Go on.")], new TokenLedger());
    const conversation = ledger.size.tokens - ledger.fixedTokens;
    expect(conversation / 30_000).toBeGreaterThan(0.97);
    expect(conversation / 30_000).toBeLessThan(1.1);
  });

  it("goes with the boundary: who opens the log there counts as the one who wrote it", () => {
    const writer = told(
      [...theirs, ...ours, boundary("e"), user("s", words(300), { isCompactSummary: true })],
      new TokenLedger(),
    );
    const reader = new TokenLedger({ learned: writer.learned });
    reader.carries(part);
    reader.sendsOwn();
    const fold = new Fold({ watch: reader });
    fold.appendAll([
      { entry: entryOf({ ...boundary("e"), parentUuid: null }), start: 0, end: 99 },
      {
        entry: entryOf({ ...user("s", words(300), { isCompactSummary: true }), parentUuid: "e" }),
        start: 100,
        end: 199,
      },
    ]);
    expect(reader.size).toEqual(writer.size);
    expect(reader.rates).toEqual(writer.rates);
  });

  it("is scaled for a model with another tokenizer, and back; until that has counted, the size is an estimate", () => {
    const [older, newer] = ["claude-haiku-4-5", "claude-sonnet-5-5"];
    const by = (model: string, raw: Raw): Raw => ({ ...raw, message: { ...Object(raw["message"]), model } });
    const [w, b] = ours;
    if (w === undefined || b === undefined) throw new Error("two");
    const ledger = told([...theirs, w, by(older, b)], new TokenLedger());
    ledger.carries({ ...part, model: older });
    const { rates, fixedTokens } = ledger;
    expect(ledger.size).toMatchObject({ tokens: 3_610, source: "usage" });
    ledger.carries({ ...part, model: newer });
    expect(ledger.size).toEqual({ tokens: 4_693, source: "estimate", anchor: undefined, estimated: 4_693 });
    expect(ledger.fixedTokens / fixedTokens).toBeCloseTo(1.3, 1);
    // A boundary that is written now says in whose tokens its figures are.
    const reader = new TokenLedger({ learned: ledger.learned });
    reader.carries({ ...part, model: older });
    reader.sendsOwn();
    expect(reader.fixedTokens / fixedTokens).toBeCloseTo(1, 2);
    ledger.carries({ ...part, model: older });
    expect(ledger.size).toMatchObject({ tokens: 3_610, source: "usage" });
    expect(ledger.rates.prose).toBeCloseTo(rates.prose, 9);
  });

  it("holds for the tools of its requests: with others the size changes by as much as they do", () => {
    const ledger = told([...theirs, ...ours], new TokenLedger());
    ledger.carries({ ...part, systemPrompts: [words(3_000)] });
    expect(ledger.size.tokens).toBeGreaterThan(3_610 + 900);
    expect(ledger.size.tokens).toBeLessThan(3_610 + 2_000);
  });
});

describe("a count that its request can't have had", () => {
  const said = [user("u", words(900)), counted("a", "m", usage(1_400, 40), text("ok")), user("v", words(100))];
  const absurd = (input: number): Raw[] => [...said, counted("b", "n", usage(input, 40), text("yes"))];

  it("is passed over: the count before it and the estimate count on", () => {
    const ledger = ledgerOf(absurd(60 * 20_000));
    expect(ledger.size).toMatchObject({ anchor: "a" });
    expect(ledger.size.tokens).toBeLessThan(2_000);
    expect(ledger.doubtedUsage).toMatchObject({ entry: "b", counted: 1_200_000 });
  });

  it("teaches nothing, and is forgotten with the next that can be believed", () => {
    const ledger = ledgerOf([...absurd(60 * 20_000), user("w"), counted("c", "o", usage(1_600, 5), text("done"))]);
    expect(ledger.size.tokens).toBe(1_605);
    expect(ledger.doubtedUsage).toBeUndefined();
  });

  it("is believed of a request that holds a document: that may be a book", () => {
    const document = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } };
    const book = { type: "user", uuid: "v", message: { role: "user", content: [document] } };
    const raws = [user("u"), book, counted("a", "m", usage(300_000, 40), text("read"))];
    expect(ledgerOf(raws).size.tokens).toBe(300_040);
  });

  it("is believed after a document was deleted in the provider's cache and then cleared", () => {
    const document = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } };
    const raws = [
      user("u"),
      says("a", "m", call("x")),
      user("r", [{ type: "tool_result", tool_use_id: "x", content: [document] }]),
      { type: "server-edits", uuid: "d", deleted: ["x"] },
      clear("c", "x"),
      counted("b", "n", usage(1_000, 40), text("read")),
    ];
    const ledger = ledgerOf(raws);
    expect(ledger.doubtedUsage).toBeUndefined();
    expect(ledger.size.tokens).toBe(1_040);
  });
});
