import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import {
  type RestoreBudgets,
  type RestoredFile,
  type RestoredPart,
  type RestoredPiece,
  workingStateAttachmentType,
} from "../../schema/restored-part.ts";
import { attachmentText, escapeReminderTag } from "../../transcript/attachment-text.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Item } from "../../transcript/item.ts";
import type { Decision } from "../../transcript/projection.ts";
import { clipText, wholeLinesWithin, headWithin } from "../clip-text.ts";
import {
  restoredCutTokensMin,
  restoredFilesMax,
  restoredFilesTokensMax,
  restoredFileTokensMax,
  restoredLineCharsMax,
  restoredNamesMax,
  restoredNamesMin,
  restoredPartTokensMax,
  restoredSkillsTokensMax,
  restoredSkillTokensMax,
  restoredTokensPerName,
  restoredWindowShareMax,
} from "./limits.ts";

export const restoreBudgets = (windowTokens: number): RestoreBudgets => ({
  tokensMax: Math.floor(windowTokens * restoredWindowShareMax),
  files: {
    piecesMax: restoredFilesMax,
    pieceTokensMax: restoredFileTokensMax,
    tokensMax: restoredFilesTokensMax,
  },
  skills: { pieceTokensMax: restoredSkillTokensMax, tokensMax: restoredSkillsTokensMax },
  other: { pieceTokensMax: restoredPartTokensMax, tokensMax: restoredPartTokensMax },
});

interface KeptView {
  /** What the boundary leaves in the view. */
  readonly items: readonly Item[];
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
}

/** Tells whether what stays in the view shows a result, or an attachment, as it was given. */
export function createWholeCheck({ items, decisions }: KeptView): (shownBy: ToolUseId | EntryId) => boolean {
  const shown = new Set<ToolUseId | EntryId>(items.map(({ entry }) => entry));
  for (const { blocks } of items)
    for (const block of blocks)
      if (block.type === "tool_result" && !decisions.has(block.tool_use_id)) shown.add(block.tool_use_id);
  return (shownBy) => shown.has(shownBy);
}

export interface NamedPart {
  readonly name: string;
  readonly part: RestoredPart;
}

export interface RestoreInput {
  /** In the order in which they are told. */
  readonly parts: readonly NamedPart[];
  readonly tokensMax: number;
  /** Of a text in the view. */
  readonly count: (text: string) => number;
}

export interface Restoration {
  readonly attachments: readonly RestoredAttachment[];
  readonly tokens: number;
  /** Not shown whole, and nothing says yet how it comes back. */
  readonly withoutHandle: readonly RestoredPiece[];
}

/** One attachment behind the boundary. */
interface RestoredAttachment {
  /** For people: the path of a file, else the part. */
  readonly name: string;
  readonly draft: Draft;
  /** As the view shows it. */
  readonly text: string;
  readonly tokens: number;
  /** The file that it shows, as far as it does. */
  readonly file?: ShownFile;
}

interface ShownFile extends Omit<RestoredFile, "lines"> {
  /** From 1; undefined: all of it. */
  readonly lines?: { readonly from: number; readonly to: number };
}

/**
 * What is told behind a boundary, never over `tokensMax`. Each part begins with room to name everything it has; what is
 * left is given out in order, so that the parts that change least are also the last to be cut. Whatever is not shown
 * whole is named, with a handle.
 */
export function planRestoration(input: RestoreInput): Restoration {
  const { parts, tokensMax, count } = input;
  const shares = parts.flatMap(({ name, part }): Share[] => {
    const teller = new PartWriter(name, { count, namesMax: namesWithin(tokensMax) });
    const least = part.kind === "failed" ? teller.say(failureText(name, part.message)) : teller.name(part.pieces);
    return least === undefined ? [] : [{ part, teller, least }];
  });
  let left = tokensMax - sum(shares.map(({ least }) => least));
  if (left < 0) return nameOnly(input);
  const told: RestoredAttachment[] = [];
  const withoutHandle: RestoredPiece[] = [];
  for (const { part, teller, least } of shares) {
    const room = left + least.tokens;
    const telling = part.kind === "failed" ? { told: [least], cut: [] } : teller.tell({ part, room, least });
    told.push(...telling.told);
    withoutHandle.push(...telling.cut.filter(({ handle }) => handle === undefined));
    left = room - sum(telling.told);
  }
  return { attachments: told, tokens: sum(told), withoutHandle };
}

