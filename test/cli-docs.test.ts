import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Action, Command } from "../src/cli/command.ts";
import { meaningByExitCode } from "../src/cli/exit-code.ts";
import { program } from "../src/cli/program.ts";

const docs = readFileSync(join(import.meta.dirname, "../docs/cli.md"), "utf8");

const actionsOf = (command: Command, called: string): [string, Action][] =>
  command.kind === "action"
    ? [[called, command]]
    : [
        ...(command.itself === undefined ? [] : [[`${called} -p`, command.itself] as [string, Action]]),
        ...command.commands.flatMap((one) => actionsOf(one, `${called} ${one.name}`)),
      ];
const sectionOf = (called: string): string =>
  docs.split(/^## /m).find((section) => section.split(/ `|\n/)[0] === called) ?? "";

describe("docs/cli.md", () => {
  it.each(actionsOf(program, program.name))("describes %s with every option", (called, { options, operands, json }) => {
    const section = sectionOf(called);
    expect(section).not.toBe("");
    for (const name of Object.keys(options)) expect(section).toContain(`\`--${name}`);
    for (const { shown } of Object.values(operands)) expect(section).toContain(`<${shown}>`);
    if (json !== undefined) expect(section).toContain("| `--json`");
  });

  it("lists the exit codes as they are", () => {
    const rows = [...sectionOf("Exit codes").matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)].map(([, code, text]) => [
      code,
      text,
    ]);
    expect(Object.fromEntries(rows)).toEqual(meaningByExitCode);
  });
});
