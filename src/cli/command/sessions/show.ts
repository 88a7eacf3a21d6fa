import { readOrigin, sourceState } from "../../../loop/origin.ts";
import { type CountedLog, openCounted } from "../../../loop/counted.ts";
import type { EntryId, Tokens } from "../../../schema/brand.ts";
import type { EditEntry } from "../../../schema/entry.ts";
import { undoneEdits } from "../../../transcript/undone.ts";
import { createEngine } from "../../../engine.ts";
import { command, type CommandContext } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { humanBytes, humanCount, oneLine } from "../../human.ts";
import { type NamedLog, openNamedLog, wrongFileNote } from "../../named-log.ts";
import { sessionOperand } from "../../session-operand.ts";
import { table } from "../../table.ts";

export const showCommand = command({
  name: "show",
  summary: "show a session's figures and its edits",
  operands: { session: sessionOperand },
  json: "path, origin, sizeBytes, view figures, and edits with their state",
  run: async (context, { operands, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openCounted(log, { ...log, tailBytes: Math.min(log.source.size, wholeReadBytesMax) });
      await context.err.write(wrongFileNote(opened));
      const session = { ...described(log, opened), madeFrom: await madeFrom(context, log) };
      if (format === "json") await context.out.json(session);
      else await context.out.write(asText(session));
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

/** Up to this size the whole log is read, so that every edit is listed; beyond it only what the view needs. */
const wholeReadBytesMax = 256 * 1024 * 1024;

interface Described {
  readonly path: string;
  readonly origin: "ours" | "foreign";
  readonly sizeBytes: number;
  readonly bytesRead: number;
  readonly messages: number;
  readonly tokens: Tokens;
  readonly sendable: boolean;
  readonly why: string | null;
  readonly entriesOnPath: number;
  readonly edits: readonly DescribedEdit[];
  readonly damagedRanges: number;
}

/** The other tool's file that a session was made from, and what has become of it. */
interface MadeFrom {
  readonly path: string;
  readonly state: "same" | "grown" | "changed" | "gone";
  readonly grownBytes?: number;
}

async function madeFrom(context: CommandContext, log: NamedLog): Promise<MadeFrom | null> {
  const origin = log.session === undefined ? undefined : await readOrigin(log.source);
  if (origin === undefined || log.session === undefined) return null;
  const { path } = origin.edit;
  const now = await createEngine(context).openFile(path);
  if (now === undefined) return { path, state: "gone" };
  try {
    const state = await sourceState(log.session.deps.sha256, origin, now);
    return { path, state: state.kind, ...(state.kind === "grown" ? { grownBytes: state.bytes } : {}) };
  } finally {
    await now.close();
  }
}

interface DescribedEdit {
  readonly id: EntryId;
  readonly kind: string;
  readonly at: string;
  readonly state: "in force" | "undone";
}

function described(log: NamedLog, { fold, ledger, read, damage }: CountedLog): Described {
  const view = fold.view();
  const undone = undoneEdits(fold.path.entries);
  const edits = fold.path.entries.filter((entry): entry is EditEntry => entry.kind === "edit");
  return {
    path: log.path,
    origin: log.origin,
    sizeBytes: read.of,
    bytesRead: read.bytes,
    messages: view.messages.length,
    tokens: ledger.size.tokens,
    sendable: view.sendable,
    why: view.why?.text ?? null,
    entriesOnPath: view.path.onPath,
    edits: edits.map(({ id, edit, timestamp }) => ({
      id,
      kind: edit.type,
      at: timestamp ?? "",
      state: undone.has(id) ? "undone" : "in force",
    })),
    damagedRanges: damage.length,
  };
}

function asText(session: Described & { readonly madeFrom: MadeFrom | null }): string {
  const origin = session.origin === "ours" ? "" : "  (another tool's: read where it lies)";
  const lines = [
    `${oneLine(session.path)}${origin}`,
    `size      ${humanBytes(session.sizeBytes)}, ${humanBytes(session.bytesRead)} of it read`,
    `view      ${session.messages} messages, about ${humanCount(session.tokens)} tokens`,
    `state     ${session.sendable ? "sendable" : `not sendable: ${oneLine(session.why ?? "")}`}`,
    `damage    ${session.damagedRanges === 0 ? "none seen" : `${session.damagedRanges} ranges: see sessions fsck`}`,
  ];
  if (session.madeFrom !== null) lines.push(`made from ${madeFromText(session.madeFrom)}`);
  const edits = session.edits.map(({ id, kind, at, state }) => [id, kind, at.slice(0, 19).replace("T", " "), state]);
  const shown =
    edits.length === 0
      ? "edits     none\n"
      : `\n${table([{ title: "edit" }, { title: "kind" }, { title: "when" }, { title: "state" }], edits)}`;
  return `${lines.join("\n")}\n${shown}`;
}

function madeFromText({ path, state, grownBytes = 0 }: MadeFrom): string {
  const grown = `, which has grown by ${humanBytes(grownBytes)} since: palimpsest sessions import ${oneLine(path)}`;
  const became = { same: "", grown, changed: ", which has changed since", gone: ", which is gone" }[state];
  return `${oneLine(path)}${became}`;
}
