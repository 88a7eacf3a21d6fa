import type { ChatStatusline } from "./chat-statusline.ts";
import type { TerminalUi } from "../chat/terminal-ui.ts";

export interface OnDemandStatusline extends ChatStatusline {
  /** Attaches the UI that shows its lines. */
  readonly behind: (front: TerminalUi) => TerminalUi;
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
  let front: TerminalUi | undefined;
  let now: StatuslineState = { kind: "unknown" };
  const seek = async (meanwhile: StatuslineChange[]): Promise<void> => {
    now = { kind: "sought", meanwhile };
    const line = await find((lines) => front?.setStatusline?.(lines));
    if (isClosed(now)) return line?.close();
    now = line === undefined ? { kind: "none" } : { kind: "found", line };
    for (const change of meanwhile) line?.changed(...change);
  };
  return {
    changed: (...change) => {
      switch (now.kind) {
        case "unknown":
          return void seek([change]);
        case "sought":
          return void now.meanwhile.push(change);
        case "found":
          return now.line.changed(...change);
        case "none":
          return undefined;
      }
    },
    close: () => {
      if (now.kind === "found") now.line.close();
      now = { kind: "none" };
    },
    behind: (of) => (front = of),
  };
}

const isClosed = ({ kind }: StatuslineState): boolean => kind === "none";
