import { describe, expect, test } from "vitest";
import { Desk, key, open, typed } from "../../../../../test/fixture/dialog-desk.ts";
import type { PlanAnswer } from "palimpsest/internal/ports/plan-mode";
import { editDialog, planDialog } from "./plan-dialog.ts";

const desk = (plan = "# Do it\n\n1. first"): Desk<PlanAnswer> =>
  new Desk((deps) => planDialog({ plan, path: "/p/plan.md" }, deps)).seen();

describe("answers", () => {
  test.each<[string, readonly string[], PlanAnswer | typeof open]>([
    ["y accepts and asks before edits", ["y"], { kind: "accepted", mode: "default" }],
    ["Enter does what is at hand", [key.down, key.enter], { kind: "accepted", mode: "acceptEdits" }],
    ["a accepts edits too", ["a"], { kind: "accepted", mode: "acceptEdits" }],
    ["Esc keeps planning", [key.esc], { kind: "refused" }],
    ["words go with a no", ["n", ...typed("smaller"), key.enter], { kind: "refused", words: "smaller" }],
    ["no words are a plain no", ["n", key.enter], { kind: "refused" }],
    ["Esc in the words goes back", ["n", "a", key.esc, "y"], { kind: "accepted", mode: "default" }],
    [
      "a changed plan goes with a yes",
      ["e", ...typed(" ok"), key.enter, ...typed("2. y"), key.ctrlS, "y"],
      { kind: "accepted", mode: "default", plan: "# Do it\n\n1. first ok\n2. y" },
    ],
    ["a plan that was only looked at does not", ["e", key.ctrlS, "y"], { kind: "accepted", mode: "default" }],
    ["Esc leaves an unchanged plan", ["e", key.esc, "y"], { kind: "accepted", mode: "default" }],
    ["Esc twice drops a change", ["e", "x", key.esc, key.esc, "y"], { kind: "accepted", mode: "default" }],
    ["letters in the editor accept nothing", ["e", "y", "a", key.enter], open],
    ["a pasted letter accepts nothing", [key.paste("y\r")], open],
  ])("%s", async (_, keys, expected) => {
    expect(
      await desk()
        .press(...keys)
        .answer(),
    ).toEqual(expected);
  });

  test("what is typed ahead accepts nothing", async () => {
    const typing = new Desk((deps) => planDialog({ plan: "p", path: "/p" }, deps));
    expect(await typing.press("y").wait(200).press(key.enter).answer()).toBe(open);
  });
});

describe("what is shown", () => {
  test("is the plan, where it is written and what can be done", () => {
    const { text } = desk();
    for (const shown of ["Do it", "1. first", "/p/plan.md", "Edit the plan (e)"]) expect(text).toContain(shown);
  });

  test("a changed plan is shown as it was changed", () => {
    const { text } = desk().press("e", ...typed(" now"), key.ctrlS);
    expect(text).toContain("as you changed it");
    expect(text).toContain("1. first now");
  });

  test("once more is asked for before a change is dropped, and going on forgets it", () => {
    const editing = desk().press("e", "x", key.esc);
    expect(editing.text).toContain("once more drops your changes");
    expect(editing.press(key.left).text).toContain("ctrl-s saves · esc leaves");
  });

  test("a long plan scrolls", () => {
    const long = desk(Array.from({ length: 200 }, (_, n) => `- step ${n}`).join("\n"));
    expect(long.text).not.toContain("step 199");
    for (let page = 0; page < 40; page += 1) long.press(key.pageDown);
    expect(long.text).toContain("step 199");
  });
});

describe("a message", () => {
  const message = (): Desk<string | undefined> =>
    new Desk((deps) => editDialog({ title: "Your message to ann", text: "", of: "message" }, deps)).seen();

  test("is sent by Enter, and the hint says so", async () => {
    expect(message().text).toContain("enter sends");
    expect(
      await message()
        .press(...typed("Go on."), key.enter)
        .answer(),
    ).toBe("Go on.");
  });

  test("is dropped by Esc twice only", async () => {
    const writing = message().press("x", key.esc);
    expect(writing.text).toContain("esc once more drops the message");
    expect(await writing.press(key.esc).answer()).toBeUndefined();
  });
});
