import { describe, expect, test } from "vitest";
import { begun, said, stage, text, working } from "../../../../../test/terminal/screen-stage.ts";
import { AppendOnlyList } from "../state/chat-state.ts";

describe("keys", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["Enter sends", ["h", "i", "\r"], ["remember hi", 'submit "hi"']],
    ["Enter sends nothing that is empty", ["\r", " ", "\r"], []],
    ["Ctrl-J begins a line", ["a", "\n", "b", "\r"], ["remember a\nb", String.raw`submit "a\nb"`]],
    ["Alt-Enter begins a line", ["a", "\u001B\r", "b", "\r"], ["remember a\nb", String.raw`submit "a\nb"`]],
    ["Shift-Enter begins a line", ["a", "\u001B[13;2u", "b", "\r"], ["remember a\nb", String.raw`submit "a\nb"`]],
    ["a backslash and Enter begin a line", ["a", "\\", "\r", "b", "\r"], ["remember a\nb", String.raw`submit "a\nb"`]],
    ["Shift-Tab changes the mode", ["\u001B[Z"], ["next mode"]],
    ["Ctrl-C twice quits", ["\u0003", "\u0003"], ["quit"]],
    ["Ctrl-C once does not", ["\u0003"], []],
    ["Ctrl-C clears what is typed first", ["a", "\u0003", "\u0003"], []],
    ["Ctrl-D quits", ["\u0004"], ["quit"]],
    ["Ctrl-D behind text does not", ["a", "\u0004"], []],
    ["Esc twice clears what is typed", ["a", "\u001B", "\u001B", "\r"], []],
    ["Esc and a letter do not", ["a", "\u001B", "b", "\r"], ["remember ab", 'submit "ab"']],
    ["a space before a slash stays", [" ", "/", "x", "\r"], ["remember  /x", 'submit " /x"']],
  ])("%s", async (_, keys, expected) => {
    const on = await stage();
    for (const key of keys) {
      on.terminal.press(key);
      await on.terminal.settled();
    }
    expect(on.did).toEqual(expected);
  });

  test("Ctrl-C twice quits where the terminal tells of releases too", async () => {
    const on = await stage();
    on.terminal.press("\u001B[99;5u", "\u001B[99;5:3u", "\u001B[99;5u");
    expect(on.did).toEqual(["quit"]);
  });

  test("Ctrl-L draws over whatever was written in between", async () => {
    const on = await stage();
    on.screen.show({ ...begun, done: AppendOnlyList.of(said(0, "an answer")) });
    await on.terminal.settled();
    const before = text(on);
    on.terminal.write("\u001B7\u001B[5;1Hgarbage\u001B8");
    on.terminal.press("\u000C");
    await on.terminal.settled();
    expect(text(on)).toBe(before);
  });

  test("Ctrl-C after a second is the first one again", async () => {
    const on = await stage();
    on.terminal.press("\u0003");
    on.clock.now += 1_000;
    on.terminal.press("\u0003");
    expect(on.did).toEqual([]);
    await on.terminal.settled();
    expect(text(on)).toContain("once more to quit");
  });

  test("Esc ends what runs, and leaves what is typed", async () => {
    const on = await stage();
    on.screen.show(working);
    on.terminal.type("later");
    on.terminal.press("\u001B");
    await on.terminal.settled();
    expect(on.did).toEqual(["interrupt"]);
    expect(text(on)).toContain("later");
  });

  test.each([
    ["one line", "newer", "newer!"],
    ["several lines", "one\ntwo\nthree", "one\ntwo\nthree!"],
    ["more lines than there are rows", `${"line\n".repeat(60)}end`, `${"line\n".repeat(60)}end!`],
  ])(
    "Up puts the cursor behind what was sent before, of %s, and the next one is reached from there",
    async (_, sent, typed) => {
      const on = await stage({ history: ["older", sent] });
      on.terminal.press("\u001B[A", "!");
      expect(on.screen.typed).toBe(typed);
      const other = await stage({ history: ["older", sent] });
      for (let line = 0; line < sent.split("\n").length + 1; line += 1) other.terminal.press("\u001B[A");
      expect(other.screen.typed).toBe("older");
    },
  );

  test("what is sent before the history is read is remembered behind it", async () => {
    const read = Promise.withResolvers<void>();
    const on = await stage({ history: ["older"], historyRead: read.promise });
    on.terminal.press("h", "i", "\r");
    expect(on.did).toEqual(['submit "hi"']);
    read.resolve();
    await on.terminal.settled();
    expect(on.did).toEqual(['submit "hi"', "remember hi"]);
    on.terminal.press("\u001B[A");
    expect(on.screen.typed).toBe("hi");
  });

  test("Up in an empty editor takes back what is queued, then what was sent before", async () => {
    const on = await stage({ history: ["older", "newer"] });
    on.queue.push("queued");
    on.screen.show({ ...working, queue: ["queued"] });
    on.terminal.press("\u001B[A");
    expect(on.screen.typed).toBe("queued");
    on.screen.show(working);
    on.terminal.press("\u0003", "\u001B[A");
    expect(on.screen.typed).toBe("newer");
  });
});

