import type { Session } from "palimpsest/internal/session/session";
import type { ModelDescription, ModelPort } from "palimpsest/internal/ports/model";

/**
 * A model whose server is asked once what it says of a model, whoever wants to know it: several may wait for the same
 * answer, so only the end of the session aborts it. An answer that did not come is asked for again.
 */
export function describeOnce(model: ModelPort, session: Pick<Session, "onClose">): ModelPort {
  const closing = new AbortController();
  session.onClose(async () => closing.abort());
  const descriptionByModel = new Map<string, Promise<ModelDescription | undefined>>();
  const ask = async (name: string): Promise<ModelDescription | undefined> => {
    let description: ModelDescription | undefined;
    try {
      description = await model.describe(name, closing.signal);
    } finally {
      if (description === undefined) descriptionByModel.delete(name);
    }
    return description;
  };
  return {
    ...model,
    describe: (name) => {
      const asked = descriptionByModel.get(name) ?? ask(name);
      descriptionByModel.set(name, asked);
      return asked;
    },
  };
}
