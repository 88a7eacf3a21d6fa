import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../test/fixture/made-inventory.ts";
import { stateOf } from "../../../../test/fixture/pipeline-state.ts";
import { getPreset } from "../policy/policy-catalogue.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import { environmentValues } from "@palimpsest/cli/internal/settings/read-settings";
import { snipEdit } from "./2-clear/snip-low-value.ts";
import type { Candidate, Layer } from "./layer.ts";
import { layers } from "./layers.ts";
import { nextCandidate } from "./next-candidate.ts";
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

it("DISABLE_COMPACT switches every layer off", () => {
  const given = environmentValues({ DISABLE_COMPACT: "1" }).givenByName;
  const isOff = (name: SwitchName): boolean => given.get(`flags.${name}`)?.value === false;
  expect(layers.filter(({ switches }) => !switches.every(isOff))).toEqual([]);
});
