import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { cacheKeyCharsMax, metadataCharsMax, metadataPairsMax } from "../limits.ts";
import type { CacheOptions, ExplicitBreakpoint, Ttl } from "./open-ai-request.ts";

/**
 * Fields that both formats share. Fields that have no effect here are accepted; those that would have one, but are not
 * simulated, are refused.
 */
export const anyObject = z.record(z.string(), anyJson);

/** A documented field that is not simulated: null asks for nothing, so it is accepted. */
export const unset = z.null().optional();

export const breakpoint = z
  .strictObject({ mode: z.literal("explicit"), ttl: z.enum(["30m", "12h"]).optional() })
  .nullish();

export const readBreakpoint = (mark: z.infer<typeof breakpoint>): { readonly mark?: ExplicitBreakpoint } =>
  mark === null || mark === undefined ? {} : { mark: mark.ttl === undefined ? {} : { ttl: mark.ttl } };

export const efforts = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish();
export const verbosities = z.enum(["low", "medium", "high"]).nullish();

export const sharedFields = {
  model: z.string().min(1),
  metadata: z
    .record(z.string(), z.string().max(metadataCharsMax))
    .refine((pairs) => Object.keys(pairs).length <= metadataPairsMax, `at most ${metadataPairsMax} pairs`)
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  prompt_cache_key: z.string().max(cacheKeyCharsMax).nullish(),
  prompt_cache_retention: z.enum(["in_memory", "24h"]).nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.enum(["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  user: z.string().nullish(),
};

interface SentCacheFields {
  readonly prompt_cache_key?: string | null | undefined;
  readonly prompt_cache_retention?: "in_memory" | "24h" | null | undefined;
  readonly prompt_cache_options?:
    | {
        readonly mode?: "implicit" | "explicit" | undefined;
        readonly ttl?: Ttl | undefined;
        readonly prewarm?: boolean | undefined;
        readonly comparison_response_id?: string | null | undefined;
      }
    | null
    | undefined;
}

export function readCacheOptions(sent: SentCacheFields): CacheOptions {
  const { prompt_cache_key: key, prompt_cache_retention: retention, prompt_cache_options: options } = sent;
  const comparison = options?.comparison_response_id ?? undefined;
  return {
    ...(key === null || key === undefined ? {} : { key }),
    ...(retention === null || retention === undefined ? {} : { retention }),
    ...(options === null || options === undefined
      ? {}
      : {
          options: {
            mode: options.mode ?? "implicit",
            ttl: options.ttl ?? "30m",
            prewarm: options.prewarm ?? false,
            ...(comparison === undefined ? {} : { comparisonId: comparison }),
          },
        }),
  };
}

/** An optional field with the value that was sent, or no field if none was. */
export const optionalField = <Name extends string, Value>(
  name: Name,
  value: Value | null | undefined,
): { readonly [key in Name]?: Value } => {
  const none: { readonly [key in Name]?: Value } = {};
  return value === null || value === undefined ? none : { ...none, [name]: value };
};
