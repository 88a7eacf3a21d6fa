import type { Question, QuestionAnswer, QuestionAsk } from "palimpsest/internal/ports/person";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { type Lines, titleLine, words } from "./lines.ts";
import { type Menu, type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import type { Picture } from "./picture.ts";
import type { Pressed, Script, Step } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** One question after the other; each may be answered in the person's own words. */
export const questionDialog = (ask: QuestionAsk, deps: DialogDeps): Dialog<QuestionAnswer> =>
  dialogOf(questionScript(ask, deps.theme), deps);

export interface QuestionState {
  /** The question that is shown. */
  readonly index: number;
  /** Of the choices, of which the last one is something else. */
  readonly at: number;
  readonly kind: "choosing" | "writing";
  /** Of the question that is shown, in the order of its options. */
  readonly ticked: readonly number[];
  readonly written: string;
  /** Of the questions before. */
  readonly answers: readonly (readonly string[])[];
}

function questionScript({ questions }: QuestionAsk, theme: Theme): Script<QuestionState, QuestionAnswer> {
  const bodies = questions.map(({ question }) => words(question, { theme, paint: theme.strong }));
  return {
    first: stateAt(questions, []),
    harmless: { kind: "declined" },
    guard: "first",
    press: (state, pressed) => {
      const question = questions[state.index];
      // Nothing is asked: whatever is pressed, there is nothing left to answer.
      if (question === undefined) return { kind: "answer", answer: { kind: "answered", answers: [] } };
      const asked: Asked = { question, questions, pressed };
      return state.kind === "writing" ? pressWriting(state, asked) : pressChoosing(state, asked);
    },
    look: (state) => pictureOf(state, { questions, bodies, theme }),
  };
}

interface Asked {
  readonly question: Question;
  readonly questions: readonly Question[];
  readonly pressed: Pressed;
}

type QuestionStep = Step<QuestionState, QuestionAnswer>;

const declined: QuestionStep = { kind: "answer", answer: { kind: "declined" } };

function pressChoosing(state: QuestionState, asked: Asked): QuestionStep {
  const { question, questions, pressed } = asked;
  const { key } = pressed;
  if (key === "escape") return declined;
  if (key === "left" && state.index > 0) return { kind: "to", state: stateAt(questions, state.answers.slice(0, -1)) };
  if (key === "right") return answeredWith(state, { questions, answer: [] });
  const menu = menuOf(state, question);
  if (key === "space" && question.choose === "many") return ticking(state, { question, at: state.at });
  const step = pressInMenu(menu, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  if (step.at === question.options.length && (key !== "enter" || state.written === ""))
    return { kind: "to", state: { ...state, at: step.at, kind: "writing" } };
  if (question.choose === "one") return answeredWith(state, { questions, answer: labelsOf(question, [step.at]) });
  if (key !== "enter") return ticking(state, { question, at: step.at });
  const own = isAnswered(state) ? given(state, question) : labelsOf(question, [step.at]);
  return answeredWith(state, { questions, answer: own });
}

/** In a question of many answers Enter is done with it once there is one. */
const isAnswered = ({ ticked, written }: QuestionState): boolean => ticked.length > 0 || written !== "";

const given = ({ ticked, written }: QuestionState, question: Question): readonly string[] => [
  ...labelsOf(question, ticked),
  ...(written === "" ? [] : [written]),
];

const labelsOf = ({ options }: Question, chosen: readonly number[]): readonly string[] =>
  chosen.flatMap((index) => options[index]?.label ?? []);

interface Ticking {
  readonly question: Question;
  readonly at: number;
}

function ticking(state: QuestionState, { question, at }: Ticking): QuestionStep {
  if (at >= question.options.length) {
    if (state.written !== "") return { kind: "to", state: { ...state, at, written: "" } };
    return { kind: "to", state: { ...state, at, kind: "writing" } };
  }
  const ticked = state.ticked.includes(at)
    ? state.ticked.filter((index) => index !== at)
    : [...state.ticked, at].toSorted((one, other) => one - other);
  return { kind: "to", state: { ...state, at, ticked } };
}

function pressWriting(state: QuestionState, { question, questions, pressed: { key, written } }: Asked): QuestionStep {
  if (key === "escape")
    return question.options.length === 0 ? declined : { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const text = written.text.trim();
  if (question.choose === "many" && question.options.length > 0)
    return { kind: "to", state: { ...state, written: text, kind: "choosing" } };
  if (text === "" && question.options.length > 0) return { kind: "to", state: { ...state, kind: "choosing" } };
  return answeredWith(state, { questions, answer: text === "" ? [] : [text] });
}

interface Answering {
  readonly questions: readonly Question[];
  readonly answer: readonly string[];
}

function answeredWith(state: QuestionState, { questions, answer }: Answering): QuestionStep {
  const answers = [...state.answers, answer];
  if (answers.length >= questions.length) return { kind: "answer", answer: { kind: "answered", answers } };
  return { kind: "to", state: stateAt(questions, answers) };
}

/** At the question behind those that are answered. One without options can only be answered in words. */
const stateAt = (questions: readonly Question[], answers: QuestionState["answers"]): QuestionState => ({
  index: answers.length,
  at: 0,
  kind: questions[answers.length]?.options.length === 0 ? "writing" : "choosing",
  ticked: [],
  written: "",
  answers,
});

function menuOf(state: QuestionState, { options, choose }: Question): Menu {
  const ticks = (tick: "on" | "off"): Pick<MenuChoice, "tick"> => (choose === "one" ? {} : { tick });
  const own = state.written === "" ? "Something else…" : `Something else: ${titleLine(state.written)}`;
  return {
    at: state.at,
    choices: [
      ...options.map(({ label, description }, index) => ({
        label: titleLine(label),
        ...(description === undefined ? {} : { description: titleLine(description) }),
        ...ticks(state.ticked.includes(index) ? "on" : "off"),
      })),
      { label: own, ...ticks(state.written === "" ? "off" : "on") },
    ],
  };
}

interface Shown {
  readonly questions: readonly Question[];
  readonly bodies: readonly Lines[];
  readonly theme: Theme;
}

function pictureOf(state: QuestionState, { questions, bodies, theme }: Shown): Picture {
  const question = questions[state.index];
  const count = questions.length > 1 ? ` (${state.index + 1} of ${questions.length})` : "";
  const title = `${titleLine(question?.header ?? "") || "The agent asks"}${count}`;
  const body = bodies[state.index];
  const shown = { id: `question ${state.index}`, title, ...(body === undefined ? {} : { body }) };
  if (question === undefined) return { ...shown, hints: ["esc closes"] };
  if (state.kind === "writing") {
    const writer = { id: `words ${state.index}`, kind: "line", text: state.written, prompt: "> " } as const;
    return { ...shown, writer, hints: ["enter answers", question.options.length === 0 ? "esc declines" : "esc back"] };
  }
  const ways =
    question.choose === "many"
      ? ["enter is done", "esc declines", "space ticks"]
      : ["enter answers ❯", "esc declines", "or a number"];
  const back = state.index > 0 ? ["← back"] : [];
  return {
    ...shown,
    choices: menuBlock(menuOf(state, question), theme),
    hints: [...ways, "→ skips", ...back],
  };
}
