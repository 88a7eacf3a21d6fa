import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { helpKeys } from "../packages/cli/src/chat/commands/help-command.ts";
import { statusJson } from "../packages/cli/src/statusline/chat-statusline.ts";
import { nanoUsd, sessionId, tokens } from "../packages/palimpsest/src/schema/brand.ts";
import { slashCommands, slashUsage } from "../packages/cli/src/tui/slash/slash-commands.ts";

const folder = join(import.meta.dirname, "../docs");
const docs = readFileSync(join(folder, "chat.md"), "utf8");
const sectionOf = (title: string): string => docs.split(/^## /m).find((one) => one.startsWith(`${title}\n`)) ?? "";
/** The first cell of each row, without the head. */
const firstCells = (section: string): readonly string[] =>
  [...section.matchAll(/^\| +(.*?) +\|/gm)].map(([, cell]) => cell ?? "").slice(2);

describe("docs/chat.md", () => {
  it("lists the commands, in the order and with the usage of /help", () => {
    const here = slashCommands.map((one) => `\`${slashUsage(one)}\``);
    expect(firstCells(sectionOf("Commands"))).toEqual(here);
  });

  it("names every other name of a command", () => {
    const section = sectionOf("Commands");
    for (const name of slashCommands.flatMap(({ aliases }) => aliases)) expect(section).toContain(`\`/${name}\``);
  });

  it.each(helpKeys)("lists the key %s of /help", (key) => {
    expect(firstCells(sectionOf("Keys"))).toContain(key);
  });

  it("names every field that a statusline command gets", () => {
    const section = sectionOf("A line of your own");
    for (const name of namesIn(someStatus)) expect(section).toMatch(new RegExp(`[\`.]${name}\``));
  });

  it("links only to what is there", () => {
    const links = [...docs.matchAll(/\]\((?<path>[^)#:]+)/g)].map((match) => match.groups?.["path"] ?? "");
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !existsSync(join(folder, link)))).toEqual([]);
  });
});

const someStatus: unknown = statusJson({
  session: sessionId("s1"),
  transcriptPath: "",
  cwd: "",
  projectRoot: "",
  model: "m",
  version: "",
  policy: "palimpsest",
  windowTokens: tokens(1),
  usedTokens: tokens(1),
  usage: { input: tokens(1), cacheWrite: tokens(1), cacheRead: tokens(1), output: tokens(1) },
  inputTokens: tokens(1),
  outputTokens: tokens(1),
  costNanos: nanoUsd(1),
  hitRate: 1,
  durationMillis: 1,
  apiDurationMillis: 1,
  linesAdded: 1,
  linesRemoved: 1,
  percentLeft: 1,
  background: "",
});

const namesIn = (value: unknown): readonly string[] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, one]) => [name, ...namesIn(one)])
    : [];
