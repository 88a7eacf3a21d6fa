import { type BlamedLine, blameLines } from "palimpsest/internal/memory/directory/memory-history";
import { command } from "../../program/command.ts";
import { exitCode, failure } from "../../program/failure.ts";
import { findMemory } from "../../memory/find-memory.ts";
import { authorText, formatDay, provenanceText } from "../../memory/memory-text.ts";
import { lookAtMemories, noMemories } from "../../memory/open-memories.ts";

export const blameCommand = command({
  name: "blame",
  summary: "show which revision each line of a memory came from",
  operands: {
    memory: { shown: "memory", summary: "its path, its name, or the beginning of either" },
    line: { shown: "line", summary: "only this line, with the session and messages it came from", takes: "optional" },
  },
  json: "an array of lines: line, text, revision, at, author, provenance",
  run: async (context, { operands, format }) => {
    const memories = await lookAtMemories(context);
    if (memories === undefined) return failure({ code: exitCode.notFound, message: noMemories.trim() });
    const found = await findMemory(memories, operands.memory);
    if (found.kind === "failure") return found;
    const { path } = found.memory;
    const versions = [];
    for (const revision of (await memories.history(path)).toReversed()) {
      const after = revision.changes.find((change) => change.path === path)?.after;
      versions.push({ revision, text: after === undefined ? "" : await memories.text(after) });
    }
    const lines = blameLines(versions).map((line, at) => ({ ...line, number: at + 1 }));
    const wanted = operands.line === undefined ? lines : lines.filter(({ number }) => String(number) === operands.line);
    if (wanted.length === 0)
      return failure({
        code: exitCode.notFound,
        message: `${path} has ${lines.length} lines, and no line ${operands.line ?? ""}`,
      });
    if (format === "json") await context.out.json(wanted.map(toRow));
    else if (operands.line === undefined) await context.out.write(`${wanted.map(lineText).join("\n")}\n`);
    else await context.out.write(`${wanted.map((line) => `${lineText(line)}\n${originText(line)}`).join("\n")}\n`);
    return exitCode.fine;
  },
});

type NumberedLine = BlamedLine & { readonly number: number };

const toRow = ({ number, text, revision }: NumberedLine) => ({
  line: number,
  text,
  revision: revision?.id ?? null,
  at: revision?.at ?? null,
  author: revision?.author ?? null,
  provenance: revision?.provenance ?? null,
});

const lineText = ({ number, text, revision }: NumberedLine): string =>
  [
    (revision?.id ?? "?").padEnd(6),
    (revision === undefined ? "forgotten" : formatDay(revision.at)).padEnd(16),
    (revision === undefined ? "" : authorText(revision.author)).padEnd(10),
    `${String(number).padStart(3)}  ${text}`,
  ].join("  ");

const originText = ({ revision }: NumberedLine): string =>
  revision === undefined ? "" : `${revision.message}; from ${provenanceText(revision.provenance)}`;