describe("what is typed", () => {
  test("stands where the cursor is, with wide characters", async () => {
    const on = await stage({ columns: 40 });
    on.terminal.type("漢字👩‍👩‍👧x");
    await on.terminal.settled();
    const row = on.terminal.screen().findIndex((line) => line.includes("漢字"));
    expect(on.terminal.screen()[row]).toContain("漢字👩‍👩‍👧x");
    expect(on.terminal.cursor()).toEqual({ row, column: 7 });
  });

  test("a long paste is a mark, and sent whole with its tabs", async () => {
    const on = await stage();
    const pasted = Array.from({ length: 500 }, (_, line) => `\tline ${line}`).join("\n");
    on.terminal.type("see ");
    on.terminal.press(`\u001B[200~${pasted.replaceAll("\n", "\r")}\u001B[201~`);
    await on.terminal.settled();
    expect(text(on)).toContain("see [paste #1 +500 lines]");
    expect(on.screen.typed).toBe(`see ${pasted}`);
    on.terminal.press("\r");
    expect(on.did.at(-1)).toBe(`submit ${JSON.stringify(`see ${pasted}`)}`);
  });

  test("a tab that was pasted alone leaves the spaces of a message alone", async () => {
    const on = await stage();
    on.terminal.type("a    b ");
    on.terminal.press("\u001B[200~\t\u001B[201~");
    on.terminal.type("c    d");
    on.terminal.press("\r");
    expect(on.did.at(-1)).toBe(`submit ${JSON.stringify("a    b \tc    d")}`);
  });

  test("comes back with its tabs", async () => {
    const on = await stage({ history: ["all:\n\techo"] });
    await on.terminal.settled();
    on.terminal.press("\u001B[A");
    expect(on.screen.typed).toBe("all:\n\techo");
    on.screen.refill("\tfirst");
    expect(on.screen.typed).toBe("\tfirst\nall:\n\techo");
  });

  test("comes behind what is put before it", async () => {
    const on = await stage();
    on.terminal.type("mine");
    on.screen.refill("theirs");
    expect(on.screen.typed).toBe("theirs\nmine");
  });

  test.each([
    ["a command", "/cont", "\t", "/context "],
    ["what follows one", "/model o", "\t", "/model one-of-models"],
    ["a file", "see @mai", "\t", "see @src/main.ts "],
    ["a file with a space", "@read", "\t", '@"read me.md" '],
  ])("completes %s", async (_, typed, key, expected) => {
    const on = await stage();
    for (const letter of typed) {
      on.terminal.press(letter);
      await on.terminal.settled();
    }
    on.terminal.press(key);
    expect(on.screen.typed).toBe(expected);
  });

  test.each<[string, string, readonly string[], string, string]>([
    ["sends what stands behind a command as it is", "/export md", [], "", "/export md"],
    ["sends it also where a candidate begins so", "/model o", [], "", "/model o"],
    ["sends a file's name as far as it is typed", "see @mai", [], "", "see @mai"],
    ["finishes a command's name", "/cont", [], "", "/context"],
    ["takes the candidate that was gone to", "see @mai", ["\u001B[B"], "see @src/main.ts ", ""],
  ])("Enter below candidates %s", async (_, typed, moves, left, sent) => {
    const on = await stage();
    for (const letter of [...Array.from(typed), ...moves]) {
      on.terminal.press(letter);
      await on.terminal.settled();
    }
    on.terminal.press("\r");
    expect(on.screen.typed).toBe(left);
    expect(on.did.filter((did) => did.startsWith("submit"))).toEqual(
      sent === "" ? [] : [`submit ${JSON.stringify(sent)}`],
    );
  });
});

describe("what the user is asked", () => {
  const ask = {
    title: "Which?",
    choices: [
      { value: "a", label: "the first" },
      { value: "b", label: "the second" },
    ],
    search: "none",
  } as const;

  test("takes the place of the editor, one after the other, and the text typed stays", async () => {
    const on = await stage();
    const { signal } = new AbortController();
    on.terminal.type("draft");
    const first = on.screen.choose(ask, signal);
    const second = on.screen.choose({ ...ask, title: "And now?" }, signal);
    await on.terminal.settled();
    expect(text(on)).toContain("Which?");
    expect(text(on)).not.toContain("draft");
    on.terminal.press("\u001B[B", "\r");
    expect(await first).toBe("b");
    await on.terminal.settled();
    expect(text(on)).toContain("And now?");
    on.terminal.press("\u0003");
    expect(await second).toBeUndefined();
    await on.terminal.settled();
    expect(text(on)).toContain("draft");
    on.terminal.press("!");
    expect(on.screen.typed).toBe("draft!");
  });

  test("by one Ctrl-C loses nothing that was changed", async () => {
    const on = await stage();
    const edited = on.screen.edit({ title: "Summary", text: "before" }, new AbortController().signal);
    await on.terminal.settled();
    on.terminal.type(" more");
    on.terminal.press("\u0003");
    await on.terminal.settled();
    expect(text(on)).toContain("once more drops your changes");
    on.terminal.press("\u0013");
    expect(await edited).toBe("before more");
  });

  test("is taken away when it is aborted, also before its turn has come", async () => {
    const on = await stage();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = on.screen.choose(ask, one.signal);
    const second = on.screen.choose({ ...ask, title: "And now?" }, two.signal);
    await on.terminal.settled();
    two.abort();
    one.abort();
    expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
    await on.terminal.settled();
    expect(text(on)).not.toContain("Which?");
    expect(text(on)).not.toContain("And now?");
  });
});
