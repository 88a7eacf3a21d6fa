import { describe, expect, test } from "vitest";
import { Desk, key, open, typed } from "../../../../../test/fixture/dialog-desk.ts";
import type { PermissionAnswer, PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { dialogBodyCharsMax, quietBeforeAnswerMs, ruleCharsMax } from "../limits.ts";
import { permissionDialog } from "./permission-dialog.ts";

const rule = "bash(git push:*)";
const push: PermissionPrompt = {
  toolUse: toolUseId("t"),
  tool: "bash",
  input: { command: "git push origin main" },
  acts: [{ kind: "shell", command: "git push origin main", effect: "unknown", reads: "known", writes: "known" }],
  reason: "No rule allows it.",
};
const ruled: PermissionPrompt = { ...push, suggestedRules: [rule] };

const desk = (ask: PermissionPrompt, options: { rows?: number; width?: number } = {}): Desk<PermissionAnswer> =>
  new Desk((deps) => permissionDialog(ask, deps), options);

describe("an answer", () => {
  test.each<[string, PermissionPrompt, readonly string[], PermissionAnswer | typeof open]>([
    ["y is a yes for once", push, ["y"], { kind: "once" }],
    ["Enter takes what is at hand: at first a yes for once", push, [key.enter], { kind: "once" }],
    ["n is a no", push, ["n"], { kind: "denied" }],
    ["Esc ends the turn", push, [key.esc], { kind: "interrupted" }],
    ["Ctrl-C is a no", push, [key.ctrlC], { kind: "denied" }],
    ["a number takes its line", ruled, ["4"], { kind: "denied" }],
    ["a number only goes to a permission", ruled, ["3", "2", "3"], open],
    ["and Enter takes it there", ruled, ["3", key.enter], { kind: "always", rules: [rule], scope: "project" }],
    ["no letter is a permission", ruled, ["s", "p", "s", "p"], open],
    ["arrows and Enter take a line", ruled, [key.down, key.enter], { kind: "always", rules: [rule], scope: "session" }],
    ["without a rule there is no permission", push, [key.down, key.enter], { kind: "denied" }],
    [
      "a rule too long to be overseen is not offered",
      { ...push, suggestedRules: ["x".repeat(ruleCharsMax + 1)] },
      [key.down, key.enter],
      { kind: "denied" },
    ],
    ["words go with a no", push, ["t", ...typed("use a y"), key.enter], { kind: "denied", words: "use a y" }],
    ["no words are a plain no", push, ["t", key.enter], { kind: "denied" }],
    ["Esc in the words goes back", push, ["t", "a", key.esc, "y"], { kind: "once" }],
    ["a pasted yes is none", push, [key.paste("y"), key.paste("\r"), key.paste("y\n")], open],
    ["pasted words are words", push, ["t", key.paste("use\nnpm"), key.enter], { kind: "denied", words: "use npm" }],
    ["other letters are nothing", push, ["q", "ü", "yes"], open],
  ])("%s", async (_, ask, keys, expected) => {
    expect(
      await desk(ask)
        .seen()
        .press(...keys)
        .answer(),
    ).toEqual(expected);
  });

  test.each<[Partial<ShellAction>, string, string]>([
    [{ strength: "workspace" }, "Run this command?", "in the sandbox: it writes only in the project"],
    [{ strength: "read-only" }, "Run this command?", "in the sandbox: it writes nothing"],
    [{ strength: "none" }, "Run this command?", "without a sandbox: it can do everything that you can"],
    [
      { strength: "none", outsideReason: "docker needs its socket" },
      "Run this command outside the sandbox?",
      "the agent's reason: docker needs its socket",
    ],
  ])("a command is asked about with what will hold it: %o", (parts, title, line) => {
    const act: ShellAction = {
      kind: "shell",
      command: "make",
      effect: "unknown",
      reads: "known",
      writes: "known",
      ...parts,
    };
    const { text } = desk({ ...push, acts: [act] }).seen();
    expect(text).toContain(title);
    expect(text).toContain(line);
  });

  test("the rule of a permission is shown as it is, and before it is given what becomes of it in the project", () => {
    const shown = desk({ ...ruled, projectRuleNote: "for this session; nobody trusts it" }).seen().text;
    expect(shown).toMatch(/in this session\s+bash\(git push:\*\)\n/);
    expect(shown).toMatch(/in this project\s+bash\(git push:\*\), for this session; nobody trusts it/);
  });

  test("a rule that counts for the asking agent only is not offered for the project", () => {
    const shown = desk({ ...ruled, ruleScope: "agent" }).seen().text;
    expect(shown).toMatch(/for this agent\s+bash\(git push:\*\)\n/);
    expect(shown).not.toMatch(/in this (?:session|project)/);
  });

  test("what is pressed before it is seen does not answer", async () => {
    expect(await desk(push).wait(10_000).press("y").answer()).toBe(open);
  });

  test("who types on while it comes up answers nothing, and is told so", async () => {
    const typing = desk(push);
    typing.press();
    for (const letter of "yes do it\ry") typing.wait(quietBeforeAnswerMs / 2).press(letter);
    expect(await typing.answer()).toBe(open);
    expect(typing.text).toContain("too soon");
    expect(await typing.wait(quietBeforeAnswerMs).press("y").answer()).toEqual({ kind: "once" });
  });

  test.each(["please wait", "use less", "ps", "stop it, 2 is enough", "happy"])(
    "who types %j without looking, Enter included, keeps no rule and grants nothing",
    async (words) => {
      const typing = desk(ruled).seen();
      for (const letter of words) typing.press(letter).wait(quietBeforeAnswerMs / 3);
      const answer = await typing.wait(quietBeforeAnswerMs).press(key.enter).answer();
      expect(answer).toMatchObject({ kind: "denied" });
    },
  );

  test("what goes on in the background says so", () => {
    const inBackground = { ...push, input: { ...push.input, background: true } };
    expect(desk(inBackground).seen().text).toContain("goes on in the background");
    expect(desk(push).seen().text).not.toContain("background");
  });

  test("a letter that is none of the answers is told so", () => {
    expect(desk(ruled).seen().press("q").text).toContain("none of the answers");
  });

  test("cancelled it is a no, once and for all", async () => {
    const shown = desk(push).seen();
    shown.dialog.cancel();
    expect(await shown.press("y").answer()).toEqual({ kind: "denied" });
  });
});

describe("what is shown", () => {
  test("is a file by its path from the working folder, and only once", () => {
    const ask: PermissionPrompt = {
      ...push,
      tool: "edit",
      input: { file_path: "src/a.ts", old_string: "a", new_string: "b" },
      acts: [{ kind: "write", path: "/proj/src/a.ts" }],
    };
    const { text } = desk(ask);
    expect(text).toMatch(/^ {2}src\/a\.ts$/m);
    expect(text).not.toContain("/proj");
    const linked: PermissionPrompt = { ...ask, acts: [{ kind: "write", path: "/etc/a.ts" }] };
    expect(desk(linked).text).toContain("changes /etc/a.ts");
  });

  test("is the command, why it is asked and the rule", () => {
    const { text } = desk(ruled);
    for (const shown of ["Run this command?", "$ git push origin main", "No rule allows it.", rule])
      expect(text).toContain(shown);
  });

  test.each<[string, Partial<PermissionPrompt>, readonly string[]]>([
    [
      "a change as a diff",
      {
        tool: "edit",
        input: { file_path: "/p/a.ts", old_string: "a\nb", new_string: "a\nc" },
        acts: [{ kind: "write", path: "/p/a.ts" }],
      },
      ["Change this file?", "/p/a.ts", "- b", "+ c"],
    ],
    [
      "where a link leads",
      {
        tool: "edit",
        input: { file_path: "/p/a", old_string: "a", new_string: "b" },
        acts: [{ kind: "write", path: "/etc/x" }],
      },
      ["/p/a", "changes /etc/x"],
    ],
    [
      "that all of a file is written",
      { tool: "write", input: { file_path: "/p/a", content: "x\ny\n" }, acts: [{ kind: "write", path: "/p/a" }] },
      ["Write this file?", "+2 lines, the whole file", "+ x"],
    ],
    [
      "an address",
      { tool: "web_fetch", acts: [{ kind: "fetch", url: "https://a.b/c?d", host: "a.b" }] },
      ["asks https://a.b/c?d"],
    ],
    [
      "a host, and the command that wants to connect to it",
      { input: { command: "npm ci" }, acts: [{ kind: "fetch", url: "http://a.b:8443/", host: "a.b" }] },
      ["Let this command connect?", "$ npm ci", "connects to a.b:8443"],
    ],
    [
      "a tool of a server with what it is given",
      {
        tool: "use_tool",
        input: { server: "mail", tool: "send", input: { to: "x@y", copies: 2 } },
        acts: [{ kind: "mcp", server: "mail", tool: "send" }],
      },
      ["Call mail · send?", `  {to: "x@y", copies: 2}\n  calls send of the server mail`],
    ],
    [
      "what a command changes besides",
      { acts: [...push.acts, { kind: "write", path: "/p/b", byShell: { reach: "below" } }] },
      ["changes all in /p/b"],
    ],
    ["a tool of which nothing is known", { tool: "odd", input: { a: 1 }, acts: [] }, ["use odd?", "{a: 1}"]],
    [
      "what hides in a command",
      {
        acts: [
          {
            kind: "shell",
            command: "ls\x1b[8m;rm\u202E x\ry\u200D",
            effect: "unknown",
            reads: "known",
            writes: "known",
          },
        ],
      },
      [String.raw`ls\x1b[8m;rm<U+202E> x\x0dy<U+200D>`],
    ],
  ])("%s", (_, ask, expected) => {
    const { text } = desk({ ...push, ...ask });
    for (const shown of expected) expect(text).toContain(shown);
  });

  test("a long command scrolls to its end, and the choices stay", () => {
    const command = Array.from({ length: 300 }, (_, n) => `echo ${n}`).join("\n");
    const long = desk({
      ...push,
      acts: [{ kind: "shell", command, effect: "unknown", reads: "known", writes: "known" }],
    }).seen();
    expect(long.text).not.toContain("echo 299");
    expect(long.text).toContain("lines 1 to");
    for (let page = 0; page < 40; page += 1) long.press(key.pageDown);
    expect(long.text).toContain("echo 299");
    expect(long.text).toContain("Yes, once");
  });

  test.each([
    [24, 80],
    [24, 40],
    [18, 40],
  ])("in %i rows and %i columns the command gives way, and no answer is left out without a sign", (rows, width) => {
    const command = Array.from({ length: 30 }, (_, n) => `echo ${n}`).join("\n");
    const acts = [{ kind: "shell", command, effect: "unknown", reads: "known", writes: "known" }] as const;
    const { text, lines } = desk({ ...ruled, acts }, { rows, width });
    expect(text).toContain("lines 1 to");
    const seen = [1, 2, 3, 4, 5].filter((number) => text.includes(` ${number}. `)).length;
    expect(seen === 5 || lines.some((line) => /\d more ↓/.test(line))).toBe(true);
    if (rows === 24) expect(text).toContain("tell the agent");
    expect(lines.at(-1)).toContain("esc ends the turn");
  });

  test("says how much of a command without end is not shown", () => {
    const command = "x".repeat(dialogBodyCharsMax + 1_000);
    const long = desk({
      ...push,
      acts: [{ kind: "shell", command, effect: "unknown", reads: "known", writes: "known" }],
    }).seen();
    for (let page = 0; page < 400; page += 1) long.press(key.pageDown);
    expect(long.text).toContain("1,000 characters more are not shown");
  });
});
