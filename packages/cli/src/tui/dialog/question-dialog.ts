import type { Question, QuestionAnswer, QuestionPrompt } from "palimpsest/internal/ports/user-port";
import type { Theme } from "../theme.ts";
import type { Dialog, DialogDeps, DialogContent, KeyPress, DialogScript, DialogStep } from "./dialog.ts";
import { type RenderLines, singleLine, textLines } from "./render-lines.ts";
import { type Menu, type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";

/** Asks one question after the other. The user may answer each in their own words. */
export const questionDialog = (ask: QuestionPrompt, deps: DialogDeps): Dialog<QuestionAnswer> =>
  createDialog(questionScript(ask, deps.theme), deps);

interface QuestionState {
  /** Index of the current question. */
  readonly index: number;
  /** Index of the selected choice; the last choice is "something else". */
  readonly at: number;
  readonly kind: "choosing" | "writing";
  /** Indexes of the ticked options of the current question, ascending. */
  readonly ticked: readonly number[];
  readonly written: string;
  /** Answers to the earlier questions. */
  readonly answers: readonly (readonly string[])[];
}

function questionScript({ questions }: QuestionPrompt, theme: Theme): DialogScript<QuestionState, QuestionAnswer> {
  const bodies = questions.map(({ question }) => textLines(question, { theme, paint: theme.strong }));
  return {
    first: stateAt(questions, []),
    harmless: { kind: "declined" },
    guard: "first",
    press: (state, pressed) => {
      const question = questions[state.index];
      // There is no question: any key closes the dialog.
      if (question === undefined) return { kind: "answer", answer: { kind: "answered", answers: [] } };
      const input: QuestionInput = { question, questions, pressed };
      return state.kind === "writing" ? pressWhileWriting(state, input) : pressWhileChoosing(state, input);
    },
    look: (state) => questionContent(state, { questions, bodies, theme }),
  };
}

interface QuestionInput {
  readonly question: Question;
  readonly questions: readonly Question[];
  readonly pressed: KeyPress;
}

type QuestionStep = DialogStep<QuestionState, QuestionAnswer>;

const declined: QuestionStep = { kind: "answer", answer: { kind: "declined" } };

function pressWhileChoosing(
  state: QuestionState,
  { question, questions, pressed: { key } }: QuestionInput,
): QuestionStep {
  if (key === "escape") return declined;
  if (key === "left" && state.index > 0) return { kind: "to", state: stateAt(questions, state.answers.slice(0, -1)) };
  if (key === "right") return answerQuestion(state, { questions, answer: [] });
  const menu = questionMenu(state, question);
  if (key === "space" && question.choose === "many") return toggleOption(state, { question, at: state.at });
  const step = pressInMenu(menu, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  if (step.at === question.options.length && (key !== "enter" || state.written === ""))
    return { kind: "to", state: { ...state, at: step.at, kind: "writing" } };
  if (question.choose === "one") return answerQuestion(state, { questions, answer: optionLabels(question, [step.at]) });
  if (key !== "enter") return toggleOption(state, { question, at: step.at });
  const answer = isAnswered(state) ? currentAnswer(state, question) : optionLabels(question, [step.at]);
  return answerQuestion(state, { questions, answer });
}

/** For a question with several answers: once there is one, Enter completes it. */
const isAnswered = ({ ticked, written }: QuestionState): boolean => ticked.length > 0 || written !== "";

const currentAnswer = ({ ticked, written }: QuestionState, question: Question): readonly string[] => [
  ...optionLabels(question, ticked),
  ...(written === "" ? [] : [written]),
];

const optionLabels = ({ options }: Question, chosen: readonly number[]): readonly string[] =>
  chosen.flatMap((index) => options[index]?.label ?? []);

function toggleOption(
  state: QuestionState,
  { question, at }: { readonly question: Question; readonly at: number },
): QuestionStep {
  if (at >= question.options.length) {
    if (state.written !== "") return { kind: "to", state: { ...state, at, written: "" } };
    return { kind: "to", state: { ...state, at, kind: "writing" } };
  }
  const ticked = state.ticked.includes(at)
    ? state.ticked.filter((index) => index !== at)
    : [...state.ticked, at].toSorted((one, other) => one - other);
  return { kind: "to", state: { ...state, at, ticked } };
}

function pressWhileWriting(
  state: QuestionState,
  { question, questions, pressed: { key, written } }: QuestionInput,
): QuestionStep {
  if (key === "escape")
    return question.options.length === 0 ? declined : { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const text = written.text.trim();
  if (question.choose === "many" && question.options.length > 0)
    return { kind: "to", state: { ...state, written: text, kind: "choosing" } };
  if (text === "" && question.options.length > 0) return { kind: "to", state: { ...state, kind: "choosing" } };
  return answerQuestion(state, { questions, answer: text === "" ? [] : [text] });
}

function answerQuestion(
  state: QuestionState,
  { questions, answer }: { readonly questions: readonly Question[]; readonly answer: readonly string[] },
): QuestionStep {
  const answers = [...state.answers, answer];
  if (answers.length >= questions.length) return { kind: "answer", answer: { kind: "answered", answers } };
  return { kind: "to", state: stateAt(questions, answers) };
}

/** The state at the first unanswered question. One without options can only be answered in writing. */
const stateAt = (questions: readonly Question[], answers: QuestionState["answers"]): QuestionState => ({
  index: answers.length,
  at: 0,
  kind: questions[answers.length]?.options.length === 0 ? "writing" : "choosing",
  ticked: [],
  written: "",
  answers,
});

function questionMenu(state: QuestionState, { options, choose }: Question): Menu {
  const ticks = (tick: "on" | "off"): Pick<MenuChoice, "tick"> => (choose === "one" ? {} : { tick });
  const elseLabel = state.written === "" ? "Something else…" : `Something else: ${singleLine(state.written)}`;
  return {
    at: state.at,
    choices: [
      ...options.map(({ label, description }, index) => ({
        label: singleLine(label),
        ...(description === undefined ? {} : { description: singleLine(description) }),
        ...ticks(state.ticked.includes(index) ? "on" : "off"),
      })),
      { label: elseLabel, ...ticks(state.written === "" ? "off" : "on") },
    ],
  };
}

function questionContent(
  state: QuestionState,
  {
    questions,
    bodies,
    theme,
  }: { readonly questions: readonly Question[]; readonly bodies: readonly RenderLines[]; readonly theme: Theme },
): DialogContent {
  const question = questions[state.index];
  const count = questions.length > 1 ? ` (${state.index + 1} of ${questions.length})` : "";
  const title = `${singleLine(question?.header ?? "") || "The agent asks"}${count}`;
  const body = bodies[state.index];
  const content = { id: `question ${state.index}`, title, ...(body === undefined ? {} : { body }) };
  if (question === undefined) return { ...content, hints: ["esc closes"] };
  if (state.kind === "writing") {
    const writer = { id: `words ${state.index}`, kind: "line", text: state.written, prompt: "> " } as const;
    return {
      ...content,
      writer,
      hints: ["enter answers", question.options.length === 0 ? "esc declines" : "esc back"],
    };
  }
  const hints =
    question.choose === "many"
      ? ["enter is done", "esc declines", "space ticks"]
      : ["enter answers ❯", "esc declines", "or a number"];
  const back = state.index > 0 ? ["← back"] : [];
  return {
    ...content,
    choices: menuBlock(questionMenu(state, question), theme),
    hints: [...hints, "→ skips", ...back],
  };
}
