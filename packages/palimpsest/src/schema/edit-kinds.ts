import type { EntryId, ToolUseId } from "./brand.ts";
import type { Edit, EditKind, LeftOutPart } from "./edit.ts";
import { formatCount, plural } from "../text/format-count.ts";
import { type Json, field, isObject } from "./json.ts";

/**
 * What the rest of the code needs to know about each kind of edit, one row per kind. The form of its entry is in
 * `edit.ts`; what only the view does with a kind (a boundary, a pin) is in `transcript/projection.ts`.
 */
interface EditRow<Kind extends EditKind> {
  /** `shown`: changes what earlier requests have shown. An offload and a repair happen before the model has seen the result. */
  readonly changes: "shown" | "nothing";
  /** Whether `undo` without an argument takes it back: true for edits that change what the model sees or will see. */
  readonly undoes: "yes" | "no";
  /** `outdated`: a summary of what precedes the edit is no longer accurate. */
  readonly summary: "valid" | "outdated";
  /** `unlisted`: the entry only records something and does not belong in a list of the view's edits. */
  readonly listed: "listed" | "unlisted";
  readonly removes?: (edit: EditOf<Kind>, between: EntriesBetween) => RemovedEntries;
  readonly withholds?: (edit: EditOf<Kind>) => WithheldResults;
  /** What caused it, if its entry says so and has no receipt. */
  readonly cause?: (edit: EditOf<Kind>) => string | undefined;
  /** Number of results or entries that it names. */
  readonly count?: (edit: EditOf<Kind>) => number | undefined;
  /** One line for the user in the chat. Absent: the chat shows nothing, or something specific to the kind. */
  readonly line?: (edit: EditOf<Kind>) => string;
  /** Text in an export, after the kind's name. */
  readonly text?: (edit: EditOf<Kind>) => string;
  /** Words for the event of the layer that made the edit. `what`: the event's name for the edit. */
  readonly eventLabels?: { readonly what: string; readonly verb: string; readonly thing: string };
}

/** Entries of the view from one to another, both included; none if either is missing. */
type EntriesBetween = (from: EntryId, to: EntryId) => ReadonlySet<EntryId>;

/** Entries that leave the view, calls and results together. */
export interface RemovedEntries {
  readonly entries: ReadonlySet<EntryId>;
  /** What is shown in their place; absent: nothing. */
  readonly shown?: string;
}

/** Results that stay in the messages but that the server no longer shows to the model. */
export interface WithheldResults {
  readonly results: readonly ToolUseId[];
  /** `all`: earlier withheld results are shown again. */
  readonly releases: "all" | "none";
}

/** Written as a mapped type so that the compiler sees that a row and the edit that selects it have the same kind. */
type EditOf<Kind extends EditKind> = { [K in Kind]: { readonly type: K } & Extract<Edit, { type: K }> }[Kind];

/** Base of entries that only record something. */
const remark = { changes: "nothing", undoes: "no", summary: "valid", listed: "unlisted" } as const;
/** Base of most edits of the view. */
const change = { changes: "shown", undoes: "yes", summary: "valid", listed: "listed" } as const;

