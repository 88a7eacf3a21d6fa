import type { ModelPort } from "../ports/model-port.ts";

interface OnDemandOptions {
  readonly provider: string;
  /** Called by the first request, and by the next one where it failed. What it throws that request throws. */
  readonly load: () => Promise<ModelPort>;
}

/** A model whose client is loaded when it is first asked: the providers' packages take longer than everything else at start. */
export function modelOnDemand({ provider, load }: OnDemandOptions): ModelPort {
  let loading: Promise<ModelPort> | undefined;
  const loaded = async (): Promise<ModelPort> => {
    const current = (loading ??= load());
    try {
      return await current;
    } catch (error) {
      if (loading === current) loading = undefined;
      throw error;
    }
  };
  return {
    provider,
    async *send(request, signal) {
      const model = await loaded();
      yield* model.send(request, signal);
    },
    describe: async (model, signal) => (await loaded()).describe(model, signal),
    count: async (request, signal) => {
      try {
        const model = await loaded();
        return (await model.count?.(request, signal)) ?? { kind: "uncounted", message: `${provider} does not count.` };
      } catch (error) {
        return { kind: "uncounted", message: String(error) };
      }
    },
  };
}