interface Share {
  readonly part: RestoredPart;
  readonly teller: PartWriter;
  /** What the part says where it has no room at all. */
  readonly least: RestoredAttachment;
}

interface PartRestoration {
  readonly told: readonly RestoredAttachment[];
  readonly cut: readonly RestoredPiece[];
}

interface PartWriterOptions extends Pick<RestoreInput, "count"> {
  readonly namesMax: number;
}

const namesWithin = (tokensMax: number): number =>
  Math.max(restoredNamesMin, Math.min(restoredNamesMax, Math.floor(tokensMax / restoredTokensPerName)));

/** Says the pieces of one part. */
class PartWriter {
  readonly #name: string;
  readonly #count: RestoreInput["count"];
  readonly #namesMax: number;

  constructor(name: string, { count, namesMax }: PartWriterOptions) {
    this.#name = name;
    this.#count = count;
    this.#namesMax = namesMax;
  }

  tell({
    part: { pieces, budget },
    room,
    least,
  }: {
    readonly part: Extract<RestoredPart, { kind: "state" }>;
    readonly room: number;
    readonly least: RestoredAttachment;
  }): PartRestoration {
    const tokensMax = Math.min(room, Math.max(budget.tokensMax, least.tokens));
    const told: RestoredAttachment[] = [];
    const cut: RestoredPiece[] = [];
    const named: RestoredPiece[] = [];
    for (const [at, piece] of pieces.entries()) {
      const rest = [...named, ...pieces.slice(at + 1)];
      const free = tokensMax - sum(told) - (this.name(rest)?.tokens ?? 0);
      const mayShow = told.length < (budget.piecesMax ?? Number.POSITIVE_INFINITY);
      const shown = mayShow ? this.#show(piece, Math.min(free, budget.pieceTokensMax)) : undefined;
      if (shown === undefined) named.push(piece);
      else told.push(shown.told);
      if (shown?.extent !== "whole") cut.push(piece);
    }
    const digest = this.name(named);
    const all = digest === undefined ? told : [...told, digest];
    // Estimates of a part of a text need not be smaller than those of the whole.
    return sum(all) <= room ? { told: all, cut } : { told: [least], cut: pieces };
  }

  /** Undefined for none. */
  name(pieces: readonly RestoredPiece[]): RestoredAttachment | undefined {
    if (pieces.length === 0) return undefined;
    const lines = pieces.slice(0, this.#namesMax).map((piece) => digestLine(piece));
    const more = pieces.length - lines.length;
    const all = more > 0 ? [...lines, `- and ${more} more`] : lines;
    return this.say(`Not shown again here (${this.#name}):\n${all.join("\n")}`, collectData(pieces));
  }

  say(content: string, fields: JsonObject = {}): RestoredAttachment {
    const attachment = { type: workingStateAttachmentType, part: this.#name, content, ...fields };
    const text = attachmentText(attachment) ?? "";
    return { name: this.#name, draft: { type: "attachment", attachment }, text, tokens: this.#count(text) };
  }

  #show(piece: RestoredPiece, tokensMax: number): Shown | undefined {
    const { file } = piece;
    const text = piece.text === undefined ? undefined : escapeReminderTag(piece.text);
    if (text === undefined) return undefined;
    if (file === undefined || lineCount(text) === file.lines) {
      const whole = this.#piece(piece, { text, lines: undefined });
      if (whole.tokens <= tokensMax) return { told: whole, extent: "whole" };
    }
    if (tokensMax < restoredCutTokensMin) return undefined;
    const pointed = (head: string): RestoredAttachment => this.#cut(piece, head);
    const cutter = file === undefined ? headWithin : wholeLinesWithin;
    const head = cutter(text, (one) => pointed(one).tokens <= tokensMax);
    return head === "" ? undefined : { told: pointed(head), extent: "cut" };
  }

  #cut(piece: RestoredPiece, head: string): RestoredAttachment {
    const shown = lineCount(head);
    const total = piece.file?.lines ?? lineCount(piece.text ?? "");
    const extent = total > 1 ? `the first ${shown} of ${total} lines` : "only its beginning";
    const text = `${head}\n(${extent}; ${formatHandle(piece)})`;
    return this.#piece(piece, { text, lines: { from: 1, to: shown } });
  }

  #piece(
    { intro, file, data }: RestoredPiece,
    { text, lines }: { readonly text: string; readonly lines: ShownFile["lines"] },
  ): RestoredAttachment {
    const content = intro === undefined ? text : `${plainLine(intro)}\n${text}`;
    if (file === undefined) return this.say(content, data === undefined ? {} : { data });
    const { path, hash, modifiedMs } = file;
    const shown = { path, hash, modifiedMs, ...(lines === undefined ? {} : { lines: { ...lines } }) };
    return { ...this.say(content, { readFile: shown }), name: path, file: shown };
  }
}

