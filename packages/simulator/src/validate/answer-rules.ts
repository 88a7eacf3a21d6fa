import { invalid } from "../refusal.ts";
import { answered, forcesTool, type Rule, thinks } from "./check-input.ts";

/** How long the answer may become, and where it stops. */
export const checkMaxTokens: Rule = (input) => {
  const request = answered(input);
  if (request === undefined) return undefined;
  const { max_tokens, model, stop_sequences } = request;
  const most = input.model.outputTokensMax;
  if (max_tokens > most)
    return invalid(
      `${max_tokens} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
      "max_tokens",
    );
  const blank = (stop_sequences ?? []).findIndex((sequence) => sequence.trim() === "");
  return blank === -1
    ? undefined
    : invalid("each stop sequence must contain non-whitespace", `stop_sequences.${blank}`);
};

/** `max_tokens: 0` only writes the cache: nothing may be asked of an answer that there will not be. */
export const checkPrewarm: Rule = (input) => {
  const request = answered(input);
  if (request?.max_tokens !== 0) return undefined;
  const { stream, output_config, output_format } = request;
  if (stream === true) return invalid("streaming is not supported when `max_tokens` is 0", "stream");
  if (thinks(request)) return invalid("thinking may not be enabled when `max_tokens` is 0", "thinking");
  const format = output_config?.format ?? output_format ?? undefined;
  if (format !== undefined)
    return invalid("an output format is not supported when `max_tokens` is 0", "output_config.format");
  return forcesTool(request)
    ? invalid("forced tool use is not supported when `max_tokens` is 0", "tool_choice")
    : undefined;
};
