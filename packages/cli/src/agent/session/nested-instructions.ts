import { hash } from "node:crypto";
import { lstat, realpath } from "node:fs/promises";
import { z } from "zod";
import type { InstructionFiles } from "palimpsest/internal/memory/instruction-files";
import {
  type LoadedNested,
  loadNestedInstructions,
  type NestedInstruction,
  type NestedSource,
} from "palimpsest/internal/memory/load-nested-instructions";
import type { ReadFiles } from "palimpsest/internal/ports/tool";
import { type RestoreRequest, usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { field, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";
import {
  escapeReminderTag,
  nestedMemoryAttachmentType,
  nestedPartName,
} from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { hashText } from "../system-prompt/announcement.ts";
import { renderChange } from "../system-prompt/render-change.ts";
import type { Prefix } from "../system-prompt/render-prefix.ts";
import { instructionText } from "palimpsest/internal/memory/instruction-text";

/** Instructions for a part of the project, as the model gets them. */
interface NestedPiece {
  readonly instruction: NestedInstruction;
  readonly realPath: string;
  readonly text: string;
  readonly hash: string;
}

/** What the view says about instructions for a part of the project. */
interface NestedStatement {
  readonly entry: EntryId;
  readonly path: string;
  readonly realPath: string;
  /** Of the text that counts since then; `absent`: the file is gone. */
  readonly hash: string;
  readonly source: NestedSource;
  /** `change`: only the difference to an earlier statement. */
  readonly form: "whole" | "change" | "removal";
  readonly text?: string | undefined;
}

interface NestedDeps {
  readonly source: InstructionFiles;
  readonly fold: () => Fold;
  /** By the current rules. */
  readonly mayRead: (path: string) => boolean;
}

interface NestedNews {
  readonly drafts: readonly Draft[];
  /** Those that the model has not seen before. */
  readonly added: readonly NestedInstruction[];
  readonly problems: readonly string[];
}

/**
 * Instructions of folders and rules that a read or changed file brings into the conversation. The view decides what is
 * due: each text stands in it once, after a resume nothing is repeated, and what an undo removed is due again.
 */
export class NestedInstructions {
  readonly #deps: NestedDeps;
  /** Texts of this run: a difference can only be shown against a text that is at hand. */
  readonly #textByHash = new Map<string, string>();

  constructor(deps: NestedDeps) {
    this.#deps = deps;
  }

  /** Whether the view states the instructions of this file. */
  isStated(realPath: string): boolean {
    return nestedStatements(this.#deps.fold()).some((statement) => statement.realPath === realPath);
  }

  /** What to append before the next request. */
  async news(prefix: NestedPrefix, files: ReadFiles): Promise<NestedNews> {
    const statements = nestedStatements(this.#deps.fold());
    const touched = Array.from(files.entries(), ([path]) => path);
    const { pieces, problems } = await this.#load(prefix, { touched, statements });
    const newestByPath = new Map(statements.map((statement) => [statement.path, statement]));
    const drafts: Draft[] = [];
    const added: NestedInstruction[] = [];
    for (const piece of pieces) {
      const known = newestByPath.get(piece.instruction.path);
      if (known?.hash === piece.hash) continue;
      if (known !== undefined && known.form !== "removal") drafts.push(this.#changeDraft(piece, known));
      else if (!isWhollyRead(piece, files)) {
        drafts.push(await wholeDraft(piece));
        added.push(piece.instruction);
      }
    }
    const present = new Set([...pieces.map(({ instruction }) => instruction.path), ...headerPaths(prefix)]);
    for (const known of newestByPath.values())
      if (known.form !== "removal" && !present.has(known.path) && this.#deps.mayRead(known.realPath))
        drafts.push(removalDraft(known));
    return { drafts, added, problems };
  }

  /** The instructions in the view, as they are on disk when a boundary is written: a summary does not carry them. */
  part(render: () => Promise<NestedPrefix>): WorkingStatePart {
    return {
      name: nestedPartName,
      stability: usualStability.nested,
      snapshot: async ({ budgets: { tokensMax }, isKept }) => {
        const statements = nestedStatements(this.#deps.fold());
        if (statements.length === 0) return undefined;
        const { pieces } = await this.#load(await render(), { touched: [], statements });
        const due = pieces.filter((piece) => !isStatedInKept(piece, { statements, isKept }));
        const restored = await Promise.all(due.map(restorePiece));
        // The user's instructions are cut only if nothing else helps.
        const budget = { pieceTokensMax: tokensMax, tokensMax };
        return restored.length === 0 ? undefined : { kind: "state", pieces: restored, budget };
      },
    };
  }

  /** The instructions that the view states, as they are on disk now. */
  async reread(prefix: NestedPrefix): Promise<readonly NestedInstruction[]> {
    const statements = nestedStatements(this.#deps.fold());
    const { pieces } = await this.#load(prefix, { touched: [], statements });
    return pieces.map(({ instruction }) => instruction);
  }

  async #load(
    { place, instructions }: NestedPrefix,
    { touched, statements }: { readonly touched: readonly string[]; readonly statements: readonly NestedStatement[] },
  ): Promise<Pick<LoadedNested, "problems"> & { readonly pieces: readonly NestedPiece[] }> {
    const again = statements.map(({ source }) => source);
    const { files, problems } = await loadNestedInstructions(this.#deps.source, {
      place,
      start: instructions,
      touched,
      again,
    });
    const pieces = (await Promise.all(files.map(toPiece))).filter(({ realPath }) => this.#deps.mayRead(realPath));
    for (const { hash: key, text } of pieces) this.#textByHash.set(key, text);
    return { pieces, problems };
  }

  #changeDraft(piece: NestedPiece, known: NestedStatement): Draft {
    const before = this.#textByHash.get(known.hash) ?? known.text ?? "";
    const { path: name } = piece.instruction;
    const shown = renderChange({ kind: "system-changed", piece: { name, text: piece.text }, before }) ?? "";
    return draftNested(shown, statementData(piece, "change"));
  }
}

export type NestedPrefix = Pick<Prefix, "place" | "instructions">;

const headerPaths = ({ instructions }: NestedPrefix): readonly string[] => instructions.files.map(({ path }) => path);

async function toPiece(instruction: NestedInstruction): Promise<NestedPiece> {
  const text = instructionText(instruction, reachText(instruction));
  const realPath = await realpath(instruction.path).catch(() => instruction.path);
  return { instruction, realPath, text, hash: hashText(text) };
}

const reachText = ({ source, patterns = [] }: NestedInstruction): string =>
  source.kind === "folder" ? `for what is in ${source.folder}` : `for files that match ${patterns.join(", ")}`;

/** The model has read the file itself, and its text is still in the view. */
function isWhollyRead({ realPath, instruction }: NestedPiece, files: ReadFiles): boolean {
  const read = files.get(realPath);
  return read !== undefined && read.lines === undefined && read.hash === instruction.hash;
}

const draftNested = (shown: string, fields: JsonObject): Draft => ({
  type: "attachment",
  attachment: { type: nestedMemoryAttachmentType, shown: escapeReminderTag(shown), ...fields },
});

async function wholeDraft(piece: NestedPiece): Promise<Draft> {
  const { path } = piece.instruction;
  const readFile = await readRecord(piece);
  return draftNested(piece.text, {
    path,
    ...statementData(piece, "whole"),
    ...(readFile === undefined ? {} : { readFile }),
  });
}

const removalDraft = ({ path, realPath, source }: NestedStatement): Draft =>
  draftNested(renderChange({ kind: "system-removed", name: path }) ?? "", {
    path,
    data: { nested: { path, realPath, source: { ...source }, hash: "absent", form: "removal" } },
  });

const statementData = (
  { instruction: { path, source }, realPath, hash: stated }: NestedPiece,
  form: NestedStatement["form"],
): JsonObject => ({ data: { nested: { path, realPath, source: { ...source }, hash: stated, form } } });

/**
 * The file counts as read, so that it can be changed without another read; undefined if the model sees less than the
 * file holds, such as a text without its comments.
 */
async function readRecord({ realPath, instruction }: NestedPiece): Promise<FileRecord | undefined> {
  const { text, hash: fileHash } = instruction;
  const isWhole = [text, `${text}\n`].some((whole) => hash("sha256", whole) === fileHash);
  const stats = isWhole ? await lstat(realPath).catch(() => undefined) : undefined;
  return stats === undefined ? undefined : { path: realPath, hash: fileHash, modifiedMs: stats.mtimeMs };
}

// A type, not an interface: it is stored as JSON.
type FileRecord = { readonly path: string; readonly hash: string; readonly modifiedMs: number };

async function restorePiece(piece: NestedPiece): Promise<RestoredPiece> {
  const file = await readRecord(piece);
  const { path } = piece.instruction;
  return {
    title: path,
    text: piece.text,
    handle: "read it before you work on what it counts for",
    ...statementData(piece, "whole"),
    ...(file === undefined ? {} : { file: { ...file, lines: piece.text.split("\n").length } }),
  };
}

/** Whether messages that a boundary keeps state the current text. */
function isStatedInKept(
  { instruction: { path }, hash: current }: NestedPiece,
  { statements, isKept }: Pick<RestoreRequest, "isKept"> & { readonly statements: readonly NestedStatement[] },
): boolean {
  const kept = statements.filter((statement) => statement.path === path && isKept(statement.entry));
  const whole = kept.findLastIndex(({ form }) => form === "whole");
  return whole !== -1 && kept.at(-1)?.hash === current;
}

const sourceShape = z.union([
  z.object({ kind: z.literal("folder"), folder: z.string() }),
  z.object({ kind: z.literal("rule"), rule: z.string() }),
]);
const statementShape = z.object({
  nested: z.object({
    path: z.string(),
    realPath: z.string(),
    hash: z.string(),
    source: sourceShape,
    form: z.enum(["whole", "change", "removal"]),
  }),
});

/** Oldest first, without what an undo or a boundary removed from the view. */
function nestedStatements({ path, projection }: Fold): readonly NestedStatement[] {
  return projection.items.flatMap(({ entry: id, attachment }) => {
    const entry = attachment === undefined ? undefined : path.find(id)?.entry;
    if (entry?.kind !== "attachment") return [];
    const read = statementShape.safeParse(field(entry.attachment, "data"));
    if (!read.success) return [];
    const { nested } = read.data;
    return [{ entry: id, ...nested, text: nested.form === "whole" ? textField(entry.attachment, "shown") : undefined }];
  });
}
