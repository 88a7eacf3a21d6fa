import { describe, expect, it } from "vitest";
import { entryId, toolUseId } from "palimpsest/internal/schema/brand";
import type { Fact } from "./fact.ts";
import { lineCharsMax } from "../limits.ts";
import { ShownText } from "./judged-fact.ts";

const view = (text: string): ShownText => new ShownText([{ role: "user", content: [{ type: "text", text }] }]);

const cutLine = `error: ${"x".repeat(lineCharsMax)}`.slice(0, lineCharsMax);

describe("a fact in a view", () => {
  it.each<[string, Fact["kind"], string, string, boolean]>([
    ["a path as it is", "filesModified", "- /src/a.ts (e1)", "/src/a.ts", true],
    ["no path that another begins with", "filesModified", "/src/a.tsx", "/src/a.ts", false],
    ["a relative path at the end of a longer one", "filesModified", "lib/src/a.ts", "src/a.ts", true],
    ["a path without where the project lies", "filesModified", "`cli/a.ts` changed", "/home/ada/cli/a.ts", true],
    ["no path by its name alone", "filesModified", "a.ts changed", "/home/ada/cli/a.ts", false],
    ["no path by the tail of another", "filesModified", "lib/cli/a.ts", "/home/ada/cli/a.ts", false],
    ["a path of another system by its tail", "filesModified", "`cli\\a.ts`", String.raw`D:\ada\cli\a.ts`, true],
    ["and with the slashes of this one", "filesModified", "`cli/a.ts`", String.raw`D:\ada\cli\a.ts`, true],
    ["but not by the tail of another", "filesModified", "lib\\cli\\a.ts", String.raw`D:\ada\cli\a.ts`, false],
    ["a line that was cut inside a word", "errors", cutLine + "stone", cutLine, true],
    ["no line that ends inside a word", "errors", "error: lodestone", "error: lode", false],
    ["no number inside another", "details", "port 18080", "8080", false],
    ["a line whatever its blanks", "errors", "error:\n  no   hands", "error: no hands", true],
    [
      "a message byte for byte",
      "userMessages",
      `x\n${"Mend the clock, please. ".repeat(3)}y`,
      "Mend the clock, please. ".repeat(3),
      true,
    ],
    [
      "no message whose blanks were changed",
      "userMessages",
      "Mend  the clock in the tower and leave the bells",
      "Mend the clock in the tower and leave the bells",
      false,
    ],
    ["no short message inside a sentence", "userMessages", "He said yes to that.", "yes", false],
    ["a short message in quotes", "userMessages", 'He said "yes" to that.', "yes", true],
    ["a short message alone in its line", "userMessages", "<user-message>\nyes\n</user-message>", "yes", true],
    ["a short message as an item of a list", "userMessages", "All messages:\n- yes\n- no", "yes", true],
  ])("%s", (_, kind, text, words, isShown) => {
    expect(view(text).shows({ kind, words })).toBe(isShown);
  });

  it("is named by one of its ids, whole", () => {
    const ids = new Set([entryId("entry-1"), toolUseId("toolu_7")]);
    expect(view("get entry-1 back").names({ ids })).toBe(true);
    expect(view("get toolu_7.").names({ ids })).toBe(true);
    expect(view("get entry-12 and toolu_77 back").names({ ids })).toBe(false);
    expect(view("call a:b|c").names({ ids: new Set([entryId("a:b|c")]) })).toBe(true);
  });

  it("is looked for in results and in what calls are given, not in thoughts", () => {
    const shown = new ShownText([
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "/thought.ts", signature: "s" },
          { type: "tool_use", id: toolUseId("t"), name: "Read", input: { deep: [{ file_path: "/called.ts" }] } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: toolUseId("t"), content: "of /result.ts" }] },
    ]);
    const found = ["/thought.ts", "/called.ts", "/result.ts"].map((words) => shown.shows({ kind: "filesRead", words }));
    expect(found).toEqual([false, true, true]);
    expect(shown.names({ ids: new Set([toolUseId("t")]) })).toBe(false);
  });
});
