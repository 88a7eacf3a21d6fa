import {
  answerCharsMax,
  carriedCharsMax,
  commandLineCharsMax,
  failedCharsMax,
  questionCharsMax,
  errorCharsMax,
  errorLinesMax,
  statusCharsMax,
} from "../limits.ts";
import { isExitLine } from "./call-outcome.ts";
import type { CommandFact, DecisionFact, ErrorFact, FileFact } from "./session-facts.ts";
import { asLine, idText } from "../quote.ts";
import type { TodoFact } from "./todo-book.ts";

/**
 * How facts read in a summary: one line each, with its id and what can change in brackets at the end, so that lines of
 * two summaries about the same fact can be matched. The audit looks for the text before the bracket.
 */
export const fileText = ({ path }: FileFact): string => asLine(path, carriedCharsMax);
export const todoText = ({ text }: TodoFact): string => asLine(text, carriedCharsMax);
export const errorText = (error: ErrorFact): string => errorParts(error).join(" / ");
const errorParts = ({ text }: ErrorFact): readonly string[] =>
  text.split("\n", errorLinesMax + 1).map((line) => asLine(line, errorCharsMax));
/**
 * The lines of an error that a summary has to contain, each searched separately. The exit code counts only if there is
 * nothing else.
 */
export function errorNeeds(error: ErrorFact): readonly string[] {
  const parts = errorParts(error);
  const informative = parts.filter((part) => !isExitLine(part));
  return informative.length > 0 ? informative : parts;
}
/** The first line of the command, which distinguishes it from others. */
export const commandText = ({ command }: CommandFact): string =>
  asLine(command.trim().split("\n", 1)[0] ?? "", commandLineCharsMax);
/** The question and the user's answer. */
export const decisionParts = ({ question, answer }: DecisionFact): readonly [question: string, answer: string] => [
  asLine(question, questionCharsMax),
  asLine(answer, answerCharsMax),
];

export const fileLine = (file: FileFact): string => `${fileText(file)} (${idText(file.entry)})`;

export const todoLine = (todo: TodoFact): string =>
  `${todoText(todo)} (${asLine(todo.status, statusCharsMax)}, ${idText(todo.entry)})`;

export const errorLine = (error: ErrorFact): string =>
  `${asLine(error.of, failedCharsMax)}: ${errorText(error)} (${errorState(error)}, ${idText(error.entry)})`;

/** A different failure since then has its own line, so this one is over either way. */
function errorState({ isOpen, isPassing }: ErrorFact): string {
  if (isPassing === true) return "in passing: the command ended well";
  return isOpen ? "still open" : "over since";
}

export function decisionLine(decision: DecisionFact): string {
  const [question, answer] = decisionParts(decision);
  return `Asked: ${question} – answered: ${answer} (${idText(decision.entry)})`;
}

export const commandLine = (command: CommandFact): string =>
  `Ran: ${commandText(command)} (${outcomeText(command.outcome)}, ${idText(command.entry)})`;

function outcomeText(outcome: CommandFact["outcome"]): string {
  switch (outcome.kind) {
    case "done":
      return "done";
    case "failed":
      return outcome.exitCode === undefined ? "failed" : `exit code ${outcome.exitCode}`;
    case "refused":
      return "not allowed by the user";
    case "not-run":
      return "did not run";
    case "unanswered":
      return "no result";
  }
}

/** What a line is about, without its state. */
export const lineSubject = (line: string): string => line.replace(/ \([^()]*\)$/, "");
