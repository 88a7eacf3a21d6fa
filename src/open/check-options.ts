import type { ContextError } from "../context/context-error.ts";
import { type Provider, providers } from "../context/forms.ts";
import { badOption, checkModel, checkTools } from "../context/inputs.ts";
import { policyNames } from "../schema/settings.ts";
import type { ContextOptions } from "./options.ts";

/** For callers without a compiler: throws on a value that could only fail later. */
export function checkOptions<P extends Provider>(options: ContextOptions<P>): void {
  const {
    model,
    provider = "anthropic",
    policy,
    contextTokens,
    outputTokensMax,
    session,
    tools = [],
    thinking,
  } = options;
  checkModel(model);
  checkTools(tools);
  if (!providers.includes(provider)) throw wrong("provider", `one of ${providers.join(", ")}`);
  if (thinking !== undefined && provider !== "anthropic") throw wrong("thinking", "absent: it is of the Messages API");
  if (policy !== undefined && !policyNames.includes(policy)) throw wrong("policy", `one of ${policyNames.join(", ")}`);
  for (const [name, value] of Object.entries({ contextTokens, outputTokensMax }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) throw wrong(name, "a whole number above 0");
  if (session !== undefined && !/^[A-Za-z0-9_][A-Za-z0-9._-]{0,179}$/.test(session))
    throw wrong("session", "letters, digits, points, dashes and underscores, 180 at most");
}

const wrong = (option: string, expected: string): ContextError =>
  badOption(`The option ${option} must be ${expected}.`);
