import { lastRequestedModel } from "../system-prompt/freeze-baseline.ts";
import type { ProjectSettings } from "../../settings/project-settings.ts";
import { type AgentParts, modelDefault } from "../agent-options.ts";
import { type ModelChoice, type PickModelOutcome, pickModel, serverChoice } from "./model-choice.ts";
import type { Session } from "palimpsest/internal/session/session";
import type { ModelDescription, ModelPort } from "palimpsest/internal/ports/model-port";

interface SessionModel {
  readonly settings: ProjectSettings;
  readonly model: string;
  readonly picked: PickModelOutcome;
}

/** The model that a session continues with, and the settings resolved for it. */
export async function pickSessionModel({ workspace, options, deps, session }: AgentParts): Promise<SessionModel> {
  const { flags, env, model: choice } = options;
  const settingsFor = (name: string | undefined): Promise<ProjectSettings> =>
    workspace.settings({ flags, model: name, server: serverChoice(choice) });
  const recorded = await settingsFor(lastRequestedModel(session) ?? session.model);
  const model = modelToAnswer(choice, recorded.resolved.model ?? modelDefault);
  const settings = model === recorded.resolved.model ? recorded : await settingsFor(model);
  const picked = pickModel({ choice, name: model, env, now: deps.now });
  if (picked.kind === "no-key") return { settings, model, picked };
  return { settings, model, picked: { ...picked, model: describeOnce(picked.model, session) } };
}

/** The simulator only serves models of its own API: a session of another provider continues with the default model. */
const modelToAnswer = (choice: ModelChoice, name: string): string =>
  choice.kind === "simulator" && !/^claude/i.test(name) ? modelDefault : name;

/**
 * Wraps a model so that its server describes each model once. Several callers may wait for the same answer, so only the
 * end of the session aborts it. A missing answer is asked for again.
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
      const description = descriptionByModel.get(name) ?? ask(name);
      descriptionByModel.set(name, description);
      return description;
    },
  };
}
