import { visibleWidth } from "@earendil-works/pi-tui";
import type { Millis } from "palimpsest/internal/schema/brand";
import type { Phase } from "../state/chat-shape.ts";
import { phaseText } from "../text/status-words.ts";
import { openingQuietMs, spinnerFrameMs } from "./limits.ts";
import { cut, type Room } from "./lines.ts";
import { shownLine } from "./shown-text.ts";

export interface PhaseTime {
  readonly now: Millis;
  /** When the phase began. */
  readonly since: Millis;
}

/** `⠋ responding · 12 s · esc to interrupt`; nothing where nothing goes on. Another frame each `spinnerFrameMs`. */
export function drawPhase(phase: Phase, { now, since, ...room }: Room & PhaseTime): readonly string[] {
  const words = phaseWords(phase, { now, since });
  if (words === "" || (phase.kind === "opening" && now - since < openingQuietMs)) return [];
  const { accent, dim } = room.theme;
  const line = `${accent(frameAt(now, since))} ${words}`;
  const hint = isInterruptible(phase) ? dim(" · esc to interrupt") : "";
  return [visibleWidth(line + hint) <= room.width ? line + hint : cut(line, room)];
}

/** The words beside the spinner, without how to end it. Empty where nothing goes on. */
function phaseWords(phase: Phase, { now, since }: PhaseTime): string {
  const words = shownLine(phaseText(phase, now));
  const counts = phase.kind !== "idle" && phase.kind !== "waiting" && now - since >= 1_000;
  return counts ? `${words} · ${secondsWords(now - since)}` : words;
}

/** Who is being asked answers the question; who has interrupted need not do so twice. */
function isInterruptible({ kind }: Phase): boolean {
  switch (kind) {
    case "idle":
    case "opening":
    case "asking":
    case "interrupting":
      return false;
    case "requesting":
    case "waiting":
    case "thinking":
    case "responding":
    case "calling":
    case "compacting":
      return true;
  }
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;

const frameAt = (now: Millis, since: Millis): string =>
  frames[Math.floor(Math.max(0, now - since) / spinnerFrameMs) % frames.length] ?? frames[0];

function secondsWords(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
