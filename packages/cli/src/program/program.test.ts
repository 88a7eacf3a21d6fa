import { expect, test } from "vitest";
import { type ListedCommand, loadCommand } from "./command.ts";
import { program } from "./program.ts";

const listed: readonly ListedCommand[] = [
  ...program.commands,
  ...(program.itself === undefined ? [] : [program.itself]),
];

test.each(listed.map((one) => [one.name, one] as const))("%s is listed as it calls itself", async (_, one) => {
  const { name, summary } = await loadCommand(one);
  expect({ name, summary }).toEqual({ name: one.name, summary: one.summary });
});
