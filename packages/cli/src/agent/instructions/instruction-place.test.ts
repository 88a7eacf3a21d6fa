import { homedir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { combineSettings } from "../../settings/read-settings.ts";
import { instructionPlace } from "./instruction-place.ts";

const reading = combineSettings([], { root: "/work", env: {} });
const { settings } = reading;
const place = (changes: object, env: Readonly<Record<string, string>> = {}) =>
  instructionPlace({
    home: "/own",
    env,
    cwd: "/work/src",
    root: "/work",
    reading: { ...reading, settings: { ...settings, ...changes } },
    importAnswers: new Map([
      ["/once.md", "allowed"],
      ["/refused.md", "allowed"],
    ]),
  });
const given = (value: readonly string[]) => ({ value, source: "user", from: "/own/settings.json" });

it("a refused file stays out, whatever else was answered", () => {
  const answers = place({
    allowedImports: given(["~/a.md", "/refused.md"]),
    refusedImports: given(["/refused.md"]),
  }).importAnswers;
  expect(Object.fromEntries(answers)).toEqual({
    [join(homedir(), "a.md")]: "allowed",
    "/once.md": "allowed",
    "/refused.md": "left-out",
  });
});

it("patterns may start at home, and the user's folder may be elsewhere", () => {
  const { excludes, userFolders } = place(
    { claudeMdExcludes: given(["~/x/**", "**/y.md"]) },
    { CLAUDE_CONFIG_DIR: "/c" },
  );
  expect(excludes).toEqual([join(homedir(), "x/**"), "**/y.md"]);
  expect(userFolders).toEqual(["/c", "/own"]);
  expect(place({}).userFolders[0]).toBe(join(homedir(), ".claude"));
});
