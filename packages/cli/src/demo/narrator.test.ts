import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createOutput } from "../program/output.ts";
import { fastPace, type Pace } from "./pace.ts";
import { createNarrator } from "./narrator.ts";

function listening(isTTY: boolean, pace: Pace = fastPace) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  return {
    teller: createNarrator({ out: createOutput(stream, { NO_COLOR: "1" }) }, pace),
    read: (): string => String(stream.read() ?? ""),
  };
}

it("a claim that is not so is said to be not so, and counted", async () => {
  const { teller, read } = listening(false);
  await teller.claim({ label: "view", isSo: true, text: "byte-identical" });
  expect(teller.failedClaims()).toBe(0);
  await teller.claim({ label: "view", isSo: false, text: "byte-identical" });
  expect(teller.failedClaims()).toBe(1);
  expect(read()).toBe("\n  view      ✓ byte-identical\n  view      ✗ NOT SO: byte-identical\n");
});

it("a long claim is broken below its beginning", async () => {
  const { teller, read } = listening(false);
  await teller.claim({ label: "view", isSo: true, text: `${"word ".repeat(12)}end` });
  const lines = read().trimEnd().split("\n").slice(1);
  expect(lines.map((line) => line.length).every((length) => length <= 60)).toBe(true);
  expect(lines[1]).toMatch(/^ {14}word/);
});

it("a title is numbered, and there is air between what is told and what is drawn", async () => {
  const { teller, read } = listening(false);
  await teller.title("Recall", "By words or by id.");
  await teller.say("told");
  await teller.say("told too");
  await teller.draw(["● read a.js"], "whole");
  await teller.draw(["● read b.js"], "whole");
  expect(read()).toBe("\n1  Recall\nBy words or by id.\n\n  told\n  told too\n\n● read a.js\n● read b.js\n");
});

it.each([
  ["stands below while it is read at a terminal", true, "\n● a\n\r\u001B[Kcontext 5\r\u001B[K"],
  ["is not shown elsewhere", false, "\n● a\n"],
])("the size of the context %s", async (_, isTTY, shown) => {
  const { teller, read } = listening(isTTY);
  teller.showBelow("context 5");
  await teller.draw(["● a"], "whole");
  expect(read()).toBe(shown);
});

it("what the model says is typed piece by piece, with a pause behind each", async () => {
  const pauses: string[] = [];
  const told: string[] = [];
  const { teller, read } = listening(false, {
    startStep: () => pauses.push("step"),
    pauseForReading: async (chars) => void pauses.push(`read ${chars}`),
    typing: { charsAtOnce: 4, pause: async () => void (pauses.push("type"), told.push(read())) },
  });
  await teller.draw(["Done: yes"], "typed");
  expect(told).toEqual(["\nDon", "e: y", "es\n"]);
  expect(pauses).toEqual(["step", "type", "type", "type", "read 0"]);
});
