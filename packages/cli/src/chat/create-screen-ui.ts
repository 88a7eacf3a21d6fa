import { setImmediate as pause } from "node:timers/promises";
import process from "node:process";
import { ProcessTerminal, setCapabilityOverrides } from "@earendil-works/pi-tui";
import type { Millis } from "palimpsest/internal/schema/brand";
import { listFilesBelow } from "../tui/input/file-completion.ts";
import { type ScreenDeps, openScreen } from "../tui/screen/open-screen.ts";
import { createScreenProcess } from "../tui/screen/terminal-owner.ts";
import { detectLongLineMode } from "../tui/screen/chat-tui.ts";
import type { Colours } from "../tui/theme.ts";
import type { CommandContext } from "../program/command.ts";
import { wantsColour } from "../text/style.ts";
import type { ChatHost } from "./chat-host.ts";
import type { TerminalUi, TerminalUiHandlers } from "./terminal-ui.ts";

export interface ScreenUiInput {
  readonly context: Pick<CommandContext, "env" | "cwd">;
  readonly history: ScreenDeps["history"];
  readonly detail: ChatHost["detail"];
  readonly now: () => Millis;
}

/** The chat on this process's terminal. */
export function createScreenUi(
  { context, history, detail, now }: ScreenUiInput,
  handlers: TerminalUiHandlers,
): TerminalUi {
  const colours = wantsColour({ isTTY: true }, context.env) ? "ansi" : "none";
  limitCapabilities(colours);
  return openScreen(
    {
      ...listFilesBelow(context.cwd),
      terminal: new ProcessTerminal(),
      cwd: context.cwd,
      colours,
      narrowing: detectLongLineMode(context.env),
      host: createScreenProcess(process),
      history,
      now,
      pause: () => pause(),
      // A detail that can't be read shows nothing: the log may be gone, and the chat continues.
      detail: (item) => Promise.try(() => detail(handlers.session, item)).catch(() => ({ kind: "nothing" })),
    },
    handlers,
  );
}

/**
 * No links are drawn: to detect them, pi-tui would run a program within tmux before the first prompt. Without colour
 * there are no images either, since an image is an escape sequence.
 */
const limitCapabilities = (colours: Colours): void =>
  setCapabilityOverrides({ hyperlinks: false, ...(colours === "none" ? { images: null } : {}) });
