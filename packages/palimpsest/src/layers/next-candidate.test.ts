import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../test/fixture/made-inventory.ts";
import { stateOf } from "../../../../test/fixture/pipeline-state.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import { tokens } from "../schema/brand.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import { environmentValues } from "@palimpsest/cli/internal/settings/read-settings";
import { snipEdit } from "./2-clear/snip-low-value.ts";
import type { Candidate, Layer } from "./layer.ts";
import { layers } from "./layers.ts";
import { nextCandidate } from "./next-candidate.ts";
import type { PipelineState } from "./pipeline-state.ts";
import type { Policy } from "./policy.ts";

const proposing = (...names: readonly Candidate["layer"][]): readonly Layer[] =>
  layers.map(({ name, switches, replaces }) => ({
    name,
    switches,
    ...(replaces === undefined ? {} : { replaces }),
    propose: () => (names.includes(name) ? candidate(name) : undefined),
  }));

const candidate = (layer: Candidate["layer"]): Candidate => ({
  layer,
  removesTokens: 1,
  behindTokens: 0,
  because: "",
  edit: snipEdit([], ""),
});

describe("the next thing to do", () => {
  it.each<
    [string, Policy["chooses"], readonly Candidate["layer"][], readonly Candidate["layer"][], string | undefined]
  >([
    ["the first in order", "first", ["compact", "clear.size", "snip"], [], "snip"],
    ["compaction last, where order decides", "first", ["compact", "clear.price"], [], "clear.price"],
    ["compaction where it is due, since all else were for nothing", "price", ["compact", "clear.price"], [], "compact"],
    [
      "what a warm cache does for nothing before what has its price",
      "price",
      ["clear.cacheEdits", "clear.price"],
      [],
      "clear.cacheEdits",
    ],
    ["what pays where none is due", "price", ["collapse", "clear.price"], [], "clear.price"],
    ["each layer once", "first", ["snip", "clear.size"], ["snip"], "clear.size"],
    ["compaction once too", "price", ["compact", "clear.price"], ["compact"], "clear.price"],
    ["nothing where nobody proposes", "price", [], [], undefined],
  ])("is %s", (_, chooses, names, acted, expected) => {
    const state = stateOf(new MadeConversation().says(), { policy: { ...getPreset("none"), chooses } });
    expect(nextCandidate({ layers: proposing(...names), state, acted: new Set(acted) })?.layer).toBe(expected);
  });
});

describe("room at the threshold", () => {
  /** 40,000 tokens, of which compaction removes 30,000 for 50,000 input tokens and a clear 20,000 for 10,000. */
  const edits: Readonly<Record<string, Partial<Candidate>>> = {
    compact: { removesTokens: 30_000, cost: 50_000 },
    "clear.price": { removesTokens: 20_000, cost: 10_000 },
  };
  const priced = proposing("compact", "clear.price").map((layer) => ({
    ...layer,
    propose: (state: PipelineState) => {
      const found = layer.propose(state);
      return found === undefined ? undefined : { ...found, ...edits[layer.name] };
    },
  }));
  const price = { total: 50_000, removesTokens: 30_000 } as never;
  const chosen = (wish: { readonly growthTokens: number; readonly rounds: number }): string | undefined => {
    const state = stateOf(new MadeConversation().says(), {
      policy: { ...getPreset("none"), chooses: "price" },
      growthTokens: wish.growthTokens,
      thresholds: {
        window: tokens(60_000),
        warning: tokens(30_000),
        compact: tokens(40_000),
        blocking: tokens(50_000),
      },
      moment: { contextTokens: 40_000 },
      compaction: { price, rent: 0, rounds: wish.rounds },
    });
    return nextCandidate({ layers: priced, state, acted: new Set() })?.layer;
  };

  it("is made by the edit whose room costs least per round", () => {
    // 20 rounds for 500 each and 3,000 to read, or 30 rounds for 1,667 each and 2,500 to read.
    expect(chosen({ growthTokens: 1_000, rounds: 0 })).toBe("clear.price");
    // 200 rounds for 50 each and 3,000 to read, or 300 rounds for 167 each and 2,500 to read.
    expect(chosen({ growthTokens: 100, rounds: 0 })).toBe("compact");
  });

  it("is made by compaction once reading what a clear would leave has cost the difference", () => {
    // 10,000 tokens would stay; half of them were read in each round, for 500.
    expect(chosen({ growthTokens: 1_000, rounds: 79 })).toBe("clear.price");
    expect(chosen({ growthTokens: 1_000, rounds: 80 })).toBe("compact");
  });
});

it("DISABLE_COMPACT switches every layer off", () => {
  const given = environmentValues({ DISABLE_COMPACT: "1" }).givenByName;
  const isOff = (name: SwitchName): boolean => given.get(`flags.${name}`)?.value === false;
  expect(layers.filter(({ switches }) => !switches.every(isOff))).toEqual([]);
});
