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
  /** Items that the boundary leaves in the view. */
  readonly items: readonly Item[];
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
}

/** Returns a check whether what stays in the view shows a result or an attachment unchanged. */
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
  /** In the order of the attachments. */
  readonly parts: readonly NamedPart[];
  readonly tokensMax: number;
  /** Counts a text in the view. */
  readonly count: (text: string) => number;
}

export interface Restoration {
  readonly attachments: readonly RestoredAttachment[];
  readonly tokens: number;
  /** Pieces that are not shown whole and have no handle yet to get them back. */
  readonly withoutHandle: readonly RestoredPiece[];
}

/** One attachment behind the boundary. */
interface RestoredAttachment {
  /** For users: the path of a file, else the part. */
  readonly name: string;
  readonly draft: Draft;
  /** The text in the view. */
  readonly text: string;
  readonly tokens: number;
  /** The file that it shows, or the part of it. */
  readonly file?: ShownFile;
}

interface ShownFile extends Omit<RestoredFile, "lines"> {
  /** Counted from 1. Undefined for the whole file. */
  readonly lines?: { readonly from: number; readonly to: number };
}

/**
 * Plans what is restored behind a boundary, never over `tokensMax`. Each part starts with room to name everything it
 * has. What is left is given out in order, so that the parts that change least are also the last to be cut. Whatever is
 * not shown whole is named, with a handle.
 */
export function planRestoration(input: RestoreInput): Restoration {
  const { parts, tokensMax, count } = input;
  const shares = parts.flatMap(({ name, part }): Share[] => {
    const writer = new PartWriter(name, { count, namesMax: namesWithin(tokensMax) });
    const least = part.kind === "failed" ? writer.say(failureText(name, part.message)) : writer.name(part.pieces);
    return least === undefined ? [] : [{ part, writer, least }];
  });
  let left = tokensMax - sum(shares.map(({ least }) => least));
  if (left < 0) return nameOnly(input);
  const attachments: RestoredAttachment[] = [];
  const withoutHandle: RestoredPiece[] = [];
  for (const { part, writer, least } of shares) {
    const room = left + least.tokens;
    const restored = part.kind === "failed" ? { attachments: [least], cut: [] } : writer.restore({ part, room, least });
    attachments.push(...restored.attachments);
    withoutHandle.push(...restored.cut.filter(({ handle }) => handle === undefined));
    left = room - sum(restored.attachments);
  }
  return { attachments, tokens: sum(attachments), withoutHandle };
}

interface Share {
  readonly part: RestoredPart;
  readonly writer: PartWriter;
  /** What the part shows if it has no room at all. */
  readonly least: RestoredAttachment;
}

interface PartRestoration {
  readonly attachments: readonly RestoredAttachment[];
  readonly cut: readonly RestoredPiece[];
}

const namesWithin = (tokensMax: number): number =>
  Math.max(restoredNamesMin, Math.min(restoredNamesMax, Math.floor(tokensMax / restoredTokensPerName)));

/** Writes the pieces of one part. */
class PartWriter {
  readonly #name: string;
  readonly #count: RestoreInput["count"];
  readonly #namesMax: number;

  constructor(name: string, { count, namesMax }: Pick<RestoreInput, "count"> & { readonly namesMax: number }) {
    this.#name = name;
    this.#count = count;
    this.#namesMax = namesMax;
  }

  restore({
    part: { pieces, budget },
    room,
    least,
  }: {
    readonly part: Extract<RestoredPart, { kind: "state" }>;
    readonly room: number;
    readonly least: RestoredAttachment;
  }): PartRestoration {
    const tokensMax = Math.min(room, Math.max(budget.tokensMax, least.tokens));
    const attachments: RestoredAttachment[] = [];
    const cut: RestoredPiece[] = [];
    const named: RestoredPiece[] = [];
    for (const [at, piece] of pieces.entries()) {
      const rest = [...named, ...pieces.slice(at + 1)];
      const free = tokensMax - sum(attachments) - (this.name(rest)?.tokens ?? 0);
      const mayShow = attachments.length < (budget.piecesMax ?? Number.POSITIVE_INFINITY);
      const shown = mayShow ? this.#show(piece, Math.min(free, budget.pieceTokensMax)) : undefined;
      if (shown === undefined) named.push(piece);
      else attachments.push(shown.attachments);
      if (shown?.extent !== "whole") cut.push(piece);
    }
    const digest = this.name(named);
    const all = digest === undefined ? attachments : [...attachments, digest];
    // The estimate for a part of a text may exceed that for the whole.
    return sum(all) <= room ? { attachments: all, cut } : { attachments: [least], cut: pieces };
  }

