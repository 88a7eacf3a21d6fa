import { tokens, type Tokens } from "./brand.ts";
import { field, isObject, type JsonObject } from "./json.ts";

/** The provider's token counts for one reply. Cached tokens occupy the window too. */
export interface Usage {
  readonly input: Tokens;
  readonly cacheWrite: Tokens;
  readonly cacheRead: Tokens;
  /** The part of `cacheWrite` that lives for an hour; absent if it is zero. */
  readonly cacheWrite1h?: Tokens;
  readonly output: Tokens;
  /** The window that the server declared with it, if the log says so. */
  readonly window?: Tokens;
}

/** Undefined if the message has no usage, or none with input tokens. */
export function readUsage(message: JsonObject): Usage | undefined {
  const usage = field(message, "usage");
  if (!isObject(usage)) return undefined;
  const input = count(usage, "input_tokens");
  const cacheWrite = count(usage, "cache_creation_input_tokens");
  const cacheRead = count(usage, "cache_read_input_tokens");
  if (input + cacheWrite + cacheRead === 0) return undefined;
  const window = count(usage, "context_window");
  const output = count(usage, "output_tokens");
  const written = field(usage, "cache_creation");
  const cacheWrite1h = isObject(written) ? count(written, "ephemeral_1h_input_tokens") : tokens(0);
  return {
    input,
    cacheWrite,
    cacheRead,
    output,
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    ...(window > 0 ? { window } : {}),
  };
}

/** Undefined if there is none to add. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const known = usages.filter((usage) => usage !== undefined);
  if (known.length === 0) return undefined;
  const sum = (read: (usage: Usage) => number | undefined): Tokens =>
    tokens(known.reduce((total, usage) => total + (read(usage) ?? 0), 0));
  const cacheWrite1h = sum((usage) => usage.cacheWrite1h);
  return {
    input: sum((usage) => usage.input),
    cacheWrite: sum((usage) => usage.cacheWrite),
    cacheRead: sum((usage) => usage.cacheRead),
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    output: sum((usage) => usage.output),
  };
}

export const requestTokens = ({ input, cacheWrite, cacheRead }: Usage): Tokens =>
  tokens(input + cacheWrite + cacheRead);

/** Tokens of the context including the reply. */
export const contextTokens = (usage: Usage): Tokens => tokens(requestTokens(usage) + usage.output);

/** No window is this large: a higher count is damaged data. */
const countMax = 1_000_000_000;

function count(usage: JsonObject, key: string): Tokens {
  const value = field(usage, key);
  return tokens(typeof value === "number" && Number.isInteger(value) && value > 0 && value <= countMax ? value : 0);
}
