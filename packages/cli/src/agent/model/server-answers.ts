import type { AgentParts } from "../agent-options.ts";
import { type Baseline, baselineFixedPart } from "palimpsest/internal/cache/baseline";
import { providerCounterName } from "../../settings/remembered-answers.ts";
import { isPlausibleFixedPart } from "palimpsest/internal/tokens/estimate-block";
import { estimateFixedPart, type FixedFigure, measureFixedPart } from "palimpsest/internal/tokens/fixed-part";
import type { PickModelOutcome } from "./model-choice.ts";
import { asTokens } from "palimpsest/internal/schema/brand";
import type { ModelKnowledge } from "palimpsest/internal/settings/resolved-settings";
import { readFrozenState } from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";

/** What the model's server answers besides replies. */
export interface ServerAnswers {
  readonly declaredSizes: ServerSizes["current"];
  readonly countedFixed: FixedPartCount["current"];
  readonly askDuring: AskDuringTurn;
}

/** Starts with the remembered answers; the rest is asked for during the first turn. Must not reject. */
export async function openServerAnswers(parts: AgentParts, input: FixedPartCountInput): Promise<ServerAnswers> {
  const sizes = await openServerSizes(parts, { model: input.baseline.model, picked: input.picked });
  const fixed = await openFixedPartCount(parts, input);
  return {
    declaredSizes: sizes.current,
    countedFixed: fixed.current,
    askDuring: (turn) => fixed.askDuring(sizes.askDuring(turn)),
  };
}

interface FixedPartCountInput {
  readonly baseline: Baseline;
  readonly picked: Pick<Extract<PickModelOutcome, { kind: "model" }>, "model" | "server">;
}

interface FixedPartCount {
  /** What the server counted; undefined as long as it has counted nothing. */
  readonly current: () => FixedFigure | undefined;
  /**
   * Asks the server if it has not counted this part lately. Its count is remembered and used from the next request on;
   * an implausible count is dropped.
   */
  readonly askDuring: AskDuringTurn;
}

/** What the session's requests carry besides messages, as counted by the server. Must not reject. */
async function openFixedPartCount(
  { workspace, session, options }: AgentParts,
  { baseline, picked: { model, server } }: FixedPartCountInput,
): Promise<FixedPartCount> {
  const count = model.count?.bind(model);
  if (server === undefined || count === undefined) return { current: () => undefined, askDuring: (turn) => turn };
  const part = baselineFixedPart(baseline);
  const name = providerCounterName({ server, model: baseline.model });
  let counted = await workspace.recallCountedPart(part, name);
  // A boundary may change what requests begin with while the server counts.
  const frozenAs = () => readFrozenState(session.fold)?.byModel[baseline.model]?.sent;
  const countedAs = frozenAs();
  return {
    current: () => counted,
    askDuring: askDuringFirstTurn(session, {
      state: options.countFixedPart === "on" && counted === undefined ? "due" : "known",
      ask: async (signal) => {
        const figure = await workspace.countFixedPart(
          { part },
          { name, countRequest: (request) => count({ ...request, model: baseline.model }, signal) },
        );
        const estimate = estimateFixedPart(measureFixedPart(part)).tokens;
        const isUsable = figure.counter === name && isPlausibleFixedPart({ counted: figure.tokens, estimate });
        return isUsable ? figure : undefined;
      },
      take: (figure) => {
        counted = figure;
        if (frozenAs() === countedAs) session.ledger.carries(part, figure);
        return workspace.rememberCountedPart(part, figure);
      },
    }),
  };
}

interface ServerSizes {
  readonly current: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  /** Asks the server if it has said nothing lately. Its answer is remembered and counts at once. */
  readonly askDuring: AskDuringTurn;
}

/** The model's sizes as declared by a server. Must not reject. */
async function openServerSizes(
  { workspace, session, options }: AgentParts,
  {
    model,
    picked,
  }: {
    readonly model: string;
    readonly picked: Pick<Extract<PickModelOutcome, { kind: "model" }>, "model" | "server">;
  },
): Promise<ServerSizes> {
  const { server } = picked;
  if (server === undefined) return { current: () => ({}), askDuring: (turn) => turn };
  let declared: Sizes | undefined = await workspace.recallDeclaredModel({ server, model });
  return {
    current: () => ({
      serverTokens: asTokens(declared?.windowTokens),
      serverInputTokens: asTokens(declared?.inputTokensMax),
    }),
    askDuring: askDuringFirstTurn(session, {
      state: options.askSizes === "on" && declared === undefined ? "due" : "known",
      ask: () => picked.model.describe(model),
      take: (described) => {
        declared = described;
        return workspace.rememberDeclaredModel({ server, model }, described);
      },
    }),
  };
}

interface Sizes {
  readonly windowTokens?: number | undefined;
  readonly inputTokensMax?: number | undefined;
}

interface ServerQuestion<Answer> {
  /** `known`: the server is not asked. */
  readonly state: "due" | "known";
  /** Undefined if the server has no answer. `signal` aborts when the session is closed. */
  readonly ask: (signal: AbortSignal) => Promise<Answer | undefined>;
  /** Puts the answer to use and remembers it. */
  readonly take: (answer: Answer) => Promise<void>;
}

/** Returns the turn unchanged; the first call makes the question be asked. */
type AskDuringTurn = <Turn>(turn: Turn) => Turn;

/**
 * Asks the server once, while the first turn runs. The turn does not wait for the answer, and a missing answer is no
 * error. Closing the session aborts the question, but waits until an answer is written, which takes no time.
 */
function askDuringFirstTurn<Answer>(
  session: Pick<Session, "onClose">,
  { state, ask, take }: ServerQuestion<Answer>,
): AskDuringTurn {
  let isDue = state === "due";
  const run = async (): Promise<void> => {
    const closing = new AbortController();
    let remembering: Promise<void> | undefined;
    session.onClose(async () => {
      closing.abort();
      await remembering;
    });
    const answer = await ask(closing.signal);
    if (answer === undefined || closing.signal.aborted) return;
    remembering = take(answer);
    await remembering;
  };
  return (turn) => {
    if (isDue) void run().catch(() => undefined);
    isDue = false;
    return turn;
  };
}
