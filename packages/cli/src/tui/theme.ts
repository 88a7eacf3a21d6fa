import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";

/** Styles by role. Each keeps the width of its text, and an empty text stays empty. */
export interface Theme {
  readonly colours: Colours;
  /** Text that can be skipped. */
  readonly dim: Paint;
  readonly strong: Paint;
  readonly italic: Paint;
  readonly underline: Paint;
  readonly struck: Paint;
  /** Selected items, and our own marks, bars and dialog titles. */
  readonly accent: Paint;
  readonly good: Paint;
  readonly warning: Paint;
  readonly bad: Paint;
  readonly added: Paint;
  readonly removed: Paint;
  /** The user's messages. */
  readonly user: Paint;
  readonly heading: Paint;
  readonly code: Paint;
  readonly link: Paint;
}

export type Paint = (text: string) => string;

/** `none`: no escape sequences at all, as with NO_COLOR; only marks tell things apart. */
export type Colours = "none" | "ansi";

type ThemeRole = Exclude<keyof Theme, "colours">;

/**
 * SGR codes that open and close each style. Only the terminal's sixteen colours, which the user has chosen, and no
 * background colour: text stays readable on light and dark terminals.
 */
const codesByRole: Readonly<Record<ThemeRole, readonly [on: number, off: number]>> = {
  dim: [2, 22],
  strong: [1, 22],
  italic: [3, 23],
  underline: [4, 24],
  struck: [9, 29],
  accent: [36, 39],
  good: [32, 39],
  warning: [33, 39],
  bad: [31, 39],
  added: [32, 39],
  removed: [31, 39],
  user: [36, 39],
  heading: [34, 39],
  code: [33, 39],
  link: [34, 39],
};

export function createTheme(colours: Colours): Theme {
  const paint = (role: ThemeRole): Paint => (colours === "none" ? noPaint : paintWith(codesByRole[role]));
  return {
    colours,
    dim: paint("dim"),
    strong: paint("strong"),
    italic: paint("italic"),
    underline: paint("underline"),
    struck: paint("struck"),
    accent: paint("accent"),
    good: paint("good"),
    warning: paint("warning"),
    bad: paint("bad"),
    added: paint("added"),
    removed: paint("removed"),
    user: paint("user"),
    heading: paint("heading"),
    code: paint("code"),
    link: paint("link"),
  };
}

export const noPaint: Paint = (text) => text;

const paintWith =
  ([on, off]: readonly [number, number]): Paint =>
  (text) =>
    text === "" ? "" : `\u001B[${on}m${text}\u001B[${off}m`;

/** Without colours, inline code keeps its backticks. */
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

/** pi-tui puts an arrow before the selected line, so it can be recognised without colours. */
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
