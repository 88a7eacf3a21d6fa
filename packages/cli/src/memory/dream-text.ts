import type { DreamRunOutcome } from "palimpsest/internal/context/memory/session-dream";
import type { DreamTask } from "palimpsest/internal/layers/6-dream/dream-task";
import type { DreamChange, DreamReceipt } from "palimpsest/internal/layers/6-dream/run-dream";
import type { AuditFinding, AuditRule } from "palimpsest/internal/memory/audit/audit-changes";
import type { AcceptedRemoval } from "palimpsest/internal/memory/audit/removal-reasons";
import type { DreamObstacle } from "../agent/memory/open-session-dream.ts";
import { formatElapsed, joinLines, quantity } from "../text/format.ts";
import type { Style } from "../text/style.ts";
import { changedLinesText, formatDay } from "./memory-text.ts";

interface DreamReportInput {
  readonly receipt: DreamReceipt;
  readonly mode: "commit" | "dry-run";
  /** Undefined if nothing was written. */
  readonly revision: string | undefined;
  readonly style: Style;
}

/** What a dream did or would do, as a diff; what it was not allowed to do; and why. */
export function dreamReportText({ receipt, mode, revision, style }: DreamReportInput): string {
  const { made, dropped, findings, removals, conflicts, refused } = receipt;
  const undo =
    revision === undefined
      ? ""
      : ` Revision ${revision}: \`palimpsest memory revert ${revision}\` takes all of it back.`;
  const sections = [
    ...made.map((change) => changeText(change, style)),
    listText("Gone, with the reason", { lines: removals.map(removalText), style }),
    listText("Not done", { lines: dropped.map((change) => droppedText(change, { findings, conflicts })), style }),
    listText("Refused while it dreamt", { lines: refused.map(({ path, why }) => `${path}: ${why}`), style }),
    `${summaryText({ receipt, mode })}${undo}\n`,
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** `2 memories were changed, 1 change was dropped.` */
function summaryText({ receipt: { made, dropped }, mode }: Pick<DreamReportInput, "receipt" | "mode">): string {
  const verb = mode === "dry-run" ? "would be changed" : made.length === 1 ? "was changed" : "were changed";
  const done = made.length === 0 ? "No memory was changed" : `${quantity(made.length, "memory")} ${verb}`;
  const were = dropped.length === 1 ? "was" : "were";
  return `${done}${dropped.length === 0 ? "" : `, ${quantity(dropped.length, "change")} ${were} dropped`}.`;
}

function changeText({ path, before, after }: DreamChange, style: Style): string {
  const how = before === undefined ? " (new)" : after === undefined ? " (deleted)" : "";
  return `${style("bold", `${path}${how}`)}\n${changedLinesText(before ?? "", after ?? "")}\n`;
}

interface ListLook {
  readonly lines: readonly string[];
  readonly style: Style;
}

const listText = (title: string, { lines, style }: ListLook): string =>
  lines.length === 0 ? "" : `${style("bold", title)}\n${lines.map((line) => `  ${joinLines(line)}\n`).join("")}`;

const removalText = ({ path, sentence, why, basis, evidence }: AcceptedRemoval): string =>
  `${path}: "${sentence}" (${why}; ${basisText[basis]}${evidence === "" ? "" : `: "${evidence}"`})`;

const basisText: Readonly<Record<AcceptedRemoval["basis"], string>> = {
  user: "you said",
  memory: "another memory says",
  drift: "what it names is not there any more",
};

function droppedText(
  { path, before, after }: DreamChange,
  { findings, conflicts }: Pick<DreamReceipt, "findings" | "conflicts">,
): string {
  const verb = after === undefined ? "deleted" : before === undefined ? "written" : "changed";
  if (conflicts.includes(path)) return `${path} was not ${verb}: somebody else has changed it meanwhile`;
  const reasons = findings.filter((finding) => finding.path === path).map(findingText);
  const because = reasons.length === 0 ? "a change that it depends on was dropped" : reasons.join("; ");
  return `${path} was not ${verb}: ${because}`;
}

const findingText = ({ rule, quote }: AuditFinding): string => `${ruleText[rule]} ("${quote}")`;

const ruleText: Readonly<Record<AuditRule, string>> = {
  "fact-lost": "a fact would be lost without a reason that holds",
  "dead-link": "a link would lead nowhere",
  "index-limit": "the index would be too long",
  "relative-date": "a date is relative",
  "no-source": "no memory and no transcript says this",
  untrusted: "text from outside would become an instruction",
};

/** `running for 12 s, updating: 3 replies, 8 calls, deploy.md, ports.md` */
export function dreamTaskText(task: DreamTask, nowMs: number): string {
  const { status, phase, turnsTotal, calls, files, startedAt, endedAt, message } = task;
  const work = [quantity(turnsTotal, "reply"), quantity(calls, "call"), ...files].join(", ");
  if (status === "running") return `running for ${formatElapsed(nowMs - startedAt)}, ${phase}: ${work}`;
  return `${status} ${formatElapsed(nowMs - (endedAt ?? nowMs))} ago: ${message ?? work}`;
}

/** The newest replies, a line each. */
export const dreamTurnsText = ({ turns, turnsTotal }: DreamTask): string =>
  turns.length === 0
    ? "(nothing yet)"
    : turns
        .map(({ text, calls }, at) => {
          const number = turnsTotal - turns.length + at + 1;
          return `${number}  ${text === "" ? "(no words)" : text}${calls === 0 ? "" : ` · ${quantity(calls, "call")}`}`;
        })
        .join("\n");

/** Why there is no dream, and what to do about it. */
export function dreamObstacleText(obstacle: DreamObstacle): { readonly message: string; readonly hint?: string } {
  const hint = "--force dreams all the same.";
  switch (obstacle.kind) {
    case "memory-off":
      return { message: "memory is off (autoMemoryEnabled)", hint };
    case "dream-off":
      return { message: "dreams are off (autoDreamEnabled, or the switch dream)", hint };
    case "untrusted":
      return { message: "this project is not trusted", hint };
    case "no-memories":
      return { message: "this project has no memories yet" };
    case "nothing-new":
      return {
        message: `nothing was said or saved here since the last dream (${formatDay(obstacle.lastAt)})`,
        hint,
      };
  }
}

type NoDream = Exclude<DreamRunOutcome, { kind: "dreamt" | "refused" }>;

/** Why a dream that was begun, or was to begin, has changed nothing. */
export function noDreamText(outcome: NoDream): string {
  switch (outcome.kind) {
    case "failed":
      return `the dream failed, and nothing was changed: ${outcome.message}`;
    case "killed":
      return "the dream was stopped, and nothing was changed";
    case "busy": {
      const since = outcome.state === "overdue" ? ", for more than an hour" : "";
      return `the memories are being consolidated by ${outcome.holder}${since}`;
    }
    case "closed":
      return outcome.gate === "running" ? "a dream runs already" : "the session is closing";
  }
}
