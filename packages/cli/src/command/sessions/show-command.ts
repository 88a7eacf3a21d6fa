import { syncSettingName } from "palimpsest/internal/transcript/draft";
import { countMessages } from "palimpsest/internal/store/summarise-session";
import { readOrigin, sourceState, listAdoptedSessions } from "palimpsest/internal/session/session-origin";
import { toUsd } from "palimpsest/internal/cache/cost-ledger";
import { replyCallsIn, readCompactionSpent, notesCallsIn } from "palimpsest/internal/context/past-costs";
import type { CountedLog } from "palimpsest/internal/session/counted-log";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import type { EntryId, SessionId, Tokens } from "palimpsest/internal/schema/brand";
import type { EditEntry } from "palimpsest/internal/schema/entry";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { findUndoneEdits } from "palimpsest/internal/transcript/plan-undo";
import { openWorkspace } from "../../host/workspace.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import { createCallsPricer, type CallsPricer } from "../../text/cost-by-source-name.ts";
import { command, type CommandContext } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { quantity, wrapText, formatNumber, formatUsd, joinLines } from "../../text/format.ts";
import { type NamedLog, openNamedLog, openWithEdits, wrongFileFailure } from "../../session/named-log.ts";
import { describeSendState, hasClientLists } from "../../text/render-message.ts";
import { sessionOperand } from "../../program/parse-arguments.ts";
import { table } from "../../text/table.ts";

export const showCommand = command({
  name: "show",
  summary: "show a session's figures and its edits",
  operands: { session: sessionOperand },
  json: "path, origin, sizeBytes, messagesInLog, view figures, and edits with their state",
  run: async (context, { operands, format }) => {
    const log = await openNamedLog(context, operands.session);
    if (log.kind === "failure") return log;
    try {
      const opened = await openWithEdits(log);
      const wrong = wrongFileFailure(log, opened);
      if (wrong !== undefined) return wrong;
      const { reading } = await openWorkspace(context).settings();
      const priceOf = createCallsPricer(reading.settings.models.value);
      const session = {
        ...describeLog(log, { ...opened, priceOf }),
        messagesInLog: await countMessages(log.source),
        madeFrom: await readSource(context, log),
      };
      if (format === "json") await context.out.json(session);
      else {
        const hasClient = hasClientLists(opened.fold.path.entries);
        const state = describeSendState(opened.fold.view(), { hasClient });
        await context.out.write(
          asText({ ...session, state: state.text, advice: state.advice }, context.out.columns ?? 80),
        );
      }
      return exitCode.fine;
    } finally {
      await log.source.close();
    }
  },
});

interface SessionDescription {
  readonly path: string;
  readonly origin: "ours" | "foreign";
  readonly sizeBytes: number;
  readonly bytesRead: number;
  readonly messages: number;
  readonly tokens: Tokens;
  readonly sendable: boolean;
  readonly why: string | null;
  readonly whyCode: string | null;
  readonly entriesOnPath: number;
  /** Messages that are carried through every compaction. */
  readonly pins: readonly EntryId[];
  readonly edits: readonly DescribedEdit[];
  readonly damagedRanges: number;
}

/** The other tool's file that a session was made from, and its state now. */
interface SessionSource {
  readonly path: string;
  readonly state: "same" | "grown" | "changed" | "gone";
  readonly grownBytes?: number;
  /** The session that was made from the file as it is now. */
  readonly goesOnIn?: SessionId;
}

async function readSource(context: CommandContext, log: NamedLog): Promise<SessionSource | null> {
  const origin = log.session === undefined ? undefined : await readOrigin(log.source);
  if (origin === undefined || log.session === undefined) return null;
  const { path } = origin.edit;
  const file = await openWorkspace(context).openFile(path);
  if (file === undefined) return { path, state: "gone" };
  try {
    const state = await sourceState(log.session.deps.sha256, origin, file);
    if (state.kind !== "grown") return { path, state: state.kind };
    const goesOnIn = await findSessionOfFile(log.session.deps, { path, file });
    return { path, state: "grown", grownBytes: state.bytes, ...(goesOnIn === undefined ? {} : { goesOnIn }) };
  } finally {
    await file.close();
  }
}

async function findSessionOfFile(
  deps: ProjectStore,
  { path, file }: { readonly path: string; readonly file: ByteSource },
): Promise<SessionId | undefined> {
  for (const { session, origin } of await listAdoptedSessions(deps))
    if (origin.edit.path === path && (await sourceState(deps.sha256, origin, file)).kind === "same") return session;
  return undefined;
}

interface DescribedEdit {
  readonly id: EntryId;
  readonly kind: string;
  readonly at: string;
  readonly state: "in force" | "undone";
  /** The setting's name, if the edit is a setting. */
  readonly name?: string;
  /** Calls that it books, which no other line shows. */
  readonly calls?: number;
  /** The cost of these calls; null if a model has no known price. */
  readonly costUsd?: number | null;
}

