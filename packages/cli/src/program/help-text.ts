import type { CommandAction, Command, CommandGroup } from "./command.ts";
import { meaningByExitCode } from "./failure.ts";
import { type Operand, type Option, allOptions } from "./parse-arguments.ts";
import type { Style } from "../text/style.ts";

interface HelpInput {
  readonly command: Command;
  /** How it is called: `palimpsest sessions list`. */
  readonly called: string;
  readonly style: Style;
}

export function helpText({ command, called, style }: HelpInput): string {
  const sections = command.kind === "group" ? groupSections(command, called) : actionSections(command, called);
  return sections.map((section) => sectionText(section, style)).join("\n");
}

export const exitCodesText = (style: Style): string => sectionText(exitCodesSection, style);

/** A heading over rows of two columns, or over lines. */
interface Section {
  readonly heading?: string;
  readonly rows: readonly (readonly [string, string] | string)[];
}

const exitCodesSection: Section = {
  heading: "Exit codes",
  rows: Object.entries(meaningByExitCode).map(([code, meaning]) => [code, meaning] as const),
};

function groupSections({ name, summary, commands, itself }: CommandGroup, called: string): readonly Section[] {
  const isRoot = called === name;
  const common: Section[] = [
    {
      heading: "Options",
      rows: [
        ["-h, --help", "show help, also of each command"],
        ...(isRoot ? ([["-v, --version", "show the version"]] as const) : []),
        ["--json", "print one JSON value instead of text, where a command's help lists it"],
        ["--debug", "show the stack trace of a failure"],
      ],
    },
  ];
  return [
    { rows: [`${called}: ${summary}`] },
    {
      heading: "Usage",
      rows: [
        ...(itself === undefined
          ? []
          : [
              [`${called} [<message>] [options]`, itself.summary] as const,
              [`${called} -p <prompt> [options]`, `one turn and its answer (${called} -p --help)`] as const,
            ]),
        [`${called} <command> [arguments] [options]`, "one of those below"] as const,
      ],
    },
    { heading: "Commands", rows: commands.map((command) => [command.name, command.summary] as const) },
    ...common,
    ...(isRoot ? [exitCodesSection] : []),
  ];
}

function actionSections(action: CommandAction, called: string): readonly Section[] {
  const options = Object.entries(allOptions(action));
  const operands = Object.values(action.operands);
  return [
    { rows: [`${called}: ${action.summary}`] },
    { heading: "Usage", rows: [usageLine(action, called)] },
    { heading: "Arguments", rows: operands.map((operand) => [`<${operand.shown}>`, operand.summary] as const) },
    {
      heading: "Options",
      rows: options.map(([name, option]) => [optionColumn(name, option), option.summary] as const),
    },
    ...action.details.map((paragraph) => ({ rows: [paragraph] })),
  ].filter((section) => section.rows.length > 0);
}

function usageLine(action: CommandAction, called: string): string {
  const operands = Object.values(action.operands).map(operandUsage);
  const options = Object.entries(action.options).map(([name, option]) => `[${optionUsage(name, option)}]`);
  return [called, ...operands, ...options, ...(action.json === undefined ? [] : ["[--json]"])].join(" ");
}

function operandUsage({ shown, takes = "one" }: Operand): string {
  switch (takes) {
    case "one":
      return `<${shown}>`;
    case "optional":
      return `[<${shown}>]`;
    case "many":
      return `[<${shown}>...]`;
    case "some":
      return `<${shown}>...`;
  }
}

function optionUsage(name: string, option: Option): string {
  if (option.type === "boolean") return `--${name}`;
  return option.takes === "maybe" ? `--${name} [<${option.shown}>]` : `--${name} <${option.shown}>`;
}

const optionColumn = (name: string, option: Option): string =>
  `${option.short === undefined ? "" : `-${option.short}, `}${optionUsage(name, option)}`;

function sectionText({ heading, rows }: Section, style: Style): string {
  const width = Math.max(0, ...rows.map((row) => (typeof row === "string" ? 0 : row[0].length)));
  const indent = heading === undefined ? "" : "  ";
  const lines = rows.map((row) =>
    typeof row === "string" ? `${indent}${row}\n` : `${indent}${style("cyan", row[0].padEnd(width))}  ${row[1]}\n`,
  );
  return `${heading === undefined ? "" : `${style("bold", `${heading}:`)}\n`}${lines.join("")}`;
}
