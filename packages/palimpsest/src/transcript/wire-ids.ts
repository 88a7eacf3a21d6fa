import { callIdForm } from "../schema/block.ts";
import { type ToolUseId, toolUseId } from "../schema/brand.ts";

/** Ids under which calls are sent: their own, unless the API would refuse it or an id made up for another call is the same. */
export class WireIds {
  readonly #isTaken: (id: ToolUseId) => boolean;
  readonly #wireIdByCall = new Map<ToolUseId, ToolUseId>();
  readonly #callByMadeUpId = new Map<ToolUseId, ToolUseId>();

  constructor(isTaken: (id: ToolUseId) => boolean) {
    this.#isTaken = isTaken;
  }

  of(id: ToolUseId): ToolUseId {
    return this.#wireIdByCall.get(id) ?? id;
  }

  /** The id by which the log and its edits name what is sent under this one. */
  loggedId(sent: ToolUseId): ToolUseId {
    return this.#callByMadeUpId.get(sent) ?? sent;
  }

  /** For a call that is not in the view yet. */
  take(id: ToolUseId): ToolUseId {
    if (callIdForm.test(id) && !this.#callByMadeUpId.has(id)) return id;
    const known = this.#wireIdByCall.get(id);
    if (known !== undefined) return known;
    const base = `call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
    let wired = toolUseId(base);
    for (let n = 2; this.#isTaken(wired) || this.#callByMadeUpId.has(wired); n += 1) wired = toolUseId(`${base}_${n}`);
    this.#wireIdByCall.set(id, wired);
    this.#callByMadeUpId.set(wired, id);
    return wired;
  }
}
