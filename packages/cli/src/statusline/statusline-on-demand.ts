import type { ChatStatusline } from "./chat-statusline.ts";
import type { TerminalUi } from "../chat/terminal-ui.ts";

export interface OnDemandStatusline extends ChatStatusline {
  /** Attaches the UI that shows its lines. */
  readonly behind: (ui: TerminalUi) => TerminalUi;
}

type FindStatusline = (show: (lines: readonly string[]) => void) => Promise<ChatStatusline | undefined>;
type StatuslineChange = Parameters<ChatStatusline["changed"]>;

type StatuslineState =
  | { readonly kind: "unknown" }
  /** `meanwhile`: the changes since; they are passed on once it is found. */
  | { readonly kind: "sought"; readonly meanwhile: StatuslineChange[] }
  | { readonly kind: "found"; readonly line: ChatStatusline }
  | { readonly kind: "none" };

/** Finds the command only when there is an agent to report on. */
export function statuslineOnDemand(find: FindStatusline): OnDemandStatusline {
  let ui: TerminalUi | undefined;
  let state: StatuslineState = { kind: "unknown" };
  const load = async (meanwhile: StatuslineChange[]): Promise<void> => {
    state = { kind: "sought", meanwhile };
    const line = await find((lines) => ui?.setStatusline?.(lines));
    if (isClosed(state)) return line?.close();
    state = line === undefined ? { kind: "none" } : { kind: "found", line };
    for (const change of meanwhile) line?.changed(...change);
  };
  const close = (): void => {
    if (state.kind === "found") state.line.close();
    state = { kind: "none" };
  };
  const giveUp = (): void => {
    if (isClosed(state)) return;
    close();
    ui?.setStatusline?.(["The statusline could not be loaded."]);
  };
  return {
    changed: (...change) => {
      switch (state.kind) {
        case "unknown":
          return void load([change]).catch(giveUp);
        case "sought":
          return void state.meanwhile.push(change);
        case "found":
          return state.line.changed(...change);
        case "none":
          return undefined;
      }
    },
    close,
    behind: (attached) => (ui = attached),
  };
}

const isClosed = ({ kind }: StatuslineState): boolean => kind === "none";
