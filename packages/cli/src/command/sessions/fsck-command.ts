import { type Finding, checkLog, type LogCheck, repairLog, repairRanges } from "palimpsest/internal/session/check-log";
import type { SetAside } from "palimpsest/internal/ports/transcripts";
import { command, type CommandContext, type Outcome } from "../../program/command.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { quantity, formatNumber, joinLines } from "../../text/format.ts";
import { createProgress, type NamedLog, openNamedLog } from "../../session/named-log.ts";
import { sessionOperand } from "../../program/parse-arguments.ts";
import { readOwnVersion } from "../../program/read-own-version.ts";
import { sessionFailure } from "../../session/session-failure.ts";

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
    "Entries that contradict each other stay as they are: an appended entry says how they are read, and from then on they are accepted.",
    "Exit code 1: there is damage (left).",
  ],
  run: async (context, { operands, options, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    const mode = options.repair ? "repair" : "check";
    const report = await checkOrRepair(context, { log, mode });
    if (report.kind === "failure") return report;
    await show(context, { ...report, format });
    return checkOutcome(report);
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

async function checkOrRepair(
  { err, cwd }: CommandContext,
  { log, mode }: Pick<Report, "log" | "mode">,
): Promise<Report | Failure> {
  const progress = createProgress(err, { verb: "checked", size: log.source.size });
  try {
    const found = await checkLog(log.source, progress);
    const unchanged: Report = { kind: "report", log, mode, found, repaired: [], left: found };
    // A log with nothing to repair is not opened for writing, which would end its last line.
    if (mode === "check" || log.session === undefined || found.damage.length === 0) return unchanged;
    const { deps, id } = log.session;
    const circumstances = { cwd, version: readOwnVersion() };
    const repair = await repairLog(deps, { id, circumstances, progress });
    if (repair.kind !== "repaired") return sessionFailure(repair, id);
    return { ...unchanged, found: repair.found, repaired: repair.setAside, left: repair.left };
  } finally {
    await err.progress("");
    await log.source.close();
  }
}

function checkOutcome({ log, mode, left }: Report): Outcome {
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
  const head = `${joinLines(log.path)}\n${formatNumber(found.entries)} entries in ${formatBytes(found.bytes)}\n`;
  const damage = found.damage.map((finding) => `damage  ${findingText(finding)}`);
  const notes = found.notes.map((finding) => `note    ${findingText(finding)}`);
  const repairs = repaired.map(
    ({ start, end, kept: where }) => `repaired  bytes ${start}–${end}, kept at ${joinLines(where)}`,
  );
  const accepted = left.accepted.map(
    (finding) => `accepted on ${joinLines(finding.at.slice(0, 10))}  ${findingText(finding)}`,
  );
  const count = left.damage.length;
  const verdict = count === 0 ? noDamage(left) : `${quantity(count, "damaged range")}${adviceOn({ log, mode })}`;
  return `${head}${[...damage, ...notes, ...repairs, ...accepted, verdict].join("\n")}\n`;
}

const noDamage = ({ accepted }: LogCheck): string =>
  accepted.length === 0
    ? "no damage"
    : `no damage but ${quantity(accepted.length, "range")} accepted as ${accepted.length === 1 ? "it is" : "they are"}`;

function adviceOn({ log, mode }: Pick<Report, "log" | "mode">): string {
  if (mode === "repair") return " left";
  return log.session === undefined
    ? "; another tool's file is never written, and what is readable in it can be used as it is"
    : "; --repair sets the damaged bytes aside and blanks them, and notes how what is readable is read";
}

const findingText = ({ kind, start, end, detail, uuid }: Finding): string =>
  `${kind}  bytes ${start}–${end}  ${uuid === undefined ? "" : `${joinLines(uuid)}  `}${joinLines(detail)}`;
