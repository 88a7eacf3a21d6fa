import { visibleWidth } from "@earendil-works/pi-tui";
import type { Status, Phase } from "../state/chat-state.ts";
import { type StatusFigures, statusFigures, phaseLabel } from "../text/status-figures.ts";
import type { Paint, Theme } from "../theme.ts";
import { barCells, modelColumnsMax, openingQuietMs, spinnerFrameMs, queueShownMax } from "../limits.ts";
import { cutLine, type DrawArea, wrapText } from "./wrap-text.ts";
import { sanitizeLine } from "./sanitize-text.ts";
import type { Millis } from "palimpsest/internal/schema/brand";
import { formatCount } from "palimpsest/internal/text/format-count";

/**
 *   claude-sonnet-4-5 │ ████░░░░░░ 62% left │ cache 91% │ $0.12 │ accept edits │ no sandbox │ docs (leader) · 2 teammates │ notes · 2 jobs
 * One line, or "opening…" until the agent has started. On a narrow terminal parts are left out, the least important first;
 * a wider terminal never shows fewer.
 */
export function drawStatus(status: Status, room: DrawArea): string {
  if (statusFigures(status).windowTokens <= 0) return cutLine(room.theme.dim("opening…"), room);
  const parts = statusParts(status, room);
  for (let ranks = partsByImportance.length; ranks > 1; ranks -= 1) {
    const line = joinParts(parts.filter(({ name }) => partsByImportance.indexOf(name) < ranks));
    if (visibleWidth(line) <= room.width) return line;
  }
  return cutLine(joinParts(parts.filter(({ name }) => name === partsByImportance[0])), room);
}

type StatusPartName = "model" | "bar" | "left" | "cache" | "cost" | "mode" | "sandbox" | "team" | "pill";

const partsByImportance: readonly StatusPartName[] = [
  "left",
  "mode",
  "sandbox",
  "bar",
  "model",
  "cost",
  "team",
  "pill",
  "cache",
];

interface StatusPart {
  readonly name: StatusPartName;
  readonly text: string;
}

/** Joins the parts from left to right. No separator follows the bar: it belongs to its percentage. */
const joinParts = (parts: readonly StatusPart[]): string =>
  parts
    .map(({ text }, index) => `${index === 0 ? "" : parts[index - 1]?.name === "bar" ? " " : " │ "}${text}`)
    .join("");

function statusParts(status: Status, { theme }: DrawArea): readonly StatusPart[] {
  const figures = statusFigures(status);
  const { dim } = theme;
  const parts: readonly StatusPart[] = [
    { name: "model", text: dim(cutLine(sanitizeLine(figures.model), { theme, width: modelColumnsMax })) },
    { name: "bar", text: levelPaint(figures, theme)(formatBar(figures.usedShare)) },
    { name: "left", text: levelPaint(figures, theme)(formatPercentLeft(figures)) },
    { name: "cache", text: figures.usedTokens === 0 ? "" : dim(`cache ${figures.hitPercent}%`) },
    { name: "cost", text: dim(formatCost(figures)) },
    { name: "mode", text: theme.warning(modeLabel(status.mode)) },
    { name: "sandbox", text: status.sandbox === "none" ? theme.warning("no sandbox") : "" },
    { name: "team", text: dim(sanitizeLine(status.team)) },
    { name: "pill", text: theme.accent(figures.pill) },
  ];
  return parts.filter(({ text }) => text !== "");
}

const levelPaint = ({ level }: StatusFigures, theme: Theme): Paint => {
  switch (level) {
    case "fine":
      return theme.dim;
    case "warning":
      return theme.warning;
    case "full":
      return theme.bad;
  }
};

/** The mark repeats what the colour says. */
const formatPercentLeft = ({ level, percentLeft }: StatusFigures): string =>
  level === "fine" ? `${percentLeft}% left` : `${percentLeft}% left !`;

