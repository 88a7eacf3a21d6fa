import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slashCommands, slashUsage } from "./slash-commands.ts";
import { completeSlash, slashCommandNames, parseSlash, type SlashOutcome } from "./parse-slash.ts";

const command = (name: string, rest = "", flags: readonly string[] = []): object => ({
  kind: "command",
  name,
  rest,
  flags,
});
const message: SlashOutcome = { kind: "message" };

describe("what is typed", () => {
  test.each<[string, object]>([
    ["fix the test", message],
    ["", message],
    ["and /compact", message],
    [" /compact", message],
    ["/usr/bin/env is missing", message],
    ["/etc/", message],
    ["// a comment", message],
    ["/compact", command("compact")],
    ["/COMPACT", command("compact")],
    ["/compact ", command("compact")],
    ["/summarize keep the API", command("compact", "keep the API")],
    ["/compact keep\nthe API", command("compact", "keep\nthe API")],
    ["/compact --yes keep the API", command("compact", "keep the API", ["--yes"])],
    ["/compact keep the API --yes", command("compact", "keep the API", ["--yes"])],
    ["/compact --yes", command("compact", "", ["--yes"])],
    ["/compact say --yes to all", command("compact", "say --yes to all")],
    ["/recall error code", command("recall", "error code")],
    ["/exit", command("quit")],
    ["/clear", command("new")],
    ["/clear-results 20000", command("clear-results", "20000")],
  ])("%j", (text, expected) => {
    expect(parseSlash(text)).toEqual(expected);
  });

  test.each<[string, string]>([
    [
      "/compcat",
      "There is no command /compcat; did you mean /compact? A space before the slash sends it as a message.",
    ],
    ["/xyzzy now", "There is no command /xyzzy; /help lists them. A space before the slash sends it as a message."],
    ["/", "A command follows the slash: /help lists them."],
    ["/compact --hard", "/compact knows no --hard. It is used as /compact [--yes] [instructions]"],
    ["/context all", "/context takes nothing of the kind. It is used as /context"],
    ["/recall", "/recall needs more. It is used as /recall <words or id>"],
  ])("%j is told, not sent", (text, told) => {
    expect(parseSlash(text)).toEqual({ kind: "invalid", message: told });
  });

  test("law: a slash and a word never reach the model", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\/[^\s/]*$/), fc.string(), (word, rest) => {
        expect(parseSlash(`${word} ${rest}`).kind).not.toBe("message");
      }),
    );
  });

  test.each([
    ["# use pnpm", "use pnpm"],
    ["#use pnpm ", "use pnpm"],
    ["# ボタンは右", "ボタンは右"],
  ])("%j is saved as a memory", (text, rest) => {
    expect(parseSlash(text)).toEqual({ kind: "command", name: "remember", rest, flags: [] });
  });

  test.each(["#12 fails", "## Heading", "# Heading\nand a text", " # not this", "#", "#!/bin/sh"])(
    "%j is a message",
    (text) => {
      expect(parseSlash(text)).toEqual({ kind: "message" });
    },
  );

  test("law: what begins with neither a slash nor a # is sent, whatever it holds", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !/^[/#]/.test(text)),
        (text) => {
          expect(parseSlash(text)).toEqual(message);
        },
      ),
    );
  });
});

describe("the table", () => {
  test("names no command twice", () => {
    const names = slashCommands.flatMap(slashCommandNames);
    expect(names).toEqual([...new Set(names)]);
  });

  test("every command can be called as its usage says", () => {
    for (const one of slashCommands) {
      const text = slashUsage(one)
        .replaceAll(/\[(--[^\]]+)\]/g, "$1")
        .replaceAll(/[[\]<>]/g, "");
      expect(parseSlash(text)).toMatchObject({ kind: "command", name: one.name });
    }
  });
});

describe("completion", () => {
  test.each<[string, object]>([
    ["", { kind: "nothing" }],
    ["hello", { kind: "nothing" }],
    ["/usr/b", { kind: "nothing" }],
    ["/co", { kind: "names", names: ["compact", "context", "cost"] }],
    ["/clear", { kind: "names", names: ["new", "clear-results"] }],
    ["/summ", { kind: "names", names: ["compact"] }],
    ["/ctx", { kind: "names", names: ["context"] }],
    ["/zzz", { kind: "names", names: [] }],
    ["/model ", { kind: "rest", of: "models", typed: "" }],
    ["/model son", { kind: "rest", of: "models", typed: "son" }],
    ["/resume an old", { kind: "rest", of: "sessions", typed: "an old" }],
    ["/agents ex", { kind: "rest", of: "agents", typed: "ex" }],
    ["/cost ", { kind: "nothing" }],
    ["/nonsense ", { kind: "nothing" }],
  ])("of %j", (typed, expected) => {
    expect(completeSlash(typed)).toEqual(expected);
  });

  test("of a bare slash lists all, in the order of help", () => {
    expect(completeSlash("/")).toEqual({ kind: "names", names: slashCommands.map(({ name }) => name) });
  });
});