interface Shown {
  readonly told: RestoredAttachment;
  readonly extent: "whole" | "cut";
}

/** Where there is not even room to name everything part by part: as many lines as fit, and how many do not. */
function nameOnly({ parts, tokensMax, count }: RestoreInput): Restoration {
  const teller = new PartWriter("digest", { count, namesMax: restoredNamesMin });
  const pieces = parts.flatMap(({ part }) => (part.kind === "failed" ? [] : part.pieces));
  const lines = parts.flatMap(({ name, part }) =>
    part.kind === "failed"
      ? [`- ${name}: ${plainLine(part.message)}`]
      : part.pieces.map((piece) => `${digestLine(piece)} (${name})`),
  );
  const said = (shown: number): RestoredAttachment => {
    const more = lines.length - shown;
    const all = more > 0 ? [...lines.slice(0, shown), `- and ${more} more`] : lines;
    const text = shown === 0 ? noRoomText(parts) : `There is no room to show these again:\n${all.join("\n")}`;
    return teller.say(text, collectData(pieces));
  };
  let shown = Math.min(lines.length, restoredNamesMin);
  while (shown > 0 && said(shown).tokens > tokensMax) shown -= 1;
  const only = said(shown);
  const withoutHandle = pieces.filter(({ handle }) => handle === undefined);
  return { attachments: [only], tokens: only.tokens, withoutHandle };
}

/** What has no room in the view has room in the log: whoever opens the session again reads the state from there. */
function collectData(pieces: readonly RestoredPiece[]): JsonObject {
  const data = pieces.flatMap((piece) => piece.data ?? []);
  return data.length === 0 ? {} : { named: data };
}

/** Not even for names: then at least of what there is more. */
const noRoomText = (parts: readonly NamedPart[]): string =>
  `There is no room to show again what you worked with (${parts.map(({ name }) => plainLine(name)).join(", ")}): look at it anew before you rely on it.`;

const failureText = (name: string, message: string): string =>
  `The state of this could not be told again (${name}): ${plainLine(message)}`;

const digestLine = (piece: RestoredPiece): string => `- ${plainLine(piece.title)}: ${formatHandle(piece)}`;

/** As long as one that names a stored text, so that a plan made before the text is stored holds afterwards. */
const laterHandle = `recall ${"0".repeat(64)}`;
const formatHandle = ({ handle }: RestoredPiece): string => plainLine(handle ?? laterHandle);

const reminderTag = /<(?=\/?system-reminder)/gi;

const plainLine = (text: string): string =>
  clipText(text.replaceAll(/\s*[\r\n]+\s*/g, " ").replaceAll(reminderTag, "‹"), restoredLineCharsMax);

const lineCount = (text: string): number => (text === "" ? 0 : text.split("\n").length);
const sum = (told: readonly RestoredAttachment[]): number => told.reduce((total, { tokens }) => total + tokens, 0);
