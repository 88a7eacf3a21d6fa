/** Claude is spoken to in its own form, whoever serves it; anything else in the form that everybody else understands. */
export const speaksOpenai = (model: string, env: Readonly<Record<string, string | undefined>>): boolean =>
  !/claude/i.test(model) && env["ANTHROPIC_BASE_URL"] === undefined;

/** Where a model is asked, by the environment: the provider's own address has no name. */
export const serverAddress = (model: string, env: Readonly<Record<string, string | undefined>>): string =>
  env[speaksOpenai(model, env) ? "OPENAI_BASE_URL" : "ANTHROPIC_BASE_URL"] ?? "default";
