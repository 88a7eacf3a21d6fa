import { setTimeout as wait } from "node:timers/promises";
import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from "@earendil-works/pi-tui";
import type { ChatHandlers } from "../chat-ui.ts";
import { sanitizeLine } from "../draw/sanitize-text.ts";
import { FileCompletion, type FileCompletionDeps } from "./file-completion.ts";
import { isEditable } from "./to-editable.ts";
import { completionsMax, firstFilesMillis, completionQueryCharsMax } from "../limits.ts";
import { slashCommands, slashUsage } from "../slash/slash-commands.ts";
import { completeSlash } from "../slash/parse-slash.ts";

interface CompletionDeps extends FileCompletionDeps {
  readonly complete: ChatHandlers["complete"];
}

/** Completes commands, their arguments, and files after `@`. */
export class Completion implements AutocompleteProvider {
  readonly #deps: CompletionDeps;
  readonly #files: FileCompletion;
  #news = Promise.withResolvers<void>();

  constructor(deps: CompletionDeps) {
    this.#deps = deps;
    this.#files = new FileCompletion(deps, () => {
      this.#news.resolve();
      this.#news = Promise.withResolvers<void>();
    });
  }

  close(): void {
    this.#files.close();
  }

  async getSuggestions(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<AutocompleteSuggestions | null> {
    const line = lines[cursorLine] ?? "";
    const before = line.slice(0, cursorCol);
    const mention = findMention(line, cursorCol);
    if (mention !== undefined) return this.#suggestFiles(before.slice(mention.from), mention.typed, signal);
    const slash = cursorLine === 0 ? completeSlash(before) : { kind: "nothing" as const };
    switch (slash.kind) {
      case "nothing":
        return null;
      case "names":
        return { prefix: before, items: slash.names.map(commandItem) };
      case "rest": {
        const choices = await this.#deps.complete(slash.of, slash.typed);
        return {
          prefix: slash.typed,
          items: choices
            .filter(({ value }) => isEditable(value))
            .slice(0, completionsMax)
            .map(choiceItem),
        };
      }
    }
  }

  /** The list of files is read in the background: the first search waits a little for it, so that something is shown. */
  async #suggestFiles(prefix: string, typed: string, signal: AbortSignal): Promise<AutocompleteSuggestions> {
    const { promise: news } = this.#news;
    let paths = await this.#files.candidates(typed, signal);
    if (paths.length === 0 && !signal.aborted) {
      await Promise.race([news, wait(firstFilesMillis, undefined, { signal }).catch(() => {})]);
      paths = await this.#files.candidates(typed, signal);
    }
    return { prefix, items: paths.map((path) => ({ value: path, label: sanitizeLine(path) })) };
  }

  applyCompletion(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    { value }: AutocompleteItem,
    prefix: string,
  ): { lines: string[]; cursorLine: number; cursorCol: number } {
    const line = lines[cursorLine] ?? "";
    const from = cursorCol - prefix.length;
    const inserted = prefix.startsWith("@") ? formatMention(value) : value;
    const changed = line.slice(0, from) + inserted + line.slice(cursorCol);
    return { lines: lines.with(cursorLine, changed), cursorLine, cursorCol: from + inserted.length };
  }

  /** Tab only completes after an `@`. */
  shouldTriggerFileCompletion(lines: string[], cursorLine: number, cursorCol: number): boolean {
    return findMention(lines[cursorLine] ?? "", cursorCol) !== undefined;
  }
}

/** Without the flags: pi-tui cuts long labels, and help lists the flags. */
function commandItem(name: string): AutocompleteItem {
  const command = slashCommands.find((candidate) => candidate.name === name);
  if (command === undefined) return { value: `/${name}`, label: `/${name}` };
  return { value: `/${name} `, label: slashUsage({ ...command, flags: [] }), description: command.summary };
}

const choiceItem = ({
  value,
  label,
  description,
}: Awaited<ReturnType<ChatHandlers["complete"]>>[number]): AutocompleteItem => ({
  value,
  label: sanitizeLine(label),
  ...(description === undefined ? {} : { description: sanitizeLine(description) }),
});

/** An incomplete file name before the cursor, such as `@src/ma`. */
interface Mention {
  /** Index of the `@`. */
  readonly from: number;
  readonly typed: string;
}

/** Undefined if the cursor is not after an `@` that begins a word. The `@` of an e-mail address does not. */
export function findMention(text: string, cursor: number): Mention | undefined {
  const before = text.slice(Math.max(0, cursor - completionQueryCharsMax - 2), cursor);
  const [, quoted, bare] = /(?:^|[\s([{,;])@(?:"([^"\n]*)|([^\s"@]*))$/.exec(before) ?? [];
  const typed = quoted ?? bare;
  if (typed === undefined || typed.length > completionQueryCharsMax) return undefined;
  return { from: cursor - typed.length - (quoted === undefined ? 1 : 2), typed };
}

/** A file name in a message, quoted if it contains spaces or quotes. */
export const formatMention = (path: string): string => (/[\s"]/.test(path) ? `@"${path}" ` : `@${path} `);
