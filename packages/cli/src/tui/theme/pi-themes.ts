import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";
import type { Theme } from "./theme.ts";

/** Code in a sentence keeps its marks where no colour tells it apart. */
export const markdownTheme = (theme: Theme): MarkdownTheme => ({
  heading: theme.heading,
  link: theme.link,
  linkUrl: theme.dim,
  code: theme.colours === "none" ? (text) => `\`${text}\`` : theme.code,
  codeBlock: theme.code,
  codeBlockBorder: theme.dim,
  quote: theme.dim,
  quoteBorder: theme.dim,
  hr: theme.dim,
  listBullet: theme.accent,
  bold: theme.strong,
  italic: theme.italic,
  strikethrough: theme.struck,
  underline: theme.underline,
});

/** The chosen line has an arrow before it, so that it can be told without colour too. */
export const selectListTheme = (theme: Theme): SelectListTheme => ({
  selectedPrefix: theme.accent,
  selectedText: (text) => theme.accent(theme.strong(text)),
  description: theme.dim,
  scrollInfo: theme.dim,
  noMatch: theme.dim,
});

export const editorTheme = (theme: Theme): EditorTheme => ({
  borderColor: theme.dim,
  selectList: selectListTheme(theme),
});
