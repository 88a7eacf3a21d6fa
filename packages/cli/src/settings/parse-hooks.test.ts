import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "palimpsest/internal/schema/json";
import { scopeFiles } from "./scope-files.ts";
import { parseHooks } from "./parse-hooks.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";
import { readSettings } from "./read-settings.ts";

const command = (line: string, more: object = {}) => ({ type: "command", command: line, ...more });
const parsed = (json: Json) => {
  const { hooks, problems } = parseHooks(json, "s.json");
  return { hooks, texts: problems.map((problem) => `${problem.severity} ${formatProblem(problem)}`) };
};

it("hooks of every scope count in a project that is trusted, the user's first, and each knows its file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hooks-"));
  const place = { home: join(folder, "home"), root: join(folder, "root") };
  const trustedProjects = [place.root];
  for (const { scope, path } of scopeFiles(place)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(
      path,
      JSON.stringify({
        ...(scope === "user" ? { trustedProjects } : {}),
        hooks: { Stop: [{ hooks: [command(scope)] }] },
      }),
    );
  }
  const { settings, problems } = await readSettings({ ...place, env: {} });
  expect(problems).toEqual([]);
  expect(settings.hooks.value).toEqual(
    scopeFiles(place).map(({ scope, path }) => ({ event: "Stop", matcher: "", command: scope, from: path })),
  );
  expect(settings.hooks.source).toBe("local");
});

it("reads matcher, command and time limit", () => {
  const hooks = {
    PreToolUse: [
      { matcher: "Bash", hooks: [command("a", { timeout: 1.5 }), command("b")] },
      { matcher: "^mcp__", hooks: [command("c")] },
    ],
  };
  expect(parsed(hooks)).toEqual({
    hooks: [
      { event: "PreToolUse", matcher: "Bash", command: "a", timeoutSeconds: 1.5, from: "s.json" },
      { event: "PreToolUse", matcher: "Bash", command: "b", from: "s.json" },
      { event: "PreToolUse", matcher: "^mcp__", command: "c", from: "s.json" },
    ],
    texts: [],
  });
});

describe("what is wrong is said, and the rest counts", () => {
  const good = { hooks: [command("good")] };
  it.each<[Json, string]>([
    [
      "x",
      'error s.json: hooks: expected an object of events, each with a list of matchers and their hooks, found "x"; ignored',
    ],
    [{ Stop: {} }, "error s.json: hooks.Stop: expected a list of matchers and their hooks, found an object; ignored"],
    [{ Stopp: [good] }, "warning s.json: hooks.Stopp: is not an event that palimpsest fires; ignored"],
    [{ Stop: [7] }, 'error s.json: hooks.Stop[0]: expected an object with "matcher" and "hooks", found 7; ignored'],
    [{ Stop: [{}] }, "error s.json: hooks.Stop[0].hooks: expected a list of hooks, found nothing; ignored"],
    [{ Stop: [{ ...good, matcher: 1 }] }, "error s.json: hooks.Stop[0].matcher: expected a text, found 1; ignored"],
    [
      { Stop: [{ ...good, matcher: "(" }] },
      "error s.json: hooks.Stop[0].matcher: is not a regular expression (Invalid regular expression: /(/: Unterminated group); its hooks are ignored",
    ],
    [
      { Stop: [{ hooks: [{ type: "http", url: "x" }] }] },
      'error s.json: hooks.Stop[0].hooks[0].type: expected "command", found "http"; ignored',
    ],
    [
      { Stop: [{ hooks: [command("")] }] },
      'error s.json: hooks.Stop[0].hooks[0].command: expected a line for the shell, found ""; ignored',
    ],
    [
      { Stop: [{ hooks: [command("a", { timeout: 0 })] }] },
      "error s.json: hooks.Stop[0].hooks[0].timeout: expected seconds, over 0 and up to 600, found 0; ignored",
    ],
  ])("%j", (hooks, text) => {
    expect(parsed(hooks)).toEqual({ hooks: [], texts: [text] });
  });

  it("one bad hook leaves the others", () => {
    const { hooks, texts } = parsed({ Stop: [{ hooks: [command(""), command("good", { colour: "red" })] }], Nope: [] });
    expect(hooks.map((hook) => hook.command)).toEqual(["good"]);
    expect(texts).toEqual([
      'error s.json: hooks.Stop[0].hooks[0].command: expected a line for the shell, found ""; ignored',
      "warning s.json: hooks.Stop[0].hooks[1].colour: is not a part of a hook that palimpsest knows; ignored",
      "warning s.json: hooks.Nope: is not an event that palimpsest fires; ignored",
    ]);
  });

  it("a file has at most a hundred", () => {
    const { hooks, texts } = parsed({ Stop: [{ hooks: Array.from({ length: 102 }, (_, at) => command(`${at}`)) }] });
    expect(hooks).toHaveLength(100);
    expect(texts).toEqual(["error s.json: hooks: more than 100 hooks; the last 2 are ignored"]);
  });
});
