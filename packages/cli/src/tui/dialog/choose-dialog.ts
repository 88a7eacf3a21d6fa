import { visibleWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/text/format-count";
import type { Choice, ChoicePrompt } from "../chat-ui.ts";
import { cutLine } from "../draw/wrap-text.ts";
import { sanitizeLine } from "../draw/sanitize-text.ts";
import { fuzzyScoreLowercase } from "../text/fuzzy-score.ts";
import { type Theme, noPaint } from "../theme.ts";
import type { Dialog, DialogDeps, DialogBlock, DialogScript } from "./dialog.ts";
import { labelColumnsMin, dialogLineCharsMax, listRowsMax } from "../limits.ts";
import { singleLine } from "./render-lines.ts";
import { createDialog } from "./create-dialog.ts";

/** Lets the user choose one of many; undefined if they cancel. */
export const chooseDialog = (ask: ChoicePrompt, deps: DialogDeps): Dialog<string | undefined> =>
  createDialog(chooseScript(ask, deps.theme), deps);

interface ChooseState {
  /** The choices that match, best first. */
  readonly found: readonly Choice[];
  readonly at: number;
  readonly typed: string;
}

/** Each typed letter costs a pass over all labels; a frame only draws what is visible. */
function chooseScript(ask: ChoicePrompt, theme: Theme): DialogScript<ChooseState, string | undefined> {
  const searchable = ask.choices.map(toSearchable);
  const firstAt = Math.max(
    0,
    ask.choices.findIndex(({ value }) => value === ask.at),
  );
  const title = singleLine(ask.title);
  const isSearched = ask.search === "typed";
  const hints = [`enter: ${singleLine(ask.verb ?? "choose")}`, "esc leaves", ...(isSearched ? ["letters narrow"] : [])];
  return {
    first: { found: ask.choices, at: firstAt, typed: "" },
    harmless: undefined,
    guard: ask.openedBy === "agent" ? "first" : "none",
    stray: (state) => ({ ...state, at: firstAt }),
    press: (state, { key }) => {
      if (key === "escape") return { kind: "answer", answer: undefined };
      const chosen = state.found[state.at];
      if (key === "enter") return chosen === undefined ? { kind: "pass" } : { kind: "answer", answer: chosen.value };
      const at = moveCursor(state, key);
      return at === undefined ? { kind: "pass" } : { kind: "to", state: { ...state, at } };
    },
    typed: (state, typed) =>
      typed === state.typed
        ? state
        : { found: filterChoices(searchable, typed), at: typed.trim() === "" ? firstAt : 0, typed },
    look: (state) => ({
      id: "choose",
      title,
      ...(isSearched ? { writer: searchLine } : {}),
      choices: listBlock(state, { all: ask.choices.length, theme }),
      hints,
    }),
  };
}

const searchLine = { id: "search", kind: "line", text: "", prompt: "/ " } as const;

/** Undefined if the key does not move the cursor. Single steps wrap around at the ends, pages stop there. */
function moveCursor({ found, at }: ChooseState, key: string): number | undefined {
  const last = Math.max(0, found.length - 1);
  switch (key) {
    case "up":
    case "shift+tab":
      return at === 0 ? last : at - 1;
    case "down":
    case "tab":
      return at === last ? 0 : at + 1;
    case "pageUp":
      return Math.max(0, at - listRowsMax);
    case "pageDown":
      return Math.min(last, at + listRowsMax);
    default:
      return undefined;
  }
}

interface SearchableChoice {
  readonly choice: Choice;
  /** In lower case. */
  readonly label: string;
  readonly description: string;
}

const toSearchable = (choice: Choice): SearchableChoice => ({
  choice,
  label: choice.label.slice(0, dialogLineCharsMax).toLowerCase(),
  description: (choice.description ?? "").slice(0, dialogLineCharsMax).toLowerCase(),
});

/** Fuzzy matches of the labels first, then choices whose description contains the text. Ties keep their order. */
function filterChoices(searchable: readonly SearchableChoice[], typed: string): readonly Choice[] {
  const query = typed.trim().toLowerCase();
  if (query === "") return searchable.map(({ choice }) => choice);
  const scored: { readonly choice: Choice; readonly score: number }[] = [];
  for (const { choice, label, description } of searchable) {
    const score =
      fuzzyScoreLowercase(query, label) ?? (description.includes(query) ? Number.NEGATIVE_INFINITY : undefined);
    if (score !== undefined) scored.push({ choice, score });
  }
  return scored
    .toSorted((one, other) => (one.score === other.score ? 0 : other.score - one.score))
    .map(({ choice }) => choice);
}

/** One line for each visible choice, and one with the position. */
function listBlock(
  { found, at }: ChooseState,
  { all, theme }: { readonly all: number; readonly theme: Theme },
): DialogBlock {
  return {
    rowsWanted: () => Math.min(found.length, listRowsMax) + 1,
    lines: ({ width, rows }) => {
      const room = Math.max(1, rows - 1);
      const from = Math.max(0, Math.min(at - Math.floor(room / 2), found.length - room));
      const visible = found.slice(from, from + room);
      const columns = labelColumns(visible, width);
      const lines = visible.map((choice, index) =>
        choiceLine(choice, { width, theme, columns, state: from + index === at ? "at" : "" }),
      );
      return [...lines, cutLine(theme.dim(`  ${formatPosition({ found, at, all })}`), { width, theme })];
    },
  };
}

function formatPosition({ found, at, all }: Omit<ChooseState, "typed"> & { readonly all: number }): string {
  if (found.length === 0) return `none of ${formatCount(all)}`;
  const place = `${formatCount(at + 1)} of ${formatCount(found.length)}`;
  return found.length === all ? place : `${place}, ${formatCount(all)} in all`;
}

/**
 * Aligns the descriptions of the visible choices. A long label gets the columns that the descriptions leave, but at least its
 * minimum.
 */
function labelColumns(visible: readonly Choice[], width: number): number {
  const widestLabel = widest(visible.map(({ label }) => singleLine(label)));
  const widestDescription = widest(visible.map(({ description }) => formatDescription(description ?? "")));
  const columnsMin = Math.min(labelColumnsMin, Math.max(1, Math.floor(width / 2)));
  return Math.min(widestLabel, Math.max(columnsMin, width - markColumns - gapColumns - widestDescription));
}

const [markColumns, gapColumns] = [2, 2];
const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => visibleWidth(text)));
const formatDescription = (description: string): string => sanitizeLine(description.slice(0, dialogLineCharsMax));

function choiceLine(
  { label, description }: Choice,
  {
    width,
    theme,
    columns,
    state,
  }: { readonly width: number; readonly theme: Theme; readonly columns: number; readonly state: "at" | "" },
): string {
  const paint = state === "at" ? theme.accent : noPaint;
  const name = singleLine(label);
  const mark = state === "at" ? "❯ " : "  ";
  if (description === undefined || description === "") return cutLine(paint(`${mark}${name}`), { width, theme });
  const short = cutLine(name, { width: columns, theme });
  const gap = " ".repeat(Math.max(0, columns - visibleWidth(short)) + gapColumns);
  return cutLine(`${paint(`${mark}${short}`)}${gap}${theme.dim(formatDescription(description))}`, { width, theme });
}