/** Any use fills at least one cell, and only a full context fills all of them. */
function formatBar(share: number): string {
  const cells = share >= 1 ? barCells : Math.min(barCells - 1, Math.ceil(share * barCells));
  return `${"█".repeat(cells)}${"░".repeat(barCells - cells)}`;
}

/** Rounded to cents; amounts below one cent keep four digits. */
function formatCost({ usd, unpricedRequests, billing }: StatusFigures): string {
  if (usd === 0 && unpricedRequests > 0) return "price unknown";
  const rest = `${unpricedRequests > 0 ? " and more" : ""}${billing === "simulated" ? " simulated" : ""}`;
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}${rest}`;
}

/** Empty in the default mode, in which each change is asked about. */
const modeLabel = (mode: string): string => labelByMode.get(mode) ?? sanitizeLine(mode);

const labelByMode: ReadonlyMap<string, string> = new Map([
  ["default", ""],
  ["acceptEdits", "accept edits"],
  ["plan", "plan mode"],
  ["bypass", "nothing is asked"],
]);

interface PhaseTime {
  readonly now: Millis;
  /** When the phase began. */
  readonly since: Millis;
}

/** `⠋ responding · 12 s · esc to interrupt`; no lines if idle. The frame changes every `spinnerFrameMs`. */
export function drawPhase(phase: Phase, { now, since, ...room }: DrawArea & PhaseTime): readonly string[] {
  const label = formatPhase(phase, { now, since });
  if (label === "" || (phase.kind === "opening" && now - since < openingQuietMs)) return [];
  const { accent, dim } = room.theme;
  const line = `${accent(spinnerFrame(now, since))} ${label}`;
  const hint = isInterruptible(phase) ? dim(" · esc to interrupt") : "";
  return [visibleWidth(line + hint) <= room.width ? line + hint : cutLine(line, room)];
}

/** The text beside the spinner, without the hint. Empty if idle. */
function formatPhase(phase: Phase, { now, since }: PhaseTime): string {
  const label = sanitizeLine(phaseLabel(phase, now));
  const isTimed = phase.kind !== "idle" && phase.kind !== "waiting" && now - since >= 1_000;
  return isTimed ? `${label} · ${formatElapsed(now - since)}` : label;
}

/** While a question is open, Esc answers it; an interruption need not be repeated. */
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
    case "saving":
      return true;
  }
}

const spinnerFrames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;

const spinnerFrame = (now: Millis, since: Millis): string =>
  spinnerFrames[Math.floor(Math.max(0, now - since) / spinnerFrameMs) % spinnerFrames.length] ?? spinnerFrames[0];

function formatElapsed(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The queued messages, oldest first, one line each; the rest is counted. */
export function drawQueue(queue: readonly string[], room: DrawArea): readonly string[] {
  const { dim } = room.theme;
  const lines = queue.slice(0, queueShownMax).map((text) => `  ↳ ${sanitizeLine(text)}`);
  const more = queue.length - lines.length;
  const rest = more === 0 ? [] : [`    and ${formatCount(more)} more`];
  return [...lines, ...rest].map((line) => cutLine(dim(line), room));
}

/** No lines while there is room; then what is about to happen, and what the user can do about it. */
export function drawWarning(status: Status, room: DrawArea): readonly string[] {
  const { warning, bad } = room.theme;
  const { level, percentLeft } = statusFigures(status);
  switch (level) {
    case "fine":
      return [];
    case "warning":
      return wrapText(warningText(percentLeft, status), { ...room, first: warning("! "), paint: warning });
    case "full":
      return wrapText("The context is full: /compact or /undo makes room.", { ...room, first: bad("! "), paint: bad });
  }
}

const warningText = (percentLeft: number, { autoCompact }: Status): string =>
  autoCompact === "on"
    ? `${percentLeft}% left until the conversation is compacted. /compact does it now, and shows the summary first.`
    : `${percentLeft}% of the context is left, and nothing compacts it by itself: /compact makes room.`;
