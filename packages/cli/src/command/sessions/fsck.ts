import type { Finding } from "palimpsest/internal/session/finding";
import { checkLog, type LogCheck, type Progress, repairLog, repairRanges } from "palimpsest/internal/session/fsck";
import type { SetAside } from "palimpsest/internal/ports/transcripts";
import { command, type CommandContext, type Outcome } from "../../command.ts";
import { exitCode } from "../../exit-code.ts";
import { failure, type Failure } from "../../failure.ts";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { counted, humanCount, oneLine } from "../../human.ts";
import { type NamedLog, openNamedLog } from "../../named-log.ts";
import type { Output } from "../../output.ts";
import { sessionOperand } from "../../session-operand.ts";
import { ownVersion } from "../../version.ts";
import { writingFailure } from "../../writing-failure.ts";

export const fsckCommand = command({
  name: "fsck",
  summary: "check a transcript for damage",
  operands: { session: sessionOperand },
  options: {
    repair: {
      type: "boolean",
      summary: "blank damaged bytes, and record how other damage is read; only for sessions of our own",
    },
  },
  json: "bytes, entries, damage and notes (kind, byte range, detail), repaired, accepted, left",
  details: [
    "Without --repair nothing is written. With it every readable entry keeps its place; the damaged bytes go to <session>/set-aside/<start>-<end>.bin.",
    "Entries that contradict each other stay as they are: an entry is added that says how they are read, and from then on they are accepted.",
    "Exit code 1: there is damage (left).",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const mode = options.repair ? "repair" : "check";
    const report = await reporting(context, { log, mode });
    if (report.kind === "failure") return report;
    await show(context, { ...report, format });
    return verdictOf(report);
  },
});

interface Report {
  readonly kind: "report";
  readonly log: NamedLog;
  readonly mode: "check" | "repair";
  readonly found: LogCheck;
  readonly repaired: readonly SetAside[];
  readonly left: LogCheck;
}

async function reporting(
  { err, cwd }: CommandContext,
  { log, mode }: Pick<Report, "log" | "mode">,
): Promise<Report | Failure> {
  const progress = progressOn(err, log.source.size);
  try {
    const found = await checkLog(log.source, progress);
    const unchanged: Report = { kind: "report", log, mode, found, repaired: [], left: found };
    // A log with nothing to repair is not opened for writing, which would end its last line.
    if (mode === "check" || log.session === undefined || found.damage.length === 0) return unchanged;
    const { deps, id } = log.session;
    const circumstances = { cwd, version: ownVersion() };
    const repair = await repairLog(deps, { id, circumstances, progress });
    if (repair.kind !== "repaired") return writingFailure(repair, id);
    return { ...unchanged, found: repair.found, repaired: repair.setAside, left: repair.left };
  } finally {
    await err.progress("");
    await log.source.close();
  }
}

/** From this size on a check takes long enough to want a sign of life. */
const progressBytesMin = 64 * 1024 * 1024;

function progressOn(err: Output, size: number): Progress {
  if (size < progressBytesMin) return () => {};
  return (done) => void err.progress(`checked ${humanBytes(done)} of ${humanBytes(size)}`);
}

function verdictOf({ log, mode, left }: Report): Outcome {
  if (mode === "repair" && log.session === undefined && repairRanges(left.damage).length > 0) {
    return failure({
      code: exitCode.refused,
      message: `${log.path} belongs to another tool: it is never written`,
      hint: "Everything that is readable in it can be used as it is; `palimpsest view` shows it.",
    });
  }
  return left.damage.length > 0 ? exitCode.negative : exitCode.fine;
}

async function show({ out }: CommandContext, report: Report & { readonly format: "text" | "json" }): Promise<void> {
  const { found, repaired, left, format } = report;
  if (format === "json") await out.json({ ...found, repaired, accepted: left.accepted, left: left.damage.length });
  else await out.write(asText(report));
}

function asText({ log, mode, found, repaired, left }: Report): string {
  const head = `${oneLine(log.path)}\n${humanCount(found.entries)} entries in ${humanBytes(found.bytes)}\n`;
  const damage = found.damage.map((one) => `damage  ${lineOf(one)}`);
  const notes = found.notes.map((one) => `note    ${lineOf(one)}`);
  const kept = repaired.map(
    ({ start, end, kept: where }) => `repaired  bytes ${start}–${end}, kept at ${oneLine(where)}`,
  );
  const accepted = left.accepted.map((one) => `accepted on ${oneLine(one.at.slice(0, 10))}  ${lineOf(one)}`);
  const count = left.damage.length;
  const verdict = count === 0 ? noDamage(left) : `${counted(count, "damaged range")}${adviceOn({ log, mode })}`;
  return `${head}${[...damage, ...notes, ...kept, ...accepted, verdict].join("\n")}\n`;
}

const noDamage = ({ accepted }: LogCheck): string =>
  accepted.length === 0
    ? "no damage"
    : `no damage but ${counted(accepted.length, "range")} accepted as ${accepted.length === 1 ? "it is" : "they are"}`;

function adviceOn({ log, mode }: Pick<Report, "log" | "mode">): string {
  if (mode === "repair") return " left";
  return log.session === undefined
    ? "; another tool's file is never written, and what is readable in it can be used as it is"
    : "; --repair sets the damaged bytes aside and blanks them, and notes how what is readable is read";
}

const lineOf = ({ kind, start, end, detail, uuid }: Finding): string =>
  `${kind}  bytes ${start}–${end}  ${uuid === undefined ? "" : `${oneLine(uuid)}  `}${oneLine(detail)}`;
