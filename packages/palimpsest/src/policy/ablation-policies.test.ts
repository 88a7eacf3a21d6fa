import { describe, expect, it } from "vitest";
import type { Policy } from "../layers/policy.ts";
import { ablationPolicies } from "./ablation-policies.ts";
import { ablationNames, findPolicy, policyCatalogue, presetNames } from "./policy-catalogue.ts";
import { palimpsest } from "./palimpsest.ts";

/** Where the two differ, as a path of names; an absent part counts as one place. */
function differences(one: unknown, other: unknown, path = ""): readonly string[] {
  if (!isObject(one) || !isObject(other)) return one === other ? [] : [path];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differences(one[name], other[name], path === "" ? name : `${path}.${name}`));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const changed = (policy: Policy): readonly string[] =>
  differences(palimpsest, policy).filter((path) => path !== "name" && path !== "about");

const restored = [
  "summary.restored.files",
  "summary.restored.skills",
  ...[0, 1, 2, 3, 4].map((at) => `summary.restored.others.${at}`),
];

describe("an ablation", () => {
  it.each<[string, readonly string[]]>([
    ["palimpsest-without-offload", ["offload"]],
    ["palimpsest-without-clear", ["clear.byPrice", "clear.inCache"]],
    ["palimpsest-without-compact", ["compact"]],
    ["palimpsest-without-early", ["compact.early", "compact.lossCost"]],
    ["palimpsest-without-audit", ["summary.check"]],
    ["palimpsest-without-ledger", ["summary.userMessages"]],
    ["palimpsest-without-restoration", [...restored, "compact.restores"]],
    ["palimpsest-summary-alone", ["summary.check", ...restored, "summary.userMessages", "compact.restores"]],
    ["palimpsest-with-notes-5k", ["notes"]],
    ["palimpsest-with-notes-20k", ["notes", "background.notes.growthTokens"]],
    ["palimpsest-with-notes-40k", ["notes", "background.notes.growthTokens"]],
  ])("differs from the default in one part: %s", (name, paths) => {
    const policy = findPolicy(name);
    expect(policy === undefined ? undefined : changed(policy)).toEqual(paths);
  });

  it("stands beside the default, and in no comparison and no setting", () => {
    expect(ablationNames).toEqual(["palimpsest", ...ablationPolicies.map(({ name }) => name)]);
    const compared = new Set<string>([...policyCatalogue().map(({ name }) => name), ...presetNames]);
    expect(ablationPolicies.filter(({ name }) => compared.has(name))).toEqual([]);
  });
});
