import { setTimeout as wait } from "node:timers/promises";
import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from "@earendil-works/pi-tui";
import type { ChatHandlers } from "../chat-ui.ts";
import { shownLine } from "../draw/shown-text.ts";
import { FileCompletion, type FileCompletionDeps } from "../input/files.ts";
import { isEditable } from "../input/editable.ts";
import { mentionAt, mentionOf } from "../input/mention.ts";
import { completionsMax } from "../limits.ts";
import { slashCommands, usageOf } from "../slash/commands.ts";
import { completeSlash } from "../slash/complete.ts";
import { firstFilesMillis } from "./limits.ts";

export interface CompletionDeps extends FileCompletionDeps {
  readonly complete: ChatHandlers["complete"];
}

/** Candidates for commands, what follows them, and files behind `@`. */
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
    const mention = mentionAt(line, cursorCol);
    if (mention !== undefined) return this.#ofFiles(before.slice(mention.from), mention.typed, signal);
    const slash = cursorLine === 0 ? completeSlash(before) : { kind: "nothing" as const };
    switch (slash.kind) {
      case "nothing":
        return null;
      case "names":
        return { prefix: before, items: slash.names.map(itemOfCommand) };
      case "rest": {
        const choices = await this.#deps.complete(slash.of, slash.typed);
        return {
          prefix: slash.typed,
          items: choices
            .filter(({ value }) => isEditable(value))
            .slice(0, completionsMax)
            .map(itemOfChoice),
        };
      }
    }
  }

  /** The list of files comes in the background: the first letters wait a little for it, so that something is shown. */
  async #ofFiles(prefix: string, typed: string, signal: AbortSignal): Promise<AutocompleteSuggestions> {
    const { promise: news } = this.#news;
    let paths = await this.#files.candidates(typed, signal);
    if (paths.length === 0 && !signal.aborted) {
      await Promise.race([news, wait(firstFilesMillis, undefined, { signal }).catch(() => {})]);
      paths = await this.#files.candidates(typed, signal);
    }
    return { prefix, items: paths.map((path) => ({ value: path, label: shownLine(path) })) };
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
    const inserted = prefix.startsWith("@") ? mentionOf(value) : value;
    const changed = line.slice(0, from) + inserted + line.slice(cursorCol);
    return { lines: lines.with(cursorLine, changed), cursorLine, cursorCol: from + inserted.length };
  }

  /** Tab behind anything else than an `@` completes nothing. */
  shouldTriggerFileCompletion(lines: string[], cursorLine: number, cursorCol: number): boolean {
    return mentionAt(lines[cursorLine] ?? "", cursorCol) !== undefined;
  }
}

/** Without the flags: pi-tui cuts what is longer than its column, and help has them. */
function itemOfCommand(name: string): AutocompleteItem {
  const command = slashCommands.find((one) => one.name === name);
  if (command === undefined) return { value: `/${name}`, label: `/${name}` };
  return { value: `/${name} `, label: usageOf({ ...command, flags: [] }), description: command.summary };
}

const itemOfChoice = ({
  value,
  label,
  description,
}: Awaited<ReturnType<ChatHandlers["complete"]>>[number]): AutocompleteItem => ({
  value,
  label: shownLine(label),
  ...(description === undefined ? {} : { description: shownLine(description) }),
});
