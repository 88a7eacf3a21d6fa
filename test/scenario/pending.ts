/** Variants of ACCEPTANCE whose part does not exist yet, each with what it waits for. */
export interface Pending {
  readonly acceptance: number;
  readonly variant: string;
  readonly waitsFor: string;
}

export const pending: readonly Pending[] = [
  {
    acceptance: 1,
    variant: "a summariser with a window of its own, 8K beside a larger one of the conversation",
    waitsFor: "a model of its own for summaries",
  },
  {
    acceptance: 15,
    variant: "on a model that binds thinking the clearing is left to a server that offers it, by `keep`",
    waitsFor: "a rule of the server whose cleared set does not slide",
  },
  { acceptance: 10, variant: "schedules are told again", waitsFor: "schedules" },
];
