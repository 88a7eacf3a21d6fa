import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createOutput } from "../program/output.ts";
import { fastPace, type Pace } from "./pace.ts";
import { createNarrator } from "./narrator.ts";

function listening(isTTY: boolean, pace: Pace = fastPace) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  return {
    narrator: createNarrator({ out: createOutput(stream, { NO_COLOR: "1" }) }, pace),
    read: (): string => String(stream.read() ?? ""),
  };
}

it("a claim that is not so is said to be not so, and counted", async () => {
  const { narrator, read } = listening(false);
  await narrator.claim({ view: [true, "byte-identical"] });
  expect(narrator.failedClaims()).toBe(0);
  await narrator.claim({ view: [false, "byte-identical"] });
  expect(narrator.failedClaims()).toBe(1);
  expect(read()).toBe("\n  view      ✓ byte-identical\n  view      ✗ NOT SO: byte-identical\n");
});

it("a long claim is broken below its beginning", async () => {
  const { narrator, read } = listening(false);
  await narrator.claim({ view: [true, `${"word ".repeat(12)}end`] });
  const lines = read().trimEnd().split("\n").slice(1);
  expect(lines.map((line) => line.length).every((length) => length <= 60)).toBe(true);
  expect(lines[1]).toMatch(/^ {14}word/);
});

it("a title is numbered, and there is air between what is told and what is drawn", async () => {
  const { narrator, read } = listening(false);
  await narrator.title("Recall", "By words or by id.");
  await narrator.say("told");
  await narrator.say("told too");
  await narrator.draw(["● read a.js"], "whole");
  await narrator.draw(["● read b.js"], "whole");
  expect(read()).toBe("\n1  Recall\nBy words or by id.\n\n  told\n  told too\n\n● read a.js\n● read b.js\n");
});

it.each([
  ["stands below while it is read at a terminal", true, "\n● a\n\r\u001B[Kcontext 5\r\u001B[K"],
  ["is not shown elsewhere", false, "\n● a\n"],
])("the size of the context %s", async (_, isTTY, shown) => {
  const { narrator, read } = listening(isTTY);
  narrator.showBelow("context 5");
  await narrator.draw(["● a"], "whole");
  expect(read()).toBe(shown);
});

it("what the model says is typed piece by piece, with a pause behind each", async () => {
  const pauses: string[] = [];
  const told: string[] = [];
  const { narrator, read } = listening(false, {
    startStep: () => pauses.push("step"),
    pauseForReading: async (chars) => void pauses.push(`read ${chars}`),
    typing: { charsAtOnce: 4, pause: async () => void (pauses.push("type"), told.push(read())) },
  });
  await narrator.draw(["Done: yes"], "typed");
  expect(told).toEqual(["\nDon", "e: y", "es\n"]);
  expect(pauses).toEqual(["step", "type", "type", "type", "read 0"]);
});
