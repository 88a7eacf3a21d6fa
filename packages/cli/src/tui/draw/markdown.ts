import { getCapabilities, Markdown, setCapabilities } from "@earendil-works/pi-tui";
import { markdownTheme } from "../theme/pi-themes.ts";
import { fitted, type Room } from "./lines.ts";
import { shownText } from "./shown-text.ts";

/** Somebody's Markdown as lines. Costs a parse of the whole text. */
export const drawMarkdown = (text: string, room: Room): readonly string[] => drawShown(shownMarkdown(text), room);

/**
 * pi-tui takes a shell's variable or a regular expression for mathematics and shows the source from there on as it is. So
 * private characters of the same width stand for what would begin it, until the lines are there: mathematics is its source.
 */
export const shownMarkdown = (text: string): string =>
  shownText(text).replaceAll(/\$|\\[()[\]]/g, (math) => moved(math, privateArea));

/** Of a text from `shownMarkdown`. */
export function drawShown(shown: string, room: Room): readonly string[] {
  const markdown = new Markdown(shown, 0, 0, markdownTheme(room.theme));
  const lines = withoutLinks(() => markdown.render(room.width));
  return lines.map((line) => {
    const whole = fitted(line.trimEnd(), room);
    return whole.replaceAll(/[\uE024\uE028\uE029\uE05B-\uE05D]/g, (math) => moved(math, -privateArea));
  });
}

/**
 * Where pi-tui makes a link, it shows the text and hides where that leads, whatever the model was made to say. Without links
 * the address stands beside a text that differs from it, and a terminal finds those that can be opened by itself.
 */
function withoutLinks<Result>(draw: () => Result): Result {
  const known = getCapabilities();
  if (!known.hyperlinks) return draw();
  setCapabilities({ ...known, hyperlinks: false });
  try {
    return draw();
  } finally {
    setCapabilities(known);
  }
}

const privateArea = 0xe0_00;

const moved = (characters: string, by: number): string =>
  Array.from(characters, (character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + by)).join("");