const rows = {
  offload: {
    ...change,
    changes: "nothing",
    count: ({ results }) => results.length,
    line: ({ results }) => `Offloaded ${formatQuantity(results.length, "result")}.`,
    text: ({ results }) => formatPlainQuantity(results.length, "result"),
  },
  repair: {
    ...remark,
    listed: "listed",
    count: ({ results }) => results.length,
    text: ({ results }) => formatPlainQuantity(results.length, "result"),
  },
  clear: {
    ...change,
    cause: ({ cause }) => cause,
    count: ({ results }) => results.length,
    line({ results, tokensSaved }) {
      const saved = tokensSaved === undefined ? "" : `: ${formatCount(tokensSaved)} tokens less`;
      return `Cleared ${formatQuantity(results.length, "result")}${saved}.`;
    },
    text({ results, attachments, cause }) {
      const memories = attachments.length === 0 ? "" : ` and ${formatPlainQuantity(attachments.length, "attachment")}`;
      return `${formatPlainQuantity(results.length, "result")}${memories} (${cause})`;
    },
    eventLabels: { what: "clear", verb: "Cleared", thing: "result" },
  },
  snip: {
    ...change,
    summary: "outdated",
    removes: ({ entries }) => ({ entries: new Set(entries) }),
    count: ({ entries }) => entries.length,
    line: ({ entries }) => `Snipped ${formatQuantity(entries.length, "message")}.`,
    text: ({ entries }) => formatPlainQuantity(entries.length, "entry", "entries"),
    eventLabels: { what: "snip", verb: "Snipped", thing: "message" },
  },
  collapse: {
    ...change,
    summary: "outdated",
    removes: ({ span: { from, to }, shown }, between) => ({ entries: between(from, to), shown }),
    line: () => "Collapsed messages.",
    text: ({ shown }) => `shown as: ${shown}`,
    eventLabels: { what: "collapse", verb: "Collapsed", thing: "message" },
  },
  "server-edits": {
    ...change,
    changes: "nothing",
    withholds: ({ deleted, forgets }) => ({ results: deleted, releases: forgets === true ? "all" : "none" }),
    cause: ({ applied }) => (applied === undefined ? undefined : "clear.api"),
    count: ({ deleted, applied }) => (applied === undefined ? deleted.length : countServerCleared(applied)),
    line: ({ deleted, applied }) =>
      applied === undefined
        ? `Cleared in the provider's cache: ${formatQuantity(deleted.length, "result")}.`
        : `The provider left out ${formatServerCleared(readServerCleared(applied))}.`,
    text: ({ deleted, applied }) =>
      applied === undefined
        ? `${formatPlainQuantity(deleted.length, "result")} deleted in the provider's cache`
        : `left out by the server: ${formatServerCleared(readServerCleared(applied))}`,
    eventLabels: { what: "delete-in-cache", verb: "Cleared in the provider's cache", thing: "result" },
  },
  "leave-out": {
    ...change,
    count: ({ entries }) => entries.length,
    line: ({ part, entries }) => formatLeftOut({ part, count: entries.length }),
    text: ({ part, entries }) => `${part} of ${formatPlainQuantity(entries.length, "entry", "entries")}`,
  },
  boundary: { ...change, summary: "outdated" },
  undo: {
    ...change,
    summary: "outdated",
    line: () => "An edit of the view was taken back.",
    text: ({ edit }) => `of ${edit}`,
  },
  branch: {
    ...change,
    changes: "nothing",
    text: ({ before }) => (before === undefined ? "" : `goes on from before ${before}`),
  },
  pin: { ...change, changes: "nothing", text: ({ entry }) => entry },
  unpin: { ...change, changes: "nothing", text: ({ entry }) => entry },
  setting: { ...remark, text: ({ name, value }) => `${name} = ${JSON.stringify(value)}` },
  origin: { ...remark, text: ({ path, format, length }) => `a copy of ${path} (${format}, ${length} bytes)` },
} as const satisfies EditRows;

type EditRows = { readonly [Kind in EditKind]: EditRow<Kind> };

const rowByKind: EditRows = rows;

/** Edits that remove entries from the view. */
type RemovingEdit = EditWith<"removes">;
/** Edits that hide results from the model although they stay in the messages. */
type WithholdingEdit = EditWith<"withholds">;

type EditWith<Name extends string> = Extract<
  Edit,
  { type: { [Kind in EditKind]: (typeof rows)[Kind] extends Record<Name, unknown> ? Kind : never }[EditKind] }
>;

export const isRemovingEdit = (edit: Edit): edit is RemovingEdit => "removes" in rows[edit.type];

export const isWithholdingEdit = (edit: Edit): edit is WithholdingEdit => isWithholdingKind(edit.type);

export const isWithholdingKind = (kind: EditKind): boolean => "withholds" in rows[kind];

export const entriesRemovedBy = <Kind extends RemovingEdit["type"]>(
  edit: EditOf<Kind>,
  between: EntriesBetween,
): RemovedEntries => rowByKind[edit.type].removes?.(edit, between) ?? { entries: new Set() };

