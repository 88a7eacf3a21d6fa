import { describe, expect, it } from "vitest";
import { narrowChoice, type PermissionChoice } from "./permission-choice.ts";

const choice = (mode: PermissionChoice["mode"]): PermissionChoice => ({
  mode,
  allow: ["Bash(npm test)"],
  ask: ["Bash(git push:*)"],
  deny: ["Read(.env)"],
});

const widths = ["plan", "default", "acceptEdits", "bypass"] as const;
const named = { plan: "plan", default: "default", acceptEdits: "acceptEdits", bypass: "bypassPermissions" } as const;

describe("what an agent may do, by its type and its parent", () => {
  it("its mode is the narrower of the two, in every combination", () => {
    for (const [parentWidth, parent] of widths.entries())
      for (const [ownWidth, own] of widths.entries())
        expect(narrowChoice(choice(parent), { permissionMode: named[own] }).mode).toBe(
          widths[Math.min(parentWidth, ownWidth)],
        );
  });

  it("without a mode it has its parent's, and is the same object, so that rules are parsed once", () => {
    const parent = choice("acceptEdits");
    expect(narrowChoice(parent, {})).toBe(parent);
  });

  it("in plan mode by its type, the memory of its type is still its own; not if its parent is in plan mode", () => {
    const type = { permissionMode: "plan", memory: "project" } as const;
    expect(narrowChoice(choice("default"), type)).toMatchObject({ mode: "plan", memory: "own" });
    expect(narrowChoice(choice("plan"), type).memory).toBeUndefined();
    expect(narrowChoice(choice("default"), { permissionMode: "plan" }).memory).toBeUndefined();
  });

  it("its deny rules are added, and every rule of its parent stays", () => {
    expect(narrowChoice(choice("default"), { denyRules: ["Bash(rm:*)"] })).toEqual({
      ...choice("default"),
      deny: ["Read(.env)", "Bash(rm:*)"],
    });
  });
});
