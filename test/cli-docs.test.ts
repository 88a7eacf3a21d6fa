import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandAction, type ListedCommand, loadCommand } from "../packages/cli/src/program/command.ts";
import { meaningByExitCode } from "../packages/cli/src/program/failure.ts";
import { program } from "../packages/cli/src/program/program.ts";
import type { LoopEvent, TurnEndReason } from "../packages/palimpsest/src/schema/loop-event.ts";

const docs = readFileSync(join(import.meta.dirname, "../docs/cli.md"), "utf8");

const actionsOf = async (listed: ListedCommand, called: string): Promise<[string, CommandAction][]> => {
  const command = await loadCommand(listed);
  if (command.kind === "action") return [[called, command]];
  const itself = command.itself === undefined ? [] : await actionsOf(command.itself, `${called} -p`);
  const below = await Promise.all(command.commands.map((one) => actionsOf(one, `${called} ${one.name}`)));
  return [...itself, ...below.flat()];
};
const sectionOf = (called: string): string =>
  docs.split(/^## /m).find((section) => section.split(/ `|\n/)[0] === called) ?? "";

/** The compiler keeps these two whole, the tests the documentation. */
type EventFields = {
  readonly [Kind in LoopEvent["kind"]]: Readonly<
    Record<Exclude<keyof Extract<LoopEvent, { kind: Kind }>, "kind" | "session">, "always" | "maybe">
  >;
};
const eventFields: EventFields = {
  "turn-start": { model: "always" },
  "request-start": { number: "always", tokens: "always" },
  "reply-start": { id: "always" },
  "text-delta": { text: "always" },
  "thinking-delta": { text: "always" },
  "reply-end": { id: "always", stopReason: "always", usage: "maybe" },
  "retry-start": { attempt: "always", afterMs: "always", message: "always" },
  "call-start": { id: "always", tool: "always", input: "always" },
  "call-end": { id: "always", tool: "always", outcome: "always", summary: "always" },
  "permission-start": { id: "always", tool: "always", reason: "always", suggestedRules: "maybe" },
  "permission-end": { id: "always", tool: "always", answer: "always", rules: "maybe" },
  edit: { what: "always", entries: "always", offloaded: "maybe" },
  "edit-planned": { trigger: "always", because: "always", tokensSaved: "always", costNanos: "maybe" },
  cleared: {
    what: "always",
    count: "always",
    tokensBefore: "always",
    tokensAfter: "always",
    tokensSaved: "always",
    trigger: "always",
    because: "always",
    entries: "always",
    price: "always",
  },
  "left-out": {
    part: "always",
    count: "always",
    tokensBefore: "always",
    tokensAfter: "always",
    because: "always",
    entries: "always",
    price: "maybe",
  },
  "server-cleared": { tokens: "always", what: "always" },
  "no-headroom": { tokens: "always", limit: "always", largest: "always", because: "maybe" },
  "compaction-start": { trigger: "always", cause: "always", tokens: "always", because: "maybe" },
  "compaction-progress": { phase: "always", chars: "always" },
  compacted: {
    trigger: "always",
    cause: "always",
    path: "always",
    made: "maybe",
    tokensBefore: "always",
    tokensAfter: "always",
    auditScore: "always",
    entries: "always",
    price: "always",
    costNanos: "maybe",
    usage: "maybe",
    filesRestored: "maybe",
    instead: "maybe",
  },
  "compaction-failed": { trigger: "always", reason: "always", message: "always", state: "always" },
  preparation: { state: "always", because: "maybe" },
  "memories-saved": { by: "always", revision: "always", memories: "always" },
  "agent-ended": { run: "always" },
  "message-queued": { text: "always" },
  "cache-break": { cause: "always", tokens: "always" },
  warning: { code: "always", message: "always" },
  "turn-end": { reason: "always", message: "maybe", remedies: "maybe", unwritten: "maybe" },
};
const turnEnds: Readonly<Record<TurnEndReason, true>> = {
  answered: true,
  aborted: true,
  failed: true,
  refused: true,
  "cut-short": true,
  "over-limit": true,
  "turn-limit": true,
  "blocked-by-hook": true,
};

const actions = await actionsOf(program, program.name);

describe("docs/cli.md", () => {
  it.each(actions)("describes %s with every option", (called, { options, operands, json }) => {
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

  it("lists the events of stream-json with their fields, and every way a turn can end", () => {
    const section = sectionOf("palimpsest -p");
    const table = section.split("| fields ")[1] ?? "";
    const rows = [...table.matchAll(/^\| `([a-z-]+)` +\| (.*?) +\|/gm)].map(([, kind, fields]) => [kind, fields]);
    const expected = Object.entries(eventFields).map(([kind, fields]) => [
      kind,
      Object.entries(fields)
        .map(([name, there]) => (there === "always" ? `\`${name}\`` : `\`${name}\`?`))
        .join(", "),
    ]);
    expect(rows).toEqual(expected);
    const reasons = section.split("\n").find((line) => line.startsWith("| `reason`")) ?? "";
    expect([...reasons.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)).toEqual(["reason", ...Object.keys(turnEnds)]);
  });
});
