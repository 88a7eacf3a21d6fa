import { checkLog, type Finding, type LogCheck, repairRanges } from "../../../loop/fsck.ts";
import { command, type CommandContext } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { failure, type Failure } from "../../failure.ts";
import { humanBytes, humanCount } from "../../human.ts";
import { type NamedLog, openNamedLog } from "../../named-log.ts";
import { writingFailure } from "../../writing-failure.ts";

export const fsckCommand = command({
  name: "fsck",
  summary: "check a transcript for damage",
  operands: {
    session: { shown: "session|file", summary: "a session's id, the beginning of one, or a transcript's path" },
  },
  options: {
    repair: {
      type: "boolean",
      summary: "copy damaged bytes aside, then blank them in place; only for sessions of our own",
    },
  },
  json: "entries, damage and notes (kind, byte range, detail), repaired",
  details: [
    "Without --repair nothing is written. With it the file keeps its length and every readable entry its place; the damaged bytes go to <session>/set-aside/<start>-<end>.bin.",
    "Exit code 1: there is damage (left).",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const found = await checking(context, log);
    const repaired = options.repair ? await repair(log, found) : [];
    if ("kind" in repaired) return repaired;
    const left = repaired.length > 0 ? await recheck(context, operands.session) : found;
    if (format === "json") await context.out.json({ ...found, repaired, left: left.damage.length });
    else await context.out.write(asText({ path: log.path, found, repaired, left: left.damage }));
    return left.damage.length > 0 ? exitCode.negative : exitCode.fine;
  },
});

async function checking(context: CommandContext, log: NamedLog): Promise<LogCheck> {
  try {
    return await checkLog(log.source, progressOn(context, log.source.size));
  } finally {
    await log.source.close();
  }
}

/** From this size on a check takes long enough to want a sign of life. */
const progressBytesMin = 64 * 1024 * 1024;

function progressOn({ err }: CommandContext, size: number): (done: number) => void {
  if (size < progressBytesMin || err.columns === undefined) return () => {};
  return (done) =>
    void err.write(done >= size - 1 ? "\r\u001b[K" : `\rchecked ${humanBytes(done)} of ${humanBytes(size)}`);
}

interface Repaired {
  readonly start: number;
  readonly end: number;
  readonly kept: string;
}

async function repair(log: NamedLog, found: LogCheck): Promise<readonly Repaired[] | Failure> {
  if (log.session === undefined) {
    return failure({
      code: exitCode.refused,
      message: `${log.path} belongs to another tool: it is never written`,
      hint: "Everything that is readable in it can be used as it is; `palimpsest view` shows it.",
    });
  }
  const ranges = repairRanges(found.damage);
  if (ranges.length === 0) return [];
  const opened = await log.session.deps.transcripts.openForWriting(log.session.id);
  if (opened.kind !== "open") return writingFailure(opened, log.session.id);
  try {
    const blanked = await opened.writer.blank(ranges);
    return blanked.kind === "failed" ? writingFailure(blanked, log.session.id) : blanked.setAside;
  } finally {
    await opened.writer.close();
  }
}

async function recheck(context: CommandContext, name: string): Promise<LogCheck> {
  const log = await openNamedLog(context, name);
  if (log.kind === "failure") throw new Error(log.message);
  return checking(context, log);
}

interface Report {
  readonly path: string;
  readonly found: LogCheck;
  readonly repaired: readonly Repaired[];
  readonly left: readonly Finding[];
}

function asText({ path, found, repaired, left }: Report): string {
  const head = `${path}\n${humanCount(found.entries)} entries in ${humanBytes(found.bytes)}\n`;
  const damage = found.damage.map((one) => `damage  ${lineOf(one)}`);
  const notes = found.notes.map((one) => `note    ${lineOf(one)}`);
  const kept = repaired.map(({ start, end, kept: where }) => `repaired  bytes ${start}–${end}, kept at ${where}`);
  const verdict =
    left.length === 0
      ? "no damage"
      : `${left.length} damaged ranges${repaired.length > 0 ? " left" : "; --repair mends what can be mended"}`;
  return `${head}${[...damage, ...notes, ...kept, verdict].join("\n")}\n`;
}

const lineOf = ({ kind, start, end, detail, uuid }: Finding): string =>
  `${kind}  bytes ${start}–${end}  ${uuid === undefined ? "" : `${uuid}  `}${detail}`;
