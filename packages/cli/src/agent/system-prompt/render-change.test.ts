import { describe, expect, it } from "vitest";
import { diffFrozenParts, type FrozenParts } from "palimpsest/internal/cache/baseline";
import { type PermissionMode, renderChange } from "./render-change.ts";

const before: FrozenParts = {
  model: "claude-opus-5",
  betas: ["a"],
  tools: [
    { name: "read", description: "Reads." },
    { name: "old", description: "Goes." },
  ],
  system: [
    { name: "prompt", text: "p" },
    { name: "environment", text: "e" },
    { name: "/app/CLAUDE.md", text: "Use tabs." },
    { name: "/app/gone.md", text: "g" },
  ],
};
const now: FrozenParts = {
  model: "claude-sonnet-5-5",
  betas: ["b"],
  thinking: { type: "adaptive" },
  tools: [
    { name: "read", description: "Reads better." },
    { name: "new", description: "Comes." },
  ],
  system: [
    { name: "prompt", text: "p" },
    { name: "environment", text: "e2" },
    { name: "/app/CLAUDE.md", text: "Use spaces." },
    { name: "/app/more.md", text: "m" },
  ],
};

it("every change that a model need know of has its words", () => {
  const told = diffFrozenParts(before, now).map((change) => [change.kind, renderChange(change)]);
  expect(told).toMatchSnapshot();
});

describe("modes", () => {
  const modes: readonly PermissionMode[] = ["default", "acceptEdits", "plan", "bypassPermissions"];

  it.each(modes)("going into %s is told", (mode) => {
    const other = mode === "default" ? "acceptEdits" : "default";
    expect(renderChange({ kind: "mode", before: other, now: mode })).toMatchSnapshot();
  });

  it("leaving plan mode is told besides, whatever comes after", () => {
    for (const mode of modes.filter((one) => one !== "plan"))
      expect(renderChange({ kind: "mode", before: "plan", now: mode })).toMatch(/^Plan mode is over/);
  });

  it("a mode that stays is not told", () => {
    for (const mode of modes) expect(renderChange({ kind: "mode", before: mode, now: mode })).toBeUndefined();
  });
});
