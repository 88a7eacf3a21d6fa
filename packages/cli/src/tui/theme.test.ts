import { visibleWidth } from "@earendil-works/pi-tui";
import { describe, expect, test } from "vitest";
import { editorTheme, markdownTheme, selectListTheme, createTheme, type Theme } from "./theme.ts";

// oxlint-disable-next-line no-control-regex -- what is looked for is a control character
const ownColours = /^(?:\u001B\[(?:[1-4]|9|3[0-7]|9[0-7])m)+text(?:\u001B\[(?:2[2-49]|39)m)+$/;

/** Every way to paint a text, by name. */
function paints(theme: Theme): readonly (readonly [string, (text: string) => string])[] {
  const editor = editorTheme(theme);
  const all = { ...theme, ...markdownTheme(theme), ...selectListTheme(theme), border: editor.borderColor };
  return Object.entries(all).flatMap(([name, paint]) => (typeof paint === "function" ? [[name, paint as never]] : []));
}

describe("a theme", () => {
  test("without colours has not a single sequence", () => {
    for (const [name, paint] of paints(createTheme("none"))) expect(paint("text"), name).toMatch(/^`?text`?$/);
  });

  test("has only the terminal's own sixteen colours and closes what it opens", () => {
    for (const [name, paint] of paints(createTheme("ansi"))) {
      expect(paint("text"), name).toMatch(ownColours);
      expect(visibleWidth(paint("text")), name).toBe(4);
    }
  });

  test("leaves nothing as nothing", () => {
    expect(createTheme("ansi").bad("")).toBe("");
  });
});