  /** Names the pieces without showing them. Undefined if there are none. */
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
      if (whole.tokens <= tokensMax) return { attachments: whole, extent: "whole" };
    }
    if (tokensMax < restoredCutTokensMin) return undefined;
    const cutTo = (head: string): RestoredAttachment => this.#cut(piece, head);
    const cutter = file === undefined ? headWithin : wholeLinesWithin;
    const head = cutter(text, (candidate) => cutTo(candidate).tokens <= tokensMax);
    return head === "" ? undefined : { attachments: cutTo(head), extent: "cut" };
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
    const fields = data === undefined ? {} : { data };
    if (file === undefined) return this.say(content, fields);
    const { path, hash, modifiedMs } = file;
    const shown = { path, hash, modifiedMs, ...(lines === undefined ? {} : { lines: { ...lines } }) };
    return { ...this.say(content, { readFile: shown, ...fields }), name: path, file: shown };
  }
}

interface Shown {
  readonly attachments: RestoredAttachment;
  readonly extent: "whole" | "cut";
}

/** If there is not even room to name everything part by part: as many lines as fit, and how many do not. */
function nameOnly({ parts, tokensMax, count }: RestoreInput): Restoration {
  const writer = new PartWriter("digest", { count, namesMax: restoredNamesMin });
  const pieces = parts.flatMap(({ part }) => (part.kind === "failed" ? [] : part.pieces));
  const lines = parts.flatMap(({ name, part }) =>
    part.kind === "failed"
      ? [`- ${name}: ${plainLine(part.message)}`]
      : part.pieces.map((piece) => `${digestLine(piece)} (${name})`),
  );
  const attachmentWith = (shown: number): RestoredAttachment => {
    const more = lines.length - shown;
    const all = more > 0 ? [...lines.slice(0, shown), `- and ${more} more`] : lines;
    const text = shown === 0 ? noRoomText(parts) : `There is no room to show these again:\n${all.join("\n")}`;
    return writer.say(text, collectData(pieces));
  };
  let shown = Math.min(lines.length, restoredNamesMin);
  while (shown > 0 && attachmentWith(shown).tokens > tokensMax) shown -= 1;
  const only = attachmentWith(shown);
  const withoutHandle = pieces.filter(({ handle }) => handle === undefined);
  return { attachments: [only], tokens: only.tokens, withoutHandle };
}

/** What has no room in the view is still logged, for when the session is opened again. */
function collectData(pieces: readonly RestoredPiece[]): JsonObject {
  const data = pieces.flatMap((piece) => piece.data ?? []);
  return data.length === 0 ? {} : { named: data };
}

/** If there is not even room for names: lists the parts. */
const noRoomText = (parts: readonly NamedPart[]): string =>
  `There is no room to show again what you worked with (${parts.map(({ name }) => plainLine(name)).join(", ")}): look at it anew before you rely on it.`;

const failureText = (name: string, message: string): string =>
  `The state of this could not be told again (${name}): ${plainLine(message)}`;

const digestLine = (piece: RestoredPiece): string => `- ${plainLine(piece.title)}: ${formatHandle(piece)}`;

/** As long as the handle of a stored text, so that a plan made before the text is stored still holds afterwards. */
const laterHandle = `recall ${"0".repeat(64)}`;
const formatHandle = ({ handle }: RestoredPiece): string => plainLine(handle ?? laterHandle);

const reminderTag = /<(?=\/?system-reminder)/gi;

const plainLine = (text: string): string =>
  clipText(text.replaceAll(/\s*[\r\n]+\s*/g, " ").replaceAll(reminderTag, "‹"), restoredLineCharsMax);

const lineCount = (text: string): number => (text === "" ? 0 : text.split("\n").length);
const sum = (attachments: readonly RestoredAttachment[]): number =>
  attachments.reduce((total, { tokens }) => total + tokens, 0);
