import { describe, expect, it } from "vitest";
import { parseFidelityOptions, type FidelityArguments } from "./fidelity-options.ts";

const known = { all: ["palimpsest", "opencode", "rule"], presets: ["palimpsest", "opencode"], ablation: [] };
const nothing: FidelityArguments = {
  policy: undefined,
  window: undefined,
  jobs: undefined,
  summariser: undefined,
  compactions: undefined,
};
const options = (given: Partial<FidelityArguments> = {}) => parseFidelityOptions({ ...nothing, ...given }, known);

describe("options of fidelity", () => {
  it("are the presets after the first three compactions and the tenth, where nobody says", () => {
    expect(options()).toMatchObject({
      policies: ["palimpsest", "opencode"],
      compactions: [1, 2, 3, 10],
      summariser: "rules",
      windowTokens: undefined,
    });
  });

  it("take compactions in any order, each once", () => {
    expect(options({ compactions: "10, 2,2" })).toMatchObject({ compactions: [2, 10] });
  });

  it("share policies, window and jobs with replay", () => {
    expect(options({ policy: "rule", window: "80k", jobs: "3" })).toMatchObject({
      policies: ["rule"],
      windowTokens: 80_000,
      jobs: 3,
    });
  });

  it.each<[string, Partial<FidelityArguments>]>([
    ["a compaction before the first", { compactions: "0,1" }],
    ["a compaction that is no number", { compactions: "1,two" }],
    ["no compaction", { compactions: "," }],
    ["a compaction beyond every session", { compactions: "1001" }],
    ["a summariser that nobody made", { summariser: "model" }],
    ["a policy that nobody made", { policy: "best" }],
    ["a window that is no number", { window: "wide" }],
    ["a window that holds no conversation", { window: "999" }],
  ])("refuse %s", (_, given) => {
    expect(options(given)).toMatchObject({ kind: "failure", code: 2 });
  });
});