interface OpenedForShow extends CountedLog {
  readonly priceOf: CallsPricer;
}

function describeLog(log: NamedLog, { fold, ledger, read, damage, priceOf }: OpenedForShow): SessionDescription {
  const view = fold.view();
  const undone = findUndoneEdits(fold.path.entries);
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
    whyCode: view.why?.code ?? null,
    entriesOnPath: view.path.onPath,
    pins: [...fold.projection.pins],
    edits: edits.map((entry) => ({
      id: entry.id,
      kind: entry.edit.type,
      at: entry.timestamp ?? "",
      state: undone.has(entry.id) ? "undone" : "in force",
      ...(entry.edit.type === "setting" ? { name: entry.edit.name } : {}),
      ...describeCalls(entry, priceOf),
    })),
    damagedRanges: damage.length,
  };
}

function describeCalls({ edit }: EditEntry, priceOf: CallsPricer): Pick<DescribedEdit, "calls" | "costUsd"> {
  const calls = [...(readCompactionSpent(edit)?.calls ?? []), ...notesCallsIn(edit), ...replyCallsIn(edit)];
  if (calls.length === 0) return {};
  const nanos = priceOf(calls);
  return { calls: calls.length, costUsd: nanos === undefined ? null : toUsd(nanos) };
}

interface ShownSession extends SessionDescription {
  /** Also what has left the view, and other branches: the figure of `sessions list`. */
  readonly messagesInLog: number;
  readonly madeFrom: SessionSource | null;
  /** Whether it can be sent. */
  readonly state: string;
  readonly advice: string | undefined;
}

function asText(session: ShownSession, columns: number): string {
  const origin = session.origin === "ours" ? "" : "  (another tool's: read where it lies)";
  const lines = [
    `${joinLines(session.path)}${origin}`,
    `log       ${quantity(session.messagesInLog, "message")}, ${formatBytes(session.sizeBytes)}, ${formatBytes(session.bytesRead)} of it read`,
    `view      ${quantity(session.messages, "message")}, about ${formatNumber(session.tokens)} tokens`,
    `state     ${underLabel(session.state, columns).trimStart()}`,
    ...(session.advice === undefined ? [] : [underLabel(session.advice, columns)]),
    `damage    ${session.damagedRanges === 0 ? "none seen" : `${quantity(session.damagedRanges, "range")}: see sessions fsck`}`,
  ];
  for (const [at, pin] of session.pins.entries())
    lines.push((at === 0 ? "pins" : "").padEnd(labelColumns) + joinLines(pin));
  if (session.madeFrom !== null) lines.push(`made from ${sourceText(session.madeFrom)}`);
  // One for each request that brings a whole list: they would drown the edits.
  const shown = session.edits.filter(({ name }) => name !== syncSettingName);
  const hidden = session.edits.length - shown.length;
  if (hidden > 0)
    lines.push(
      `lists     ${quantity(hidden, "record")} of what the client's lists said (${syncSettingName}; see --json)`,
    );
  return `${lines.join("\n")}\n${shown.length === 0 ? "edits     none\n" : `\n${editTable(shown, columns)}`}`;
}

const labelColumns = 10;

const underLabel = (text: string, columns: number): string =>
  wrapText(text, columns - labelColumns).replaceAll(/^/gm, " ".repeat(labelColumns));

/** Ids are there to be copied, so they are never cut: an id without room in its row stands below it. */
function editTable(edits: readonly DescribedEdit[], columns: number): string {
  const rows = edits.map(({ kind, at, state, name, costUsd }) => [
    `${kind}${name === undefined ? "" : ` ${joinLines(name)}`}${costText(costUsd)}`,
    at.slice(0, 19).replace("T", " "),
    state,
  ]);
  const titles = [{ title: "kind" }, { title: "when" }, { title: "state" }];
  const wide = table(
    [{ title: "edit" }, ...titles],
    rows.map((row, at) => [edits[at]?.id ?? "", ...row]),
  );
  if (wide.split("\n").every((line) => line.length <= columns)) return wide;
  const [head = "", ...narrow] = table(titles, rows).trimEnd().split("\n");
  return [head, ...narrow.flatMap((line, at) => [line, `  ${joinLines(edits[at]?.id ?? "")}`])]
    .map((line) => `${line}\n`)
    .join("");
}

function costText(costUsd: DescribedEdit["costUsd"]): string {
  if (costUsd === undefined) return "";
  return costUsd === null ? ", price not known" : `, ${formatUsd(costUsd)}`;
}

function sourceText({ path, state, grownBytes = 0, goesOnIn }: SessionSource): string {
  const where =
    goesOnIn === undefined ? `palimpsest sessions import ${joinLines(path)}` : `session ${goesOnIn} goes on`;
  const grown = `, which has grown by ${formatBytes(grownBytes)} since: ${where}`;
  const change = { same: "", grown, changed: ", which has changed since", gone: ", which is gone" }[state];
  return `${joinLines(path)}${change}`;
}
