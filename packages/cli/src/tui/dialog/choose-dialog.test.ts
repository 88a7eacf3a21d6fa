import { describe, expect, test } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import { Desk, key, open, typed } from "../../../../../test/fixture/dialog-desk.ts";
import type { ChoicePrompt } from "../chat-ui.ts";
import { chooseDialog } from "./choose-dialog.ts";

const models: ChoicePrompt = {
  title: "Model",
  search: "typed",
  choices: [
    { value: "h", label: "small-model", description: "quick" },
    { value: "s", label: "middle-model", description: "the usual one" },
    { value: "o", label: "large-model" },
  ],
};
const desk = (ask: ChoicePrompt = models): Desk<string | undefined> => new Desk((deps) => chooseDialog(ask, deps));

describe("a choice", () => {
  test.each<[string, readonly string[], string | undefined | typeof open]>([
    ["Enter takes the first one", [key.enter], "h"],
    ["arrows move, round the ends", [key.up, key.enter], "o"],
    ["letters narrow", [...typed("larg"), key.enter], "o"],
    ["what a description holds is found behind labels", [...typed("usual"), key.enter], "s"],
    ["a letter less finds more", [...typed("x"), key.backspace, key.down, key.enter], "s"],
    ["an arrow in the line keeps what is at hand", [...typed("m"), key.down, key.left, key.enter], "h"],
    ["where nothing is found Enter takes nothing", [...typed("zzz"), key.enter], open],
    ["Esc takes nothing", [key.esc], undefined],
    ["what is pasted narrows too", [key.paste("large\n"), key.enter], "o"],
  ])("%s", async (_, keys, expected) => {
    expect(
      await desk()
        .press(...keys)
        .answer(),
    ).toEqual(expected);
  });

  test("without search letters do nothing", async () => {
    expect(
      await desk({ ...models, search: "none" })
        .press("l", key.enter)
        .answer(),
    ).toBe("h");
  });
});

describe("a choice that the agent opens", () => {
  const asked: ChoicePrompt = { ...models, search: "none", at: "s", openedBy: "agent" };

  test("takes nothing that was typed ahead", async () => {
    expect(await desk(asked).press(key.up, key.enter).answer()).toBe(open);
  });

  test("is back at its first choice after a key that is no answer", async () => {
    const answered = desk(asked).seen().press(key.down, "x").seen().press(key.enter);
    expect(await answered.answer()).toBe("s");
  });
});

describe("what is shown", () => {
  test("are labels and descriptions below each other, what Enter does, and how many there are", () => {
    const { text } = desk({ ...models, verb: "switch to it" });
    for (const shown of ["❯ small-model   quick", "  middle-model  the usual one", "1 of 3", "enter: switch to it"])
      expect(text).toContain(shown);
  });

  test.each([
    ["what short descriptions leave", "1 s ago", 69],
    ["a part of its own where they are long", "d".repeat(200), 40],
  ])("a long label takes %s", (_, description, columns) => {
    const ask: ChoicePrompt = { ...models, choices: [{ value: "a", label: "x".repeat(100), description }] };
    expect(desk(ask).text).toContain(`❯ ${"x".repeat(columns - 1)}…  ${description.slice(0, 7)}`);
  });

  test("it begins on the one in force, and is there again when nothing is typed any more", async () => {
    const ask: ChoicePrompt = { ...models, at: models.choices[2]?.value ?? "" };
    expect(await desk(ask).press(key.enter).answer()).toBe(ask.at);
    expect(await desk(ask).press("a", key.backspace, key.enter).answer()).toBe(ask.at);
    const unknown = desk({ ...models, at: "none of them" }).press(key.enter);
    expect(await unknown.answer()).toBe(models.choices[0]?.value);
  });

  test("how many are left of how many", () => {
    expect(desk().press(...typed("larg")).text).toContain("1 of 1, 3 in all");
    expect(desk().press(...typed("zzz")).text).toContain("none of 3");
  });

  test("of thousands those around the one at hand, and no more lines than the terminal has", () => {
    const choices = Array.from({ length: 5_000 }, (_, n) => ({ value: String(n), label: `choice ${n}` }));
    const many = desk({ title: "Many", search: "typed", choices });
    expect(many.press(key.pageDown, key.pageDown).text).toContain("❯ choice 30");
    expect(many.lines.length).toBeLessThanOrEqual(24);
  });
});

test("a letter narrows twenty thousand choices before the next one is typed", () => {
  const choices = Array.from({ length: 20_000 }, (_, n) => ({
    value: String(n),
    label: `src/folder-${n % 97}/file-${n}.ts`,
    description: `of ${n}`,
  }));
  const many = desk({ title: "Many", search: "typed", choices });
  many.press();
  const start = cpuMillis();
  many.press("f", "9");
  expect(cpuMillis() - start).toBeLessThan(1_000);
});
