import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { createCallerModel } from "../../packages/palimpsest/src/context/summarizer.ts";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { modelOnDemand } from "../../packages/palimpsest/src/model/model-on-demand.ts";
import { openaiModel } from "../../packages/palimpsest/src/model/openai/client.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { modelContract } from "./model.ts";

const deps = { now: () => millis(0), uuid: randomUUID };
const apiKey = "sk-test";
const sdk = { apiKey, maxRetries: 0 };
const claude = "claude-sonnet-5-5";
const gpt = "gpt-4o";
const wholeInput = "an unstreamed reply holds a value";
const whole = "an unstreamed reply comes whole or not at all";

modelContract({
  name: "of the Messages API",
  model: claude,
  connect: (fetch) => anthropicModel({ ...deps, apiKey, fetch }),
});

modelContract({ name: "of chat completions", model: gpt, connect: (fetch) => openaiModel({ ...deps, apiKey, fetch }) });

modelContract({
  name: "loaded when it is first asked",
  model: claude,
  connect: (fetch) =>
    modelOnDemand({ provider: "anthropic", load: async () => anthropicModel({ ...deps, apiKey, fetch }) }),
});

modelContract({
  name: "behind a caller's client of the Messages API",
  model: claude,
  connect: (fetch) => {
    const client = new Anthropic({ ...sdk, fetch });
    return createCallerModel(deps, {
      provider: "anthropic",
      ask: ({ params, signal }) => client.messages.create(params, { signal }),
    });
  },
  skips: { flawed: wholeInput, broken: whole },
});

modelContract({
  name: "behind a caller's client of chat completions",
  model: gpt,
  connect: (fetch) => {
    const client = new OpenAI({ ...sdk, fetch });
    return createCallerModel(deps, {
      provider: "openai-chat",
      ask: ({ params, signal }) => client.chat.completions.create(params, { signal }),
    });
  },
  skips: { broken: whole },
});

modelContract({
  name: "behind a caller's client of the Responses API",
  model: gpt,
  connect: (fetch) => {
    const client = new OpenAI({ ...sdk, fetch });
    return createCallerModel(deps, {
      provider: "openai-responses",
      ask: ({ params, signal }) => client.responses.create(params, { signal }),
    });
  },
  skips: { broken: whole, limit: "its message names no figure" },
});
