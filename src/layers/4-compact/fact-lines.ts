import { carriedCharsMax, failedCharsMax } from "./audit-limits.ts";
import { statusCharsMax } from "./fact-limits.ts";
import type { ErrorFact, FileFact } from "./facts.ts";
import { asLine, idText } from "./quote.ts";
import type { TodoFact } from "./todo-book.ts";

/**
 * How facts read in a summary: one line each, its id and what can change in brackets at its end, so that the lines of
 * two summaries can be told to be about the same. The audit looks for the words before the bracket.
 */
export const fileWords = ({ path }: FileFact): string => asLine(path, carriedCharsMax);
export const todoWords = ({ text }: TodoFact): string => asLine(text, carriedCharsMax);
export const errorWords = ({ text }: ErrorFact): string => asLine(text, carriedCharsMax);

export const fileLine = (file: FileFact): string => `${fileWords(file)} (${idText(file.entry)})`;

export const todoLine = (todo: TodoFact): string =>
  `${todoWords(todo)} (${asLine(todo.status, statusCharsMax)}, ${idText(todo.entry)})`;

export const errorLine = (error: ErrorFact): string =>
  `${asLine(error.of, failedCharsMax)}: ${errorWords(error)} (${error.isOpen ? "still open" : "solved since"}, ${idText(error.entry)})`;

/** What a line is about, whatever its state. */
export const subjectOfLine = (line: string): string => line.replace(/ \([^()]*\)$/, "");
