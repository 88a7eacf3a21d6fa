import type { TerminalUi } from "../terminal-ui.ts";
import { type PlainUiInput, PlainLines } from "./plain-lines.ts";
import {
  choiceAnswer,
  choiceText,
  permissionAnswer,
  permissionText,
  planAnswer,
  planText,
  previewAnswer,
  questionAnswer,
  questionText,
} from "./questions.ts";

/** A chat that writes line by line: it never redraws. */
export function createPlainUi(input: PlainUiInput): TerminalUi {
  const lines = new PlainLines(input);
  const askForLine = async <Answer>(ask: TypedQuestion<Answer>, signal: AbortSignal): Promise<Answer> => {
    if (input.inputFrom === "pipe") return ask.otherwise;
    const line = await lines.ask(ask.text, signal);
    return line === undefined ? ask.otherwise : ask.read(line);
  };
  const { out } = input.context;
  return {
    get columns() {
      return out.columns ?? 80;
    },
    start: () => lines.start(),
    stop: () => lines.stop(),
    answeredBy: input.inputFrom === "pipe" ? "nobody" : "user",
    show: (state) => lines.show(state),
    // The lines of a plain terminal scroll by themselves.
    openTranscript: async () => "not-shown",
    refill: (text) => lines.tell(`not sent, so that you can send it again:\n${text}`),
    permission: (ask, signal) =>
      askForLine(
        { text: permissionText(ask), read: (line) => permissionAnswer(line, ask), otherwise: { kind: "nobody" } },
        signal,
      ),
    question: async ({ questions }, signal) => {
      const answers: (readonly string[])[] = [];
      for (const question of questions) {
        const ask = { text: questionText(question), read: (line: string) => line, otherwise: undefined };
        const line = await askForLine<string | undefined>(ask, signal);
        if (line === undefined) return { kind: "nobody" };
        if (line.trim() === "") return { kind: "declined" };
        answers.push(questionAnswer(line, question));
      }
      return { kind: "answered", answers };
    },
    review: ({ plan }, signal) =>
      askForLine({ text: planText(plan), read: planAnswer, otherwise: { kind: "nobody" } }, signal),
    choose: ({ title, choices }, signal) =>
      askForLine(
        { text: choiceText(title, choices), read: (line) => choiceAnswer(line, choices), otherwise: undefined },
        signal,
      ),
    preview: ({ title, facts, details, text }, signal) =>
      askForLine(
        {
          text: `${title}\n${facts.join("\n")}\n\n${[...details, text].join("\n")}\n\ncommit it? y: commit, n or Enter: not committed [y/N] `,
          read: previewAnswer,
          otherwise: "cancel",
        },
        signal,
      ),
    edit: async ({ title, text }, signal) => {
      const ask = { text: `${title}: `, read: (line: string) => line.trim() || undefined, otherwise: undefined };
      if (text === "") return await askForLine<string | undefined>(ask, signal);
      lines.tell(`${title}: a plain terminal has no editor; leave out --no-tui.`);
      return undefined;
    },
  };
}

interface TypedQuestion<Answer> {
  readonly text: string;
  readonly read: (line: string) => Answer;
  /** The answer if there is no user, or if the question is withdrawn. */
  readonly otherwise: Answer;
}
