type Environment = Readonly<Record<string, string | undefined>>;

/** Who answers: a provider, at an address that a flag names or the environment, or somebody inside this process. */
export type ServerChoice =
  | { readonly kind: "provider"; readonly baseUrl?: string | undefined }
  | { readonly kind: "in-process" };

export interface Addressed {
  readonly model: string;
  readonly env: Environment;
  /** As a flag names it: it counts before the environment. */
  readonly baseUrl?: string | undefined;
}

/** Claude is spoken to in its own form, whoever serves it; anything else in the form that everybody else understands. */
export const speaksOpenai = (model: string, env: Environment): boolean =>
  !/claude/i.test(model) && env["ANTHROPIC_BASE_URL"] === undefined;

/** Where a model is asked; undefined at the provider's own address. */
export const serverUrl = ({ model, env, baseUrl }: Addressed): string | undefined =>
  baseUrl ?? env[speaksOpenai(model, env) ? "OPENAI_BASE_URL" : "ANTHROPIC_BASE_URL"];

/** The name under which is remembered what a server says of its models: the same wherever it is looked up. */
export const serverName = (addressed: Addressed): string => serverUrl(addressed)?.replace(/\/+$/, "") ?? "default";
