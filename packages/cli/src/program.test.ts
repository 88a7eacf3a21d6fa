import { expect, test } from "vitest";
import { type Listed, loaded } from "./command.ts";
import { program } from "./program.ts";

const listed: readonly Listed[] = [...program.commands, ...(program.itself === undefined ? [] : [program.itself])];

test.each(listed.map((one) => [one.name, one] as const))("%s is listed as it calls itself", async (_, one) => {
  const { name, summary } = await loaded(one);
  expect({ name, summary }).toEqual({ name: one.name, summary: one.summary });
});
