import { visibleWidth } from "@earendil-works/pi-tui";
import { figure } from "palimpsest/internal/schema/figure";
import type { Choice, ChoiceAsk } from "../chat-ui.ts";
import { cut } from "../draw/lines.ts";
import { shownLine } from "../draw/shown-text.ts";
import { likenessOf } from "../text/fuzzy.ts";
import { type Theme, unpainted } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { labelColumnsMin, lineCharsMax, listRowsMax } from "./limits.ts";
import { titleLine } from "./lines.ts";
import type { Block } from "./picture.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** One of many; undefined where the person would rather not. */
export const chooseDialog = (ask: ChoiceAsk, deps: DialogDeps): Dialog<string | undefined> =>
  dialogOf(chooseScript(ask, deps.theme), deps);

export interface ChooseState {
  /** Those that are left, best first. */
  readonly found: readonly Choice[];
  readonly at: number;
  readonly typed: string;
}

/** Costs a look at every label for a letter, and for a frame only what is seen. */
function chooseScript(ask: ChoiceAsk, theme: Theme): Script<ChooseState, string | undefined> {
  const known = ask.choices.map(knownChoice);
  const begin = Math.max(
    0,
    ask.choices.findIndex(({ value }) => value === ask.at),
  );
  const title = titleLine(ask.title);
  const isSearched = ask.search === "typed";
  const hints = [`enter: ${titleLine(ask.verb ?? "choose")}`, "esc leaves", ...(isSearched ? ["letters narrow"] : [])];
  return {
    first: { found: ask.choices, at: begin, typed: "" },
    harmless: undefined,
    guard: "none",
    press: (state, { key }) => {
      if (key === "escape") return { kind: "answer", answer: undefined };
      const chosen = state.found[state.at];
      if (key === "enter") return chosen === undefined ? { kind: "pass" } : { kind: "answer", answer: chosen.value };
      const at = moved(state, key);
      return at === undefined ? { kind: "pass" } : { kind: "to", state: { ...state, at } };
    },
    typed: (state, typed) =>
      typed === state.typed ? state : { found: bestOf(known, typed), at: typed.trim() === "" ? begin : 0, typed },
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

/** Undefined where the key moves nothing. The ends are joined for single steps, and stop whole pages. */
function moved({ found, at }: ChooseState, key: string): number | undefined {
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

interface KnownChoice {
  readonly choice: Choice;
  /** In small letters. */
  readonly label: string;
  readonly description: string;
}

const knownChoice = (choice: Choice): KnownChoice => ({
  choice,
  label: choice.label.slice(0, lineCharsMax).toLowerCase(),
  description: (choice.description ?? "").slice(0, lineCharsMax).toLowerCase(),
});

/** By their labels, letters in order; then those whose description holds what was typed. Among equals as they were given. */
function bestOf(known: readonly KnownChoice[], typed: string): readonly Choice[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return known.map(({ choice }) => choice);
  const scored: { readonly choice: Choice; readonly score: number }[] = [];
  for (const { choice, label, description } of known) {
    const score = likenessOf(wanted, label) ?? (description.includes(wanted) ? Number.NEGATIVE_INFINITY : undefined);
    if (score !== undefined) scored.push({ choice, score });
  }
  return scored
    .toSorted((one, other) => (one.score === other.score ? 0 : other.score - one.score))
    .map(({ choice }) => choice);
}

interface ListLook {
  readonly all: number;
  readonly theme: Theme;
}

/** A line for each that is seen, and one that counts where not all are. */
function listBlock({ found, at }: ChooseState, { all, theme }: ListLook): Block {
  return {
    rowsWanted: () => Math.min(found.length, listRowsMax) + 1,
    lines: ({ width, rows }) => {
      const room = Math.max(1, rows - 1);
      const from = Math.max(0, Math.min(at - Math.floor(room / 2), found.length - room));
      const seen = found.slice(from, from + room);
      const columns = labelColumns(seen, width);
      const lines = seen.map((choice, index) =>
        choiceLine(choice, { width, theme, columns, state: from + index === at ? "at" : "" }),
      );
      return [...lines, cut(theme.dim(`  ${countWords({ found, at, all })}`), { width, theme })];
    },
  };
}

function countWords({ found, at, all }: Omit<ChooseState, "typed"> & { readonly all: number }): string {
  if (found.length === 0) return `none of ${figure(all)}`;
  const place = `${figure(at + 1)} of ${figure(found.length)}`;
  return found.length === all ? place : `${place}, ${figure(all)} in all`;
}

/**
 * So that descriptions stand below each other, as far as the lines that are seen go. A long label takes what they leave, and
 * where they leave little, a part of its own.
 */
function labelColumns(seen: readonly Choice[], width: number): number {
  const labels = widest(seen.map(({ label }) => titleLine(label)));
  const told = widest(seen.map(({ description }) => toldOf(description ?? "")));
  const own = Math.min(labelColumnsMin, Math.max(1, Math.floor(width / 2)));
  return Math.min(labels, Math.max(own, width - markColumns - gapColumns - told));
}

const [markColumns, gapColumns] = [2, 2];
const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => visibleWidth(text)));
const toldOf = (description: string): string => shownLine(description.slice(0, lineCharsMax));

interface ChoiceLook {
  readonly width: number;
  readonly theme: Theme;
  readonly columns: number;
  readonly state: "at" | "";
}

function choiceLine({ label, description }: Choice, { width, theme, columns, state }: ChoiceLook): string {
  const paint = state === "at" ? theme.accent : unpainted;
  const named = titleLine(label);
  const mark = state === "at" ? "❯ " : "  ";
  if (description === undefined || description === "") return cut(paint(`${mark}${named}`), { width, theme });
  const short = cut(named, { width: columns, theme });
  const gap = " ".repeat(Math.max(0, columns - visibleWidth(short)) + gapColumns);
  return cut(`${paint(`${mark}${short}`)}${gap}${theme.dim(toldOf(description))}`, { width, theme });
}
