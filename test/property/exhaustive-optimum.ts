import type { CostSession } from "../../packages/lab/src/cost-session.ts";

export interface ExhaustiveSearch {
  readonly compacting: "never" | "before-any-request";
}

/**
 * The least cost of a session by trying every plan: for a few rounds only. It shares nothing with the optima under test:
 * requests are lists of named pieces, and what is cached is found by comparing two of them. Infinite where no plan keeps
 * every request within the window.
 */
export function exhaustiveOptimum(session: CostSession, { compacting }: ExhaustiveSearch): number {
  const leastByState = new Map<string, number>();
  return least(0, []);

  /** The least cost from a round on, if the request before it held these pieces. */
  function least(round: number, before: readonly Piece[]): number {
    if (round === session.rounds.length) return 0;
    const state = `${round} ${before.map(({ name }) => name).join(" ")}`;
    const known = leastByState.get(state);
    if (known !== undefined) return known;
    const cost = Math.min(
      ...subsetsOf(before.filter((piece) => isStale(session, { piece, round }))).flatMap((cleared) =>
        stepsOf({ round, before, cleared }).map((step) =>
          isOver(session, step.request) ? Number.POSITIVE_INFINITY : step.cost + least(round + 1, step.request),
        ),
      ),
    );
    leastByState.set(state, cost);
    return cost;
  }

  function stepsOf({ round, before, cleared }: Choice): readonly Step[] {
    const kept = before.filter((piece) => !cleared.includes(piece));
    const added = piecesOf(session, round);
    const cached = isCold(session, round) ? sharedOf(session, round) : before;
    const request = round === 0 ? [...headerOf(session), ...added] : [...kept, ...added];
    const plain: Step = { request, cost: inputCost(session, { request, cached, missRate: session.rates.write }) };
    if (compacting === "never" || round === 0) return [plain];
    return [plain, ...compactionsOf({ round, kept, cached })];
  }

  function compactionsOf({ round, kept, cached }: Compacting): readonly Step[] {
    const { rates, compaction } = session;
    const summary: Piece = { name: `summary-${round}`, tokens: compaction.leavesTokens };
    const added = piecesOf(session, round);
    const call = [...kept, ...added];
    const request = [...headerOf(session), summary];
    const output = rates.output * compaction.outputTokens;
    // The call either leaves nothing in the cache, at the plain price, or writes what it holds.
    return [
      { missRate: Math.min(1, rates.write), left: cached },
      { missRate: rates.write, left: call },
    ].map(({ missRate, left }) => ({
      request,
      cost:
        output +
        inputCost(session, { request: call, cached, missRate }) +
        inputCost(session, { request, cached: left, missRate: rates.write }),
    }));
  }
}

/** What a plan of clearing costs that says for each result from which round on it is gone. */
export function planCost(session: CostSession, clearedAt: (result: PlannedResult) => number): number {
  let cost = 0;
  let before: readonly Piece[] = headerOf(session);
  for (const round of session.rounds.keys()) {
    const cached = isCold(session, round) ? sharedOf(session, round) : before;
    const request = [...before, ...piecesOf(session, round)].filter(
      ({ born }) => born === undefined || clearedAt({ born, staleAt: born + session.staleAfterRounds }) > round,
    );
    cost += inputCost(session, { request, cached, missRate: session.rates.write });
    before = request;
  }
  return cost;
}

interface PlannedResult {
  readonly born: number;
  readonly staleAt: number;
}

/** A part of a request; results know their round, all else can't be cleared. */
interface Piece {
  readonly name: string;
  readonly tokens: number;
  readonly born?: number;
}

interface Choice {
  readonly round: number;
  readonly before: readonly Piece[];
  readonly cleared: readonly Piece[];
}

interface Compacting {
  readonly round: number;
  readonly kept: readonly Piece[];
  readonly cached: readonly Piece[];
}

interface Step {
  readonly request: readonly Piece[];
  readonly cost: number;
}

interface Sending {
  readonly request: readonly Piece[];
  readonly cached: readonly Piece[];
  readonly missRate: number;
}

function inputCost({ rates }: CostSession, { request, cached, missRate }: Sending): number {
  const differs = request.findIndex(({ name }, place) => cached[place]?.name !== name);
  const shared = differs === -1 ? request.length : differs;
  return rates.read * tokensOf(request.slice(0, shared)) + missRate * tokensOf(request.slice(shared));
}

/** The part that other sessions share, and the rest. */
function headerOf({ headerTokens, rounds }: CostSession): readonly Piece[] {
  const sharedTokens = Math.max(0, ...rounds.map((round) => round.sharedTokens ?? 0));
  return [
    { name: "shared", tokens: sharedTokens },
    { name: "header", tokens: headerTokens - sharedTokens },
  ];
}

/** What another session has put into the cache before a round in which it is cold. */
const sharedOf = (session: CostSession, round: number): readonly Piece[] =>
  (session.rounds[round]?.sharedTokens ?? 0) === 0 ? [] : headerOf(session).slice(0, 1);

function piecesOf({ rounds }: CostSession, round: number): readonly Piece[] {
  const { otherTokens = 0, resultTokens = [] } = rounds[round] ?? {};
  return [
    { name: `other-${round}`, tokens: otherTokens },
    ...resultTokens.map((tokens, place) => ({ name: `result-${round}-${place}`, tokens, born: round })),
  ];
}

const isStale = (
  { staleAfterRounds }: CostSession,
  { piece, round }: { readonly piece: Piece; readonly round: number },
): boolean => piece.born !== undefined && round >= piece.born + staleAfterRounds;

const isCold = ({ rounds }: CostSession, round: number): boolean => round === 0 || rounds[round]?.cold === true;

const isOver = ({ windowTokens }: CostSession, request: readonly Piece[]): boolean =>
  windowTokens !== undefined && tokensOf(request) > windowTokens;

const tokensOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { tokens }) => sum + tokens, 0);

const subsetsOf = (pieces: readonly Piece[]): readonly (readonly Piece[])[] =>
  Array.from({ length: 2 ** pieces.length }, (_, bits) => pieces.filter((_piece, place) => (bits >> place) % 2 === 1));
