import type { ClockDep } from "palimpsest/internal/ports/clock";
import { drawItem } from "../draw/item.ts";
import { GrowingMarkdown } from "../draw/growing-markdown.ts";
import { cut, fitted } from "../draw/lines.ts";
import { drawPhase } from "../draw/phase-line.ts";
import { drawQueue } from "../draw/queue-lines.ts";
import { shownLine } from "../draw/shown-text.ts";
import { drawStatus } from "../draw/status-line.ts";
import { drawWarning } from "../draw/warning-line.ts";
import type { Theme } from "../theme/theme.ts";
import type { Drawing } from "./drawing.ts";

export interface ChatDrawingDeps extends ClockDep {
  readonly theme: Theme;
  readonly cwd: string;
}

export const chatDrawing = ({ theme, cwd, now }: ChatDrawingDeps): Drawing => ({
  item: (item, look) => drawItem(item, { ...look, theme, cwd }),
  growing: () => new GrowingMarkdown({ theme, now }),
  warning: (status, width) => drawWarning(status, { width, theme }),
  phase: (phase, look) => drawPhase(phase, { ...look, theme }),
  queue: (queue, width) => drawQueue(queue, { width, theme }),
  status: (status, width) => [drawStatus(status, { width, theme })],
  hint: (text, width) => [cut(theme.dim(shownLine(text)), { width, theme })],
  styled: (line, width) => fitted(line, { width, theme }),
});
