import { filesReadMax } from "palimpsest/internal/layers/4-compact/fact-limits";
import { type CallSubject, subjectOf } from "palimpsest/internal/layers/4-compact/call-subject";
import { resultText } from "palimpsest/internal/layers/2-clear/result-text";
import type { ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { text } from "palimpsest/internal/schema/json";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";

interface OpenCall {
  readonly call: ToolUseBlock;
  readonly subject: Extract<CallSubject, { kind: "file" }>;
}

/**
 * The files that a recording has read or changed, with the newest content that it shows of them: what a read returned or
 * a write was given. After any other change a file still has the text that it was last shown with.
 */
export class KnownFiles {
  readonly #open = new Map<ToolUseId, OpenCall>();
  /** The newest last. */
  readonly #textByPath = new Map<string, string | undefined>();

  heard(entry: Entry): void {
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") this.#called(block);
      if (block.type === "tool_result") this.#answered(block);
    }
  }

  /** Newest first, as they are put back. */
  get pieces(): readonly RestoredPiece[] {
    return [...this.#textByPath].toReversed().map(([title, shown]) => ({
      title,
      handle: "read it again when you need it",
      ...(shown === undefined ? {} : { intro: `Content of ${title}, read again just now:`, text: shown }),
    }));
  }

  #called(call: ToolUseBlock): void {
    const subject = subjectOf(call);
    if (subject.kind === "file") this.#open.set(call.id, { call, subject });
  }

  #answered(result: ToolResultBlock): void {
    const open = this.#open.get(result.tool_use_id);
    this.#open.delete(result.tool_use_id);
    if (open === undefined || result.is_error === true) return;
    const { call, subject } = open;
    const shown = subject.act === "read" ? resultText(result) : text(call.input, "content");
    for (const path of subject.paths) this.#keep(path, shown ?? this.#textByPath.get(path));
  }

  #keep(path: string, shown: string | undefined): void {
    this.#textByPath.delete(path);
    this.#textByPath.set(path, shown);
    if (this.#textByPath.size <= filesReadMax) return;
    const [oldest] = this.#textByPath.keys();
    if (oldest !== undefined) this.#textByPath.delete(oldest);
  }
}
