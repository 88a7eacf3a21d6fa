import { setImmediate as pause } from "node:timers/promises";
import process from "node:process";
import { ProcessTerminal, setCapabilityOverrides } from "@earendil-works/pi-tui";
import type { Millis } from "palimpsest/internal/schema/brand";
import { filesBelow } from "../tui/input/files.ts";
import type { ScreenDeps } from "../tui/screen/screen.ts";
import { processHost } from "../tui/screen/host.ts";
import { openScreen } from "../tui/screen/open-screen.ts";
import { narrowingOf } from "../tui/screen/refit.ts";
import type { Colours } from "../tui/theme/theme.ts";
import type { CommandContext } from "../command.ts";
import { wantsColour } from "../style.ts";
import type { ChatBack } from "./chat-back.ts";
import type { ChatFront, FrontHandlers } from "./front.ts";

export interface ScreenFrontInput {
  readonly context: Pick<CommandContext, "env" | "cwd">;
  readonly history: ScreenDeps["history"];
  readonly detail: ChatBack["detail"];
  readonly now: () => Millis;
}

/** The chat on this process's terminal. */
export function screenFront({ context, history, detail, now }: ScreenFrontInput, handlers: FrontHandlers): ChatFront {
  const colours = wantsColour({ isTTY: true }, context.env) ? "ansi" : "none";
  limitCapabilities(colours);
  return openScreen(
    {
      ...filesBelow(context.cwd),
      terminal: new ProcessTerminal(),
      cwd: context.cwd,
      colours,
      narrowing: narrowingOf(context.env),
      host: processHost(process),
      history,
      now,
      pause: () => pause(),
      // What can't be read shows nothing: the log may be gone, and the chat goes on.
      detail: (item) => Promise.try(() => detail(handlers.session, item)).catch(() => ({ kind: "nothing" })),
    },
    handlers,
  );
}

/**
 * No links are drawn; asked whether it has them, pi-tui would run a program within tmux, before the first prompt. Without
 * colour there is no image either: it is a sequence.
 */
const limitCapabilities = (colours: Colours): void =>
  setCapabilityOverrides({ hyperlinks: false, ...(colours === "none" ? { images: null } : {}) });
