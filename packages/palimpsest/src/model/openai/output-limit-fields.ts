import { APIError } from "openai";

/** The field that limits the reply: OpenAI's newer models refuse `max_tokens`, many other servers accept only that. */
export type OutputLimitField = "max_completion_tokens" | "max_tokens";

/**
 * Chooses the field that a server accepts for a model. OpenAI accepts the newer one for all of its models; other servers of
 * these models (OpenRouter, Azure, a gateway) accept what the model itself accepts. If the guess is wrong, the server
 * refuses the field, and the other one is used from then on.
 */
export class OutputLimitFields {
  readonly #isOpenai: boolean;
  readonly #fieldByModel = new Map<string, OutputLimitField>();

  constructor(baseUrl: string) {
    this.#isOpenai = baseUrl.startsWith("https://api.openai.com/");
  }

  /** Sends a second time with the other field if the server does not know the first. */
  async ask<Answer>({
    model,
    send,
  }: {
    readonly model: string;
    readonly send: (field: OutputLimitField) => Promise<Answer>;
  }): Promise<Answer> {
    const field = this.#fieldByModel.get(model) ?? this.#guessField(model);
    try {
      return await send(field);
    } catch (error) {
      if (!isUnknown(field, error)) throw error;
    }
    const other = field === "max_tokens" ? "max_completion_tokens" : "max_tokens";
    this.#fieldByModel.set(model, other);
    try {
      return await send(other);
    } catch (error) {
      if (isUnknown(other, error)) this.#fieldByModel.delete(model);
      throw error;
    }
  }

  #guessField(model: string): OutputLimitField {
    return this.#isOpenai || newerModels.test(model) ? "max_completion_tokens" : "max_tokens";
  }
}

/** GPT-5 and later, and the o series, with or without a gateway's provider prefix. */
const newerModels = /(?:^|\/)(?:gpt-(?:[5-9]|\d{2,})|o[1-9])(?![a-z\d])/i;

const unknownWords =
  /unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (?:inputs|fields)|no such|not a valid (?:parameter|field)/i;

/** Whether the error is about the field itself rather than its value. */
function isUnknown(field: OutputLimitField, error: unknown): boolean {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return false;
  const isNamed = error.param === field || new RegExp(`\\b${field}\\b`).test(error.message);
  return isNamed && (error.code === "unsupported_parameter" || unknownWords.test(error.message));
}
