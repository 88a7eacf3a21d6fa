import type { MessageId } from "../schema/brand.ts";
import { editText } from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { field, isObject, type JsonObject, text } from "../schema/json.ts";
import type { ReceiptClass } from "../schema/receipt.ts";
import { attachmentText } from "../transcript/attachment.ts";
import { typedText } from "../transcript/person.ts";
import { type Contents, numberIn } from "./content.ts";
import type {
  AttachmentPart,
  BoundaryPart,
  EditPart,
  FormatMode,
  MessagePart,
  NotePart,
  Part,
  ReceiptTotals,
} from "./document.ts";
import type { SourceLine, SourceLog } from "./source-log.ts";

export interface PartsOptions {
  readonly contents: Contents;
  readonly mode: FormatMode;
  readonly undone: SourceLog["undone"];
}

/** Entries of one line of conversation as a person reads them: replies whole, a boundary with its summary. */
export function partsOf(lines: readonly SourceLine[], options: PartsOptions): Part[] {
  const parts: Part[] = [];
  let reply: MessageId | undefined;
  for (const [at, line] of lines.entries()) {
    const { entry } = line;
    if (options.mode === "plain" && entry.kind !== "user" && entry.kind !== "assistant") continue;
    const part = partOf(line, options, lines[at + 1]);
    if (part === undefined) continue;
    const last = parts.at(-1);
    const goesOn = entry.kind === "assistant" && entry.messageId !== undefined && entry.messageId === reply;
    if (goesOn && part.kind === "message" && last?.kind === "message")
      parts[parts.length - 1] = { ...last, blocks: [...last.blocks, ...part.blocks] };
    else parts.push(part);
    reply = entry.kind === "assistant" ? entry.messageId : undefined;
  }
  return parts;
}

function partOf(line: SourceLine, options: PartsOptions, next: SourceLine | undefined): Part | undefined {
  const { entry, raw } = line;
  switch (entry.kind) {
    case "user":
      // Told with the boundary before it.
      if (entry.summary) return undefined;
      return messagePart(line, typedText({ ...entry, sidechain: false }) === undefined ? "engine" : "user", options);
    case "assistant":
      if (!entry.synthetic) return messagePart(line, "assistant", options);
      return { kind: "note", at: atOf(entry), text: wordsOf(entry) } satisfies NotePart;
    case "attachment": {
      const said = attachmentText(entry.attachment);
      const name = [
        text(entry.attachment, "type") ?? "attachment",
        text(entry.attachment, "filename") ?? text(entry.attachment, "path"),
      ]
        .filter((word) => word !== undefined)
        .join(" ");
      return said === undefined
        ? undefined
        : ({ kind: "attachment", name, at: atOf(entry), text: said } satisfies AttachmentPart);
    }
    case "edit":
      return editPart({ entry, raw, next }, options);
    case "other":
      return notePart(raw, entry);
  }
}

function messagePart(line: SourceLine, who: MessagePart["who"], options: PartsOptions): MessagePart | undefined {
  const { entry, raw } = line;
  if (entry.kind !== "user" && entry.kind !== "assistant") return undefined;
  const blocks = options.contents.blocksOf(entry.blocks);
  if (blocks.length === 0) return undefined;
  const message = field(raw, "message");
  const model = isObject(message) ? text(message, "model") : undefined;
  return {
    kind: "message",
    who,
    id: entry.id ?? "",
    at: atOf(entry),
    ...(model === undefined ? {} : { model }),
    blocks,
  };
}

interface EditLine {
  readonly entry: EditEntry;
  readonly raw: JsonObject;
  readonly next: SourceLine | undefined;
}

function editPart({ entry, raw, next }: EditLine, { undone }: PartsOptions): EditPart | BoundaryPart {
  const { id, edit } = entry;
  const receipt = receiptIn(raw);
  const base = {
    id,
    at: atOf(entry),
    state: undone.has(id) ? "undone" : "in force",
    ...(receipt === undefined ? {} : { receipt }),
  } as const;
  if (edit.type !== "boundary") return { kind: "edit", name: edit.type, what: editText(edit), ...base };
  const { trigger, preTokens } = edit.metadata;
  const what = [trigger, preTokens === undefined ? undefined : `${preTokens} tokens before`];
  const summary = next?.entry.kind === "user" && next.entry.summary ? wordsOf(next.entry) : "";
  return { kind: "boundary", what: what.filter((word) => word !== undefined).join(", "), summary, ...base };
}

const classes: readonly ReceiptClass[] = ["kept", "stubbed", "summarised", "dropped", "added", "restored"];

function receiptIn(raw: JsonObject): ReceiptTotals | undefined {
  const receipt = field(raw, "receipt");
  if (!isObject(receipt)) return undefined;
  const entries = field(receipt, "entries");
  const price = field(receipt, "price");
  const cause = text(receipt, "cause");
  const tokensBefore = numberIn(receipt, "tokensBefore");
  const tokensAfter = numberIn(receipt, "tokensAfter");
  const breakEvenRounds = isObject(price) ? numberIn(price, "breakEvenRounds") : undefined;
  return {
    ...(cause === undefined ? {} : { cause }),
    ...(tokensBefore === undefined ? {} : { tokensBefore }),
    ...(tokensAfter === undefined ? {} : { tokensAfter }),
    ...(breakEvenRounds === undefined ? {} : { breakEvenRounds }),
    entries: classes.flatMap((name) => {
      const amount = isObject(entries) ? numberIn(entries, name) : undefined;
      return amount === undefined ? [] : [[name, amount] as const];
    }),
  };
}

/** Lines of the system that a person saw; progress, snapshots and the like are counted in the header only. */
function notePart(raw: JsonObject, entry: Entry): NotePart | undefined {
  const content = text(raw, "content");
  if (text(raw, "type") !== "system" || content === undefined || content.trim() === "") return undefined;
  return { kind: "note", at: atOf(entry), text: content };
}

const atOf = (entry: Entry): string => entry.timestamp ?? "";

function wordsOf(entry: Entry): string {
  if (entry.kind !== "user" && entry.kind !== "assistant") return "";
  return entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