export const resultsWithheldBy = <Kind extends WithholdingEdit["type"]>(edit: EditOf<Kind>): WithheldResults =>
  rowByKind[edit.type].withholds?.(edit) ?? { results: [], releases: "none" };

export const changesView = ({ type }: Edit): boolean => rows[type].changes === "shown";

export const isUndoable = ({ type }: Edit): boolean => rows[type].undoes === "yes";

export const outdatesSummary = ({ type }: Edit): boolean => rows[type].summary === "outdated";

export const isListed = ({ type }: Edit): boolean => rows[type].listed === "listed";

export const editCause = <Kind extends EditKind>(edit: EditOf<Kind>): string | undefined =>
  rowByKind[edit.type].cause?.(edit);

/** Number of results or entries that it names; undefined if it names none. */
export const editCount = <Kind extends EditKind>(edit: EditOf<Kind>): number | undefined =>
  rowByKind[edit.type].count?.(edit);

/** One line for the user in the chat; undefined if the chat has none for this kind. */
export const editLine = <Kind extends EditKind>(edit: EditOf<Kind>): string | undefined =>
  rowByKind[edit.type].line?.(edit);

/** Text in an export, after the kind's name. */
export const editText = <Kind extends EditKind>(edit: EditOf<Kind>): string => rowByKind[edit.type].text?.(edit) ?? "";

/** The arithmetic behind a layer's decision, in words for the user. */
export const editReason = (edit: Edit): string | undefined =>
  "because" in edit && typeof edit.because === "string" ? edit.because : undefined;

/** Words for a layer's event. `what`: the event's name for the edit. */
export const eventLabels = (what: string): { readonly verb: string; readonly thing: string } =>
  Object.values(rowByKind).find((row) => row.eventLabels?.what === what)?.eventLabels ?? {
    verb: "Edited",
    thing: "message",
  };

/** `The provider refused the request: thinking in 3 messages is not sent any more.` */
export function formatLeftOut({ part, count }: { readonly part: LeftOutPart; readonly count: number }): string {
  const [what, verb] = labelsByPart[part];
  return `The provider refused the request: ${what} in ${formatQuantity(count, "message")} ${verb}.`;
}

const labelsByPart: Readonly<Record<LeftOutPart, readonly [what: string, verb: string]>> = {
  "server-summary": ["its own summary", "is sent as text from now on"],
  thinking: ["thinking", "is not sent any more"],
  media: ["images and documents", "are not sent any more"],
  "other-blocks": ["blocks of other kinds than texts, calls and results", "are not sent any more"],
};

/** Undefined if the server names no results; thinking does not count as a result. */
function countServerCleared(applied: readonly Json[]): number | undefined {
  const { results } = readServerCleared(applied);
  return results === 0 ? undefined : results;
}

const formatQuantity = (count: number, thing: string): string => `${formatCount(count)} ${plural(count, thing)}`;

/** Without thousands separators, as exports write numbers. */
const formatPlainQuantity = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** What a server reports to have left out of a request by its own rules. */
interface ServerCleared {
  readonly tokens: number;
  readonly results: number;
  readonly thinkingTurns: number;
}

/** `applied`: the server's list of applied edits, in its own format. A field that is not a positive number counts as zero. */
export function readServerCleared(applied: readonly Json[]): ServerCleared {
  const sum = (name: string): number =>
    applied.reduce<number>((total, edit) => {
      const value = isObject(edit) ? field(edit, name) : undefined;
      return total + (typeof value === "number" && value > 0 ? value : 0);
    }, 0);
  return {
    tokens: sum("cleared_input_tokens"),
    results: sum("cleared_tool_uses"),
    thinkingTurns: sum("cleared_thinking_turns"),
  };
}

/** `12,345 tokens: 7 results, thinking of 2 turns`. */
export function formatServerCleared({ tokens, results, thinkingTurns }: ServerCleared): string {
  const parts = [
    ...(results === 0 ? [] : [`${formatCount(results)} ${plural(results, "result")}`]),
    ...(thinkingTurns === 0 ? [] : [`thinking of ${formatCount(thinkingTurns)} ${plural(thinkingTurns, "turn")}`]),
  ];
  return `${formatCount(tokens)} ${plural(tokens, "token")}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}
