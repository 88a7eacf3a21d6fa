import type { ModelPort } from "../ports/model-port.ts";

interface OnDemandOptions {
  readonly provider: string;
  /** Called by the first request, and again by the next one if it failed. The request rejects with its error. */
  readonly load: () => Promise<ModelPort>;
}

/** A model whose client is loadOnce with the first request: loading the providers' packages takes longer than the rest of the start. */
export function modelOnDemand({ provider, load }: OnDemandOptions): ModelPort {
  let loading: Promise<ModelPort> | undefined;
  const loadOnce = async (): Promise<ModelPort> => {
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
      const model = await loadOnce();
      yield* model.send(request, signal);
    },
    describe: async (model, signal) => (await loadOnce()).describe(model, signal),
    count: async (request, signal) => {
      try {
        const model = await loadOnce();
        return (await model.count?.(request, signal)) ?? { kind: "uncounted", message: `${provider} does not count.` };
      } catch (error) {
        return { kind: "uncounted", message: String(error) };
      }
    },
  };
}
