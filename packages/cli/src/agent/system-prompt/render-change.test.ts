import { describe, expect, it } from "vitest";
import { diffFrozenParts, type FrozenParts } from "palimpsest/internal/cache/baseline";
import { announcedChangeCharsMax } from "../limits.ts";
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

describe("a changed text", () => {
  const lines = Array.from({ length: 30 }, (_, at) => `Rule ${at}.`);
  const changed = (name: string, texts: { readonly before: string; readonly text: string }): string =>
    renderChange({ kind: "system-changed", piece: { name, text: texts.text }, before: texts.before }) ?? "";

  it("is told by its changed lines, with their numbers and none of the others", () => {
    const text = lines.toSpliced(20, 1).with(3, "Rule three.").concat("Rule 30.").join("\n");
    const [, difference = ""] = changed("/a.md", { before: lines.join("\n"), text }).split("\n\n");
    expect(difference.split("\n")).toEqual([
      "@@ -4 +4 @@",
      "-Rule 3.",
      "+Rule three.",
      "@@ -21 @@",
      "-Rule 20.",
      "@@ +30 @@",
      "+Rule 30.",
    ]);
  });

  it.each([
    ["that is short", "one", "two"],
    ["of which the model knows no earlier state", "", lines.join("\n")],
  ])("%s is told whole", (_, before, text) => {
    expect(changed("/a.md", { before, text })).toMatch(new RegExp(`in place of the earlier text.\\n\\n${text}$`));
  });

  it("that is too long is to be read, unless it is no file", () => {
    const text = "x\n".repeat(announcedChangeCharsMax);
    expect(changed("/a.md", { before: "y", text })).toContain("read /a.md before you go on");
    expect(changed("environment", { before: "y", text })).toContain(text);
  });
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
