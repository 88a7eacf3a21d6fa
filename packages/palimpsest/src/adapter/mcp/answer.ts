import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { pageCharsMax } from "./limits.ts";

/** The text is for the model, the object for programs; clients show one of them, so both say the same. */
export const answer = (text: string, structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: "text", text }],
  structuredContent,
});

/** An error that the model can act on. `todo`: what to do, as a sentence. */
export const problem = (what: string, todo: string): CallToolResult => ({
  content: [{ type: "text", text: `${what}. ${todo}` }],
  isError: true,
});

export interface TextPage {
  readonly text: string;
  readonly page: number;
  readonly pages: number;
}

/** The pages joined are the whole text. Undefined if there is no such page. */
export function cutPage(text: string, page: number | "last"): TextPage | undefined {
  const pages = Math.max(1, Math.ceil(text.length / pageCharsMax));
  const number = page === "last" ? pages : page;
  if (number > pages) return undefined;
  const start = safeCutIndex(text, (number - 1) * pageCharsMax);
  return { text: text.slice(start, safeCutIndex(text, number * pageCharsMax)), page: number, pages };
}

/** A part of a list, from 1. Undefined if there is no such page. */
export function cutList<Item>(
  items: readonly Item[],
  { page, size }: { readonly page: number; readonly size: number },
): { readonly items: readonly Item[]; readonly page: number; readonly pages: number } | undefined {
  const pages = Math.max(1, Math.ceil(items.length / size));
  return page > pages ? undefined : { items: items.slice((page - 1) * size, page * size), page, pages };
}

export const pageProblem = (page: number, what: string): CallToolResult =>
  problem(`There is no page ${page} of ${what}`, "Call without page to see how many there are.");

export const pageNote = ({ page, pages }: Pick<TextPage, "page" | "pages">): string =>
  pages === 1 ? "" : `\n(page ${page} of ${pages})`;
