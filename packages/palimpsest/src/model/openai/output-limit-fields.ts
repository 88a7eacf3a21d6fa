import { APIError } from "openai";

/** The field that limits the reply: newer models of OpenAI refuse `max_tokens`, many other servers know no other. */
export type OutputLimitField = "max_completion_tokens" | "max_tokens";

interface OutputLimitAsk<Answer> {
  readonly model: string;
  readonly send: (field: OutputLimitField) => Promise<Answer>;
}

/**
 * Which of the two a server takes for a model. OpenAI itself takes the newer one for all of its models; whoever else
 * serves them (OpenRouter, Azure, a gateway) hands on what the model wants. Where that is a wrong guess, the server says
 * so, and the other is taken from then on.
 */
export class OutputLimitFields {
  readonly #isOpenai: boolean;
  readonly #corrected = new Map<string, OutputLimitField>();

  constructor(baseUrl: string) {
    this.#isOpenai = baseUrl.startsWith("https://api.openai.com/");
  }

  /** Asks once more, with the other field, where the server does not know the first. */
  async ask<Answer>({ model, send }: OutputLimitAsk<Answer>): Promise<Answer> {
    const field = this.#corrected.get(model) ?? this.#expected(model);
    try {
      return await send(field);
    } catch (error) {
      if (!isUnknown(field, error)) throw error;
    }
    const other = field === "max_tokens" ? "max_completion_tokens" : "max_tokens";
    this.#corrected.set(model, other);
    try {
      return await send(other);
    } catch (error) {
      if (isUnknown(other, error)) this.#corrected.delete(model);
      throw error;
    }
  }

  #expected(model: string): OutputLimitField {
    return this.#isOpenai || newerModels.test(model) ? "max_completion_tokens" : "max_tokens";
  }
}

/** GPT-5 and later, and the o series, with a gateway's name of the provider before them or not. */
const newerModels = /(?:^|\/)(?:gpt-(?:[5-9]|\d{2,})|o[1-9])(?![a-z\d])/i;

const unknownWords =
  /unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (?:inputs|fields)|no such|not a valid (?:parameter|field)/i;

/** About the field itself, not about its value. */
function isUnknown(field: OutputLimitField, error: unknown): boolean {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return false;
  const isNamed = error.param === field || new RegExp(`\\b${field}\\b`).test(error.message);
  return isNamed && (error.code === "unsupported_parameter" || unknownWords.test(error.message));
}
