import { visibleWidth } from "@earendil-works/pi-tui";
import type { Status } from "../state/chat-shape.ts";
import { type StatusFigures, statusFigures } from "../text/status-words.ts";
import type { Paint, Theme } from "../theme/theme.ts";
import { barCells, modelColumnsMax } from "./limits.ts";
import { cut, type Room } from "./lines.ts";
import { shownLine } from "./shown-text.ts";

/**
 *   claude-sonnet-4-5 │ ████░░░░░░ 62% left │ cache 91% │ $0.12 │ accept edits │ no sandbox │ notes · 2 jobs
 * One line; until an agent is there, that it is being opened. Where it is too narrow, parts are missing, the least
 * important first: a wider terminal never shows fewer.
 */
export function drawStatus(status: Status, room: Room): string {
  if (statusFigures(status).windowTokens <= 0) return cut(room.theme.dim("opening…"), room);
  const parts = partsOf(status, room);
  for (let ranks = byImportance.length; ranks > 1; ranks -= 1) {
    const line = joined(parts.filter(({ name }) => byImportance.indexOf(name) < ranks));
    if (visibleWidth(line) <= room.width) return line;
  }
  return cut(joined(parts.filter(({ name }) => name === byImportance[0])), room);
}

type PartName = "model" | "bar" | "left" | "cache" | "cost" | "mode" | "sandbox" | "pill";

const byImportance: readonly PartName[] = ["left", "mode", "sandbox", "bar", "model", "cost", "pill", "cache"];

interface Part {
  readonly name: PartName;
  readonly text: string;
}

/** From left to right; the bar and its per cent are one. */
const joined = (parts: readonly Part[]): string =>
  parts
    .map(({ text }, index) => `${index === 0 ? "" : parts[index - 1]?.name === "bar" ? " " : " │ "}${text}`)
    .join("");

function partsOf(status: Status, { theme }: Room): readonly Part[] {
  const figures = statusFigures(status);
  const { dim } = theme;
  const parts: readonly Part[] = [
    { name: "model", text: dim(cut(shownLine(figures.model), { theme, width: modelColumnsMax })) },
    { name: "bar", text: levelPaint(figures, theme)(bar(figures.usedShare)) },
    { name: "left", text: levelPaint(figures, theme)(leftWords(figures)) },
    { name: "cache", text: figures.usedTokens === 0 ? "" : dim(`cache ${figures.hitPercent}%`) },
    { name: "cost", text: dim(costWords(figures)) },
    { name: "mode", text: theme.warning(modeWords(status.mode)) },
    { name: "sandbox", text: status.sandbox === "none" ? theme.warning("no sandbox") : "" },
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

/** A mark besides the colour. */
const leftWords = ({ level, percentLeft }: StatusFigures): string =>
  level === "fine" ? `${percentLeft}% left` : `${percentLeft}% left !`;

/** What is used at all has a cell, and only what is full has all of them. */
function bar(share: number): string {
  const cells = share >= 1 ? barCells : Math.min(barCells - 1, Math.ceil(share * barCells));
  return `${"█".repeat(cells)}${"░".repeat(barCells - cells)}`;
}

/** Cents; of less than one, what there is of it. */
function costWords({ usd, unpricedRequests }: StatusFigures): string {
  if (usd === 0 && unpricedRequests > 0) return "price unknown";
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}${unpricedRequests > 0 ? " and more" : ""}`;
}

/** Nothing where each change is asked about, as it is unless somebody has wanted otherwise. */
const modeWords = (mode: string): string => wordsByMode.get(mode) ?? shownLine(mode);

const wordsByMode: ReadonlyMap<string, string> = new Map([
  ["default", ""],
  ["acceptEdits", "accept edits"],
  ["plan", "plan mode"],
  ["bypass", "nothing is asked"],
]);
